"""The sequential rule of an A/B test: whether B differs from A, decided after 4, 6, 8 or 10 pairs of runs.

The runs of a pair are neighbours in time, so a machine that drifts affects both alike. A pair has one difference of
each metric: B's logarithm less A's, of a share of samples B's value less A's. At a look, Student's t of the differences
gives each metric an interval and a p-value. Looking four times gives chance four opportunities; the levels of the looks
are so small that the rate of false rejections over all four is that of the thresholds' alpha (5 %; simulated). The
p-values of the metrics are adjusted for their number: S. Holm, "A simple sequentially rejective multiple test
procedure", Scand. J. Statist. 6(2), 1979.

A disturbance that repeats (a cron job, a garbage collection) can be in step with the order of the sides, and then every
pair differs by as much: Student's t cannot see that, and after four pairs a random order cannot prevent it, as it
matches one pattern in sixteen. So a change must also be one that few of the possible orders would show: R. A. Fisher,
"The Design of Experiments", 1935, 21. This is exact for any disturbance that does not depend on the order.
The bench `ab` measures the error rates.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

from harness.compare.comparison import BETTER, CANNOT_TELL, IMPROVED, NOTHING, OK, REGRESSED, RUNS, MetricComparison
from harness.metrics.distributions import student_t_below, student_t_quantile
from harness.metrics.metric import Metric
from harness.metrics.shift import as_ratio
from harness.plan.thresholds import Thresholds

# The level of each look, by its number of pairs, for an alpha of 5 %: each twice, three times, four times the first.
LOOKS: Mapping[int, float] = {4: 0.0071, 6: 0.0142, 8: 0.0213, 10: 0.0283}
# Of the 2ⁿ orders of n pairs, so many may show a change as large: 1 of 64, 2 of 256, 6 of 1,024, together 2.9 % in one
# direction. Of the 16 orders of four pairs, one alone is 6 %: four pairs never suffice.
_ORDERS: Mapping[int, int] = {4: 0, 6: 1, 8: 2, 10: 6}
ALPHA = 0.05
PAIRS_LEAST, PAIRS_MOST = min(LOOKS), max(LOOKS)
# A mean change below this part of the threshold is no regression, however certain it is. At one half, more than 1 % of
# tests of unchanged sides end with REGRESSED; at the whole, half of the changes as large as the threshold are missed.
_PART_OF_THRESHOLD = 0.75
_UNCONFIRMED = "a disturbance in step with the order of the runs could cause this change: more pairs are needed"
# Sums that differ by less are equal.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class PairSeries:
    """The differences of a metric, one for each pair: of logarithms, of a share those of the values.

    `base` and `new` are the mean of each side, of times and rates the geometric one; None when unknown. `step` is the
    resolution of the clock, as a difference. A series with a `reason` is shown and not judged. `decides` is False when
    B can be OK without an answer to this metric.
    """

    metric: Metric
    differences: tuple[float, ...]
    base: float | None = None
    new: float | None = None
    step: float = 0.0
    decides: bool = True
    reason: str = ""


class _Test(NamedTuple):
    """Student's t of a series: mean, half the width of its interval, two-sided p-value."""

    mean: float
    reach: float
    p_value: float


def judge(
    series: Sequence[PairSeries], thresholds: Thresholds, *, is_random: bool = True
) -> tuple[MetricComparison, ...]:
    """Return the change of each metric with its verdict at this number of pairs, in the given order.

    REGRESSED: its adjusted p-value is below the level of the look, few other orders of the sides would show a change as
    large, and its mean is worse by more than three quarters of its threshold. The orders say nothing unless the order
    of each pair `is_random`. OK: no part of the interval is worse by more than the threshold; with the reason
    `improved` the metric is better by as much as would be a regression. CANNOT TELL: everything else.
    """
    level = level_of(max((len(one.differences) for one in series), default=0)) * thresholds.alpha / ALPHA
    tests = [_test(one, level) if len(one.differences) > 1 else None for one in series]
    # What is the same in all pairs, such as no errors at all, cannot be rejected: it does not count as a test.
    tested = [
        index
        for index, (one, test) in enumerate(zip(series, tests, strict=True))
        if test and not one.reason and any(one.differences)
    ]
    p_values = [test.p_value for index in tested if (test := tests[index])]
    adjusted = dict(zip(tested, adjusted_p_values(p_values), strict=True))
    return tuple(
        _compared(one, test, adjusted.get(index, 1.0), level, thresholds.of(one.metric), is_random=is_random)
        for index, (one, test) in enumerate(zip(series, tests, strict=True))
    )


