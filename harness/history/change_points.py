"""Where a series of figures changed for good: E-divisive means with a t-test, as Apache Otava (Hunter) has it.

The series is looked at in windows of 50 values, each of which is split again and again where two parts of it differ
most, as long as a t-test has p <= 0.01. Then the weakest of the points found goes, one after the other, until each has
p < 0.001 and changes the mean by more than the least ratio: of those that are left neighbours are far enough apart.

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
from scipy.special import stdtr

P_MOST = 0.001
# A change that a comparison would not call one is none here.
LEAST_RATIO = 0.05
WINDOW = 50
# Points that are this weak are taken up at first; what they are beside each other is seen at the end.
_FIRST_P_MOST = 10 * P_MOST


@dataclass(frozen=True)
class ChangePoint:
    """A change between two stretches of a series: `index` is the place of the first value of the later one.

    `before` and `after` are the means of the stretches between this change and its neighbours, in the unit of the
    values; `p_value` is that of no change.
    """

    index: int
    before: float
    after: float
    p_value: float

    @property
    def ratio(self) -> float | None:
        """Return (after - before) / before; None of a mean of 0."""
        return (self.after - self.before) / self.before if self.before else None


def change_points(values: Sequence[float], least_ratio: float = LEAST_RATIO) -> tuple[ChangePoint, ...]:
    """Return the changes of a series, first to last; the same ones whenever it is asked.

    The ratio of a change is that of the greater mean to the smaller one, less 1.
    """
    series = np.asarray(values, dtype=float)
    places = sorted(weak_places(series))
    while places:
        found = [change_at(series, *ends) for ends in stretches(places, len(series))]
        weakest = max(range(len(found)), key=lambda place: found[place].p_value)
        if found[weakest].p_value < P_MOST:
            weakest = min(range(len(found)), key=lambda place: magnitude(found[place]))
            if magnitude(found[weakest]) > least_ratio:
                return tuple(found)
        del places[weakest]
    return ()


def weak_places(series: NDArray[np.float64]) -> set[int]:
    """Return the places that windows over the series find, weak ones among them."""
    places: set[int] = set()
    start = 0
    while start < len(series):
        found = [start + place for place in _divided(series[start : start + WINDOW])]
        places |= set(found)
        # The next window begins with the last stretch of this one, or overlaps it by half.
        start = max([start + WINDOW // 2, *found])
    return places


def _divided(series: NDArray[np.float64]) -> list[int]:
    """Return the places where E-divisive splits a window."""
    places: list[int] = []
    known: dict[tuple[int, int], tuple[float, int]] = {}
    while True:
        parts = [part for part in pairwise([0, *places, len(series)]) if part[1] - part[0] > 1]
        known.update({part: _best_split(series[slice(*part)]) for part in parts if part not in known})
        if not parts:
            return places
        start, end = max(parts, key=lambda part: known[part][0])
        place = start + known[start, end][1]
        if not change_at(series, start, place, end).p_value <= _FIRST_P_MOST:
            return places
        places = sorted([*places, place])


def _best_split(series: NDArray[np.float64]) -> tuple[float, int]:
    """Return the greatest distance of two neighbouring parts and where they part; the first part begins the series.

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
    place = int(np.argmax(distances))
    return float(distances.flat[place]), place // (size - 1) + 1


def stretches(places: Sequence[int], size: int) -> list[tuple[int, int, int]]:
    """Return for each place the ends of the stretches beside it: (start, place, end)."""
    ends = [0, *places, size]
    return list(zip(ends[:-2], ends[1:-1], ends[2:], strict=True))


def change_at(series: NDArray[np.float64], start: int, place: int, end: int) -> ChangePoint:
    """Return what Student's t-test says of the values before and from `place` on.

    The deviations are those of populations, as in Otava: p is a little lower than it would be with those of samples.
    """
    left, right = series[start:place], series[place:end]
    before, after = float(left.mean()), float(right.mean())
    freedom = end - start - 2
    if freedom == 0 or before == after:
        return ChangePoint(place, before, after, 1.0)
    variance = ((len(left) - 1) * float(left.var()) + (len(right) - 1) * float(right.var())) / freedom
    error = math.sqrt(variance * (1 / len(left) + 1 / len(right)))
    p_value = 2 * float(stdtr(freedom, -abs(after - before) / error)) if error else 0.0
    return ChangePoint(place, before, after, p_value)


def magnitude(change: ChangePoint) -> float:
    """Return the greater mean ÷ the smaller one, less 1; infinite where one of them is 0."""
    low, high = sorted((abs(change.before), abs(change.after)))
    return high / low - 1 if low else math.inf
