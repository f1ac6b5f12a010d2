"""Fits a step at every twentieth, a straight line and two exponential decays to a series whose values are correlated.

Generalised least squares with AR(1) errors: both sides are whitened (Prais-Winsten), and the function with the largest
t is the best. The scalar products of whitened series follow from those of the series, so another correlation costs no
other pass over the values.

Source: S. J. Prais, C. B. Winsten, "Trend estimators and serial correlation", Cowles Commission Discussion Paper 383,
1954.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import add
from statistics import fmean

STEPS = 20
ROUNDING = 1e-12
_DECAYS = (0.1, 0.3)


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
class Candidate:
    """A candidate function, with its products."""

    values: list[float]
    series: _Series
    square: _Product
    ones: _Product


@functools.lru_cache(maxsize=4)
def candidates(count: int) -> tuple[Candidate, ...]:
    """Return the candidate functions: steps from 2 to 18 twentieths, then a line and decays."""
    steps = [count * part // STEPS for part in range(2, STEPS - 1)]
    functions = [[0.0] * step + [1.0] * (count - step) for step in steps]
    functions.append([index / count for index in range(count)])
    functions += [[math.exp(-index / (decay * count)) for index in range(count)] for decay in _DECAYS]
    series = [_Series(values) for values in functions]
    return tuple(
        Candidate(values, one, one.times(one), one.times_ones()) for values, one in zip(functions, series, strict=True)
    )


@dataclass(frozen=True)
class BestFit:
    """The candidate function that fits best, by its index, with its slope and its |t|."""

    index: int
    slope: float
    t: float


class Fit:
    """Fits the candidate functions to a series, by generalised least squares for any correlation."""

    def __init__(self, logs: Sequence[float], functions: Sequence[Candidate]) -> None:
        series = _Series(logs)
        self._functions, self._count = functions, len(logs)
        self._square, self._ones = series.times(series), series.times_ones()
        self._products = [function.series.times(series) for function in functions]

    def best(self, correlation: float) -> BestFit:
        """Return the candidate that fits best; with a slope of 0 when none fits better than a constant."""
        ones_square = _Product(self._count, 2 * (self._count - 1), 2.0).at(correlation)
        level = self._ones.at(correlation)
        series_square = self._square.at(correlation) - level * level / ones_square
        found = BestFit(0, 0.0, 0.0)
        for index, (function, product) in enumerate(zip(self._functions, self._products, strict=True)):
            mean = function.ones.at(correlation) / ones_square
            square = function.square.at(correlation) - mean * mean * ones_square
            slope = (product.at(correlation) - mean * level) / square
            rest = series_square - slope * slope * square
            if abs(slope) < ROUNDING:
                continue
            is_exact = rest <= ROUNDING * series_square
            t = math.inf if is_exact else abs(slope) / math.sqrt(rest / (self._count - 2) / square)
            if t > found.t:
                found = BestFit(index, slope, t)
        return found


def dot(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the scalar product of two series."""
    return sum(map(_times, first, second))


_times: Callable[[float, float], float] = float.__mul__
