"""Tests over ranks, exact for the few runs that two groups have: Mann-Whitney, Hodges-Lehmann, Benjamini-Hochberg.

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
from statistics import NormalDist, median

# Up to 20 against 20 the distribution is counted out; its counts then fit into 64 bits.
_EXACT_PAIRS_MOST = 400
_FIELD_BITS = 64


def p_value(base: Sequence[float], new: Sequence[float]) -> float:
    """Return the two-sided p-value of Mann and Whitney that neither side tends to greater values.

    Equal values share the mean of their ranks. The p-value is the share of all ways to deal the ranks out in which the
    rank sum is as far from its mean or further. With more than 400 pairs it is that of the normal approximation.
    """
    doubled = _doubled_midranks([*new, *base])
    size, total = len(new), len(new) + len(base)
    distance = abs(sum(doubled[:size]) - size * (total + 1))
    if size * len(base) > _EXACT_PAIRS_MOST:
        return _normal_p_value(doubled, size, distance)
    counts = _rank_sum_counts(tuple(sorted(doubled)), size)
    centre = size * (total + 1)
    as_far = sum(count for rank_sum, count in enumerate(counts) if abs(rank_sum - centre) >= distance)
    return as_far / math.comb(total, size)


def least_p_value(base_n: int, new_n: int) -> float:
    """Return the p-value of two groups that do not overlap at all: no smaller one is possible."""
    return 2 / math.comb(base_n + new_n, new_n)


def shift(base: Sequence[float], new: Sequence[float]) -> float:
    """Return by how much the new values are greater: the median of all differences (Hodges, Lehmann)."""
    return median(_differences(base, new))


def shift_interval(base: Sequence[float], new: Sequence[float], confidence: float) -> tuple[float, float] | None:
    """Return the interval of the shift, exact but for ties (with which it is no narrower); None for too few values.

    It runs from the C-th smallest to the C-th greatest difference, C the greatest number with P(U < C) <= (1 -
    confidence) / 2: the shifts that the test above would not reject. Source: M. Hollander, D. A. Wolfe, "Nonparametric
    Statistical Methods", 4.3.
    """
    place = _interval_place(len(base), len(new), confidence)
    if not place:
        return None
    differences = _differences(base, new)
    return differences[place - 1], differences[-place]


def adjusted_p_values(p_values: Sequence[float]) -> list[float]:
    """Return the p-values adjusted for their number (Benjamini, Hochberg), in the order given."""
    order = sorted(range(len(p_values)), key=lambda place: p_values[place], reverse=True)
    adjusted, least = [1.0] * len(p_values), 1.0
    for rank, place in zip(range(len(p_values), 0, -1), order, strict=True):
        least = min(least, p_values[place] * len(p_values) / rank)
        adjusted[place] = least
    return adjusted


def _differences(base: Sequence[float], new: Sequence[float]) -> list[float]:
    return sorted(after - before for after in new for before in base)


def _doubled_midranks(values: Sequence[float]) -> list[int]:
    """Return twice the rank of each value, from 2 on; equal values share the mean of theirs, so twice it is whole."""
    ordered = sorted(values)
    first = {value: place for place, value in reversed(list(enumerate(ordered, start=1)))}
    last = {value: place for place, value in enumerate(ordered, start=1)}
    return [first[value] + last[value] for value in values]


@lru_cache(maxsize=256)
def _rank_sum_counts(doubled_ranks: tuple[int, ...], size: int) -> tuple[int, ...]:
    """Return by doubled rank sum in how many ways `size` of the ranks add up to it.

    For each number of ranks taken so far the counts stand side by side in one large number, 64 bits each: one more
    rank is a shift and an addition.
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
def _interval_place(base_n: int, new_n: int, confidence: float) -> int:
    """Return C of `shift_interval`; 0 where even all differences together do not make that confidence."""
    tail = (1 - confidence) / 2
    if base_n * new_n > _EXACT_PAIRS_MOST:
        deviation = math.sqrt(base_n * new_n * (base_n + new_n + 1) / 12)
        return math.floor(base_n * new_n / 2 + NormalDist().inv_cdf(tail) * deviation)
    ranks = tuple(2 * place for place in range(1, base_n + new_n + 1))
    least = new_n * (new_n + 1)
    most_ways = tail * math.comb(base_n + new_n, new_n)
    ways, place = 0, 0
    for count in _rank_sum_counts(ranks, new_n)[least::2]:
        ways += count
        if ways > most_ways:
            break
        place += 1
    return place
