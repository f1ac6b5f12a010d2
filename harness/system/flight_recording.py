"""What a flight recording of a JVM that runs elsewhere shows: heap at collections, pauses and CPU.

Read from `jfr print` or recording.csv.
"""

from __future__ import annotations

import contextlib
import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import fmean

from harness.base.units import MS_PER_S
from harness.system.heap import AFTER, BEFORE, HeapPoint

# The settings default and profile of every JDK record these events; CPULoad about once a second.
EVENTS = ("jdk.GCHeapSummary", "jdk.GarbageCollection", "jdk.CPULoad")
FILE_NAME = "recording.csv"
COLUMNS = ("time_ms", "process", "event", "used_bytes", "pause_ms", "longest_ms", "jvm_cpu_ratio", "machine_cpu_ratio")
COLLECTION, CPU = "gc", "cpu"
_FIELD = re.compile(r'\s*"(\w+)": "?([^",]+)')
_NEEDED = {
    "jdk.GCHeapSummary": ("startTime", "committedSize", "reservedSize", "heapUsed"),
    "jdk.GarbageCollection": ("startTime", "sumOfPauses", "longestPause"),
    "jdk.CPULoad": ("startTime", "jvmUser", "jvmSystem", "machineTotal"),
}
_DURATION = re.compile(r"PT(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?")


@dataclass(frozen=True)
class RecordedEvent:
    """An event at an instant (epoch ms); of its values only those of its kind are known.

    `used_bytes` is the heap in use (BEFORE and AFTER a collection), pauses are those of a COLLECTION, and ratios (0-1)
    of all CPUs of the machine are those of CPU. `point` is the whole heap, when it was read from a recording.
    """

    time_ms: int
    kind: str
    used_bytes: int | None = None
    pause_ms: float | None = None
    longest_ms: float | None = None
    jvm_cpu_ratio: float | None = None
    machine_cpu_ratio: float | None = None
    point: HeapPoint | None = None


Recordings = Mapping[str, tuple[RecordedEvent, ...]]


@dataclass(frozen=True)
class RecordedUse:
    """What one recorded JVM did in an interval; a mean is None without an event of its kind.

    `length_s` is the part of the interval between the first and the last event of the recording.

    `used_before_bytes_mean` and `used_after_bytes_…` are the heap in use before and after collections, `pause_ms` all
    pauses together. Ratios (0-1) are of all CPUs of its machine: those of the JVM, and of all processes.
    """

    process: str
    length_s: float
    collection_count: int
    pause_ms: float
    longest_ms: float
    used_before_bytes_mean: int | None
    used_after_bytes_mean: int | None
    used_after_bytes_max: int | None
    jvm_cpu_ratio_mean: float | None
    jvm_cpu_ratio_max: float | None
    machine_cpu_ratio_mean: float | None


def printed_events(lines: Iterable[str]) -> Iterator[RecordedEvent]:
    """Yield the events in the output of `jfr print --json --events …`, in its order; unreadable ones are skipped.

    The output is read line by line: a recording of hours needs little memory, and truncated output gives its complete
    events.
    """
    kind, event = "", dict[str, str]()
    for line in lines:
        field = _FIELD.match(line)
        if field is None:
            continue
        name, value = field.groups()
        if name == "type" and value.startswith("jdk."):
            kind, event = value, {}
            continue
        event.setdefault(name, value)
        if kind in _NEEDED and all(key in event for key in _NEEDED[kind]):
            with contextlib.suppress(ValueError):
                yield _event(kind, event)
            kind = ""


def _event(kind: str, event: Mapping[str, str]) -> RecordedEvent:
    time_ms = round(datetime.fromisoformat(event["startTime"]).timestamp() * MS_PER_S)
    if kind == "jdk.CPULoad":
        jvm_ratio = float(event["jvmUser"]) + float(event["jvmSystem"])
        return RecordedEvent(time_ms, CPU, jvm_cpu_ratio=jvm_ratio, machine_cpu_ratio=float(event["machineTotal"]))
    if kind == "jdk.GarbageCollection":
        pause_ms, longest_ms = (_duration_ms(event[name]) for name in ("sumOfPauses", "longestPause"))
        return RecordedEvent(time_ms, COLLECTION, pause_ms=pause_ms, longest_ms=longest_ms)
    used, committed, reserved = (int(event[name]) for name in ("heapUsed", "committedSize", "reservedSize"))
    when = AFTER if event.get("when", "").lower().startswith(AFTER) else BEFORE
    return RecordedEvent(
        time_ms, when, used_bytes=used, point=HeapPoint(time_ms, used, committed, reserved, when == AFTER)
    )


