"""A run's result for comparisons, sweeps and histories, independent of its source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from statistics import fmean
from typing import TYPE_CHECKING

from harness.judge.result import Result
from harness.judge.verdict import DOUBTFUL, INVALID, VALID, Verdict
from harness.judge.warnings import RunWarning
from harness.metrics.figures import JOBS, LOAD, TOTAL, CodeCount, ErrorKind, LabelFigures
from harness.metrics.metric import AVERAGE, FIRST_BYTE, RECEIVING, WAITING, Metric
from harness.metrics.window import Window
from harness.report.key_figures import FIRST_CHART, run_result
from harness.run.record import RunRecord

if TYPE_CHECKING:  # imported late, see `LATE_TYPES`
    from harness.cloudwatch.points import CloudMetrics
    from harness.cloudwatch.services import Services
    from harness.jtl.tools.summary import SummaryRow
    from harness.judge.account import AccountLine
    from harness.judge.jobs import JobRun
    from harness.judge.summary import RunSummary
    from harness.judge.tail import TailAccount
    from harness.metrics.batches import Batches
    from harness.metrics.histogram import Histogram
    from harness.metrics.resource_growth import Growth
    from harness.run.telemetry.table import Usage
    from harness.system.flight_recording import RecordedUse
    from harness.system.heap import HeapUse
    from harness.system.profile import ProcessProfile
    from harness.system.statements import DatabaseUse

RUN, JTL, MARKDOWN, SUMMARY = "run", "JTL", "Markdown", "summary"
# The types of fields that a list of runs does not need.
LATE_TYPES = {
    "CloudMetrics": "harness.cloudwatch.points",
    "Services": "harness.cloudwatch.services",
    "AccountLine": "harness.judge.account",
    "JobRun": "harness.judge.jobs",
    "TailAccount": "harness.judge.tail",
    "Batches": "harness.metrics.batches",
    "Histogram": "harness.metrics.histogram",
    "Growth": "harness.metrics.resource_growth",
    "Usage": "harness.run.telemetry.table",
    "RecordedUse": "harness.system.flight_recording",
    "HeapUse": "harness.system.heap",
    "ProcessProfile": "harness.system.profile",
    "DatabaseUse": "harness.system.statements",
}


@dataclass(frozen=True)
class LabelResult:
    """The metrics of a label, or of TOTAL; values that the source lacks are None or missing percentiles.

    With `is_transaction` it is a Transaction Controller, whose requests have labels of their own. With `is_job` it is a
    job, whose times are its durations. The time to the first byte is only there where it is not the response time.
    """

    label: str
    sample_count: int | None
    error_count: int | None
    error_ratio: float | None
    average_ms: float | None
    percentiles_ms: Mapping[str, float]
    min_ms: float | None
    max_ms: float | None
    rate_per_s: float | None
    received_bytes_per_s: float | None
    batches: Batches | None = None
    histogram: Histogram | None = None
    is_transaction: bool = False
    is_job: bool = False
    first_byte_percentiles_ms: Mapping[str, float] = field(default_factory=dict)
    connect_percentiles_ms: Mapping[str, float] = field(default_factory=dict)
    first_bytes: Histogram | None = None
    beside: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of_tool(cls, row: SummaryRow) -> LabelResult:
        """Return the metrics of a label in the summary of another tool."""
        return cls(**vars(row), error_ratio=row.error_ratio)

    @classmethod
    def of(cls, figures: LabelFigures) -> LabelResult:
        """Return the metrics of a label in a summary."""
        own = ("histogram", "is_job", "first_bytes", "first_byte_percentiles_ms")
        same = {one.name: getattr(figures, one.name) for one in fields(cls) if one.name not in own}
        result = cls(**same, histogram=figures.counts.histogram)
        if not figures.is_streamed:
            return replace(result, beside=without_parts(result.beside))
        first = figures.first_byte_percentiles_ms
        return replace(result, first_byte_percentiles_ms=first, first_bytes=figures.counts.first_bytes)

    def histogram_of(self, metric: Metric) -> Histogram | None:
        """Return the samples by the time that a metric is about; None where the source does not have them."""
        return self.first_bytes if metric in FIRST_BYTE else self.histogram


def without_parts(beside: Mapping[str, float]) -> dict[str, float]:
    """Return what is known beside response times without their parts, which say no more where first bytes are last."""
    return {key: value for key, value in beside.items() if key not in (WAITING.key, RECEIVING.key)}


def samples_least(metric: Metric, figures: Iterable[LabelResult]) -> int:
    """Return how many samples of a label a metric needs: one for the duration of a job, which is its average."""
    return 1 if metric == AVERAGE and any(one.is_job for one in figures) else metric.samples_least


def with_transactions(requests: Iterable[LabelResult], transactions: Iterable[LabelResult]) -> tuple[LabelResult, ...]:
    """Return all labels of a run; a transaction with the name of a request is called "<name> (transaction)"."""
    labels = tuple(requests)
    names = {label.label for label in labels}
    named = (
        replace(label, label=f"{label.label} (transaction)" if label.label in names else label.label)
        for label in transactions
    )
    return (*labels, *(replace(label, is_transaction=True) for label in named))


@dataclass(frozen=True)
class RunResult:
    """The result of one run: the main load in its window.

    `kind` is the kind of source. JTL files, Markdown reports and summaries of other tools have no record; of the latter
    two only Markdown reports of this harness have a verdict. `remarks` list what was corrected or left blank on
    reading. `origin_s` is the start of the load (seconds since 1970). `whole` is the TOTAL of the whole run when the
    window excludes a part: error goals use it. `errors` are the failures of the whole run by label and cause, `codes`
    its samples by label and code. `result` is None in the JSON of earlier versions. `jmx` is the path of the plan that
    JMeter ran, empty if not stored. `users` are the mean of the active ones, None if unknown, `peak_users` their most.
    `dropped_ratio` is the share (0-1) of the rows that could not be read.
    """

    name: str
    kind: str
    run: RunRecord | None = None
    verdict: Verdict | None = None
    window: Window | None = None
    origin_s: int | None = None
    total: LabelResult | None = None
    labels: tuple[LabelResult, ...] = ()
    usages: tuple[Usage, ...] = ()
    warnings: tuple[RunWarning, ...] = ()
    remarks: tuple[str, ...] = ()
    whole: LabelResult | None = None
    cloudwatch: CloudMetrics | None = None
    profiles: tuple[ProcessProfile, ...] = ()
    databases: tuple[DatabaseUse, ...] = ()
    heap_uses: tuple[HeapUse, ...] = ()
    recorded: tuple[RecordedUse, ...] = ()
    errors: tuple[ErrorKind, ...] = ()
    codes: tuple[CodeCount, ...] = ()
    result: Result | None = None
    jmx: str = ""
    growths: tuple[Growth, ...] = ()
    jobs: tuple[JobRun, ...] = ()
    services: Services | None = None
    account: tuple[AccountLine, ...] = ()
    users: float | None = None
    peak_users: int | None = None
    dropped_ratio: float = 0.0
    tails: tuple[TailAccount, ...] = ()

    @property
    def stated(self) -> Result:
        """The result in its JSON; that of an earlier version has none, so it is computed."""
        first = f"{self.name.rpartition('/')[2]}/{FIRST_CHART}.svg"
        return self.result or run_result(self.name, self.run, self.verdict, self.total, self.warnings, first)

    @property
    def is_profiled(self) -> bool:
        """Whether it has a profile of a JVM, or the statements of a database."""
        return bool(self.profiles or self.databases)

    @property
    def is_valid(self) -> bool:
        """Whether its metrics may be judged; without a verdict they may not."""
        return self.verdict is not None and self.verdict.state == VALID

    @property
    def is_doubtful(self) -> bool:
        """Whether its numbers may not describe the system: they are shown but not judged."""
        return self.verdict is not None and self.verdict.state == DOUBTFUL

    @property
    def is_invalid(self) -> bool:
        """Whether its verdict is INVALID; an interrupted run is neither valid nor invalid."""
        return self.verdict is not None and self.verdict.state == INVALID

    def of_label(self, label: str) -> LabelResult | None:
        """Return the metrics of a label, or of TOTAL; None when the run has none."""
        return self.total if label == TOTAL else next((one for one in self.labels if one.label == label), None)

    @classmethod
    def of(cls, summary: RunSummary, kind: str = RUN) -> RunResult:
        """Return the result of a summary."""
        from harness.judge.jobs import durations_of

        load, observed = summary.group(LOAD), summary.observed
        figures = [LabelResult.of(label) for label in load.labels] if load else []
        figures += [
            replace(LabelResult.of(label), is_job=True) for label in durations_of(summary.group(JOBS), summary.jobs)
        ]
        transactions = [label for label in figures if label.is_transaction]
        law, users = summary.littles_law, _users_of_rows(summary)
        return cls(
            name=summary.source,
            kind=kind,
            run=summary.run,
            verdict=summary.verdict,
            window=summary.window,
            origin_s=summary.origin_s,
            total=LabelResult.of(load.total) if load else None,
            labels=with_transactions((label for label in figures if not label.is_transaction), transactions),
            usages=observed.usages,
            warnings=summary.warnings,
            whole=LabelResult.of(summary.whole.total) if summary.whole else None,
            cloudwatch=observed.cloudwatch,
            profiles=observed.profiles,
            databases=observed.databases,
            heap_uses=observed.heap_uses,
            recorded=observed.recorded,
            result=summary.result,
            errors=summary.errors,
            codes=summary.codes,
            growths=observed.growths,
            jobs=summary.jobs,
            services=observed.services,
            account=summary.account,
            users=fmean(users) if users and not law else law.active_users if law else None,
            peak_users=max(users) if users and not law else law.peak_users if law else None,
            dropped_ratio=_dropped_ratio(summary),
            tails=observed.tails,
        )


def _users_of_rows(summary: RunSummary) -> list[int]:
    """Return the active users in the parts of the window, as the rows show them; empty when they do not."""
    line, window = summary.timeline, summary.window
    if line is None or window is None or summary.origin_s is None:
        return []
    first_s = line.start_s - summary.origin_s
    middles = ((first_s + (at + 0.5) * line.bucket_s, users) for at, users in enumerate(line.active_users))
    return [users for at_s, users in middles if users is not None and window.from_s <= at_s < window.to_s]


def _dropped_ratio(summary: RunSummary) -> float:
    """Return the share (0-1) of rows that could not be read."""
    known = sum(code.sample_count for code in summary.codes)
    return summary.dropped_count / (summary.dropped_count + known) if summary.dropped_count else 0.0
