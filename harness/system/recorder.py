"""What a recorder is: an entry of RECORDERS in harness/run/recorders.py, for what a run records beside its samples."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from harness.metrics.interval import IntervalMs
from harness.system import histograms, profile_events

if TYPE_CHECKING:  # not needed by what only reads stored results
    from harness.base.log import Log
    from harness.metrics.resource_growth import ResourceSeries
    from harness.metrics.tally import SampleTally
    from harness.metrics.window import Window
    from harness.plan.spec import RunSpec
    from harness.system.jcmd import Environment, Paths, Pids, Problems
    from harness.system.supervisor import Supervisor
    from harness.system.system import Manifest

_UNKNOWN_MS = IntervalMs(0, 0)


@dataclass(frozen=True)
class Recording:
    """A run that is recorded in its `folder`; `logs` is that of the system, which is None when it runs elsewhere.

    `manifest` describes it also then, if known. `pids` are the processes that make the load, once they run.
    `environment` is for child processes.
    """

    spec: RunSpec
    folder: Path
    logs: Path
    system: Supervisor | None
    manifest: Manifest | None
    environment: Environment
    log: Log
    pids: Pids = field(default_factory=dict)


class Started(NamedTuple):
    """A recorder of a run, which records while `during` is open.

    `stored` then stores it in the run's folder and returns what is not known, and why, by process. `problem` returns
    why rows cannot be written at the moment, "" for nothing. Problems never end a run.
    """

    during: AbstractContextManager[object]
    stored: Callable[[], Problems]
    problem: Callable[[], str] = str


@dataclass(frozen=True)
class Reading:
    """A run whose recordings are read.

    `exception_logs` are files of `logs`. The load began in the second `origin_s` (since 1970); it and both intervals
    are unknown without a load. `resources` are the series of memory and the like that were found so far.
    """

    folder: Path
    logs: Path
    exception_logs: Sequence[str]
    tally: SampleTally
    window: Window
    may_write: bool = False
    has_load: bool = False
    origin_s: int = 0
    run_ms: IntervalMs = _UNKNOWN_MS
    window_ms: IntervalMs = _UNKNOWN_MS
    resources: list[ResourceSeries] = field(default_factory=list)

    def lines(self, name: str) -> Iterator[str]:
        """Yield the lines of a recorded file, which may be packed; none without the file."""
        path = self.folder / name
        if path.is_file():
            with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
                yield from TextIOWrapper(file, encoding="utf-8", errors="replace")

    @cached_property
    def histograms(self) -> tuple[histograms.HeapHistogram, ...]:
        """The heap histograms of a soak; empty for any other run."""
        return histograms.read_histograms(self.lines(histograms.FILE_NAME))

    @cached_property
    def events(self) -> Mapping[str, profile_events.Events] | None:
        """The events of the profiled processes; None when the run was not profiled."""
        is_profiled = (self.folder / profile_events.FILE_NAME).is_file()
        return profile_events.read_events(self.lines(profile_events.FILE_NAME)) if is_profiled else None


class Recorder(NamedTuple):
    """What is recorded under a `name`: all functions of a recorder, which has only those that it needs.

    `start` starts it before the load, or `with_jmeter` as soon as JMeter runs; it returns None for a run that does not
    need it. `finish` gets the flight recordings that the system wrote at its end, or after a level of a sweep, by
    process; like `Started.stored` it returns what is not known. `read` returns what the report has of it: fields of
    `Observed` in harness/judge/summary.py, whose values are joined when several recorders have them. Without a load
    only those are read that read `without_load`. `file` is the name of its file in the run's folder.
    """

    name: str
    file: str = ""
    start: Callable[[Recording], Started | None] | None = None
    finish: Callable[[Path, Paths, Environment], Problems] | None = None
    read: Callable[[Reading], Mapping[str, Any]] | None = None
    with_jmeter: bool = False
    without_load: bool = False
