"""Splits the variance of a metric into parts: within a run, between runs of a start, between starts, between days.

The runs are a nested design: k starts of the system, r runs each. y is the logarithm of a metric, and the model is
y = mean + position in the start (fixed: the first run is colder) + start + run + error within the run. Mean squares
are those of a two-way table without repeated cells (H. Scheffé, "The Analysis of Variance", 1959, 7.2 and 8.1):

    E(MS_starts) = r · start + run + within,  E(MS_runs) = run + within,  E(MS_within) = within.

MS_within is that of batch means. A part is a difference of mean squares; its interval is that of N. Ting, R. K.
Burdick, F. A. Graybill, S. Jeyaratnam and T.-F. C. Lu, "Confidence intervals on linear combinations of variance
components", J. Statist. Comput. Simul. 35, 1990. The interval of a sum is that of F. E. Satterthwaite, "An approximate
distribution of estimates of variance components", Biometrics Bulletin 2(6), 1946.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import mean, variance
from typing import ClassVar, NamedTuple

from harness.metrics.batch_means import Estimate, effective_count
from harness.metrics.distributions import chi_squared_above, f_above, student_t_quantile
from harness.metrics.shift import CONFIDENCE

_TAIL = (1 - CONFIDENCE) / 2
_BISECTIONS = 80
_MOST = 1e12
DAYS_LEAST = 3
# The variance is not larger than the cautious end in four of five tests.
_CAUTIOUS = 0.8
_OUTLIER_LEVEL = 0.01


class MeanSquare(NamedTuple):
    """A mean square and its degrees of freedom."""

    value: float
    freedom: float


@dataclass(frozen=True)
class VariancePart:
    """A standard deviation of logarithms, which is nearly a ratio of the metric's value, with its 95 % interval."""

    ratio: float
    low_ratio: float
    high_ratio: float

    @classmethod
    def of(cls, value: float, low: float, high: float) -> VariancePart:
        """Return the part of a variance with its interval; a negative one is 0."""
        return cls(*(math.sqrt(max(0.0, one)) for one in (value, low, high)))

    @property
    def variance(self) -> float:
        """The variance."""
        return self.ratio**2


@dataclass(frozen=True)
class VarianceParts:
    """The parts of a metric's variance, and `total`, that of one run after a start of its own.

    `within` and `run` are None when a run has no batches: then `between`, all but `within`, includes it. `later` is by
    how much later runs of a start differ from the first one, as a difference of logarithms with its interval.
    `start_count` is the number of starts. `caution` is how many times as large the variance of a run may be: that of
    four in five tests is not larger. 1 in tests of earlier versions.
    """

    start: VariancePart
    run: VariancePart | None
    within: VariancePart | None
    total: VariancePart
    later: tuple[float, float, float]
    start_count: int
    caution: float = 1.0
    optional: ClassVar = ("caution",)

    @property
    def between(self) -> float:
        """The variance that longer runs do not reduce."""
        return max(0.0, self.total.variance - (self.within.variance if self.within else 0.0))

    @property
    def shrinking(self) -> float:
        """The variance that is inversely proportional to the length of the runs."""
        return self.total.variance - self.between


def parts_of(levels: Sequence[Sequence[float]], within: MeanSquare | None) -> VarianceParts:
    """Return the parts; `levels` are the logarithms of the runs of each start, equally many and at least two."""
    starts, runs = len(levels), len(levels[0])
    of_starts = [mean(row) for row in levels]
    of_positions = [mean(column) for column in zip(*levels, strict=True)]
    whole = mean(of_starts)
    residuals = [
        level - of_start - of_position + whole
        for row, of_start in zip(levels, of_starts, strict=True)
        for level, of_position in zip(row, of_positions, strict=True)
    ]
    freedom = (starts - 1) * (runs - 1)
    between_starts = MeanSquare(runs * variance(of_starts), starts - 1)
    between_runs = MeanSquare(sum(one**2 for one in residuals) / freedom, freedom)
    later = mean(of_positions[1:]) - of_positions[0]
    error = math.sqrt(between_runs.value / starts * (1 + 1 / (runs - 1)))
    reach = student_t_quantile(freedom, 1 - _TAIL) * error
    whole_run = _sum((between_starts.value / runs, between_starts), (between_runs.value * (1 - 1 / runs), between_runs))
    return VarianceParts(
        start=difference(between_starts, between_runs, runs),
        run=difference(between_runs, within) if within else None,
        within=_scaled(within) if within else None,
        total=_scaled(whole_run),
        later=(later, later - reach, later + reach),
        start_count=starts,
        caution=1 / _chi(whole_run.freedom, _CAUTIOUS),
    )


