"""Find lasting changes in a series of values: E-divisive means with a t-test, as in Apache Otava (Hunter).

The series is divided into windows of 50 values. Each window is split repeatedly where two parts differ most, as long
as a t-test has p <= 0.01. Then the weakest change point is removed, one after the other, until each one has p < 0.001
and changes the mean by more than the least ratio.

Sources: M. Fleming and others, "Hunter: Using Change Point Detection to Hunt for Performance Regressions", ICPE 2023,
doi:10.1145/3578244.3583719; D. S. Matteson, N. A. James, "A Nonparametric Approach for Multiple Change Point Analysis
of Multivariate Data", J. Am. Statist. Assoc. 109, 2014, arXiv:1306.4933, with the distance |x - y|.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from harness.metrics.distributions import student_t_below

P_MOST = 0.001
# Smaller changes are ignored, as in a comparison.
LEAST_RATIO = 0.05
WINDOW = 50
# Weak points are included first; the final p-values decide which ones remain.
_FIRST_P_MOST = 10 * P_MOST


@dataclass(frozen=True)
class ChangePoint:
    """A change between two intervals of a series: `index` is the first value of the later one.

    `before` and `after` are the means of the intervals between this change and its neighbours, in the unit of the
    values; `p_value` is the p-value of the t-test.
    """

    index: int
    before: float
    after: float
    p_value: float

    @property
    def ratio(self) -> float | None:
        """Return (after - before) / before; None for a mean of 0."""
        return (self.after - self.before) / self.before if self.before else None


@dataclass(frozen=True)
class _Split:
    """How a series is best split: the index of the first value of the second part, and the distance of the parts."""

    index: int
    distance: float


def change_points(values: Sequence[float], least_ratio: float = LEAST_RATIO) -> tuple[ChangePoint, ...]:
    """Return the changes of a series in order; the result is deterministic.

    `least_ratio` applies to the larger mean divided by the smaller one, minus 1.
    """
    series = np.asarray(values, dtype=float)
    indexes = sorted(weak_indexes(series))
    while indexes:
        points = [change_at(series, *possible) for possible in possible_changes(indexes, len(series))]
        weakest = max(range(len(points)), key=lambda index: points[index].p_value)
        if points[weakest].p_value < P_MOST:
            weakest = min(range(len(points)), key=lambda index: magnitude(points[index]))
            if magnitude(points[weakest]) > least_ratio:
                return tuple(points)
        del indexes[weakest]
    return ()


def weak_indexes(series: NDArray[np.float64]) -> set[int]:
    """Return the indexes that windows over the series find, including weak ones."""
    indexes: set[int] = set()
    start = 0
    while start < len(series):
        divided = [start + index for index in _divided(series[start : start + WINDOW])]
        indexes |= set(divided)
        # The next window begins with the last interval of this one, or overlaps it by half.
        start = max([start + WINDOW // 2, *divided])
    return indexes


def _divided(series: NDArray[np.float64]) -> list[int]:
    indexes: list[int] = []
    known: dict[tuple[int, int], _Split] = {}
    while True:
        parts = [(start, end) for start, end in pairwise([0, *indexes, len(series)]) if end - start > 1]
        known.update({part: _best_split(series[slice(*part)]) for part in parts if part not in known})
        if not parts:
            return indexes
        start, end = max(parts, key=lambda part: known[part].distance)
        index = start + known[start, end].index
        if not change_at(series, start, index, end).p_value <= _FIRST_P_MOST:
            return indexes
        indexes = sorted([*indexes, index])


def _best_split(series: NDArray[np.float64]) -> _Split:
    """Return the split into two adjacent parts with the largest distance; the first part begins the series.

    For X of n values and Y of m it is 2/(n+m) · (Σ|x - y| - m/(n-1) · Σ|x - x'| - n/(m-1) · Σ|y - y'|), where the
    latter sums go over pairs; a part of one value has none.
    """
    size = len(series)
    sums = np.zeros((size + 1, size + 1))
    sums[1:, 1:] = np.abs(series[:, None] - series[None, :]).cumsum(axis=0).cumsum(axis=1)
    inner = np.diagonal(sums)
    n = np.arange(1, size)[:, None]
    ends = np.arange(2, size + 1)[None, :]
    m = ends - n
    across = sums[1:size, 2:] - inner[1:size, None]
    pairs_x = inner[1:size, None] / 2
    pairs_y = (inner[None, 2:] - 2 * sums[1:size, 2:] + inner[1:size, None]) / 2
    distances = across - m / np.maximum(n - 1, 1) * pairs_x - n / np.maximum(m - 1, 1) * pairs_y
    distances = np.where(m > 0, 2 / ends * distances, -np.inf)
    index = int(np.argmax(distances))
    return _Split(index // (size - 1) + 1, float(distances.flat[index]))


def possible_changes(indexes: Sequence[int], size: int) -> list[tuple[int, int, int]]:
    """Return start, index and end of each possible change: it compares the values between its neighbours."""
    ends = [0, *indexes, size]
    return list(zip(ends[:-2], ends[1:-1], ends[2:], strict=True))


def change_at(series: NDArray[np.float64], start: int, index: int, end: int) -> ChangePoint:
    """Compare the values from `start` to before `index` with those from it to before `end` by Student's t-test.

    It uses population deviations, as Otava does: p is slightly lower than with sample deviations.
    """
    left, right = series[start:index], series[index:end]
    before, after = float(left.mean()), float(right.mean())
    freedom = end - start - 2
    if freedom == 0 or before == after:
        return ChangePoint(index, before, after, 1.0)
    variance = ((len(left) - 1) * float(left.var()) + (len(right) - 1) * float(right.var())) / freedom
    error = math.sqrt(variance * (1 / len(left) + 1 / len(right)))
    p_value = 2 * student_t_below(freedom, -abs(after - before) / error) if error else 0.0
    return ChangePoint(index, before, after, p_value)


def magnitude(change: ChangePoint) -> float:
    """Return the larger mean ÷ the smaller one, minus 1; infinite when one of them is 0."""
    low, high = sorted((abs(change.before), abs(change.after)))
    return high / low - 1 if low else math.inf
