"""Measures a whole process: wall time, CPU time, and in a separate run the memory of it and its children.

Memory is watched in a run that is not timed, because reading the memory of a process of 800 MB takes milliseconds in
which the process may wait.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from harness.base import process as child
from harness.base.errors import UsageError
from harness.base.units import BYTES_PER_KB

OUT_NAME, ERR_NAME = "stdout.txt", "stderr.txt"
_PERIOD_S = 0.05
_STOP_S = 2.0
_HIGH_WATER = re.compile(r"^VmHWM:\s+(\d+) kB", re.MULTILINE)


@dataclass(frozen=True)
class Measured:
    """The resources of a process; `peak_bytes` is None when its memory was not watched."""

    exit_code: int
    wall_s: float
    cpu_s: float
    peak_bytes: int | None


def measure(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], *, watch_memory: bool = False
) -> Measured:
    """Run a command in `folder`, with its output in OUT_NAME and ERR_NAME there, and return its resources.

    An interruption stops it with its process group. UsageError when its program is missing.
    """
    peak_bytes: int | None = None
    with (folder / OUT_NAME).open("wb") as out, (folder / ERR_NAME).open("wb") as err:
        started_s = time.monotonic()
        try:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        except OSError as error:
            raise UsageError(f"{command[0]} does not run ({error.strerror})", "install it") from None
    try:
        if watch_memory:
            peak_bytes = _watch(process.pid)
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.monotonic() - started_s
        process.returncode = os.waitstatus_to_exitcode(status)
    finally:
        child.stop(process, _STOP_S)  # does nothing when it has ended
    return Measured(process.returncode, wall_s, usage.ru_utime + usage.ru_stime, peak_bytes)


def _watch(pid: int) -> int:
    """Return the peak memory in bytes of a process and its descendants, after it has ended.

    This is the greatest sum of their proportional set sizes, which count shared pages once. Peaks between two
    measurements are missed, so the kernel's high-water mark of each process counts, too, if it is greater. (`ru_maxrss`
    is unsuitable: it starts with the size of the parent process.)
    """
    peak_bytes = 0
    process = psutil.Process(pid)
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        now_bytes = 0
        with contextlib.suppress(psutil.Error):
            for one in (process, *process.children(recursive=True)):
                with contextlib.suppress(psutil.Error, OSError):
                    now_bytes += one.memory_full_info().pss
                    mark = _HIGH_WATER.search(Path(f"/proc/{one.pid}/status").read_text(errors="replace"))
                    peak_bytes = max(peak_bytes, int(mark[1]) * BYTES_PER_KB if mark else 0)
        peak_bytes = max(peak_bytes, now_bytes)
        time.sleep(_PERIOD_S)
    return peak_bytes
