"""Fits other levels, straight lines and two exponential decays to a series whose values are correlated.

A level can begin anywhere (a step), and end anywhere (an interval). Intervals are first tried between all pairs of
fortieths; then the ends of the best one are moved value by value. With ends that are only nearly right an interval
would fit worse, the further its level is from the rest.

Generalised least squares with AR(1) errors: both sides are whitened (Prais-Winsten), and the function with the largest
t is the best. The scalar products of whitened series follow from those of the series, so another correlation costs no
other pass over the values.

Source: S. J. Prais, C. B. Winsten, "Trend estimators and serial correlation", Cowles Commission Discussion Paper 383,
1954.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from operator import add
from statistics import fmean
from typing import NamedTuple

_MARKS = 40
# A step has at least this share of the series on both sides.
_STEP_LEAST_RATIO = 0.05
# A shorter interval may be a few outliers, and what is left beside it, too; a longer one is the usual level.
_INTERVAL_LEAST_COUNT, _INTERVAL_LEAST_RATIO, _INTERVAL_MOST_RATIO = 4, 0.04, 0.7
ROUNDING = 1e-12
_DECAYS = (0.1, 0.3)
# A line can begin at these shares of a series, and end there.
_BENDS = tuple(tenth / 10 for tenth in range(1, 10))


@dataclass(frozen=True)
class _Product:
    """The scalar product of two series, from which that of the whitened series follows for any correlation.

    Whitening removes the correlation to the previous value (Prais-Winsten): x_0 becomes √(1-ρ²) x_0, and x_t becomes
    x_t - ρ x_(t-1). `neighbours` is the sum of x_t (y_(t-1) + y_(t+1)), and `ends` of the first and the last x_t y_t.
    """

    plain: float
    neighbours: float
    ends: float

    def at(self, correlation: float) -> float:
        """Return the scalar product of the whitened series."""
        square = correlation * correlation
        return self.plain * (1 + square) - self.ends * square - self.neighbours * correlation


class _Series:
    """A series minus its mean, which does not change a fit but rounds less; `around` are the sums of the neighbours."""

    def __init__(self, values: Sequence[float]) -> None:
        mean = fmean(values)
        self.values = [value - mean for value in values]
        self.around = list(map(add, [0.0, *self.values[:-1]], [*self.values[1:], 0.0]))

    def times(self, other: _Series) -> _Product:
        """Return the product with another series."""
        own, others = self.values, other.values
        return _Product(dot(own, others), dot(own, other.around), own[0] * others[0] + own[-1] * others[-1])

    def times_ones(self) -> _Product:
        """Return the product with a series of ones."""
        own, total = self.values, math.fsum(self.values)
        ends = own[0] + own[-1]
        return _Product(total, 2 * total - ends, ends)


@dataclass(frozen=True)
class FitCandidate:
    """A candidate function, with its products."""

    values: list[float]
    series: _Series
    square: _Product
    ones: _Product


@functools.lru_cache(maxsize=4)
def candidates(count: int) -> tuple[FitCandidate, ...]:
    """Return the candidate functions: a line, lines that begin or end within the series, and decays."""
    functions = [[index / count for index in range(count)]]
    functions += [[max(0.0, index / count - bend) for index in range(count)] for bend in _BENDS]
    functions += [[min(index / count, bend) for index in range(count)] for bend in _BENDS]
    functions += [[math.exp(-index / (decay * count)) for index in range(count)] for decay in _DECAYS]
    series = [_Series(values) for values in functions]
    return tuple(
        FitCandidate(values, one, one.times(one), one.times_ones())
        for values, one in zip(functions, series, strict=True)
    )


@dataclass(frozen=True)
class BestFit:
    """The candidate function that fits best, by its index, with its slope and its |t|."""

    index: int
    slope: float
    t: float


class Fit:
    """Fits the candidate functions to a series, by generalised least squares for any correlation."""

    def __init__(self, logs: Sequence[float], functions: Sequence[FitCandidate]) -> None:
        series = _Series(logs)
        self._functions, self._count = functions, len(logs)
        self._square, self._ones = series.times(series), series.times_ones()
        self._products = [function.series.times(series) for function in functions]

    def best(self, correlation: float) -> BestFit:
        """Return the candidate that fits best; with a slope of 0 when none fits better than a constant."""
        ones_square = _Product(self._count, 2 * (self._count - 1), 2.0).at(correlation)
        level = self._ones.at(correlation)
        series_square = self._square.at(correlation) - level * level / ones_square
        best = BestFit(0, 0.0, 0.0)
        for index, (function, product) in enumerate(zip(self._functions, self._products, strict=True)):
            mean = function.ones.at(correlation) / ones_square
            square = function.square.at(correlation) - mean * mean * ones_square
            slope = (product.at(correlation) - mean * level) / square
            rest = series_square - slope * slope * square
            if abs(slope) < ROUNDING:
                continue
            is_exact = rest <= ROUNDING * series_square
            t = math.inf if is_exact else abs(slope) / math.sqrt(rest / (self._count - 2) / square)
            if t > best.t:
                best = BestFit(index, slope, t)
        return best


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
