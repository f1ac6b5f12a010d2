"""Samples how long the threads of running JVMs wait for a CPU: the run-queue delay in /proc/PID/task/*/schedstat."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from harness.base.background_threads import BackgroundThreads, Wait
from harness.system.jcmd import Paths, Pids

# Reading all threads takes at most this share of one core.
_PERIOD_S, _SHARE_MOST = 0.1, 0.01
# New threads are looked for so often; more threads are not read.
_LOOK_S, _THREADS_MOST = 1.0, 1_000
_DELAY_LEAST_US = 1_000
_NS_PER_US = 1_000
_LINE_BYTES = 128


def run_queue_sampler(pids: Pids, paths: Paths, cpu_s: dict[str, float]) -> BackgroundThreads:
    """Return what writes the delays of the threads of processes to a file each: of Linux only.

    A line is the thread of the operating system, two instants (µs since 1970), and its delay between them, µs. In the
    end `cpu_s` has the CPU time that reading took, s, by process.
    """
    return BackgroundThreads(
        {
            f"delays of {process}": partial(_watch, process, pid, paths[process], cpu_s)
            for process, pid in pids.items()
            if Path(f"/proc/{pid}/schedstat").is_file()
        }
    )


def _watch(process: str, pid: int, path: Path, cpu_s: dict[str, float], wait: Wait) -> None:
    wait_s = 0.0
    with contextlib.suppress(OSError), path.open("w", encoding="utf-8") as out, _Tasks(pid) as tasks:
        while not wait(wait_s):
            began_s = time.thread_time()
            out.writelines(tasks.read())
            wait_s = max(_PERIOD_S, (time.thread_time() - began_s) / _SHARE_MOST)
        out.writelines(tasks.read())
    cpu_s[process] = time.thread_time()


@dataclass
class _Tasks:
    """The threads of a process: their open files, and what was last read of each."""

    pid: int
    files: dict[int, int] = field(default_factory=dict)
    last: dict[int, tuple[int, int]] = field(default_factory=dict)
    looked_s: float = 0.0

    def __enter__(self) -> _Tasks:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self.files.values():
            os.close(file)

    def read(self) -> list[str]:
        """Return a line for each thread that waited for a CPU since it was last read."""
        if time.monotonic() - self.looked_s >= _LOOK_S:
            self._look()
        lines, ended = [], []
        for thread, file in self.files.items():
            try:
                delay_ns = int(os.pread(file, _LINE_BYTES, 0).split()[1])
            except (OSError, IndexError, ValueError):
                ended.append(thread)
                continue
            now_us = time.time_ns() // _NS_PER_US
            before = self.last.get(thread)
            self.last[thread] = (now_us, delay_ns)
            if before and (delay_us := (delay_ns - before[1]) // _NS_PER_US) >= _DELAY_LEAST_US:
                lines.append(f"{thread}\t{before[0]}\t{now_us}\t{delay_us}\n")
        for thread in ended:
            os.close(self.files.pop(thread))
            self.last.pop(thread, None)
        return lines

    def _look(self) -> None:
        self.looked_s = time.monotonic()
        for task in Path(f"/proc/{self.pid}/task").iterdir():
            if int(task.name) not in self.files and len(self.files) < _THREADS_MOST:
                with contextlib.suppress(OSError):
                    self.files[int(task.name)] = os.open(task / "schedstat", os.O_RDONLY | os.O_CLOEXEC)
