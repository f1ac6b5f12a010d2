"""Designs the experiment: which combinations run, how often, and in which blocks and random order.

All combinations (a full factorial) while they are few, else a part of them that determines every factor and every pair
of factors with the least variance (D-optimal): V. V. Fedorov, "Theory of Optimal Experiments", Academic Press 1972. A
block is a set of neighbouring runs, so a machine that drifts between blocks changes no effect. Each block contains one
more run of the baseline, which connects the blocks.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from harness.base.errors import UsageError
from harness.kinds.tune.factors import Cell, Factor, combination_count, combinations
from harness.kinds.tune.model import Vector, row, term_count
from harness.metrics.distributions import student_t_quantile

# More combinations are not all run.
FULL_MOST = 32
# Terms of the model that a part of the combinations may have to determine: ten settings with two values have 56.
_TERMS_MOST = 64
# Runs of a part beyond its terms: so many, or one for four terms. They estimate the scatter.
_SPARE_RUNS, _TERMS_PER_SPARE_RUN = 7, 4
# A round of all chosen combinations is divided into blocks of at most so many runs, beside the baseline's.
_BLOCK_MOST = 12
# Degrees of freedom of the scatter: below the first the intervals are too wide to be of use. With the second one, the
# scatter of each value alone has enough for an effect of 10 % to be found in 84 % of experiments or more.
FREEDOM_LEAST, FREEDOM_WANTED = 3, 8
REPEAT_MOST = 100
_POWER = 0.80
_STARTS, _EXCHANGES_MOST = 3, 500
_ORDERS = 200
_RIDGE = 1e-6
_GAIN_LEAST = 1 + 1e-9


@dataclass(frozen=True)
class FactorDesign:
    """The chosen combinations and the blocks in order of measuring, each a list of indexes of `cells`.

    `cells[0]` is the baseline. `repeat` is how often each combination runs, without the baseline run of each block.
    """

    cells: tuple[Cell, ...]
    blocks: tuple[tuple[int, ...], ...]
    repeat: int

    @property
    def run_count(self) -> int:
        """The number of runs, without the warm-up run."""
        return sum(map(len, self.blocks))


def designs(factors: Sequence[Factor], repeat: int | None, chance: random.Random) -> Iterator[FactorDesign]:
    """Yield the designs to choose from, the most thorough one first: all combinations, then a part of them.

    `repeat` is how often each combination runs; None: as often as the estimate of the scatter needs. UsageError for
    more combinations than can be designed, and when `repeat` is too few.
    """
    count, terms = combination_count(factors), term_count(factors)
    part = terms + max(_SPARE_RUNS, terms // _TERMS_PER_SPARE_RUN)
    if count > FULL_MOST and terms > _TERMS_MOST:
        what = f"{count:,} combinations are too many: their effects and pairs are {terms:,} unknowns"
        raise UsageError(what, f"vary fewer settings or values, up to {_TERMS_MOST} unknowns")
    if count <= FULL_MOST:
        yield _design(factors, tuple(combinations(factors)), repeat, chance)
    if part < count:
        yield _design(factors, _part(factors, part, chance), repeat, chance)


def freedom(factors: Sequence[Factor], cell_count: int, repeat: int) -> int:
    """Return the degrees of freedom of the scatter: runs less terms less blocks, plus the mean."""
    blocks = repeat * _parts(cell_count)
    return cell_count * repeat + blocks - term_count(factors) - (blocks - 1)


def repeat_that_finds(
    factors: Sequence[Factor], cell_count: int, variance: float, distance: float, alpha: float
) -> int | None:
    """Return how often each combination must run so that 80 % of experiments find an effect; None beyond REPEAT_MOST.

    `variance` is that of a run's logarithm, `distance` the effect of a value as a difference of logarithms. It compares
    two means of equally many runs; the level is that of `effects_of`, and its t is taken as shifted, not non-central.
    """
    values, effects = max(len(one.values) for one in factors), term_count(factors) - 1
    for repeat in range(1, REPEAT_MOST + 1):
        degrees = freedom(factors, cell_count, repeat)
        if degrees >= FREEDOM_WANTED:
            reach = student_t_quantile(degrees, 1 - alpha / (2 * effects)) + student_t_quantile(degrees, _POWER)
            if reach**2 * 2 * variance * values <= distance**2 * cell_count * repeat:
                return repeat
    return None


def _parts(cell_count: int) -> int:
    return -(-cell_count // _BLOCK_MOST)


def _design(
    factors: Sequence[Factor], cells: tuple[Cell, ...], repeat: int | None, chance: random.Random
) -> FactorDesign:
    least = next(one for one in range(1, REPEAT_MOST) if freedom(factors, len(cells), one) >= FREEDOM_LEAST)
    if repeat is not None and repeat < least:
        what = f"--repeat={repeat} of {len(cells)} combinations is too few runs to know the scatter"
        raise UsageError(what, f"give --repeat={least} or more")
    if repeat is None:
        # Every combination of a full factorial runs twice: its scatter is then that of equal runs.
        first = 2 if len(cells) == combination_count(factors) else 1
        repeat = next(one for one in range(first, REPEAT_MOST) if freedom(factors, len(cells), one) >= FREEDOM_WANTED)
    blocks = [block for _ in range(repeat) for block in _round(cells, chance)]
    return FactorDesign(cells, tuple(blocks), repeat)


def _round(cells: Sequence[Cell], chance: random.Random) -> list[tuple[int, ...]]:
    """Return the blocks of one run of each combination, in random order, each with one more run of the baseline.

    Of many random orders the one is taken whose blocks contain each value most equally often.
    """
    count, parts = len(cells), _parts(len(cells))
    ends = [count * part // parts for part in range(parts + 1)]
    orders = [chance.sample(range(count), count) for _ in range(_ORDERS if parts > 1 else 1)]
    order = min(orders, key=lambda one: _imbalance(cells, [one[low:high] for low, high in pairwise(ends)]))
    blocks = [order[low:high] for low, high in pairwise(ends)]
    for block in blocks:
        block.insert(chance.randint(0, len(block)), 0)
    return [tuple(block) for block in blocks]


def _imbalance(cells: Sequence[Cell], blocks: Sequence[Sequence[int]]) -> float:
    """Return how unequally often the blocks contain the values: the sum of the squared differences of their counts."""
    total = 0.0
    for factor in range(len(cells[0])):
        level_count = 1 + max(cell[factor] for cell in cells)
        for block in blocks:
            counts = np.bincount([cells[index][factor] for index in block], minlength=level_count)
            total += float(((counts - counts.mean()) ** 2).sum())
    return total


def _part(factors: Sequence[Factor], size: int, chance: random.Random) -> tuple[Cell, ...]:
    """Return `size` different combinations with the baseline: of a few random starts the best after exchanges."""
    cells = list(combinations(factors))
    terms = np.array([row(factors, cell) for cell in cells])
    best: list[int] = []
    best_determinant = -np.inf
    for _ in range(_STARTS):
        chosen = _exchanged(terms, [0, *chance.sample(range(1, len(cells)), size - 1)])
        sign, determinant = np.linalg.slogdet(terms[chosen].T @ terms[chosen])
        if sign > 0 and determinant > best_determinant:
            best, best_determinant = chosen, float(determinant)
    return tuple(cells[index] for index in sorted(best))


def _exchanged(terms: Vector, chosen: list[int]) -> list[int]:
    """Return the chosen rows after exchanging one at a time while the determinant of their information grows.

    Row `out` instead of `into` multiplies it by (1 + d(into)) (1 - d(out)) + d(out, into)², where d are products with
    the inverse. The first row, the baseline, stays.
    """
    for _ in range(_EXCHANGES_MOST):
        information = terms[chosen].T @ terms[chosen] + _RIDGE * np.eye(terms.shape[1])
        products = terms @ np.linalg.inv(information)
        own = np.einsum("ij,ij->i", products, terms)
        between = terms[chosen] @ products.T
        gains = (1 + own)[None, :] * (1 - own[chosen])[:, None] + between**2
        gains[:, chosen], gains[0, :] = 0.0, 0.0
        out, into = np.unravel_index(int(np.argmax(gains)), gains.shape)
        if gains[out, into] < _GAIN_LEAST:
            break
        chosen[int(out)] = int(into)
    return chosen
