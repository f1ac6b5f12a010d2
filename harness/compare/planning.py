"""Compute how many runs a comparison of two groups needs, and the smallest change that it can detect.

The formulas are those of the t-test over runs (J. Cohen, "Statistical Power Analysis for the Behavioral Sciences", 2.4;
t quantiles instead of normal ones, because groups are small), with pi/3 for ranks instead of values: the asymptotic
relative efficiency of the Mann-Whitney test is 3/pi (E. L. Lehmann, "Nonparametrics", 2.4).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from harness.metrics.distributions import student_t_quantile
from harness.metrics.ranks import least_p_value
from harness.metrics.shift import CONFIDENCE, POWER

# Fewer runs a side find only changes far above the noise.
RUNS_LEAST = 5
# A larger number of runs is impractical, so it is not suggested.
RUNS_MOST = 100
_RANKS_PER_VALUE = math.pi / 3


def least_runs(label_count: int, alpha: float) -> int:
    """Return how many runs a side can give an adjusted p-value below alpha when one label changed."""
    count = RUNS_LEAST
    while least_p_value(count, count) * max(1, label_count) >= alpha:
        count += 1
    return count


def runs_needed(deviation: float | None, distance: float, least: int) -> int | None:
    """Return how many runs a side put 80 % of intervals on one side of a threshold at a distance; None above 100.

    `deviation` is the standard deviation of runs (of their logarithms), None when unknown. The result is at least
    `least`.
    """
    if deviation is None:
        return least
    return next(
        (
            count
            for count in range(least, RUNS_MOST + 1)
            if _reach(2 * count - 2) * deviation * math.sqrt(2 * _RANKS_PER_VALUE / count) <= distance
        ),
        None,
    )


def least_change(deviation: float, baseline_n: int, contender_n: int) -> float:
    """Return the smallest change (difference of logarithms) that 80 % of such groups detect."""
    return (
        _reach(baseline_n + contender_n - 2)
        * deviation
        * math.sqrt(_RANKS_PER_VALUE * (1 / baseline_n + 1 / contender_n))
    )


def deviation(*groups: Sequence[float]) -> float | None:
    """Return the pooled standard deviation within groups; None when no group has two values."""
    freedom = sum(len(group) - 1 for group in groups)
    if freedom <= 0:
        return None
    return math.sqrt(sum(_square_sum(group) for group in groups) / freedom)


def _square_sum(values: Sequence[float]) -> float:
    mean = sum(values) / len(values)
    return sum((value - mean) ** 2 for value in values)


def _reach(freedom: int) -> float:
    return student_t_quantile(freedom, (1 + CONFIDENCE) / 2) + student_t_quantile(freedom, POWER)
