"""RunSummary: every figure of a run's report, and nothing that is not in the report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from harness.base.units import average_text
from harness.judge.account.line import AccountLine
from harness.judge.loads import LoadFigures
from harness.judge.verdict import Verdict
from harness.judge.warnings import RunWarning
from harness.metrics.coordinated_omission import CorrectedTimes
from harness.metrics.figures import CodeCount, ErrorKind, Group
from harness.metrics.gaps import Gap
from harness.metrics.generators import GeneratorFigures
from harness.metrics.littles_law import LittlesLaw
from harness.metrics.throttle import Throttle
from harness.metrics.timeline import Timeline
from harness.metrics.window import Window

if TYPE_CHECKING:  # imported late, see `LATE_TYPES`
    from harness.cloudwatch.points import CloudMetrics
    from harness.cloudwatch.services import Services
    from harness.judge.jobs import JobRun
    from harness.judge.result import Result
    from harness.judge.slowest import SlowSample
    from harness.judge.stored_comparisons import ComparedRun
    from harness.judge.tail import TailAccount
    from harness.metrics.amounts import AmountUse
    from harness.metrics.event_streams import StreamUse
    from harness.metrics.resource_growth import Growth
    from harness.metrics.wake_delays import GeneratorDelay
    from harness.run.record import RunRecord
    from harness.run.telemetry.table import MachineFigure, ProcessStop, Usage, UsageSeries
    from harness.system.exceptions import ExceptionCount
    from harness.system.flight_recording import RecordedUse
    from harness.system.heap import HeapSeries, HeapUse
    from harness.system.histograms import LiveHeap
    from harness.system.own_metrics import OwnMetrics
    from harness.system.profile import ProcessProfile
    from harness.system.statements import DatabaseUse

FORMAT_VERSION = 3
# The types of fields that only reading JSON needs: to import them takes longer than a small table.
LATE_TYPES = {
    "CloudMetrics": "harness.cloudwatch.points",
    "Services": "harness.cloudwatch.services",
    "JobRun": "harness.judge.jobs",
    "Result": "harness.judge.result",
    "SlowSample": "harness.judge.slowest",
    "ComparedRun": "harness.judge.stored_comparisons",
    "TailAccount": "harness.judge.tail",
    "AmountUse": "harness.metrics.amounts",
    "StreamUse": "harness.metrics.event_streams",
    "Growth": "harness.metrics.resource_growth",
    "GeneratorDelay": "harness.metrics.wake_delays",
    "RunRecord": "harness.run.record",
    "MachineFigure": "harness.run.telemetry.table",
    "ProcessStop": "harness.run.telemetry.table",
    "Usage": "harness.run.telemetry.table",
    "UsageSeries": "harness.run.telemetry.table",
    "ExceptionCount": "harness.system.exceptions",
    "RecordedUse": "harness.system.flight_recording",
    "HeapSeries": "harness.system.heap",
    "HeapUse": "harness.system.heap",
    "LiveHeap": "harness.system.histograms",
    "OwnMetrics": "harness.system.own_metrics",
    "ProcessProfile": "harness.system.profile",
    "DatabaseUse": "harness.system.statements",
}


@dataclass(frozen=True)
class Observed:
    """Observations other than samples: use of the machine, heap of JVMs, exceptions in logs; all may be empty.

    Uses, figures of machines, profiles, growths, `own_metrics`, `streams`, `amounts` and `slowest` cover the window,
    series and databases the whole run. Exceptions cover the life of the system, or the run if the system runs across
    several runs. `missing_logs` were to be read for exceptions but do not exist. `live_heaps` are those of a soak.
    `cloudwatch` and `services` are None if nothing was fetched.
    """

    usages: tuple[Usage, ...] = ()
    usage_series: tuple[UsageSeries, ...] = ()
    machine_figures: tuple[MachineFigure, ...] = ()
    heap_uses: tuple[HeapUse, ...] = ()
    heap_series: tuple[HeapSeries, ...] = ()
    exceptions: tuple[ExceptionCount, ...] = ()
    exception_kinds_left_out: int = 0
    missing_logs: tuple[str, ...] = ()
    cloudwatch: CloudMetrics | None = None
    profiles: tuple[ProcessProfile, ...] = ()
    databases: tuple[DatabaseUse, ...] = ()
    slowest: tuple[SlowSample, ...] = ()
    growths: tuple[Growth, ...] = ()
    live_heaps: tuple[LiveHeap, ...] = ()
    own_metrics: tuple[OwnMetrics, ...] = ()
    recorded: tuple[RecordedUse, ...] = ()
    stops: tuple[ProcessStop, ...] = ()
    services: Services | None = None
    tails: tuple[TailAccount, ...] = ()
    streams: tuple[StreamUse, ...] = ()
    amounts: tuple[AmountUse, ...] = ()


@dataclass(frozen=True)
class Thirds:
    """The load in the first and the last third of the window, each `length_s` whole seconds long; None: no sample."""

    length_s: int
    first_ms: float | None
    last_ms: float | None
    first_per_s: float
    last_per_s: float

    @property
    def text(self) -> str:
        """One line for people."""
        parts = ((self.first_ms, self.first_per_s), (self.last_ms, self.last_per_s))
        first, last = (
            f"{'no sample' if average_ms is None else f'{average_text(average_ms)} ms'}, {rate_per_s:.1f} req/s"
            for average_ms, rate_per_s in parts
        )
        return f"First third of the window: {first}; last third: {last}."


@dataclass(frozen=True)
class StoredFailures:
    """How many failed requests of one cause the run directory has, with their responses.

    `trace_ids` are those of these requests; empty unless the run was traced.
    """

    label: str
    code: str
    cause: str
    count: int
    trace_ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunSummary:
    """The canonical result of one run or one JTL; written as run-<series>_<n>.json.

    `origin_s` (s since 1970) is the second in which the load began, the origin of every other time; None without a
    load. In `groups` the load covers the window; `whole` is the load of the whole run, None if the window excludes
    nothing. Codes, errors, the timeline, `gaps` and `throttle` cover the whole run, Little's law and `thirds` the
    window. `generators` is empty if one load generator made all samples. `corrected` are the response times of the
    window if the system stalled under a closed load. `generator_delay` is what the generator added to the p99 of the
    window, None where that is not known. `loads` are those of a run with several; the load in `groups` is
    all of them together. `jobs` are in the order of their starts. `compared` is what the run was compared with when it
    ended. `account` has its lines in the order of the report. `result` is set on writing.
    """

    format_version: int
    source: str
    origin_s: int | None
    run: RunRecord | None
    verdict: Verdict
    window: Window
    groups: tuple[Group, ...]
    whole: Group | None
    codes: tuple[CodeCount, ...]
    errors: tuple[ErrorKind, ...]
    error_kinds_left_out: int
    timeline: Timeline | None
    littles_law: LittlesLaw | None
    observed: Observed
    warnings: tuple[RunWarning, ...]
    dropped_count: int
    dropped_first: tuple[tuple[int, str], ...]
    generators: tuple[GeneratorFigures, ...] = ()
    gaps: tuple[Gap, ...] = ()
    throttle: Throttle | None = None
    thirds: Thirds | None = None
    corrected: CorrectedTimes | None = None
    generator_delay: GeneratorDelay | None = None
    loads: tuple[LoadFigures, ...] = ()
    jobs: tuple[JobRun, ...] = ()
    stored_failures: tuple[StoredFailures, ...] = ()
    compared: tuple[ComparedRun, ...] = ()
    account: tuple[AccountLine, ...] = ()
    result: Result | None = None
    json_keys: ClassVar = {"warnings": "caveats"}
    what: ClassVar = "a summary"
    version: ClassVar = FORMAT_VERSION

    def group(self, name: str) -> Group | None:
        """The group of that name; None when it has no samples."""
        return next((group for group in self.groups if group.name == name), None)
