"""Compute the change of each metric between two sides, before anything is judged."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median

from harness.compare import planning
from harness.compare.outcome import BATCHES, NOTHING, RUNS
from harness.compare.preconditions import is_mixed
from harness.compare.result import LabelResult, RunResult
from harness.metrics import batch_means, ranks
from harness.metrics.figures import TOTAL
from harness.metrics.metric import AVERAGE, ERRORS, THROUGHPUT, Metric, compared_metrics
from harness.metrics.shift import CONFIDENCE, Shift

# A label with fewer samples a side can be REGRESSED, but does not make the overall verdict CANNOT TELL.
LABEL_LEAST_SAMPLES = 1_000
# These metrics of TOTAL always decide, however few samples there are.
ALWAYS_DECIDE = (AVERAGE, THROUGHPUT, ERRORS)
# Times are whole milliseconds.
CLOCK_STEP_MS = 1.0


@dataclass(frozen=True)
class Finding:
    """One metric of one label on both sides: `base` and `new` as in MetricComparison, None when unknown.

    `shift` is a ratio, for errors a difference; None when it cannot be computed. A finding with a `reason` is not
    judged. `deviation` is the standard deviation between runs: of logarithms, for errors of the ratios; None when
    unknown. `needs_runs` is True when one run is not enough, but several are.
    """

    metric: Metric
    base: float | None
    new: float | None
    decides: bool
    unit: str = NOTHING
    base_n: int = 0
    new_n: int = 0
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


def find(base: Sequence[RunResult], new: Sequence[RunResult], label: str) -> list[Finding]:
    """Return a finding for each metric of a label, in the order of `compared_metrics`."""
    sides = figures_of(base, label), figures_of(new, label)
    is_single, mixed = len(base) == len(new) == 1, is_mixed((*base, *new))
    return [_finding(label, *sides, metric, is_single, mixed) for metric in compared_metrics()]


def _finding(
    label: str, base: Sequence[LabelResult], new: Sequence[LabelResult], metric: Metric, is_single: bool, mixed: bool
) -> Finding:
    before, after = _values(base, metric), _values(new, metric)
    least_count = min(sample_count(base) or 0, sample_count(new) or 0)
    is_known, is_enough = bool(before and after), least_count >= metric.samples_least
    finding = Finding(
        metric=metric,
        base=median(before) if before else None,
        new=median(after) if after else None,
        base_n=len(before),
        new_n=len(after),
        decides=(label == TOTAL and metric in ALWAYS_DECIDE)
        or (is_known and is_enough and (label == TOTAL or least_count >= LABEL_LEAST_SAMPLES)),
    )
    if not is_known:
        return replace(finding, reason="unknown on at least one side")
    if mixed:
        return replace(finding, reason="one side is a Markdown report, the other samples")
    if not metric.is_share and min(*before, *after) <= 0:
        # A percentile below the clock resolution cannot be compared, however many runs there are.
        reason = "a value is 0, so its relative change is undefined"
        return replace(finding, reason=reason, decides=finding.decides and metric.percentile is None)
    finding = _of_batches(finding, base[0], new[0]) if is_single else _of_runs(finding, before, after)
    if finding.shift and finding.base and metric.percentile is not None:
        finding = replace(finding, shift=_allow_for_clock(finding.shift, finding.base))
    if not is_enough:
        return replace(finding, reason=f"fewer than {metric.samples_least:,} samples a side")
    return finding


def _values(side: Iterable[LabelResult], metric: Metric) -> list[float]:
    return [value for figures in side if (value := metric.of(figures)) is not None]


def _of_batches(finding: Finding, base: LabelResult, new: LabelResult) -> Finding:
    before, after = (batch_means.estimate(side.batches, side.histogram, finding.metric) for side in (base, new))
    if isinstance(before, str):
        return replace(finding, reason=f"baseline: {before}", needs_runs=True)
    if isinstance(after, str):
        return replace(finding, reason=f"contender: {after}", needs_runs=True)
    if finding.metric.is_share:
        shift = _within_all(batch_means.change(before, after))
    else:
        shift = batch_means.log_change(before, after).as_ratio()
    return replace(finding, unit=BATCHES, base_n=before.batch_count, new_n=after.batch_count, shift=shift)


def _of_runs(finding: Finding, base: Sequence[float], new: Sequence[float]) -> Finding:
    is_ratio = not finding.metric.is_share
    if is_ratio:
        base, new = [math.log(value) for value in base], [math.log(value) for value in new]
    interval = ranks.shift_interval(base, new, CONFIDENCE)
    deviation = planning.deviation(base, new)
    shift = Shift(
        estimate=ranks.shift(base, new),
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        p_value=ranks.p_value(base, new),
        least=planning.least_change(deviation, len(base), len(new)) if deviation is not None and interval else None,
    )
    return replace(finding, unit=RUNS, shift=shift.as_ratio() if is_ratio else shift, deviation=deviation)


def _within_all(shift: Shift) -> Shift:
    """Limit the interval of a share's shift to -1..1, because shares differ by at most 1."""
    assert shift.low is not None and shift.high is not None and shift.least is not None
    least = shift.least if shift.least <= 1 else None
    return replace(shift, low=max(shift.low, -1.0), high=min(shift.high, 1.0), least=least)


def _allow_for_clock(shift: Shift, base_ms: float) -> Shift:
    """Widen the interval by the clock resolution, because percentiles are whole milliseconds."""
    if shift.low is None or shift.high is None:
        return shift
    step_ratio = CLOCK_STEP_MS / base_ms
    return replace(shift, low=max(shift.low - step_ratio, -1.0), high=shift.high + step_ratio)
