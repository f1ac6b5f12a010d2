"""Decides whether a resource that rose goes on rising: compares lines with shapes that level off, and with a few steps.

Each shape is fitted by least squares, and the one with the least Bayesian information criterion is taken (G. Schwarz,
Ann. Statist. 6(2), 1978); residuals that depend on each other count as fewer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from harness.metrics.series_fit import centred, coefficient, dot, residuals, without
from harness.metrics.slope import Points

# Time constants of what is filled once, as shares of the window. Beside a leak only what is filled early is seen.
_LEVELLING = tuple(1.15**-power for power in range(28))
_EARLY = tuple(share for share in _LEVELLING if share < 0.31)
# Those whose rate beside them cannot be excluded are looked for here.
_POSSIBLE = tuple(share for share in _LEVELLING if share < 0.5)
# A time constant whose fit is worse than the best one by more is excluded at 5 % (likelihood ratio, one parameter).
_WORSE_MOST = 3.84
# The part of the whole rise that the line beside an early filling must have to be a growth.
_LINE_LEAST = 0.25
# A rise in so many steps or fewer is no growth.
STEPS_MOST = 3
# Of residuals that are rounding, relative to the squares of the values.
_TINY = 1e-12


@dataclass(frozen=True)
class Shape:
    """How a resource rose. `goes_on` means in a line to the end of the window.

    `correlation` is that of a deviation from the best shape with the one before it. `rates` are the slopes per second
    of the line beside what was filled early: the best, the least and the greatest one of the time constants that are
    not excluded. Empty for another shape.
    """

    goes_on: bool
    correlation: float
    rates: tuple[float, ...]


class _Fit(NamedTuple):
    """A shape that was fitted: the number of its terms and its residuals, and what it is."""

    terms: int
    rests: Sequence[float]
    goes_on: bool = False
    rate: float | None = None


def shape_of(points: Points) -> Shape:
    """Return which shape describes the points best."""
    span_s = points[-1][0] - points[0][0]
    xs, ys = [(x - points[0][0]) / span_s for x, _ in points], centred([y for _, y in points])
    fits = [_Fit(2, residuals(ys, xs), goes_on=True), *_with_filling(xs, ys)]
    fits += [_Fit(3, residuals(ys, _filled(xs, share))) for share in _LEVELLING]
    fits += [_Fit(2 * count + 1, rests) for count, rests in _staircases(ys)]
    correlation = _correlation(min((fit.rests for fit in fits), key=_square_sum))
    count = len(ys) * (1 - correlation) / (1 + correlation)
    least = _TINY * _square_sum(ys)

    def criterion(fit: _Fit) -> float:
        return count * math.log(_square_sum(fit.rests) + least) + fit.terms * math.log(len(ys))

    best = min(fits, key=criterion)
    rates: tuple[float, ...] = ()
    if best.rate is not None:
        possible = list(_with_filling(xs, ys, _POSSIBLE))
        most = min(map(criterion, possible)) + _WORSE_MOST
        near = [fit.rate for fit in possible if fit.rate is not None and criterion(fit) <= most]
        rates = tuple(rate / span_s for rate in (best.rate, min(near), max(near)))
    safe = min(1.0, correlation + 1 / math.sqrt(len(ys))) if correlation else 0.0
    return Shape(best.goes_on, safe, rates)


def _with_filling(xs: Sequence[float], ys: Sequence[float], shares: Sequence[float] = _EARLY) -> Iterator[_Fit]:
    """Yield the lines after a filling; a line that has too little of the rise is none that goes on."""
    whole = coefficient(centred(ys), centred(xs))
    for share in shares:
        filled = centred(_filled(xs, share))
        rests, line = without(centred(ys), filled), without(centred(xs), filled)
        rate = coefficient(rests, line)
        yield _Fit(4, without(rests, line), goes_on=rate >= _LINE_LEAST * whole, rate=rate)


def _filled(xs: Sequence[float], share: float) -> list[float]:
    return [-math.exp(-x / share) for x in xs]


def _square_sum(values: Sequence[float]) -> float:
    return dot(values, values)


def _correlation(rests: Sequence[float]) -> float:
    """Return the correlation (0-1) of neighbouring residuals."""
    squares = _square_sum(rests)
    return max(0.0, dot(rests[:-1], rests[1:]) / squares) if squares else 0.0


def _staircases(ys: Sequence[float]) -> Iterator[tuple[int, list[float]]]:
    """Yield the residuals of the best 1, 2 and 3 steps with their number (dynamic programming)."""
    count = len(ys)
    sums, squares = (list(accumulate(values, initial=0.0)) for values in (ys, (y * y for y in ys)))

    def cost(begin: int, end: int) -> float:
        total = sums[end] - sums[begin]
        return squares[end] - squares[begin] - total * total / (end - begin)

    least = [cost(0, end) if end else math.inf for end in range(count + 1)]
    begins: list[list[int]] = []
    for steps in range(1, STEPS_MOST + 1):
        begin_of = [0] * (count + 1)
        after = [math.inf] * (count + 1)
        for end in range(steps + 1, count + 1):
            begin_of[end] = min(range(steps, end), key=lambda begin: least[begin] + cost(begin, end))
            after[end] = least[begin_of[end]] + cost(begin_of[end], end)
        least = after
        begins.append(begin_of)
        yield steps, _around_levels(ys, begins)


def _around_levels(ys: Sequence[float], begins: Sequence[Sequence[int]]) -> list[float]:
    end, parts = len(ys), []
    for begin_of in reversed(begins):
        parts.append(centred(ys[begin_of[end] : end]))
        end = begin_of[end]
    parts.append(centred(ys[:end]))
    return [rest for part in reversed(parts) for rest in part]
