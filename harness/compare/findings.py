"""Compute the change of each metric between two sides, before anything is judged."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median

from harness.compare import planning
from harness.compare.comparison import BATCHES, NOTHING, RUNS
from harness.compare.preconditions import is_mixed
from harness.compare.run_scatter import RunScatter
from harness.metrics import batch_means, ranks
from harness.metrics.batch_means import Between
from harness.metrics.figures import TOTAL
from harness.metrics.metric import AVERAGE, CLOCK_STEP_MS, ERRORS, THROUGHPUT, Beside, Metric, compared_metrics
from harness.metrics.shift import CONFIDENCE, Shift
from harness.report.run_result import LabelResult, RunResult, samples_least

# A label with fewer samples a side can be REGRESSED, but does not make the overall verdict CANNOT TELL.
LABEL_LEAST_SAMPLES = 1_000
# What was counted, such as messages, and is not there any more in any run.
_ENDED = Shift(-1.0, -1.0, -1.0, 0.0, None)
# These metrics of TOTAL always decide, however few samples there are.
ALWAYS_DECIDE = (AVERAGE, THROUGHPUT, ERRORS)


@dataclass(frozen=True)
class ComparisonFinding:
    """One metric of one label on both sides: `baseline` and `contender` as in MetricComparison, None when unknown.

    `shift` is a ratio, for errors a difference; None when it cannot be computed. A finding with a `reason` is not
    judged. `deviation` is the standard deviation between runs: of logarithms, for errors of the ratios; None when
    unknown. `needs_runs` is True when one run is not enough, but several are.
    """

    metric: Metric
    baseline: float | None
    contender: float | None
    decides: bool
    unit: str = NOTHING
    baseline_n: int = 0
    contender_n: int = 0
    shift: Shift | None = None
    deviation: float | None = None
    reason: str = ""
    needs_runs: bool = False


def label_names(side: Iterable[RunResult]) -> list[str]:
    """Return the labels of all runs of a side, in order of first appearance."""
    return list(dict.fromkeys(label.label for result in side for label in result.labels))


def figures_of(side: Iterable[RunResult], label: str) -> list[LabelResult]:
    """Return the metrics of a label, or of TOTAL, from the runs that have it."""
    return [figures for result in side if (figures := result.of_label(label))]


def sample_count(figures: Iterable[LabelResult]) -> int | None:
    """Return the number of samples in all runs; None when no run has a count."""
    counts = [one.sample_count for one in figures if one.sample_count is not None]
    return sum(counts) if counts else None


def find(
    baseline: Sequence[RunResult], contender: Sequence[RunResult], label: str, scatter: RunScatter | None
) -> list[ComparisonFinding]:
    """Return a finding for each metric of a label, in the order of `compared_metrics`.

    `scatter` is that of single runs, of which there is one a side; None where only the noise within them counts.
    """
    sides, mixed = (figures_of(baseline, label), figures_of(contender, label)), is_mixed((*baseline, *contender))
    is_single = len(baseline) == len(contender) == 1
    each = ((metric, scatter.of(label, metric) if scatter else None) for metric in compared_metrics())
    return [_finding(label, sides, metric, between, is_single=is_single, mixed=mixed) for metric, between in each]


def _finding(
    label: str,
    sides: tuple[Sequence[LabelResult], Sequence[LabelResult]],
    metric: Metric,
    between: Between | None,
    *,
    is_single: bool,
    mixed: bool,
) -> ComparisonFinding:
    baseline, contender = sides
    baseline_values, contender_values = _values(baseline, metric), _values(contender, metric)
    counts = [_counted(side, metric) for side in sides]
    least_count = min(counts)
    needed, is_job = samples_least(metric, (*baseline, *contender)), any(one.is_job for one in (*baseline, *contender))
    is_known, is_enough = bool(baseline_values and contender_values), least_count >= needed
    finding = ComparisonFinding(
        metric=metric,
        baseline=median(baseline_values) if baseline_values else None,
        contender=median(contender_values) if contender_values else None,
        baseline_n=len(baseline_values),
        contender_n=len(contender_values),
        decides=(label == TOTAL and metric in ALWAYS_DECIDE)
        or (is_known and is_enough and (label == TOTAL or is_job or least_count >= LABEL_LEAST_SAMPLES)),
    )
    if not is_known:
        return replace(finding, reason="unknown on at least one side")
    if mixed:
        return replace(finding, reason="one side is a Markdown report, the other samples")
    if metric.beside is Beside.RATE and counts[0] >= needed and not any(contender_values):
        return replace(finding, unit=RUNS, shift=_ENDED)
    if not metric.is_share and min(*baseline_values, *contender_values) <= 0:
        # A percentile below the clock resolution cannot be compared, however many runs there are.
        reason = "a value is 0, so its relative change is undefined"
        return replace(
            finding, reason=reason, decides=finding.decides and metric.is_of_all and not metric.is_percentile
        )
    finding = (
        _of_batches(finding, (baseline[0], contender[0]), between)
        if is_single
        else _of_runs(finding, baseline_values, contender_values)
    )
    if finding.shift and finding.baseline and metric.is_percentile:
        finding = replace(finding, shift=_allow_for_clock(finding.shift, finding.baseline))
    if not is_enough:
        return replace(finding, reason=f"fewer than {needed:,} samples a side")
    return finding


def _counted(side: Iterable[LabelResult], metric: Metric) -> int:
    """Return how many samples a side has, or how many messages, rows or others of a metric that counts these."""
    counts = [one.batches.beside.get(metric.key) for one in side if one.batches] if metric.beside else []
    known = [sum(one.counts) for one in counts if one is not None]
    return sum(known) if known else sample_count(side) or 0


def _values(side: Iterable[LabelResult], metric: Metric) -> list[float]:
    return [value for figures in side if (value := metric.of(figures)) is not None]


def _of_batches(
    finding: ComparisonFinding, sides: tuple[LabelResult, LabelResult], between: Between | None
) -> ComparisonFinding:
    baseline, contender = (
        batch_means.estimate(side.batches, side.histogram_of(finding.metric), finding.metric) for side in sides
    )
    for name, side in (("baseline", baseline), ("contender", contender)):
        if isinstance(side, str):
            decides = finding.decides and finding.metric.beside is None
            return replace(finding, reason=f"{name}: {side}", needs_runs=True, decides=decides)
    assert not isinstance(baseline, str)
    assert not isinstance(contender, str)
    if finding.metric.is_share:
        shift = _within_all(batch_means.change(baseline, contender))
    else:
        shift = batch_means.log_change(baseline, contender, between).as_ratio()
    return replace(
        finding, unit=BATCHES, baseline_n=baseline.batch_count, contender_n=contender.batch_count, shift=shift
    )


def _of_runs(finding: ComparisonFinding, baseline: Sequence[float], contender: Sequence[float]) -> ComparisonFinding:
    is_ratio = not finding.metric.is_share
    if is_ratio:
        baseline, contender = [math.log(value) for value in baseline], [math.log(value) for value in contender]
    interval = ranks.shift_interval(baseline, contender, CONFIDENCE)
    deviation = planning.deviation(baseline, contender)
    shift = Shift(
        estimate=ranks.shift(baseline, contender),
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        p_value=ranks.p_value(baseline, contender),
        least=planning.least_change(deviation, len(baseline), len(contender))
        if deviation is not None and interval
        else None,
    )
    return replace(finding, unit=RUNS, shift=shift.as_ratio() if is_ratio else shift, deviation=deviation)


def _within_all(shift: Shift) -> Shift:
    """Limit the interval of a share's shift to -1..1, because shares differ by at most 1."""
    assert shift.low is not None and shift.high is not None and shift.least is not None
    least = shift.least if shift.least <= 1 else None
    return replace(shift, low=max(shift.low, -1.0), high=min(shift.high, 1.0), least=least)


def _allow_for_clock(shift: Shift, baseline_ms: float) -> Shift:
    """Widen the interval by the clock resolution, because percentiles are whole milliseconds."""
    if shift.low is None or shift.high is None:
        return shift
    step_ratio = CLOCK_STEP_MS / baseline_ms
    return replace(shift, low=max(shift.low - step_ratio, -1.0), high=shift.high + step_ratio)
