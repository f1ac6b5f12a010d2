"""Writes CPU, memory, threads and other resources of processes, with their descendants, once a second during a run."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from harness.run.telemetry.counters import MachineCounters, QuotaCounters, ResourceCounters
from harness.run.telemetry.processes import HARNESS, HOST, STOLEN
from harness.run.telemetry.resources import RESOURCE_COLUMNS
from harness.run.telemetry.table import COLUMNS, FILE_NAME, MACHINE_COLUMNS, read_telemetry
from harness.system.jcmd import Problems
from harness.system.recorder import Reading, Recorder, Recording, Started

_PERIOD_S = 1.0
# The search for descendants reads every process of the machine, and descriptors are counted one by one: both happen
# only every few seconds.
_FAMILY_PERIOD = 10
_STOPPED = (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP)
_NO_MACHINE = ("",) * len(MACHINE_COLUMNS)
_NO_RESOURCES = ("",) * len(RESOURCE_COLUMNS)


class _Use(NamedTuple):
    """What a process used: CPU time since the last call, resident memory, threads; and whether it is stopped."""

    cpu_s: float
    rss_bytes: int
    thread_count: int
    is_stopped: bool

    def plus(self, other: _Use) -> _Use:
        """Return the use of both; only the first decides whether it is stopped."""
        threads = self.thread_count + other.thread_count
        return _Use(self.cpu_s + other.cpu_s, self.rss_bytes + other.rss_bytes, threads, self.is_stopped)


class TelemetryWriter:
    """A thread that appends one row per process and second to telemetry.csv until it is stopped.

    `root` is the folder of proc/ and sys/ with the counters of the machine and of CPU quotas.
    """

    def __init__(self, path: Path, pids: Mapping[str, int], root: Path = Path("/")) -> None:
        self._path = path
        self._processes: dict[str, psutil.Process] = {}
        self._families: dict[str, list[psutil.Process]] = {}
        self._family_age = 0
        self._cpu_s: dict[str | int, float] = {}
        self._machine, self._quotas = MachineCounters(root), QuotaCounters(root)
        self._resources = ResourceCounters(root)
        self._stop = threading.Event()
        self.problem = ""  # why rows could not be written
        self._thread = threading.Thread(target=self._run, name="telemetry", daemon=True)
        for name, pid in {HARNESS: os.getpid(), **pids}.items():
            try:
                self._processes[name] = psutil.Process(pid)
            except psutil.NoSuchProcess:
                continue  # it has died already, which other checks of the run report

    def __enter__(self) -> TelemetryWriter:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            with self._path.open("wb", buffering=0) as out:
                self._write(out, [COLUMNS])
                last_s = time.monotonic()
                self.rows(_PERIOD_S)  # not written: the initial CPU times
                while not self._stop.wait(_PERIOD_S - (time.monotonic() - last_s)):
                    now_s = time.monotonic()
                    self._write(out, self.rows(now_s - last_s))
                    last_s = now_s
        except OSError as error:
            self.problem = error.strerror or str(error)

    def _write(self, out: io.FileIO, rows: Sequence[Sequence[object]]) -> None:
        """Append all rows of a second, or none of them when the disk is full."""
        data = "".join(",".join(map(str, row)) + "\n" for row in rows).encode()
        end = out.tell()
        try:
            if out.write(data) == len(data):
                return
            out.truncate(end)
            out.seek(end)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
        self.problem = os.strerror(errno.ENOSPC)

    def rows(self, passed_s: float) -> list[tuple[object, ...]]:
        """Return a row for each process: its use since the last call, `passed_s` ago."""
        now_ms = time.time_ns() // 1_000_000
        times = psutil.cpu_times()
        # Linux counts a guest's time twice, and stolen time is used by no process of this machine.
        not_busy_s = sum(getattr(times, name, 0.0) for name in ("iowait", "guest", "guest_nice", "steal"))
        busy_s = sum(times) - times.idle - not_busy_s
        memory = psutil.virtual_memory()
        is_full = self._family_age % _FAMILY_PERIOD == 0
        used_s = self._used_s(HOST, busy_s)
        rows: list[tuple[object, ...]] = [
            (
                *(now_ms, HOST, _cores_text(used_s, passed_s), memory.total - memory.available, ""),
                *(*self._machine.cells(passed_s), "", ""),
                *(self._resources.of_host(memory.total, self._path.parent) if is_full else _NO_RESOURCES),
            )
        ]
        if hasattr(times, "steal"):
            stolen_s = self._used_s(STOLEN, times.steal)
            rows.append((now_ms, STOLEN, _cores_text(stolen_s, passed_s), 0, "", *_NO_MACHINE, "", "", *_NO_RESOURCES))
        self._find_families()
        for name, process in self._processes.items():
            try:
                use = self._use(process)
            except psutil.Error:
                continue  # it has ended and gets no row
            for member in self._families[name]:
                with contextlib.suppress(psutil.Error):  # a worker that has ended
                    use = use.plus(self._use(member))
            cells = (now_ms, name, _cores_text(use.cpu_s, passed_s), use.rss_bytes, str(use.thread_count))
            members = [process.pid, *(member.pid for member in self._families[name])]
            resources = self._resources.cells(members) if is_full else _NO_RESOURCES
            stopped = "1" if use.is_stopped else ""
            rows.append((*cells, *_NO_MACHINE, *self._quotas.cells(process.pid), *resources, stopped))
        return rows

    def _find_families(self) -> None:
        """Find the descendants of each process, such as nginx's workers; all are descendants of the harness itself."""
        if self._family_age % _FAMILY_PERIOD == 0:
            for name, process in self._processes.items():
                self._families[name] = []
                if name != HARNESS:
                    with contextlib.suppress(psutil.Error):
                        self._families[name] = process.children(recursive=True)
        self._family_age += 1

    def _use(self, process: psutil.Process) -> _Use:
        """Return what a process used; psutil.Error when it has ended, which it has without memory, even if unreaped."""
        with process.oneshot():
            cpu = process.cpu_times()
            used_s = self._used_s(process.pid, cpu.user + cpu.system)
            if not (rss_bytes := process.memory_info().rss):
                raise psutil.NoSuchProcess(process.pid)
            return _Use(used_s, rss_bytes, process.num_threads(), process.status() in _STOPPED)

    def _used_s(self, whose: str | int, cpu_s: float) -> float:
        used_s = cpu_s - self._cpu_s.get(whose, cpu_s)
        self._cpu_s[whose] = cpu_s
        return used_s


def _cores_text(used_s: float, passed_s: float) -> str:
    return f"{max(0.0, used_s / passed_s):.3f}"


def _start(of: Recording) -> Started:
    writer = TelemetryWriter(of.folder / FILE_NAME, {**of.pids, **(of.system.processes if of.system else {})})

    def stored() -> Problems:
        if writer.problem:
            of.log(f"{FILE_NAME} is incomplete ({writer.problem}); CPU and memory values are missing")
        return (("all processes", f"{FILE_NAME} is incomplete: {writer.problem}"),) if writer.problem else ()

    return Started(writer, stored, lambda: writer.problem)


def _read(of: Reading) -> dict[str, Any]:
    read = read_telemetry(of.lines(FILE_NAME), of.run_ms, of.window_ms)
    of.resources.extend(read.resources)
    return {"usages": read.usages, "usage_series": read.series, "machine_figures": read.machines, "stops": read.stops}


RECORDER = Recorder("telemetry", FILE_NAME, _start, read=_read, with_jmeter=True)
