"""Measures a whole process: wall seconds, CPU seconds, and in a run of its own the memory of it and its children.

Memory is watched in a run that is not timed: to add up what a process of 800 MB has mapped takes the kernel
milliseconds, in which that process may wait.
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
    """One process from its start to its end; `peak_bytes` is None in a run whose memory was not watched."""

    exit_code: int
    wall_s: float
    cpu_s: float
    peak_bytes: int | None


def measure(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], *, watch_memory: bool = False
) -> Measured:
    """Return what a command took, run in `folder`, where its output is left in OUT_NAME and ERR_NAME.

    It is ended with its whole group when we are interrupted. UsageError when its program is not there.
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
            raise UsageError(f"{command[0]} does not run ({error.strerror})", "install it or put it there") from None
    try:
        if watch_memory:
            peak_bytes = _watch(process.pid)
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.monotonic() - started_s
        process.returncode = os.waitstatus_to_exitcode(status)
    finally:
        child.stop(process, _STOP_S)  # nothing to do for one that has ended
    return Measured(process.returncode, wall_s, usage.ru_utime + usage.ru_stime, peak_bytes)


def _watch(pid: int) -> int:
    """Return the peak memory in bytes of a process and its descendants, when it has ended.

    That is the greatest sum, over all of them at one moment, of the proportional set size: a page that several share
    is counted once. What comes and goes between two looks is missed, so the kernel's own high-water mark of each
    process counts too, where it is greater. (`ru_maxrss` would not do: it begins with the size of the process that
    started this one, ours.)
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
