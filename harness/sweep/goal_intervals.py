"""Computes 95 % intervals of the percentiles and the average of a level, for the comparison with a goal.

The interval of a percentile uses order statistics: the number of samples below the true percentile is binomial, and the
samples at its 2.5 % and 97.5 % quantiles are the ends. With fewer than 36 samples the interval of p90 has no upper end.
Correlated samples count as fewer: the effective number follows from the variation of the share of slow samples between
the run's batches. With three or more runs, an interval is at least as wide as the interval of the runs' values. Where
levels were repeated, it is also at least as wide as the scatter of the repeats of all levels makes it.

H. A. David, H. N. Nagaraja, "Order Statistics", Wiley, 2003, 7.1.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev, variance

from harness.metrics.batch_means import Between, Estimate, estimate, slower_share
from harness.metrics.distributions import binomial_at_most, student_t_quantile
from harness.metrics.histogram import Histogram
from harness.metrics.metric import AVERAGE, Metric
from harness.metrics.shift import CONFIDENCE
from harness.report.run_result import LabelResult

_TAIL = (1 - CONFIDENCE) / 2
_RUNS_LEAST = 3
# What runs are assumed to scatter by, and as how many repeats that counts: `scripts/bench answers --only find`.
_ASSUMED_RATIO, _ASSUMED_FREEDOM = 0.02, 2.0


@dataclass(frozen=True)
class ConfidenceInterval:
    """A 95 % interval (ms) and its number of samples; `high_ms` is None without an upper end."""

    low_ms: float
    high_ms: float | None
    sample_count: int

    def is_within(self, limit_ms: float) -> bool | None:
        """Return whether the whole interval is within the limit; None when it contains the limit."""
        if self.high_ms is not None and self.high_ms <= limit_ms:
            return True
        return False if self.low_ms > limit_ms else None


def percentile_interval(
    runs: Sequence[LabelResult], metric: Metric, scatter: Between | None = None
) -> ConfidenceInterval | None:
    """Return the interval of a percentile over the runs of a level; None when a run has no histogram.

    `scatter` is that of the repeats of all levels.
    """
    together, effective = Histogram(), 0.0
    for run in runs:
        if run.histogram is None or not run.histogram.count:
            return None
        together.merge(run.histogram.counts)
        effective += _effective_count(run, run.histogram.count, metric)
    if not runs:
        return None
    count = int(effective)
    low = _binomial_quantile(_TAIL, count, metric.ratio)
    high = _binomial_quantile(1 - _TAIL, count, metric.ratio) + 1
    [low_ms] = together.quantiles_ms([low / count])
    high_ms = float(together.quantiles_ms([high / count])[0]) if high <= count else None
    values_ms = [float(run.histogram.quantiles_ms([metric.ratio])[0]) for run in runs if run.histogram]
    return _widened(ConfidenceInterval(float(low_ms), high_ms, together.count), values_ms, scatter)


def average_interval(runs: Sequence[LabelResult], scatter: Between | None = None) -> ConfidenceInterval | None:
    """Return the interval of the average over the runs of a level; None when a run has no histogram.

    `scatter` is that of the repeats of all levels.
    """
    found = [_average(run) for run in runs]
    known = [one for one in found if one is not None]
    if not known or len(known) < len(found):
        return None
    counts = [run.histogram.count if run.histogram else 0 for run in runs]
    together = sum(counts)
    mean_ms = sum(n * one.value for n, one in zip(counts, known, strict=True)) / together
    if any(math.isinf(one.error) for one in known):
        return ConfidenceInterval(0.0, None, together)
    error = math.sqrt(sum((n * one.error) ** 2 for n, one in zip(counts, known, strict=True))) / together
    reach = student_t_quantile(sum(one.freedom for one in known), 1 - _TAIL) * error
    interval = ConfidenceInterval(mean_ms - reach, mean_ms + reach, together)
    return _widened(interval, [one.value for one in known], scatter)


def _effective_count(run: LabelResult, count: int, metric: Metric) -> float:
    """Return the effective number of independent samples of a run: from 1 to the number of its samples."""
    share = slower_share(run.batches, metric.id) if run.batches else None
    if share is None or share.error == 0:
        return count
    return min(float(count), max(1.0, metric.ratio * (1 - metric.ratio) / share.error**2))


def _binomial_quantile(probability: float, count: int, ratio: float) -> int:
    """Return the smallest number of samples below a percentile with at least this cumulative probability."""
    return bisect_left(range(count + 1), probability, key=lambda below: binomial_at_most(below, count, ratio))


def _average(run: LabelResult) -> Estimate | None:
    if run.histogram is None or not run.histogram.count:
        return None
    found = estimate(run.batches, run.histogram, AVERAGE)
    if not isinstance(found, str):
        return found
    count, mean_ms = run.histogram.count, run.histogram.sum_ms / run.histogram.count
    if count < 2:
        return Estimate(mean_ms, math.inf, 1, 0)
    squares = sum(n * (value_ms - mean_ms) ** 2 for value_ms, n in run.histogram.counts.items())
    return Estimate(mean_ms, math.sqrt(squares / (count - 1) / count), count - 1, 0)


def scatter_of_repeats(levels: Iterable[Sequence[float]]) -> Between | None:
    """Return how much runs of one level differ, from the values of each level; None without a repeat.

    Few repeats say little: what is assumed counts like `_ASSUMED_FREEDOM` further ones.
    """
    squares, freedom = _ASSUMED_FREEDOM * _ASSUMED_RATIO**2, _ASSUMED_FREEDOM
    for values in levels:
        if len(values) > 1 and min(values) > 0:
            squares += (len(values) - 1) * variance([math.log(value) for value in values])
            freedom += len(values) - 1
    return Between(math.sqrt(squares / freedom), freedom, is_whole=True) if freedom > _ASSUMED_FREEDOM else None


def _widened(interval: ConfidenceInterval, values_ms: Sequence[float], scatter: Between | None) -> ConfidenceInterval:
    """Return the interval, at least as wide as those of the scatter of its runs and of all repeats (Student's t)."""
    reaches_ms = [0.0]
    if len(values_ms) >= _RUNS_LEAST:
        reaches_ms.append(student_t_quantile(len(values_ms) - 1, 1 - _TAIL) * stdev(values_ms))
    if scatter:
        reaches_ms.append(student_t_quantile(scatter.freedom, 1 - _TAIL) * scatter.deviation * fmean(values_ms))
    reach_ms = max(reaches_ms) / math.sqrt(len(values_ms))
    low_ms, high_ms = fmean(values_ms) - reach_ms, fmean(values_ms) + reach_ms
    ends = None if interval.high_ms is None else max(interval.high_ms, high_ms)
    return ConfidenceInterval(min(interval.low_ms, low_ms), ends, interval.sample_count)
