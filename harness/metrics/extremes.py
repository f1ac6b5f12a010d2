"""Finds the parts of a third of a series in which a ratio of two sums is least and greatest."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from harness.metrics.interval import Interval

# Parts of a third of the series; they begin at so many places.
_PARTS, _PLACES_PER_PART = 3, 20


class Extremes(NamedTuple):
    """The least and the greatest ratio of a third of a series, and where that is, in values."""

    least: float
    greatest: float
    least_in: Interval
    greatest_in: Interval


def extremes(amounts: Sequence[float], weights: Sequence[float]) -> Extremes | None:
    """Return the thirds in which the sum of amounts ÷ the sum of weights is least and greatest; None without any."""
    count, length = len(amounts), len(amounts) // _PARTS
    if not length:
        return None
    amount_sums, weight_sums = (list(accumulate(values, initial=0.0)) for values in (amounts, weights))
    step = max(1, length // _PLACES_PER_PART)
    values = [
        ((amount_sums[begin + length] - amount_sums[begin]) / weight, begin)
        for begin in sorted({*range(0, count - length + 1, step), count - length})
        if (weight := weight_sums[begin + length] - weight_sums[begin]) > 0
    ]
    if not values:
        return None
    (least, least_at), (greatest, greatest_at) = min(values), max(values)
    return Extremes(least, greatest, Interval(least_at, least_at + length), Interval(greatest_at, greatest_at + length))
