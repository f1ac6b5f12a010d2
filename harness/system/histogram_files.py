"""Takes class histograms of a system's JVMs before, in the middle of and after a load, and writes histograms.tsv.gz."""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from harness.base.units import MS_PER_S
from harness.plan.load.model import OpenLoad
from harness.system import histograms
from harness.system.histograms import END, MIDDLE, START, HeapHistogram, histogram_rows, printed_classes
from harness.system.jcmd import Problems, ask, is_jvm, jcmd_path
from harness.system.recorder import Recorder, Recording, Started

_COMMAND = ("GC.class_histogram",)


class HistogramTaker:
    """Takes histograms of the JVMs among some processes, from entering to leaving it.

    A histogram makes the JVM collect all garbage, which stops it: those at the start and the end are taken before and
    after the load. The one in the middle is taken `middle_s` seconds after entering; None for none. `unknown` says, by
    process, why a histogram is missing. Problems never end a run. `environment` is for child processes.
    """

    def __init__(
        self, pids: Mapping[str, int], folder: Path, environment: Mapping[str, str], middle_s: float | None
    ) -> None:
        self._pids = {process: pid for process, pid in pids.items() if is_jvm(pid)}
        self._folder, self._environment = folder, environment
        self._taken: list[HeapHistogram] = []
        self.unknown: dict[str, str] = {} if self._pids else {"system": "the system has no JVM here"}
        self._timer = threading.Timer(middle_s, self._take, (MIDDLE,)) if middle_s is not None else None

    def __enter__(self) -> HistogramTaker:
        self._take(START)
        if self._timer and self._pids:
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer and self._timer.ident is not None:
            self._timer.cancel()
            self._timer.join()
        self._take(END)

    def _take(self, moment: str) -> None:
        jcmd = jcmd_path()
        for process, pid in self._pids.items():
            if jcmd is None:
                self.unknown[process] = "this Java has no jcmd, which asks for a histogram"
                continue
            time_ms, started_s = time.time_ns() // 1_000_000, time.monotonic()
            answer = ask(jcmd, pid, _COMMAND, self._folder / f"histogram-{process}", self._environment)
            took_ms = round((time.monotonic() - started_s) * MS_PER_S)
            classes = printed_classes(answer.text.splitlines())
            if classes:
                self._taken.append(HeapHistogram(moment, process, time_ms, took_ms, classes))
            else:
                why = answer.why or f"jcmd ended with code {answer.code}"
                self.unknown[process] = f"at the {moment} of the load: {why}"

    def write(self, path: Path) -> Problems:
        """Write histograms.tsv.gz and return `unknown`; without a histogram there is no file."""
        if self._taken:
            with gzip.GzipFile(path, "wb", mtime=0) as packed:
                for row in histogram_rows(self._taken):
                    packed.write(("\t".join(row) + "\n").encode())
        return tuple(self.unknown.items())


def _start(of: Recording) -> Started | None:
    """Return what takes the histograms of a soak of a system that is started here; None for other runs."""
    load = of.spec.load
    if of.system is None or not of.spec.is_soak:
        return None
    is_auto = not isinstance(load, OpenLoad) and load.is_auto
    middle_s = load.duration_s / 2 if load.duration_s and not is_auto else None
    taker = HistogramTaker(of.system.processes, of.logs, of.environment, middle_s)
    return Started(taker, lambda: taker.write(of.folder / histograms.FILE_NAME))


RECORDER = Recorder(
    "histograms",
    histograms.FILE_NAME,
    _start,
    read=lambda of: {"live_heaps": histograms.live_heaps(of.histograms, of.origin_s)},
)
