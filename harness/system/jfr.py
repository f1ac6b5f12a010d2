"""Reads the JFR recordings of a system's JVMs with the JDK's `jfr` and writes a small heap.csv."""

from __future__ import annotations

import contextlib
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from harness.base import process as child
from harness.base.errors import UsageError
from harness.base.java import java_context
from harness.system.heap import AFTER, BEFORE, COLUMNS, EVENT, HeapPoint, printed_points

# A recording of a minute takes half a second; one of a day with heap events only, some seconds.
_DEADLINE_S = 60.0
_COMPLAINT = re.compile(r"^jfr print: (.+)$", re.MULTILINE)
_COMPLAINT_BYTES = 64_000


def write_heap(
    path: Path, recordings: Mapping[str, Path], environment: Mapping[str, str], deadline_s: float = _DEADLINE_S
) -> tuple[tuple[str, str], ...]:
    """Write heap.csv from the recordings by process; return (process, what is not known of its heap, and why).

    A missing heap must not invalidate a run: problems are returned, never raised. `environment` is for `jfr`.
    """
    trouble: dict[str, str] = {}
    points: dict[str, list[HeapPoint]] = {}
    for process, recording in recordings.items():
        points[process], why = _read(recording, environment, deadline_s, path.with_name(f".{path.name}.printed"))
        if why:
            trouble[process] = f"{'known in part' if points[process] else 'not known'}: {why}"
    try:
        if any(points.values()):
            _write(path, points)
    except OSError as error:
        why = f"not known: {path.name} cannot be written ({error.strerror})"
        trouble.update({process: why for process, found in points.items() if found})
    return tuple(trouble.items())


def _write(path: Path, points: Mapping[str, list[HeapPoint]]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as out:
        out.write(",".join(COLUMNS) + "\n")
        for process, found in points.items():
            for point in found:
                sizes = f"{point.used_bytes},{point.committed_bytes},{point.reserved_bytes}"
                when = AFTER if point.is_after_gc else BEFORE
                out.write(f"{point.time_ms},{process},{sizes},{when}\n")


def _read(
    recording: Path, environment: Mapping[str, str], deadline_s: float, printed: Path
) -> tuple[list[HeapPoint], str]:
    """Return the points of a recording, and what is wrong with it ("" for nothing); `printed` is a temporary file."""
    try:
        if recording.stat().st_size == 0:
            return [], f"{recording.name} is empty: its JVM was probably killed before writing it"
    except OSError:
        return [], f"the recording {recording.name} is missing"
    java_bin = java_context().get("java_bin")
    jfr = Path(java_bin) / "jfr" if java_bin else None
    if jfr is None or not jfr.is_file():
        return [], f"this Java has no jfr, which reads {recording.name}"
    try:
        return _printed(jfr, recording, environment, deadline_s, printed)
    except OSError as error:
        return [], f"the output of jfr cannot be written ({error.strerror})"
    except UsageError as error:
        return [], error.what
    finally:
        printed.unlink(missing_ok=True)


def _printed(
    jfr: Path, recording: Path, environment: Mapping[str, str], deadline_s: float, printed: Path
) -> tuple[list[HeapPoint], str]:
    command = (str(jfr), "print", "--json", "--events", EVENT, str(recording))
    process = child.start(child.Launch("jfr", command, printed.parent, environment, printed))
    try:
        code: int | None = None
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = process.wait(deadline_s)
    finally:
        child.stop(process, deadline_s=1.0)
    with printed.open(encoding="utf-8", errors="replace") as lines:
        points = list(printed_points(lines))
    if code is None:
        return points, f"jfr print did not read {recording.name} within {deadline_s:g} s"
    if code:
        return points, _complaint(printed, recording) or f"jfr print ended with code {code}"
    if not points:
        return [], f"{recording.name} contains no {EVENT}: no garbage was collected, or the event is not recorded"
    return points, ""


def _complaint(printed: Path, recording: Path) -> str:
    """Return jfr's last message without the recording's folder: a report names no folders of a machine."""
    with printed.open("rb") as file:
        file.seek(max(0, printed.stat().st_size - _COMPLAINT_BYTES))
        text = file.read().decode(errors="replace")
    found = _COMPLAINT.search(text)
    return found[0].replace(str(recording), recording.name).strip() if found else ""