def outlier(values: Sequence[float]) -> int | None:
    """Return the index of the value that does not belong to the others, by Grubbs' test at 1 %; None without one.

    Source: F. E. Grubbs, "Procedures for detecting outlying observations in samples", Technometrics 11(1), 1969.
    """
    count = len(values)
    deviation = math.sqrt(variance(values)) if count > 2 else 0.0
    if not deviation:
        return None
    farthest = max(range(count), key=lambda index: abs(values[index] - mean(values)))
    quantile = student_t_quantile(count - 2, 1 - _OUTLIER_LEVEL / (2 * count))
    limit = (count - 1) / math.sqrt(count) * math.sqrt(quantile**2 / (count - 2 + quantile**2))
    return farthest if abs(values[farthest] - mean(values)) / deviation > limit else None


def within_runs(estimates: Sequence[Estimate]) -> MeanSquare | None:
    """Return the variance of a run's logarithm from the batches of all runs; None when a run has none.

    The autocorrelation is the mean of all runs': that of one run is too uncertain. The delta method adds its
    uncertainty, 4 / ((1 - r²) n) for n batches, to that of the variance, 2 / n.
    """
    if not estimates or any(one.value <= 0 or one.batch_count < 2 for one in estimates):
        return None
    count = mean(one.batch_count for one in estimates)
    correlation = mean(one.correlation for one in estimates) + 1 / count
    # Each error was computed with its own run's autocorrelation: the scatter of its batches has none.
    scatters = [
        (one.error / one.value) ** 2 * effective_count(one.batch_count, one.correlation + 1 / one.batch_count)
        for one in estimates
    ]
    batches = sum(one.batch_count for one in estimates)
    limited = min(max(correlation, 0.0), 0.9)
    freedom = batches / (1 + 2 / (1 - limited**2))
    return MeanSquare(mean(scatters) / effective_count(round(count), correlation), freedom)


def between_days(days: Sequence[Sequence[float]], parts: VarianceParts) -> VariancePart | None:
    """Return the variance between days from the logarithms of each day's runs; None for fewer than three days.

    The mean of a day's n runs contains 1 / n of the `total` of `parts`.
    """
    if len(days) < DAYS_LEAST:
        return None
    means = MeanSquare(variance([mean(day) for day in days]), len(days) - 1)
    of_runs = parts.total.variance * mean(1 / len(day) for day in days)
    return difference(means, MeanSquare(of_runs, parts.start_count - 1))


def difference(one: MeanSquare, other: MeanSquare, divisor: float = 1.0) -> VariancePart:
    """Return (one - other) / divisor with the interval of Ting and others."""
    a, b = one.value, other.value
    estimate = a - b
    g_one, h_one = 1 - 1 / _chi(one.freedom, _TAIL), 1 / _chi(one.freedom, 1 - _TAIL) - 1
    g_other, h_other = 1 - 1 / _chi(other.freedom, _TAIL), 1 / _chi(other.freedom, 1 - _TAIL) - 1
    high_f = _f(one.freedom, other.freedom, _TAIL)
    low_f = _f(one.freedom, other.freedom, 1 - _TAIL)
    g_both = ((high_f - 1) ** 2 - (g_one * high_f) ** 2 - h_other**2) / high_f
    h_both = ((1 - low_f) ** 2 - (h_one * low_f) ** 2 - g_other**2) / low_f
    below = (g_one * a) ** 2 + (h_other * b) ** 2 + g_both * a * b
    above = (h_one * a) ** 2 + (g_other * b) ** 2 + h_both * a * b
    ends = estimate - math.sqrt(max(0.0, below)), estimate + math.sqrt(max(0.0, above))
    return VariancePart.of(*(value / divisor for value in (estimate, *ends)))


def _sum(*terms: tuple[float, MeanSquare]) -> MeanSquare:
    """Return a sum of terms, each a mean square times a factor, with Satterthwaite's degrees of freedom."""
    value = sum(term for term, _ in terms)
    squares = sum(term**2 / square.freedom for term, square in terms)
    return MeanSquare(value, value**2 / squares if squares else min(one.freedom for _, one in terms))


def _scaled(square: MeanSquare) -> VariancePart:
    """Return a mean square with the interval of chi-squared."""
    ends = (square.value / _chi(square.freedom, tail) for tail in (_TAIL, 1 - _TAIL))
    return VariancePart.of(square.value, *ends)


@lru_cache(maxsize=256)
def _chi(freedom: float, above: float) -> float:
    """Return the chi-squared, divided by its degrees of freedom, that is exceeded with a probability."""
    return _quantile(lambda value: chi_squared_above(freedom, value * freedom), above)


@lru_cache(maxsize=256)
def _f(freedom: float, other_freedom: float, above: float) -> float:
    """Return the F that is exceeded with a probability."""
    return _quantile(lambda value: f_above(freedom, other_freedom, value), above)


def _quantile(above: Callable[[float], float], probability: float) -> float:
    """Return the value that is exceeded with a probability, by bisection of its logarithm."""
    low, high = 1 / _MOST, _MOST
    for _ in range(_BISECTIONS):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if above(middle) > probability else (low, middle)
    return low
