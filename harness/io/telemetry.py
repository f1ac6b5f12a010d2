"""Writes CPU, memory and threads of processes once a second while a run goes on."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

import psutil

from harness.telemetry import COLUMNS, HARNESS, HOST

_PERIOD_S = 1.0


class TelemetryWriter:
    """A thread that appends one row per process and second to telemetry.csv until it is stopped."""

    def __init__(self, path: Path, pids: Mapping[str, int]) -> None:
        self._path = path
        self._processes: dict[str, psutil.Process] = {}
        self._cpu_s: dict[str, float] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="telemetry", daemon=True)
        for name, pid in {HARNESS: os.getpid(), **pids}.items():
            try:
                self._processes[name] = psutil.Process(pid)
            except psutil.NoSuchProcess:
                continue  # it has died already; the run's own checks say so

    def __enter__(self) -> TelemetryWriter:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        with self._path.open("w", encoding="utf-8", newline="\n") as out:
            out.write(",".join(COLUMNS) + "\n")
            last_s = time.monotonic()
            self._rows(_PERIOD_S)  # not written: the CPU times to count from
            while not self._stop.wait(_PERIOD_S - (time.monotonic() - last_s)):
                now_s = time.monotonic()
                for row in self._rows(now_s - last_s):
                    out.write(",".join(str(value) for value in row) + "\n")
                out.flush()
                last_s = now_s

    def _rows(self, passed_s: float) -> list[tuple[object, ...]]:
        now_ms = time.time_ns() // 1_000_000
        times = psutil.cpu_times()
        busy_s = sum(times) - times.idle - getattr(times, "iowait", 0.0) - getattr(times, "guest", 0.0)
        memory = psutil.virtual_memory()
        rows: list[tuple[object, ...]] = [
            (now_ms, HOST, self._cores(HOST, busy_s, passed_s), memory.total - memory.available, "")
        ]
        for name, process in self._processes.items():
            try:
                with process.oneshot():
                    cpu = process.cpu_times()
                    cores = self._cores(name, cpu.user + cpu.system, passed_s)
                    rows.append((now_ms, name, cores, process.memory_info().rss, str(process.num_threads())))
            except psutil.Error:
                continue  # it has ended: no row is the honest row
        return rows

    def _cores(self, name: str, cpu_s: float, passed_s: float) -> str:
        used_s = cpu_s - self._cpu_s.get(name, cpu_s)
        self._cpu_s[name] = cpu_s
        return f"{max(0.0, used_s / passed_s):.3f}"
