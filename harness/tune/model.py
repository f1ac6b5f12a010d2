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

from harness.tune.factors import Cell, Factor

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Observation:
    """A run that counts: its combination, its block (from 1), and the logarithm of its metric."""

    cell: Cell
    block: int
    value: float


class ContrastEstimate(NamedTuple):
    """The estimate of a combination of terms and its standard error, both differences of logarithms."""

    value: float
    error: float


@dataclass(frozen=True)
class Fit:
    """The fitted model: `coefficients` of the terms of `row`, and their covariance.

    `scatter` is the standard deviation of a run around the model, as a difference of logarithms; its estimate has so
    many degrees of `freedom`.
    """

    coefficients: Vector
    covariance: Vector
    scatter: float
    freedom: int

    def estimate(self, contrast: Vector) -> ContrastEstimate:
        """Return the estimate of a combination of terms."""
        variance = float(contrast @ self.covariance @ contrast)
        return ContrastEstimate(float(contrast @ self.coefficients), math.sqrt(max(0.0, variance)))


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


def fit(factors: Sequence[Factor], observations: Sequence[Observation]) -> Fit | None:
    """Return the fitted model; None while the runs do not determine all terms and the scatter."""
    if not observations:
        return None
    blocks = {block: index for index, block in enumerate(dict.fromkeys(one.block for one in observations))}
    rows = [np.concatenate([row(factors, one.cell), _coded(blocks[one.block], len(blocks))]) for one in observations]
    matrix, values = np.array(rows), np.array([one.value for one in observations])
    freedom = len(values) - matrix.shape[1]
    if freedom < 1 or np.linalg.matrix_rank(matrix) < matrix.shape[1]:
        return None
    inverse = np.linalg.inv(matrix.T @ matrix)
    coefficients = inverse @ matrix.T @ values
    residuals = values - matrix @ coefficients
    variance = float(residuals @ residuals) / freedom
    count = term_count(factors)
    return Fit(coefficients[:count], inverse[:count, :count] * variance, math.sqrt(variance), freedom)


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
