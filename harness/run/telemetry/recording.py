"""Attaches the flight recording of a JVM that the harness did not start to a run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from harness.base.errors import UsageError
from harness.base.units import MS_PER_S
from harness.run.directory import RunDirectory, load_record
from harness.run.record import RunRecord
from harness.run.request import Request
from harness.system.flight_recording import CPU, RecordedEvent
from harness.system.jfr import HEAPS, add_recording, read_recording

# JMeter starts and ends within this time before and after the load.
_GAP_MOST_S = 10.0


def check_recording(recording: Path | None, request: Request) -> None:
    """Raise a UsageError for a recording that a run of this request cannot have; the file may be written later."""
    if recording is None:
        return
    if request.target is None:
        what = f"--jfr={recording.name}: the harness starts the system, and reads its own recordings"
        raise UsageError(what, "leave JFR out; --profile profiles the system")
    if recording.is_dir() or not recording.parent.is_dir():
        what = f"--jfr={recording.name}: {'is a folder' if recording.is_dir() else 'its folder does not exist'}"
        raise UsageError(what, "give the file that the JVM writes, or that you copy there before the load ends")


def process_of(recording: Path) -> str:
    """Return the name of the recorded JVM in tables: that of the file, with - for signs that no process has."""
    return re.sub(r"[^\w.-]+", "-", recording.stem).strip("-.") or "jvm"


def attach(directory: RunDirectory, recording: Path, process: str, environment: Mapping[str, str]) -> str:
    """Add the part of a recording during a run to its directory; return what is not known and why, "" for nothing.

    run.json gets the reason, too. `environment` is for `jfr`. Clocks of both machines are compared as they are.
    """
    return attach_to([directory], recording, process, environment)[0]


def attach_to(
    directories: Sequence[RunDirectory], recording: Path, process: str, environment: Mapping[str, str]
) -> list[str]:
    """Add to each run its part of a recording, which is read once; return what `attach` does of each."""
    read = read_recording(recording.resolve(), environment, directories[0].path)
    why = read.problem
    if recording.is_file() and not recording.stat().st_size:
        why = f"{recording.name} is empty: its JVM has not written it yet (jcmd PID JFR.dump filename=…)"
    return [_attach_events(directory, recording, process, read.events, why) for directory in directories]


def _attach_events(
    directory: RunDirectory, recording: Path, process: str, events: Sequence[RecordedEvent], why: str
) -> str:
    record = load_record(RunRecord, directory.run_json)
    first_ms, last_ms = _epoch_ms(record.started_at), _epoch_ms(record.ended_at) if record.ended_at else None
    within = [one for one in events if first_ms <= one.time_ms and (last_ms is None or one.time_ms <= last_ms)]
    if events and not within:
        covered = f"{_clock(events[0].time_ms)} to {_clock(events[-1].time_ms)}"
        ran = f"{_clock(first_ms)} to {_clock(last_ms) if last_ms else '?'}"
        why = f"{recording.name} has events from {covered} UTC, and the run took place from {ran} UTC"
    if within:
        add_recording(directory.path, process, within)
        why = why or _gap_text(recording.name, within, first_ms, last_ms)
    unknown = tuple((name, text) for name, text in record.unknown.get(HEAPS.name, ()) if name != process)
    if why:
        why = f"{'known in part' if within else 'not known'}: {why}"
        unknown = (*unknown, (process, why))
    directory.write_run(record.with_unknown(HEAPS.name, unknown))
    return why


def _gap_text(name: str, events: Sequence[RecordedEvent], first_ms: int, last_ms: int | None) -> str:
    """Return how much of a run a recording lacks; empty for little, and for a recording without CPU."""
    if not any(event.kind == CPU for event in events):
        return ""
    late_s = (events[0].time_ms - first_ms) / MS_PER_S
    early_s = ((last_ms or 0) - events[-1].time_ms) / MS_PER_S
    gaps = [f"begins {late_s:.0f} s after the run"] if late_s > _GAP_MOST_S else []
    gaps += [f"ends {early_s:.0f} s before the run does"] if early_s > _GAP_MOST_S else []
    return f"{name} {' and '.join(gaps)}" if gaps else ""


def _epoch_ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * MS_PER_S)


def _clock(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / MS_PER_S, UTC).strftime("%Y-%m-%d %H:%M:%S")