def _duration_ms(text: str) -> float:
    """Return an ISO 8601 duration such as PT0.0041S in ms; ValueError for any other text."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(text)
    hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return ((hours * 60 + minutes) * 60 + seconds) * MS_PER_S


def csv_rows(recordings: Recordings) -> Iterator[list[object]]:
    """Yield the title and the rows of recording.csv."""
    yield list(COLUMNS)
    for process, events in recordings.items():
        for event in events:
            pauses = (_cell(value, 3) for value in (event.pause_ms, event.longest_ms))
            ratios = (_cell(value, 4) for value in (event.jvm_cpu_ratio, event.machine_cpu_ratio))
            yield [event.time_ms, process, event.kind, _cell(event.used_bytes, 0), *pauses, *ratios]


def _cell(value: float | None, digits: int) -> float | str:
    return "" if value is None else round(value, digits)


def read_recordings(lines: Iterable[str]) -> Recordings:
    """Return the events per process from the lines of a recording.csv; incomplete rows are skipped."""
    by_process: dict[str, list[RecordedEvent]] = {}
    for row in csv.DictReader(lines):
        with contextlib.suppress(TypeError, ValueError, KeyError):  # a full disk leaves an incomplete last row
            used, *others = (_number(row[name]) for name in COLUMNS[3:])
            used_bytes, (pause_ms, longest_ms, jvm_ratio, machine_ratio) = None if used is None else int(used), others
            times = (int(row["time_ms"]), row["event"])
            event = RecordedEvent(*times, used_bytes, pause_ms, longest_ms, jvm_ratio, machine_ratio)
            by_process.setdefault(row["process"], []).append(event)
    return {process: tuple(events) for process, events in by_process.items()}


def _number(text: str | None) -> float | None:
    """Return the number of a cell, None for an empty one; TypeError for one that is missing in its row."""
    if text is None:
        raise TypeError("the row is incomplete")
    return float(text) if text else None


def recorded_uses(recordings: Recordings, first_ms: int, last_ms: int) -> tuple[RecordedUse, ...]:
    """Return what each JVM did between two instants (epoch ms), without those that have no event between them."""
    uses = []
    for process, events in recordings.items():
        within = [event for event in events if first_ms <= event.time_ms <= last_ms]
        if within:
            covered_ms = min(last_ms, events[-1].time_ms) - max(first_ms, events[0].time_ms)
            uses.append(_use(process, within, covered_ms / MS_PER_S))
    return tuple(uses)


def _use(process: str, events: Sequence[RecordedEvent], length_s: float) -> RecordedUse:
    before, after = (
        [event.used_bytes for event in events if event.kind == kind and event.used_bytes is not None]
        for kind in (BEFORE, AFTER)
    )
    collections = [event for event in events if event.kind == COLLECTION]
    jvm = [event.jvm_cpu_ratio for event in events if event.jvm_cpu_ratio is not None]
    machine = [event.machine_cpu_ratio for event in events if event.machine_cpu_ratio is not None]
    return RecordedUse(
        process=process,
        length_s=length_s,
        collection_count=len(collections),
        pause_ms=round(sum(event.pause_ms or 0.0 for event in collections), 3),
        longest_ms=max((event.longest_ms or 0.0 for event in collections), default=0.0),
        used_before_bytes_mean=round(fmean(before)) if before else None,
        used_after_bytes_mean=round(fmean(after)) if after else None,
        used_after_bytes_max=max(after, default=None),
        jvm_cpu_ratio_mean=round(fmean(jvm), 4) if jvm else None,
        jvm_cpu_ratio_max=max(jvm, default=None),
        machine_cpu_ratio_mean=round(fmean(machine), 4) if machine else None,
    )
