"""Decides whether a series varies more slowly than its own noise explains: trends, steps, and waves of any shape.

The series is transformed to cosines (DCT-II). The first ones, with periods of a third of the series and more, are what
makes long parts of it differ; the others are its noise. Noise resembles the second before (AR(1)), plus what samples
scatter alone: its spectrum is known everywhere but for two numbers. A likelihood ratio compares two explanations of all
cosines: the noise alone, and a noise whose slow part is stronger. So noise that resembles itself for long explains
slow variation, and its numbers need not be known.

Sources: P. Whittle, "Estimation and information in stationary time series", Arkiv för Matematik 2, 1953; U. K. Müller,
M. W. Watson, "Testing models of low-frequency variability", Econometrica 76(5), 2008.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

# The slow cosines: those of a line and a step, and those of waves with periods of a third of the series and more.
SLOW_COUNTS = (2, 4, 6)
_CORRELATIONS = (0.0, 0.15, 0.3, 0.45, 0.6, 0.7, 0.8)
# Noise forgets the past within this share of the series: with longer noise its mean is not known.
_FORGOTTEN_RATIO = 1 / 24
# The share of the variance that neighbours cannot have in common.
_WHITE_SHARES = (0.0, 0.25, 0.5, 0.75, 0.9)
# Smaller shares of the squares are rounding.
_ROUNDING = 1e-20


class _Noise(NamedTuple):
    """A spectrum: its inverse by cosine, and the sum of its logarithms."""

    inverses: list[float]
    log_sum: float


@functools.lru_cache(maxsize=4)
def _cosines(count: int) -> list[list[float]]:
    quarter = [math.cos(math.pi * step / (2 * count)) for step in range(4 * count)]
    return [[quarter[index * (2 * at + 1) % (4 * count)] for at in range(count)] for index in range(1, count)]


@functools.lru_cache(maxsize=16)
def _noises(count: int, most: float) -> list[_Noise]:
    noises = []
    for correlation in (one for one in _CORRELATIONS if one <= most):
        for white in _WHITE_SHARES if correlation else (0.0,):
            shape = [
                (1 - white) * (1 - correlation**2)
                / (1 + correlation**2 - 2 * correlation * math.cos(math.pi * index / count)) + white
                for index in range(1, count)
            ]  # fmt: skip
            noises.append(_Noise([1 / one for one in shape], sum(map(math.log, shape))))
    return noises


def slow_ratio(values: Sequence[float]) -> float:
    """Return twice the logarithm of the likelihood ratio of a series with more slow variation than its noise has.

    0 where the noise explains all; infinity for a series that only varies slowly.
    """
    count = len(values)
    most = math.exp(-1 / (_FORGOTTEN_RATIO * count))
    powers = [sum(map(float.__mul__, values, cosine)) ** 2 for cosine in _cosines(count)]
    least = _ROUNDING * count * sum(map(float.__mul__, values, values))
    if sum(powers) <= least:
        return 0.0
    alone = -math.inf
    stronger = dict.fromkeys(SLOW_COUNTS, -math.inf)
    rest_count = count - 1
    for noise in _noises(count, next(one for one in reversed(_CORRELATIONS) if one <= most)):
        scaled = list(map(float.__mul__, powers, noise.inverses))
        whole = sum(scaled)
        alone = max(alone, -rest_count * math.log(whole / rest_count) - noise.log_sum)
        sums = list(accumulate(scaled[: SLOW_COUNTS[-1]]))
        for slow_count in SLOW_COUNTS:
            slow = sums[slow_count - 1]
            fast, fast_count = whole - slow, rest_count - slow_count
            if fast <= least:
                return math.inf
            if slow / slow_count > fast / fast_count:
                own = -fast_count * math.log(fast / fast_count) - slow_count * math.log(slow / slow_count)
                stronger[slow_count] = max(stronger[slow_count], own - noise.log_sum)
    return max(0.0, max(stronger.values()) - alone)
