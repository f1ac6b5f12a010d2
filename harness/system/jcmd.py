"""Makes the JVMs of a running system write their JFR recordings, with the JDK's `jcmd`."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Mapping
from pathlib import Path

from harness.base import process as child
from harness.base.errors import UsageError
from harness.base.java import java_context

# A recording of hours takes a second; a JVM that is stopped or swapped out never answers.
_DEADLINE_S = 20.0


def dump_recordings(
    pids: Mapping[str, int], recordings: Mapping[str, Path], environment: Mapping[str, str]
) -> tuple[tuple[str, str], ...]:
    """Make each process write its recording to the given path; return (process, why its heap is not known).

    Problems are returned, never raised, as when recordings are read. `environment` is for `jcmd`.
    """
    java_bin = java_context().get("java_bin")
    jcmd = Path(java_bin) / "jcmd" if java_bin else None
    if jcmd is None or not jcmd.is_file():
        why = "not known: this Java has no jcmd, which writes the recording of a running JVM"
        return tuple((process, why) for process in recordings)
    said = {process: _dump(jcmd, pids[process], path, environment) for process, path in recordings.items()}
    return tuple((process, f"not known: {why}") for process, why in said.items() if why)


def _dump(jcmd: Path, pid: int, path: Path, environment: Mapping[str, str]) -> str:
    """Return what went wrong, "" when the recording was written."""
    printed = path.with_name(f".{path.name}.jcmd")
    try:
        launch = child.Launch(
            "jcmd", (str(jcmd), str(pid), "JFR.dump", f'filename="{path}"'), path.parent, environment, printed
        )
        process = child.start(launch)
        code: int | None = None
        try:
            with contextlib.suppress(subprocess.TimeoutExpired):
                code = process.wait(_DEADLINE_S)
        finally:
            child.stop(process, deadline_s=1.0)
    except (OSError, UsageError) as error:
        return f"jcmd cannot be run ({error})"
    finally:
        printed.unlink(missing_ok=True)
    if code is None:
        return f"jcmd did not write {path.name} within {_DEADLINE_S:g} s"
    # jcmd exits with 0 even when the JVM refuses.
    return "" if path.is_file() else f"the JVM did not write {path.name} (jcmd ended with code {code})"
