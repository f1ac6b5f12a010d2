"""Reads JFR recordings of JVMs with the JDK's `jfr`, and writes what they show: heap.csv and recording.csv."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from harness.base import process as child
from harness.base.errors import UsageError
from harness.base.java import java_context
from harness.system.flight_recording import (
    EVENTS,
    RecordedEvent,
    csv_rows,
    printed_events,
    read_recordings,
    recorded_uses,
)
from harness.system.flight_recording import FILE_NAME as RECORDED
from harness.system.heap import AFTER, BEFORE, COLUMNS, EVENT, HeapPoint, read_heap_uses, read_heaps
from harness.system.heap import FILE_NAME as HEAP
from harness.system.jcmd import Problems, exit_code_within
from harness.system.recorder import Recorder

# A recording of a minute takes half a second; one of a day with heap events only, some seconds.
_DEADLINE_S = 60.0
# A recording of another system may contain every event of hours.
_FOREIGN_DEADLINE_S = 300.0
_COMPLAINT = re.compile(r"^jfr print: (.+)$", re.MULTILINE)
_COMPLAINT_BYTES = 64_000
_T = TypeVar("_T")


def write_heap(path: Path, recordings: Mapping[str, Path], environment: Mapping[str, str]) -> Problems:
    """Write heap.csv from the recordings by process; return (process, what is not known of its heap, and why).

    A missing heap must not invalidate a run: problems are returned, never raised. `environment` is for `jfr`.
    """
    trouble: dict[str, str] = {}
    points: dict[str, Sequence[HeapPoint]] = {}
    for process, recording in recordings.items():
        read = _read(recording, (EVENT,), environment, _DEADLINE_S, path.with_name(f".{path.name}.printed"))
        points[process] = [event.point for event in read.events if event.point]
        if read.problem:
            trouble[process] = f"{'known in part' if read.events else 'not known'}: {read.problem}"
    try:
        if any(points.values()):
            _write(path, points)
    except OSError as error:
        why = f"not known: {path.name} cannot be written ({error.strerror})"
        trouble.update({process: why for process, found in points.items() if found})
    return tuple(trouble.items())


class ReadRecording(NamedTuple):
    """The events of a recording; `problem` is what is wrong with it, "" for nothing."""

    events: tuple[RecordedEvent, ...]
    problem: str = ""


def read_recording(recording: Path, environment: Mapping[str, str], folder: Path) -> ReadRecording:
    """Return the events of a recording in order of time; `folder` gets a temporary file."""
    read = _read(recording, EVENTS, environment, _FOREIGN_DEADLINE_S, folder / f".{recording.name}.printed")
    return ReadRecording(tuple(sorted(read.events, key=lambda event: event.time_ms)), read.problem)


def add_recording(folder: Path, process: str, events: Sequence[RecordedEvent]) -> None:
    """Add the events of a JVM to heap.csv and recording.csv, in place of those that they have of a JVM of this name."""
    heaps, recorded = folder / HEAP, folder / RECORDED
    points = {**_read_csv(heaps, read_heaps), process: tuple(event.point for event in events if event.point)}
    if any(points.values()):
        _write(heaps, points)
    recordings = {**_read_csv(recorded, read_recordings), process: tuple(events)}
    with recorded.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out, lineterminator="\n").writerows(csv_rows(recordings))


def _read_csv(path: Path, read: Callable[[Iterable[str]], Mapping[str, _T]]) -> Mapping[str, _T]:
    """Return what a file has per process; nothing without the file."""
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8", errors="replace") as lines:
        return read(lines)


def _write(path: Path, points: Mapping[str, Sequence[HeapPoint]]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as out:
        out.write(",".join(COLUMNS) + "\n")
        for process, found in points.items():
            for point in found:
                sizes = f"{point.used_bytes},{point.committed_bytes},{point.reserved_bytes}"
                when = AFTER if point.is_after_gc else BEFORE
                out.write(f"{point.time_ms},{process},{sizes},{when}\n")


def _read(
    recording: Path, kinds: Sequence[str], environment: Mapping[str, str], deadline_s: float, printed: Path
) -> ReadRecording:
    """Return the events of these kinds in a recording as far as they can be read; `printed` is a temporary file."""
    try:
        if recording.stat().st_size == 0:
            return ReadRecording((), f"{recording.name} is empty: its JVM was probably killed before writing it")
    except OSError:
        return ReadRecording((), f"the recording {recording.name} is missing")
    java_bin = java_context().get("java_bin")
    jfr = Path(java_bin) / "jfr" if java_bin else None
    if jfr is None or not jfr.is_file():
        return ReadRecording((), f"this Java has no jfr, which reads {recording.name}")
    try:
        command = (str(jfr), "-J-XX:+UseSerialGC", "print", "--json", "--events", ",".join(kinds), str(recording))
        code = exit_code_within(child.Launch("jfr", command, printed.parent, environment, printed), deadline_s)
        with printed.open(encoding="utf-8", errors="replace") as lines:
            events = tuple(printed_events(lines))
        if code:
            return ReadRecording(events, _complaint(printed, recording) or f"jfr print ended with code {code}")
    except OSError as error:
        return ReadRecording((), f"the output of jfr cannot be written ({error.strerror})")
    except UsageError as error:
        return ReadRecording((), error.what)
    finally:
        printed.unlink(missing_ok=True)
    if code is None:
        return ReadRecording(events, f"jfr print did not read {recording.name} within {deadline_s:g} s")
    why = f"{recording.name} contains no {','.join(kinds)}: no garbage was collected, or the event is not recorded"
    return ReadRecording(events, "" if events else why)


def _complaint(printed: Path, recording: Path) -> str:
    """Return jfr's last message without the recording's folder: a report names no folders of a machine."""
    with printed.open("rb") as file:
        file.seek(max(0, printed.stat().st_size - _COMPLAINT_BYTES))
        text = file.read().decode(errors="replace")
    found = _COMPLAINT.search(text)
    return found[0].replace(str(recording), recording.name).strip() if found else ""


def _finish(folder: Path, recordings: Mapping[str, Path], environment: Mapping[str, str]) -> Problems:
    return write_heap(folder / HEAP, recordings, environment)


HEAPS = Recorder("heap", HEAP, finish=_finish, read=read_heap_uses)
# harness/run/telemetry/recording.py attaches the recordings.
ATTACHED = Recorder(
    "recording",
    RECORDED,
    read=lambda of: {"recorded": recorded_uses(read_recordings(of.lines(RECORDED)), *of.window_ms)},
)
