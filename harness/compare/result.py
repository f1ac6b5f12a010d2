"""A run's result as comparisons, sweeps and histories see it, whatever it was read from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.cloudwatch.points import CloudMetrics
from harness.metrics.batches import Batches
from harness.metrics.figures import LOAD, LabelFigures
from harness.metrics.histogram import Histogram
from harness.metrics.window import Window
from harness.report.summary import RunSummary
from harness.report.verdict import DOUBTFUL, INVALID, VALID, Verdict
from harness.report.warnings import RunWarning
from harness.run.record import RunRecord
from harness.run.telemetry import Usage

RUN, JTL, MARKDOWN = "run", "JTL", "Markdown"


@dataclass(frozen=True)
class LabelResult:
    """The figures of a label, or of TOTAL; None, and no percentile, where the source does not say."""

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

    @classmethod
    def of(cls, figures: LabelFigures) -> LabelResult:
        """Return what a summary knows of a label."""
        return cls(
            label=figures.label,
            sample_count=figures.sample_count,
            error_count=figures.error_count,
            error_ratio=figures.error_ratio,
            average_ms=figures.average_ms,
            percentiles_ms=figures.percentiles_ms,
            min_ms=figures.min_ms,
            max_ms=figures.max_ms,
            rate_per_s=figures.rate_per_s,
            received_bytes_per_s=figures.received_bytes_per_s,
            batches=figures.batches,
            histogram=figures.counts.histogram,
        )


@dataclass(frozen=True)
class RunResult:
    """What is known of one run: the load in its window.

    `kind` says what it was read from; a bare JTL has no record, nor has a Markdown report, which has a verdict if
    it is ours. `remarks` say what was corrected or left blank in reading it. `origin_s` is when the load began (s since
    1970). `whole` is the TOTAL over all of the run where the window left something out: goals for errors are held
    against that.
    """

    name: str
    kind: str
    run: RunRecord | None
    verdict: Verdict | None
    window: Window | None
    origin_s: int | None
    total: LabelResult | None
    labels: tuple[LabelResult, ...]
    usages: tuple[Usage, ...] = ()
    warnings: tuple[RunWarning, ...] = ()
    remarks: tuple[str, ...] = ()
    whole: LabelResult | None = None
    cloudwatch: CloudMetrics | None = None

    @property
    def is_valid(self) -> bool:
        """Whether its figures may be judged: what has no verdict may not."""
        return self.verdict is not None and self.verdict.state == VALID

    @property
    def is_doubtful(self) -> bool:
        """Whether its numbers may not be the system's: they are shown, and nothing is claimed from them."""
        return self.verdict is not None and self.verdict.state == DOUBTFUL

    @property
    def is_invalid(self) -> bool:
        """Whether it says nothing; one that was interrupted is neither valid nor this."""
        return self.verdict is not None and self.verdict.state == INVALID

    @classmethod
    def of(cls, summary: RunSummary, kind: str = RUN) -> RunResult:
        """Return the result of a summary."""
        load = summary.group(LOAD)
        return cls(
            name=summary.source,
            kind=kind,
            run=summary.run,
            verdict=summary.verdict,
            window=summary.window,
            origin_s=summary.origin_s,
            total=LabelResult.of(load.total) if load else None,
            labels=tuple(LabelResult.of(label) for label in load.labels) if load else (),
            usages=summary.observed.usages,
            warnings=summary.caveats,
            whole=LabelResult.of(summary.whole.total) if summary.whole else None,
            cloudwatch=summary.observed.cloudwatch,
        )
