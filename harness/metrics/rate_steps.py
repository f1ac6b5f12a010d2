"""Fits steps to the rate around a fall, and compares them with drifts: lines that go down slowly.

The comparison is a t-test of one degree of freedom: the squared differences that the best drift has more than the
steps, in units of the variance about the steps. It counts less when neighbouring bins are alike (the effective number
of observations of an autoregressive series, as in `batch_means`), and each further step costs the logarithm of the
number of bins (G. Schwarz, "Estimating the dimension of a model", Ann. Statist. 6(2), 1978).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from harness.metrics.distributions import student_t_quantile

# Waves of requests that wait for each other make neighbours opposite.
_AUTOCORRELATION_LEAST, _AUTOCORRELATION_MOST = -0.3, 0.9


class Fall(NamedTuple):
    """A fall: it begins, has its greatest step, and ends before these bins or seconds."""

    begin: int
    step: int
    end: int


class RateLevels:
    """The means of intervals of a series, and the squared deviations from them."""

    def __init__(self, values: Sequence[float]) -> None:
        self.count = len(values)
        self._sums = list(accumulate(values, initial=0.0))
        self._squares = list(accumulate((value * value for value in values), initial=0.0))

    def mean(self, begin: int, end: int) -> float:
        """Return the mean of the values from `begin` to before `end`; 0 without any."""
        return (self._sums[end] - self._sums[begin]) / max(1, end - begin)

    def misfit(self, *edges: int) -> float:
        """Return the squared deviations of the values between the edges, each interval from its own mean."""
        return sum(
            max(0.0, self._squares[end] - self._squares[begin] - (end - begin) * self.mean(begin, end) ** 2)
            for begin, end in pairwise(edges)
        )

    def gain(self, begin: int, edge: int, end: int) -> float:
        """Return by how many squared differences two levels fit better than one."""
        return self.misfit(begin, end) - self.misfit(begin, edge, end)

    def split(self, begin: int, candidates: range, end: int) -> int:
        """Return the candidate between `begin` and `end` at which two levels fit best."""
        return min(candidates, key=lambda edge: self.misfit(begin, edge, end))


def is_sudden(rates: Sequence[float], fall: Fall, drift_lasts: int, error_ratio: float) -> bool:
    """Return whether steps fit significantly better than every drift that lasts so many bins or more.

    `error_ratio` is the error probability of the comparison.
    """
    count, levels = len(rates), RateLevels(rates)
    begin, step, end = fall
    edges = sorted({0, begin, *_step_within(levels, begin, step), step, *_step_within(levels, step, end), end, count})
    least = levels.misfit(*edges)
    freedom = max(2, count - 2 - (begin < step) - (step < end))
    before, after = levels.mean(0, max(1, (begin + 1) // 2)), levels.mean(min(count - 1, (count + end) // 2), count)
    drifts = _drifts(count, drift_lasts, before / after if after else 1.0)
    drift = min((_misfit(rates, shares) for shares in drifts), default=least)
    needed = student_t_quantile(freedom, 1 - error_ratio) ** 2 + math.log(count) * (len(edges) - 3)
    return (drift - least) * freedom * _independent_ratio(rates, levels, edges) >= needed * least


def _step_within(levels: RateLevels, begin: int, end: int) -> tuple[int, ...]:
    """Return the bin at which two levels fit best, two bins or more from both ends; none in a short interval."""
    candidates = range(begin + 2, end - 1)
    return (levels.split(begin, candidates, end),) if candidates else ()


def _independent_ratio(rates: Sequence[float], levels: RateLevels, edges: Sequence[int]) -> float:
    """Return the number of independent bins ÷ that of bins, from the autocorrelation about the levels between edges."""
    residuals = [rate - levels.mean(begin, end) for begin, end in pairwise(edges) for rate in rates[begin:end]]
    if not (squares := math.fsum(residual**2 for residual in residuals)):
        return 1.0
    neighbours = math.fsum(one * other for one, other in pairwise(residuals))
    correlation = min(max(neighbours / squares + 1 / len(residuals), _AUTOCORRELATION_LEAST), _AUTOCORRELATION_MOST)
    return (1 - correlation) / (1 + correlation)


def _drifts(count: int, lasts: int, factor: float) -> Iterator[list[float]]:
    """Yield drifts that last so many bins or more, as shares of the fall: straight in the rate, and in its inverse."""
    for begin in range(count):
        for end in range(begin + lasts, count + 1):
            passed = [min(1.0, max(0.0, (index - begin + 0.5) / (end - begin))) for index in range(count)]
            yield passed
            if factor > 1:
                yield [factor * share / (1 + (factor - 1) * share) for share in passed]


def _misfit(rates: Sequence[float], shares: Sequence[float]) -> float:
    """Return the squared differences of the rates from the straight line over the shares that fits best."""
    rate, share = math.fsum(rates) / len(rates), math.fsum(shares) / len(shares)
    squares = math.fsum((one - rate) ** 2 for one in rates)
    if not (spread := math.fsum((one - share) ** 2 for one in shares)):
        return squares
    return squares - math.fsum((x - share) * (y - rate) for x, y in zip(shares, rates, strict=True)) ** 2 / spread
