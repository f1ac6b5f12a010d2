"""Rank tests that are exact for small groups of runs: Mann-Whitney, Hodges-Lehmann, Benjamini-Hochberg.

Sources: H. B. Mann, D. R. Whitney, "On a test of whether one of two random variables is stochastically larger than the
other", Ann. Math. Statist. 18(1), 1947; J. L. Hodges, E. L. Lehmann, "Estimates of location based on rank tests", Ann.
Math. Statist. 34(2), 1963; Y. Benjamini, Y. Hochberg, "Controlling the false discovery rate", J. R. Statist. Soc. B
57(1), 1995.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from statistics import NormalDist, median
from typing import NamedTuple

# Up to 20 values per group the exact distribution is computed; its counts then fit into 64 bits.
_EXACT_PAIRS_MOST = 400
_FIELD_BITS = 64


def p_value(baseline: Sequence[float], contender: Sequence[float]) -> float:
    """Return the two-sided p-value of Mann and Whitney for the hypothesis that neither group has greater values.

    Equal values share their mean rank. The p-value is the share of all assignments of ranks to groups whose rank sum is
    at least as far from its mean. With more than 400 pairs the normal approximation is used.
    """
    doubled = _doubled_midranks([*contender, *baseline])
    size, total = len(contender), len(contender) + len(baseline)
    distance = abs(sum(doubled[:size]) - size * (total + 1))
    if size * len(baseline) > _EXACT_PAIRS_MOST:
        return _normal_p_value(doubled, size, distance)
    counts = _rank_sum_counts(tuple(sorted(doubled)), size)
    centre = size * (total + 1)
    as_far = sum(count for rank_sum, count in enumerate(counts) if abs(rank_sum - centre) >= distance)
    return as_far / math.comb(total, size)


def least_p_value(baseline_n: int, contender_n: int) -> float:
    """Return the p-value of two groups that do not overlap at all: the smallest one possible."""
    return 2 / math.comb(baseline_n + contender_n, contender_n)


def shift(baseline: Sequence[float], contender: Sequence[float]) -> float:
    """Return by how much the new values are greater: the median of all differences (Hodges, Lehmann)."""
    return median(_differences(baseline, contender))


class ShiftInterval(NamedTuple):
    """The confidence interval of a shift, in the unit of the values."""

    low: float
    high: float


def shift_interval(baseline: Sequence[float], contender: Sequence[float], confidence: float) -> ShiftInterval | None:
    """Return the interval of the shift, exact without ties and conservative with them; None for too few values.

    It runs from the C-th smallest to the C-th greatest difference, where C is the greatest number with P(U < C) <= (1 -
    confidence) / 2: the shifts that the test above does not reject. Source: M. Hollander, D. A. Wolfe, "Nonparametric
    Statistical Methods", 4.3.
    """
    if not (index := _interval_rank(len(baseline), len(contender), confidence)):
        return None
    differences = _differences(baseline, contender)
    return ShiftInterval(differences[index - 1], differences[-index])


def adjusted_p_values(p_values: Sequence[float]) -> list[float]:
    """Return the p-values adjusted for multiple tests (Benjamini, Hochberg), in the given order."""
    order = sorted(range(len(p_values)), key=lambda index: p_values[index], reverse=True)
    adjusted, least = [1.0] * len(p_values), 1.0
    for rank, index in zip(range(len(p_values), 0, -1), order, strict=True):
        least = min(least, p_values[index] * len(p_values) / rank)
        adjusted[index] = least
    return adjusted


def _differences(baseline: Sequence[float], contender: Sequence[float]) -> list[float]:
    return sorted(value - other for value in contender for other in baseline)


def _doubled_midranks(values: Sequence[float]) -> list[int]:
    """Return twice each value's rank, from 2 on; equal values share their mean rank, so doubled ranks are whole."""
    ordered = sorted(values)
    first = {value: index for index, value in reversed(list(enumerate(ordered, start=1)))}
    last = {value: index for index, value in enumerate(ordered, start=1)}
    return [first[value] + last[value] for value in values]


@lru_cache(maxsize=256)
def _rank_sum_counts(doubled_ranks: tuple[int, ...], size: int) -> tuple[int, ...]:
    """Return, by doubled rank sum, in how many ways `size` of the ranks add up to it.

    For each number of chosen ranks, the counts are packed into one large number, 64 bits each: adding a rank is a shift
    and an addition.
    """
    packed = [1] + [0] * size
    for rank in doubled_ranks:
        for taken in range(size, 0, -1):
            packed[taken] += packed[taken - 1] << (_FIELD_BITS * rank)
    length = sum(doubled_ranks) + 1
    return struct.unpack(f"<{length}Q", packed[size].to_bytes(length * _FIELD_BITS // 8, "little"))


def _normal_p_value(doubled: Sequence[int], size: int, distance: int) -> float:
    """Return the p-value of the normal approximation, corrected for ties and continuity."""
    total = len(doubled)
    ties = sum(count**3 - count for count in (doubled.count(rank) for rank in set(doubled)))
    variance = size * (total - size) / 12 * (total + 1 - ties / (total * (total - 1)))
    if variance == 0:
        return 1.0
    z = max(0.0, distance / 2 - 0.5) / math.sqrt(variance)
    return math.erfc(z / math.sqrt(2))


@lru_cache(maxsize=256)
def _interval_rank(baseline_n: int, contender_n: int, confidence: float) -> int:
    """Return C of `shift_interval`; 0 when even all differences do not reach that confidence."""
    tail = (1 - confidence) / 2
    if baseline_n * contender_n > _EXACT_PAIRS_MOST:
        deviation = math.sqrt(baseline_n * contender_n * (baseline_n + contender_n + 1) / 12)
        return math.floor(baseline_n * contender_n / 2 + NormalDist().inv_cdf(tail) * deviation)
    ranks = tuple(2 * index for index in range(1, baseline_n + contender_n + 1))
    least = contender_n * (contender_n + 1)
    most_ways = tail * math.comb(baseline_n + contender_n, contender_n)
    return sum(ways <= most_ways for ways in accumulate(_rank_sum_counts(ranks, contender_n)[least::2]))
