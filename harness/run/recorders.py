"""What is recorded beside the samples while a load lasts: a table of recorders, one entry each.

Telemetry is not among them: it follows processes that start later, and its problems can end the load.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from harness.base.errors import HarnessError
from harness.base.log import Log
from harness.base.units import BYTES_PER_MB
from harness.plan.load import OpenLoad
from harness.run.context import RunContext
from harness.run.packing import SamplesPacker, why_not
from harness.run.prepare import PreparedRun
from harness.system import statements
from harness.system.agent import agent_library
from harness.system.database_files import DatabaseReader
from harness.system.histogram_files import HistogramTaker
from harness.system.own_metrics_files import OwnMetricsWriter
from harness.system.profile_files import Profiler


@dataclass(frozen=True)
class Recording:
    """A run that is recorded; `offset` returns how many bytes of its samples were read."""

    run: PreparedRun
    context: RunContext
    offset: Callable[[], int]


class Recorder(NamedTuple):
    """Records something while `during` is open, from before the load's start to after its end.

    `stored` then stores it in the run's directory, and returns the fields of the run's record about it.
    """

    during: AbstractContextManager[object]
    stored: Callable[[], Mapping[str, Any]]


def stored(recorders: Sequence[Recorder], log: Log) -> dict[str, Any]:
    """Store what was recorded, and return the fields of the run's record; what cannot be stored costs no run."""
    found: dict[str, Any] = {}
    for recorder in recorders:
        try:
            found.update(recorder.stored())
        except (HarnessError, OSError) as error:
            log(f"warning: something that was recorded could not be stored ({error})")
    return found


@contextmanager
def recording(of: Recording) -> Iterator[Sequence[Recorder]]:
    """Record a run with all recorders that it needs while the context is open."""
    with ExitStack() as stack:
        recorders = [recorder for start in RECORDERS if (recorder := start(of))]
        for recorder in recorders:
            stack.enter_context(recorder.during)
        yield recorders


def _histograms(of: Recording) -> Recorder | None:
    """Return what takes the heap histograms of a soak of a system that is started here; None for other runs."""
    run, load = of.run, of.run.spec.load
    if run.system is None or not run.spec.is_soak:
        return None
    is_auto = not isinstance(load, OpenLoad) and load.is_auto
    middle_s = load.duration_s / 2 if load.duration_s and not is_auto else None
    folder, environment = run.directory.system_logs, of.context.guardian.environment
    taker = HistogramTaker(run.system.processes, folder, environment, middle_s)

    def stored() -> Mapping[str, Any]:
        taker.write(run.directory.histograms)
        return {"histogram_unknown": tuple(taker.unknown.items())}

    return Recorder(taker, stored)


def _profile(of: Recording) -> Recorder | None:
    """Return what profiles the system during the load and sums up statements; None unless the run is profiled."""
    run = of.run
    system = run.system if run.spec.is_profiled else None
    named = run.spec.profile.database
    databases = {statements.POSTGRESQL: statements.statement_commands(named.url, named.password)} if named else {}
    if system is None and not databases:
        return None
    if system:
        databases.update(system.statement_commands)
    folder, environment = run.directory.system_logs, of.context.guardian.environment
    agent = agent_library() if system else None
    reader = DatabaseReader(databases, folder, environment) if databases else None
    profiler = Profiler(system.processes if system else {}, folder, environment, reader, agent)

    def stored() -> Mapping[str, Any]:
        profiler.write(run.directory.profile)
        return {"profile_unknown": tuple(profiler.unknown)}

    return Recorder(profiler, stored)


def _packed_samples(of: Recording) -> Recorder | None:
    """Return what packs the rows of a long run while it lasts; None for other runs."""
    spec, directory, log = of.run.spec, of.run.directory, of.context.log
    if not spec.is_long or not spec.profile.pack_mb:
        return None
    problem = why_not(directory.path)
    if problem:
        log(f"the samples are not packed while the run lasts: {problem}")
        return None
    packer = SamplesPacker(directory.samples, spec.hidden, spec.profile.pack_mb * BYTES_PER_MB, of.offset)

    def stored() -> Mapping[str, Any]:
        if packer.problem:
            log(f"the samples are not packed any more ({packer.problem}); none is lost")
        return {"packed_samples": packer.packed}

    return Recorder(packer, stored)


def _own_metrics(of: Recording) -> Recorder | None:
    """Return what fetches the metrics that the processes of the system export; None without any."""
    system = of.run.system
    sources = system.metrics_sources if system else of.run.metrics_elsewhere
    if not sources:
        return None
    writer = OwnMetricsWriter(of.run.directory.system_logs, sources)

    def stored() -> Mapping[str, Any]:
        for process, why in writer.problems:
            of.context.log(f"{process}: its own metrics are not known ({why})")
        return {}

    return Recorder(writer, stored)


# In the order of their starts. harness/report/observations.py reads what they stored.
RECORDERS: tuple[Callable[[Recording], Recorder | None], ...] = (
    _histograms, _profile, _packed_samples, _own_metrics,
)  # fmt: skip
