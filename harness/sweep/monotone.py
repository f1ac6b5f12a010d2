"""Tests whether throughput falls or only varies, by comparing levels with the nearest curve that never falls.

R. E. Barlow, D. J. Bartholomew, J. M. Bremner, H. D. Brunk, "Statistical Inference under Order Restrictions", Wiley,
1972, 3.2: the distance of the values from the nearest curve that never falls follows a mixture of chi-squares (of F, if
the variance is estimated). The distance is greatest for a flat true curve, so the p-value is valid for all curves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from harness.metrics.distributions import chi_squared_above, f_above


class _Block(NamedTuple):
    """Adjacent values that share a weighted mean: the mean, the sum of their weights, and their number."""

    mean: float
    weight: float
    value_count: int


def never_falling(values: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Return the nearest values that never fall, by weighted least squares (pool adjacent violators)."""
    blocks: list[_Block] = []
    for value, weight in zip(values, weights, strict=True):
        block = _Block(value, weight, 1)
        while blocks and blocks[-1].mean >= block.mean:
            before = blocks.pop()
            both = before.weight + block.weight
            mean = (before.mean * before.weight + block.mean * block.weight) / both
            block = _Block(mean, both, before.value_count + block.value_count)
        blocks.append(block)
    return [block.mean for block in blocks for _ in range(block.value_count)]


def fall_p_value(
    values: Sequence[float], weights: Sequence[float], variance: float, freedom: float | None = None
) -> float:
    """Return the p-value of the hypothesis that the values never fall.

    `variance` is the variance of a value of weight 1. It is known when `freedom` is None, else estimated with that many
    degrees of freedom. The weights are assumed to be about equal.
    """
    count = len(values)
    curve = never_falling(values, weights)
    distance = sum(w * (value - near) ** 2 for value, near, w in zip(values, curve, weights, strict=True))
    if distance == 0:
        return 1.0
    if variance == 0:
        return 0.0
    ratio = distance / variance
    shares = enumerate(_level_shares(count)[:-1], start=1)
    if freedom is None:
        return float(sum(share * chi_squared_above(count - levels, ratio) for levels, share in shares))
    return float(sum(share * f_above(count - levels, freedom, ratio / (count - levels)) for levels, share in shares))


def _level_shares(count: int) -> list[float]:
    """Return the probabilities that the nearest curve through noise has 1, 2, … `count` different values."""
    shares = [1.0]
    for number in range(1, count):
        longer = [0.0] * (number + 1)
        for index, share in enumerate(shares):
            longer[index] += share * number / (number + 1)
            longer[index + 1] += share / (number + 1)
        shares = longer
    return shares
