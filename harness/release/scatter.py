"""How much the repeats of a cell scatter: its own repeats, the noise within its runs, and the repeats of other cells.

Cells differ: with one user a run has few samples, and a busy system scatters more. So the variance of a cell is that
of its own repeats. The part between runs is shared with the other cells only where they do not contradict each other;
then the own repeats and those of the others count alike. It is never below the variance within the runs, which batches
of their samples show.

Sources: G. K. Smyth, "Linear models and empirical Bayes methods", Stat. Appl. Genet. Mol. Biol. 3(1), 2004, 3 (shrunken
variances; the logarithm of a variance of n degrees of freedom has the variance ψ'(n / 2)); M. S.
Bartlett, D. G. Kendall, Suppl. J. R. Statist. Soc. 8(1), 1946 (its logarithms compare variances).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import NamedTuple, TypeVar

from harness.metrics.distributions import chi_squared_above
from harness.release.repeats import Block, Scatter

Key = TypeVar("Key")
# Cells whose variances differ as much in fewer than one of ten cases share nothing.
_ALIKE_LEAST = 0.1
# The degrees of freedom of the variance within runs: of the batches of a few runs.
_WITHIN_FREEDOM = 60.0
# What single runs are assumed to scatter by, at least: the standard deviation of their logarithms.
SINGLE_RUNS = 0.03


class CellValues(NamedTuple):
    """The values of the runs of a cell, and the variance of the logarithm of one of them within its run."""

    block: Block
    within: float


def scatters(cells: Mapping[Key, CellValues]) -> dict[Key, Scatter]:
    """Return the scatter of repeats in each cell with two or more runs a side."""
    own = {key: _own(cell.block) for key, cell in cells.items()}
    between = fmean(cell.deviation**2 - cells[key].within for key, cell in own.items())
    shared = {key: max(0.0, between) + cells[key].within for key in cells}
    by_cell = {}
    is_alike = len(cells) > 1 and _are_alike([(cell, shared[key]) for key, cell in own.items()])
    for key, cell in own.items():
        variance = (cell.deviation**2 + shared[key]) / 2 if is_alike else cell.deviation**2
        freedom = 2 * cell.freedom if is_alike else cell.freedom
        within = cells[key].within
        by_cell[key] = (
            Scatter(math.sqrt(within), _WITHIN_FREEDOM) if variance < within else Scatter(variance**0.5, freedom)
        )
    return by_cell


def single_scatters(cells: Mapping[Key, CellValues]) -> dict[Key, Scatter]:
    """Return the scatter of cells with one run a side: what is assumed, or more if the changes differ by more."""
    changes = [math.log(one.block.contender[0] / one.block.baseline[0]) for one in cells.values()]
    between = SINGLE_RUNS**2
    if len(changes) > 2:
        squares = sum((change - fmean(changes)) ** 2 for change in changes) / (len(changes) - 1)
        between = max(between, squares / 2 - fmean(one.within for one in cells.values()))
    return {key: Scatter(math.sqrt(between + one.within), _WITHIN_FREEDOM) for key, one in cells.items()}


def _own(block: Block) -> Scatter:
    logs = [[math.log(value) for value in side] for side in block]
    freedom = sum(len(side) - 1 for side in logs)
    squares = sum((value - fmean(side)) ** 2 for side in logs for value in side)
    return Scatter(math.sqrt(squares / freedom), freedom)


def _are_alike(cells: Sequence[tuple[Scatter, float]]) -> bool:
    """Return whether the variances of cells, divided by those of alike cells, differ by no more than chance."""
    if not all(own.deviation and shared for own, shared in cells):
        return False
    ratios = [own.deviation**2 / shared for own, shared in cells]
    logs = [math.log(ratio) for ratio in ratios]
    expected = fmean(_trigamma(own.freedom / 2) for own, _ in cells)
    distance = sum((one - fmean(logs)) ** 2 for one in logs) / expected
    return chi_squared_above(len(logs) - 1, distance) >= _ALIKE_LEAST


def _trigamma(x: float) -> float:
    """Return ψ'(x): the asymptotic series from x + 6 on, and its recurrence below."""
    head = sum(1 / (x + step) ** 2 for step in range(6))
    x += 6
    return head + 1 / x + 1 / (2 * x**2) + 1 / (6 * x**3) - 1 / (30 * x**5)
