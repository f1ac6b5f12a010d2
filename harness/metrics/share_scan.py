"""Decides whether a share of samples (errors, slow ones, a label) has one level, or another one in a part of a series.

Two levels must be likelier than one (G-test), by more than the best of all parts is by chance. There are far fewer
steps than parts, so chance explains less of a step. Neighbours that scatter more than single samples would (bursts)
count as fewer samples.

Sources: R. R. Sokal, F. J. Rohlf, "Biometry", 1995, 17.2 (G-test); M. Kulldorff, "A spatial scan statistic",
Commun. Statist. Theory Meth. 26(6), 1997.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

_CELLS_MOST, _CELLS_LEAST = 60, 9
_PART_CELLS_LEAST_RATIO = 0.05
# Before and after a step is at least this share of the cells.
_STEP_CELLS_LEAST_RATIO = 0.1
# Twice the logarithm of a likelihood ratio which chance exceeds for a given part in one of 10,000 runs, for any step in
# one of 500.
_LIMIT = 14.0

# Amount and weight of each cell.
_Cells = Sequence[tuple[float, float]]


class _Part(NamedTuple):
    """By how much two levels are likelier than one, and the cells of one of them."""

    gain: float
    begin: int
    end: int


def share_ratio(amounts: Sequence[float], weights: Sequence[float]) -> float:
    """Return by what factor the best part with another share exceeds chance; above 1 the share has two levels.

    `amounts` are the samples of a kind per cell, `weights` all samples. 0 where too few cells have samples.
    """
    cells = _cells(amounts, weights)
    count = len(cells)
    if count < _CELLS_LEAST:
        return 0.0
    amount_sums, weight_sums = (list(accumulate(values, initial=0.0)) for values in zip(*cells, strict=True))
    amount, weight = amount_sums[-1], weight_sums[-1]
    if not 0 < amount < weight:
        return 0.0
    alone = _likelihood(amount, weight)

    def found(begin: int, end: int) -> _Part:
        inside, inside_weight = amount_sums[end] - amount_sums[begin], weight_sums[end] - weight_sums[begin]
        if not inside_weight < weight:
            return _Part(0.0, begin, end)
        gain = _likelihood(inside, inside_weight) + _likelihood(amount - inside, weight - inside_weight) - alone
        return _Part(gain, begin, end)

    least, step_least = (
        max(2, math.ceil(ratio * count)) for ratio in (_PART_CELLS_LEAST_RATIO, _STEP_CELLS_LEAST_RATIO)
    )
    begins, ends = range(count - least + 1), range(step_least, count - step_least + 1)
    part = max((found(begin, end) for begin in begins for end in range(begin + least, count + 1)), key=_gain)
    step = max((found(0, end) for end in ends), key=_gain)
    limits = (part, _LIMIT + 2 * math.log(count)), (step, _LIMIT)
    return max(2 * one.gain / _scatter(_levels(cells, one)) / limit for one, limit in limits)


def _gain(part: _Part) -> float:
    return part.gain


def _levels(cells: _Cells, part: _Part) -> Sequence[_Cells]:
    """Return the cells of a part, and the others."""
    return cells[part.begin : part.end], [*cells[: part.begin], *cells[part.end :]]


def _cells(amounts: Sequence[float], weights: Sequence[float]) -> list[tuple[float, float]]:
    """Return amount and weight of at most so many cells, each of them with samples."""
    width = math.ceil(len(amounts) / _CELLS_MOST)
    cells = (
        (sum(amounts[begin : begin + width]), sum(weights[begin : begin + width]))
        for begin in range(0, len(amounts), width)
    )
    return [cell for cell in cells if cell[1]]


def _likelihood(amount: float, weight: float) -> float:
    """Return the greatest logarithm of the likelihood of so many samples of a kind."""
    parts = (amount, weight - amount)
    return sum(part * math.log(part / weight) for part in parts if part > 0)


def _scatter(levels: Sequence[_Cells]) -> float:
    """Return by how much neighbouring cells of the same level scatter more than single samples would; 1 or more."""
    squares = expected = 0.0
    for level in levels:
        share = sum(amount for amount, _ in level) / max(1.0, sum(weight for _, weight in level))
        for (amount, weight), (other, other_weight) in pairwise(level):
            squares += (amount / weight - other / other_weight) ** 2 * weight * other_weight / (weight + other_weight)
            expected += share * (1 - share)
    return max(1.0, squares / expected) if expected else 1.0
