"""Measures the CPU time that the parts of a profile take of a running JVM."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable
from pathlib import Path

import psutil

from harness.system.profile_cost import LENGTH, LETTER, WHOLE

# Threads of JFR and of async-profiler, by the beginning of their names.
_RECORDERS = ("JFR ", "Async-profiler")
_NS_PER_S = 1_000_000_000


class CostMeter:
    """Measures a JVM between its beginning and `lines`."""

    def __init__(self, pid: int) -> None:
        self._pid, self._began_s = pid, time.monotonic()
        self._used_s, self._recorders_s = _used_s(pid), _recorders_s(pid)

    def lines(self, process: str, delays_s: float) -> list[str]:
        """Return the lines of profile.tsv.gz; `delays_s` is the CPU time that reading waits for a CPU took."""
        length_s = time.monotonic() - self._began_s
        used_s = max(length_s, _used_s(self._pid) - self._used_s)
        parts = {
            WHOLE: used_s,
            LENGTH: length_s,
            "threads of recorders": max(0.0, _recorders_s(self._pid) - self._recorders_s),
            "waits for a CPU": delays_s,
        }
        return [f"{LETTER}\t{process}\t{part}\t{cpu_s:.3f}\n" for part, cpu_s in parts.items()]


def _used_s(pid: int) -> float:
    with contextlib.suppress(psutil.Error):
        times = psutil.Process(pid).cpu_times()
        return float(times.user + times.system)
    return 0.0


def _recorders_s(pid: int) -> float:
    """Return the CPU time of the recorders' threads; 0 where it is not known."""
    with contextlib.suppress(OSError):
        return sum(_thread_s(Path(f"/proc/{pid}/task").iterdir()))
    return 0.0


def _thread_s(tasks: Iterable[Path]) -> Iterable[float]:
    for task in tasks:
        with contextlib.suppress(OSError, ValueError, IndexError):
            if (task / "comm").read_text().startswith(_RECORDERS):
                yield int((task / "schedstat").read_text().split()[0]) / _NS_PER_S
