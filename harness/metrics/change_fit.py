"""Fits other levels to a series whose values are correlated, and what a multiple of another series leaves of one.

A level can begin anywhere (a step), and end anywhere (an interval). Intervals are first tried between all pairs of
fortieths; then the ends of the best one are moved value by value. With ends that are only nearly right an interval
would fit worse, the further its level is from the rest.

Generalised least squares with AR(1) errors: both sides are whitened (Prais-Winsten), and the level with the largest t
is the best.

Source: S. J. Prais, C. B. Winsten, "Trend estimators and serial correlation", Cowles Commission Discussion Paper 383,
1954.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, pairwise
from statistics import fmean
from typing import NamedTuple

_MARKS = 40
# A step has at least this share of the series on both sides.
_STEP_LEAST_RATIO = 0.05
# A shorter interval may be a few outliers, and what is left beside it, too; a longer one is the usual level.
_INTERVAL_LEAST_COUNT, _INTERVAL_LEAST_RATIO, _INTERVAL_MOST_RATIO = 4, 0.04, 0.7
ROUNDING = 1e-12


class FitLevel(NamedTuple):
    """A part of a series with another level, from `begin` to before `end`: how much it differs, and its |t|."""

    begin: int
    end: int
    slope: float
    t: float


NO_LEVEL = FitLevel(0, 0, 0.0, 0.0)


class LevelFit:
    """Fits a part of another level to a series, by generalised least squares for any correlation.

    Whitened, the indicator of a part is 1 at its begin, 1 - ρ within it and -ρ behind it. So sums of the whitened
    series are enough for its scalar products.
    """

    def __init__(self, logs: Sequence[float]) -> None:
        mean = fmean(logs)
        self._values = [value - mean for value in logs]
        self._count = len(logs)
        self._whitened: list[float] = []
        self._sums: list[float] = []
        self._square = self._level = self._ones_square = self._correlation = 0.0

    def best_step(self, correlation: float) -> FitLevel:
        """Return the best level that lasts to the end; NO_LEVEL for a constant series."""
        self._whiten(correlation)
        edge = math.ceil(_STEP_LEAST_RATIO * self._count)
        return self._best((begin, self._count) for begin in range(edge, self._count - edge + 1))

    def best_interval(self, correlation: float) -> FitLevel:
        """Return the best level that ends; NO_LEVEL for a constant series."""
        self._whiten(correlation)
        step = max(1, self._count // _MARKS)
        marks = range(step, self._count, step)
        rough = self._best(self._pairs(marks, marks))
        around = [range(mark - step, mark + step + 1) for mark in (rough.begin, rough.end)]
        return self._best(self._pairs(*around)) if rough.t else NO_LEVEL

    def residuals(self, level: FitLevel) -> list[float]:
        """Return the series without the levels of a part and of the rest."""
        begin, end, values = level.begin, level.end, self._values
        inside, outside = fmean(values[begin:end]), fmean([*values[:begin], *values[end:]])
        return [value - (inside if begin <= index < end else outside) for index, value in enumerate(values)]

    def _whiten(self, correlation: float) -> None:
        values, kept, first = self._values, 1 - correlation, 1 - correlation * correlation
        self._correlation = correlation
        self._whitened = [0.0, *(value - correlation * before for before, value in pairwise(values))]
        self._sums = [0.0, *accumulate(self._whitened)]
        self._ones_square = first + (self._count - 1) * kept * kept
        self._level = (first * values[0] + kept * self._sums[-1]) / self._ones_square
        self._square = first * values[0] ** 2 + dot(self._whitened, self._whitened)
        self._square -= self._level * self._level * self._ones_square

    def _best(self, pairs: Iterable[tuple[int, int]]) -> FitLevel:
        """Return the part whose level reduces the sum of squares most: one loop, because there are thousands."""
        whitened, sums, count, correlation = self._whitened, self._sums, self._count, self._correlation
        kept, square, level, ones_square = 1 - correlation, correlation * correlation, self._level, self._ones_square
        kept_square, ones_lost = kept * kept, correlation * kept
        best, slope, part = 0.0, 0.0, (0, 0)
        for begin, end in pairs:
            inner = end - begin - 1
            own, ones = 1 + inner * kept_square, kept * (1 + inner * kept)
            product = whitened[begin] + kept * (sums[end] - sums[begin + 1])
            if end < count:
                own, ones = own + square, ones - ones_lost
                product -= correlation * whitened[end]
            product -= level * ones
            own -= ones * ones / ones_square
            gain = product * product / own
            if gain > best:
                best, slope, part = gain, product / own, (begin, end)
        if best <= ROUNDING * self._square or abs(slope) < ROUNDING:
            return NO_LEVEL
        rest = self._square - best
        is_exact = rest <= ROUNDING * self._square
        return FitLevel(*part, slope, math.inf if is_exact else math.sqrt(best * (count - 2) / rest))

    def _pairs(self, begins: range, ends: range) -> list[tuple[int, int]]:
        return _pairs(self._count, begins, ends)


@functools.lru_cache(maxsize=256)
def _pairs(count: int, begins: range, ends: range) -> list[tuple[int, int]]:
    """Return the parts of a series of so many values that are long enough, and leave enough beside them."""
    least = max(_INTERVAL_LEAST_COUNT, int(_INTERVAL_LEAST_RATIO * count))
    last, most = count - least, int(_INTERVAL_MOST_RATIO * count)
    return [
        (begin, end)
        for begin in begins
        if begin >= least
        for end in range(ends.start, min(ends.stop, last + 1), ends.step)
        if least <= end - begin <= most
    ]


def residuals(values: Sequence[float], base: Sequence[float]) -> list[float]:
    """Return what a constant and a multiple of another series do not explain of a series."""
    return without(centred(values), centred(base))


def centred(values: Sequence[float]) -> list[float]:
    """Return the series minus its mean."""
    mean = sum(values) / len(values)
    return [value - mean for value in values]


def without(values: Sequence[float], base: Sequence[float]) -> list[float]:
    """Return what a multiple of another series does not explain of a series."""
    share = coefficient(values, base)
    return [value - share * one for value, one in zip(values, base, strict=True)]


def coefficient(values: Sequence[float], base: Sequence[float]) -> float:
    """Return by which factor another series fits a series best; 0 for one of zeros."""
    square = dot(base, base)
    return dot(values, base) / square if square else 0.0


def dot(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the scalar product of two series."""
    return sum(map(_times, first, second))


_times: Callable[[float, float], float] = float.__mul__