def verdict_of(metrics: Sequence[MetricComparison]) -> str:
    """Return the verdict of B as a whole: REGRESSED, IMPROVED, OK or CANNOT TELL."""
    if any(metric.verdict == REGRESSED for metric in metrics):
        return REGRESSED
    deciding = [metric for metric in metrics if metric.decides]
    if not deciding or any(metric.verdict == CANNOT_TELL for metric in deciding):
        return CANNOT_TELL
    return BETTER if any(metric.reason == IMPROVED for metric in metrics) else OK


def is_sure(metrics: Sequence[MetricComparison]) -> bool:
    """Return whether the verdict needs no more pairs; a change for the better is worth those that confirm it."""
    return verdict_of(metrics) != CANNOT_TELL and not any(metric.reason == _UNCONFIRMED for metric in metrics)


def level_of(pairs: int) -> float:
    """Return the significance level of the last look at or before this number of pairs; that of the first before it."""
    return LOOKS[max((look for look in LOOKS if look <= pairs), default=PAIRS_LEAST)]


def worst_of(metric: MetricComparison) -> float | None:
    """Return by how much a metric may be worse: the end of its interval on the bad side; None without an interval."""
    if metric.low_ratio is None or metric.high_ratio is None:
        return None
    return -metric.low_ratio if metric.metric.more_is_better else metric.high_ratio


def adjusted_p_values(p_values: Sequence[float]) -> list[float]:
    """Return the p-values adjusted for their number (Holm), in the given order."""
    adjusted, most = [1.0] * len(p_values), 0.0
    for done, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        most = max(most, min(1.0, p_values[index] * (len(p_values) - done)))
        adjusted[index] = most
    return adjusted


def _test(series: PairSeries, level: float) -> _Test:
    """Return the t-test of a series; a change of one step of the clock is no change."""
    differences = series.differences
    count = len(differences)
    mean = sum(differences) / count
    error = math.sqrt(sum((one - mean) ** 2 for one in differences) / (count - 1) / count)
    change = max(0.0, abs(mean) - series.step)
    if error == 0.0:  # such as no errors at all
        return _Test(mean, series.step, 0.0 if change else 1.0)
    reach = student_t_quantile(count - 1, 1 - level / 2) * error + series.step
    return _Test(mean, reach, 2 * student_t_below(count - 1, -change / error))


def _is_rare(differences: Sequence[float]) -> bool:
    """Return whether few enough of all orders of the sides show a mean change at least as large, in its direction."""
    count, total = len(differences), abs(sum(differences))
    look = max((look for look in _ORDERS if look <= count), default=PAIRS_LEAST)
    orders = product((1, -1), repeat=count)
    sums = (sum(one * sign for one, sign in zip(differences, order, strict=True)) for order in orders)
    as_large = sum(one >= total - _ROUNDING for one in sums)
    most: int = _ORDERS[look] << max(0, count - look)
    return as_large <= most


def _compared(
    series: PairSeries, test: _Test | None, adjusted: float, level: float, threshold: float, *, is_random: bool
) -> MetricComparison:
    count = len(series.differences)
    comparison = MetricComparison(
        metric=series.metric,
        baseline=series.base,
        contender=series.new,
        delta_ratio=None,
        low_ratio=None,
        high_ratio=None,
        p_value=None,
        adjusted_p_value=None,
        baseline_n=count,
        contender_n=count,
        unit=RUNS if test else NOTHING,
        threshold_ratio=threshold,
        verdict=CANNOT_TELL,
        reason=series.reason or "fewer than two pairs",
        decides=series.decides,
    )
    if test is None:
        return comparison
    ends = (test.mean, test.mean - test.reach, test.mean + test.reach)
    change, low, high = ends if series.metric.is_share else map(as_ratio, ends)
    comparison = replace(comparison, delta_ratio=change, low_ratio=low, high_ratio=high, p_value=test.p_value)
    if series.reason:
        return comparison
    comparison = replace(comparison, adjusted_p_value=adjusted)
    # The mean change for the worse, and the bad end of its interval.
    worse, most = (-change, -low) if series.metric.more_is_better else (change, high)
    is_large_change = adjusted < level and abs(worse) > threshold * _PART_OF_THRESHOLD
    if is_large_change and is_random and not _is_rare(series.differences):
        return replace(comparison, verdict=OK if most <= threshold else CANNOT_TELL, reason=_UNCONFIRMED)
    if is_large_change and worse > 0:
        return replace(comparison, verdict=REGRESSED, reason="")
    if most <= threshold:
        return replace(comparison, verdict=OK, reason=IMPROVED if is_large_change else "")
    return replace(comparison, verdict=CANNOT_TELL, reason="the interval extends beyond the threshold")
