"""Fits the linear model of a designed experiment: factors, pairs of factors and blocks, by least squares.

Each factor and the blocks are coded so that their terms sum to zero ("effect coding"): a prediction that leaves out the
terms of a factor is the mean over its values. D. C. Montgomery, "Design and Analysis of Experiments", 8th edition,
Wiley 2013, chapters 5 and 10.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.kinds.tune.factors import Cell, Factor
from harness.metrics.distributions import student_t_quantile

Vector = NDArray[np.float64]
# The variances of groups that the residuals do not determine.
_CONDITION_MOST = 1e6


@dataclass(frozen=True)
class Observation:
    """A run that counts: its combination, its block (from 1), and the logarithm of its metric."""

    cell: Cell
    block: int
    value: float


class VarianceModel(NamedTuple):
    """An assumption about the scatter: runs of a group scatter equally, those of different groups need not.

    `variances` has one estimate per group, and `parts` the covariance of the coefficients for a variance of 1 in this
    group and 0 in the others. `spreads` is the covariance of the estimates of the variances.
    """

    variances: Vector
    parts: Vector
    spreads: Vector

    def freedom(self, weights: Vector) -> float:
        """Return the degrees of freedom of the sum of the variances with these weights (Satterthwaite), at least 1."""
        spread = float(weights @ self.spreads @ weights)
        return max(1.0, 2 * float(weights @ self.variances) ** 2 / spread) if spread > 0 else 1.0


@dataclass(frozen=True)
class ModelFit:
    """The fitted model: `coefficients` of the terms of `row`, and what may be assumed about the scatter of the runs.

    `scatter` is the standard deviation of a run around the model, as a difference of logarithms; its estimate has so
    many degrees of `freedom`. The scatter may be equal in all runs, or depend on the value of one factor: `models` has
    each of these assumptions. An interval is the widest of theirs, because the runs cannot tell which one is true.
    """

    coefficients: Vector
    scatter: float
    freedom: int
    models: tuple[VarianceModel, ...]

    def value(self, contrast: Vector) -> float:
        """Return the estimate of a combination of terms, a difference of logarithms."""
        return float(contrast @ self.coefficients)

    def reach(self, contrast: Vector, probability: float) -> float:
        """Return how far the bound with this one-sided probability is from the estimate of a combination of terms."""
        widest = 0.0
        for model in self.models:
            weights = np.einsum("i,gij,j->g", contrast, model.parts, contrast)
            variance = float(weights @ model.variances)
            if variance > 0:
                freedom = round(model.freedom(weights), 2)  # so that the quantiles of many effects are computed once
                quantile = student_t_quantile(freedom, probability)
                widest = max(widest, quantile * math.sqrt(variance))
        return widest


def term_count(factors: Sequence[Factor]) -> int:
    """Return the number of terms: the mean, the factors, and their pairs."""
    steps = [len(factor.values) - 1 for factor in factors]
    return 1 + sum(steps) + sum(a * b for a, b in combinations(steps, 2))


def row(factors: Sequence[Factor], cell: Sequence[int | None]) -> Vector:
    """Return the terms of a combination; a factor whose index is None is averaged over its values."""
    mains = [_coded(level, len(factor.values)) for factor, level in zip(factors, cell, strict=True)]
    pairs = [np.outer(one, other).ravel() for one, other in combinations(mains, 2)]
    return np.concatenate([np.ones(1), *mains, *pairs])


def _coded(level: int | None, count: int) -> Vector:
    """Return the count - 1 terms of one of `count` values: 1 in its own, and of the last value -1 in all."""
    if level == count - 1:
        return np.full(count - 1, -1.0)
    coded = np.zeros(count - 1)
    if level is not None:
        coded[level] = 1.0
    return coded


def fit(factors: Sequence[Factor], observations: Sequence[Observation]) -> ModelFit | None:
    """Return the fitted model; None while the runs do not determine all terms and the scatter."""
    if not observations:
        return None
    blocks = {block: index for index, block in enumerate(dict.fromkeys(one.block for one in observations))}
    rows = [np.concatenate([row(factors, one.cell), _coded(blocks[one.block], len(blocks))]) for one in observations]
    matrix, values = np.array(rows), np.array([one.value for one in observations])
    freedom = len(values) - matrix.shape[1]
    if freedom < 1 or np.linalg.matrix_rank(matrix) < matrix.shape[1]:
        return None
    solution = np.linalg.inv(matrix.T @ matrix) @ matrix.T
    residuals = values - matrix @ (solution @ values)
    count = term_count(factors)
    groups = [np.zeros(len(values), dtype=int)]
    groups += [np.array([one.cell[index] for one in observations]) for index in range(len(factors))]
    maker = np.eye(len(values)) - matrix @ solution
    models = [_variance_model(group, maker, residuals, solution[:count]) for group in groups]
    return ModelFit(
        (solution @ values)[:count],
        math.sqrt(float(residuals @ residuals) / freedom),
        freedom,
        tuple(model for model in models if model),
    )


def _variance_model(
    group: NDArray[np.int_], maker: Vector, residuals: Vector, solution: Vector
) -> VarianceModel | None:
    """Return the variance of each group, estimated without bias from the squared residuals; None if not determined.

    `maker` makes the residuals of the observations, `solution` the coefficients. With one factor this is Welch's
    t-test. C. R. Rao, "Estimation of variance and covariance components: MINQUE theory", J. Multivariate Anal. 1, 1971.
    """
    members = np.array([group == one for one in np.unique(group)], dtype=float)
    shares = members @ maker**2 @ members.T
    if np.linalg.cond(shares) > _CONDITION_MOST:
        return None
    inverse = np.linalg.inv(shares)
    variances = np.maximum(inverse @ (members @ residuals**2), 0.0)
    spread = maker * (members.T @ variances) @ maker
    spreads = 2 * inverse @ (members @ spread**2 @ members.T) @ inverse
    parts = np.einsum("ik,gk,jk->gij", solution, members, solution)
    return VarianceModel(variances, parts, spreads)


def main_contrast(factors: Sequence[Factor], index: int, level: int) -> Vector:
    """Return the terms of a factor's value less those of its first value, averaged over the other factors."""
    return _with(factors, {index: level}) - _with(factors, {index: 0})


def pair_contrast(factors: Sequence[Factor], indexes: tuple[int, int], levels: tuple[int, int]) -> Vector:
    """Return by how much the change of one factor differs between a value of another one and its first value."""
    (one, other), (level, other_level) = indexes, levels
    at = {(a, b): _with(factors, {one: a, other: b}) for a in (0, level) for b in (0, other_level)}
    return at[level, other_level] - at[level, 0] - at[0, other_level] + at[0, 0]


def _with(factors: Sequence[Factor], levels: dict[int, int]) -> Vector:
    return row(factors, [levels.get(index) for index in range(len(factors))])
