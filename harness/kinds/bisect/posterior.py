"""Computes how probable each commit is as the cause of a change, from runs that scatter on a machine that drifts.

The model: the logarithm of a run's metric is the level of its commit, the machine's drift (a random walk over the runs)
and noise. Between the first and the last commit the level has one step, two, many (a straight line and a random walk),
or none. Steps are normal around 0, with one of three scales. All but the place of the step is integrated out: sizes and
mean in closed form, scale, drift and noise over a grid. Commits are positions from 0, the good end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Prior probabilities of one step, two, many, and none.
ONE, TWO, MANY, NONE = 0.6, 0.08, 0.08, 0.24
# Standard deviations of a step, in logarithms, each as probable.
_SIZES = (0.06, 0.2, 0.6)
# The drift from a run to the next as a part of the noise of a run, each as probable.
_DRIFTS = (0.02, 0.3)
# The grid of the noise, in standard deviations of the logarithm of what is expected.
_NOISE_STEPS = np.linspace(-2.5, 2.5, 16)
_REACH = 1.96

Floats = NDArray[np.float64]


class Noise(NamedTuple):
    """The expected standard deviation of runs of one commit, relative, and that of its logarithm."""

    ratio: float = 0.04
    log_width: float = 0.6


class Observation(NamedTuple):
    """A run: its position, and the logarithm of its metric."""

    position: int
    log_value: float


class LikelyChange(NamedTuple):
    """A relative change, and its 95 % interval."""

    ratio: float
    low_ratio: float
    high_ratio: float


@dataclass(frozen=True)
class PosteriorFit:
    """What runs say about the increments between neighbouring tested positions, for one drift; noise is the unit.

    `steps` says which increments a run contains; `precision` and `score` are of the increments, `covariance` of runs.
    """

    drift: float
    values: Floats
    steps: Floats
    inverse: Floats
    precision: Floats
    score: Floats
    rest: float
    log_norm: float


@dataclass(frozen=True)
class Case:
    """A drift, a scale of the steps, and for each noise of the grid the log weights of all explanations.

    `one` is per interval, `two` per pair of intervals, the first one not behind the second one.
    """

    fit: PosteriorFit
    size: float
    one: Floats
    two: Floats
    many: Floats
    none: Floats

    @cached_property
    def log_weights(self) -> Floats:
        """Those of each noise."""
        flat = self.two.reshape(len(self.two), -1)
        tables = np.concatenate([self.one, flat, self.many[:, None], self.none[:, None]], axis=1)
        weights: Floats = np.logaddexp.reduce(tables, axis=1)
        return weights


class BestCase(NamedTuple):
    """The most probable case, and the index of its noise."""

    case: Case
    level: int


@dataclass(frozen=True)
class Posterior:
    """The probabilities after some runs of at least the first and the last position.

    `tested` are the positions with runs, `counts` how many each has. `intervals` has the probabilities that the only
    step is between one of them and the next; `several` that there is more than one, `none` that there is no step.
    """

    tested: tuple[int, ...]
    counts: tuple[int, ...]
    intervals: tuple[float, ...]
    several: float
    none: float
    noise_ratio: float
    noises: Floats
    cases: tuple[Case, ...]

    @property
    def commits(self) -> list[float]:
        """The probability of each position that it has the only step; 0 at the first one."""
        found = [0.0]
        for (before, after), share in zip(pairwise(self.tested), self.intervals, strict=True):
            found += [share / (after - before)] * (after - before)
        return found

    @cached_property
    def best_case(self) -> BestCase:
        """The most probable case, and the index of its noise."""
        tables = [case.log_weights for case in self.cases]
        best = max(range(len(tables)), key=lambda index: tables[index].max())
        return BestCase(self.cases[best], int(tables[best].argmax()))

    def change_of(self, interval: int) -> LikelyChange:
        """Return the size of the step if it is the only one and in this interval."""
        top = max(case.one[:, interval].max() for case in self.cases)
        weights, means, variances = [], [], []
        for case in self.cases:
            variance = 1 / (1 / case.size**2 + case.fit.precision[interval, interval] / self.noises**2)
            weights.append(np.exp(case.one[:, interval] - top))
            means.append(variance * case.fit.score[interval] / self.noises**2)
            variances.append(variance)
        weight, mean, variance = map(np.concatenate, (weights, means, variances))
        centre = float(np.average(mean, weights=weight))
        return change(centre, float(np.average(variance + (mean - centre) ** 2, weights=weight)))

    def whole(self) -> LikelyChange:
        """Return the change from the first to the last position by the runs there, whatever the explanation."""
        return self._between(np.ones(len(self.tested) - 1))

    def parts(self) -> list[tuple[int, int, LikelyChange]]:
        """Return the changes of the most probable explanation with several steps: from and to a tested position.

        They are those of the two intervals with the steps; with many steps those of thirds of the history.
        """
        case, level = self.best_case
        count = len(self.tested)
        if case.two[level].max() > case.many[level]:
            first, second = divmod(int(case.two[level].argmax()), count - 1)
            ends = [(first, first + 1), (second, second + 1)]
        else:
            wanted = [self.tested[-1] * third / 3 for third in range(4)]
            near = sorted({min(range(count), key=lambda k: abs(self.tested[k] - at)) for at in wanted})
            ends = list(pairwise(near))
        terms = []
        for start, end in dict.fromkeys(ends):
            within = np.array([start <= k < end for k in range(count - 1)], dtype=float)
            terms.append((self.tested[start], self.tested[end], self._between(within)))
        return terms

    def _between(self, within: Floats) -> LikelyChange:
        """Return the sum of some increments by the runs there."""
        fit = self.best_case[0].fit
        cover = np.linalg.inv(fit.precision)
        return change(float(within @ cover @ fit.score), float(within @ cover @ within) * self.noise_ratio**2)


def posterior(observations: Sequence[Observation], noise: Noise) -> Posterior:
    """Return the probabilities after these runs, in the order of measuring; both ends must have been run."""
    tested = tuple(sorted({one.position for one in observations}))
    noises = noise.ratio * np.exp(noise.log_width * _NOISE_STEPS)
    prior = -(_NOISE_STEPS**2) / 2
    widths = np.diff(np.array(tested, dtype=float))
    cases = tuple(
        _case(fit, size, widths, noises, prior)
        for fit in (_fit(observations, tested, drift) for drift in _DRIFTS)
        for size in _SIZES
    )
    whole = np.logaddexp.reduce([np.logaddexp.reduce(case.log_weights) for case in cases])
    ones = sum(np.exp(case.one - whole).sum(axis=0) for case in cases)
    none = sum(float(np.exp(case.none - whole).sum()) for case in cases)
    by_noise = sum(np.exp(case.log_weights - whole) for case in cases)
    assert isinstance(ones, np.ndarray)
    return Posterior(
        tested=tested,
        counts=tuple(sum(one.position == position for one in observations) for position in tested),
        intervals=tuple(map(float, ones)),
        several=max(0.0, 1.0 - none - float(ones.sum())),
        none=none,
        noise_ratio=float(np.exp(np.average(np.log(noises), weights=by_noise))),
        noises=noises,
        cases=cases,
    )


def change(mean: float, variance: float) -> LikelyChange:
    """Return the relative change of a difference of logarithms."""
    reach = _REACH * math.sqrt(variance)
    return LikelyChange(math.expm1(mean), math.expm1(mean - reach), math.expm1(mean + reach))


def covariance(count: int, drift: float) -> Floats:
    """Return the covariance of runs in a row, in units of the variance of the noise."""
    order = np.arange(count)
    return np.eye(count) + drift**2 * np.minimum.outer(order, order)


def _fit(observations: Sequence[Observation], tested: Sequence[int], drift: float) -> PosteriorFit:
    values = np.array([one.log_value for one in observations])
    positions = np.array([one.position for one in observations])
    steps = (positions[:, None] >= np.array(tested[1:])[None, :]).astype(float)
    runs = covariance(len(values), drift)
    inverse: Floats = np.linalg.inv(runs).astype(np.float64)
    rows = inverse.sum(axis=0)
    mass = rows.sum()
    without_mean = inverse - np.outer(rows, rows) / mass
    log_norm = -(np.linalg.slogdet(runs)[1] + math.log(mass)) / 2
    weighted = without_mean @ values
    return PosteriorFit(
        drift, values, steps, inverse, steps.T @ without_mean @ steps, steps.T @ weighted, float(values @ weighted),
        float(log_norm),
    )  # fmt: skip


def _case(fit: PosteriorFit, size: float, widths: Floats, noises: Floats, prior: Floats) -> Case:
    """Return the log weights: prior, evidence of the runs, and the number of commits in each interval."""
    base = prior + fit.log_norm - (len(fit.values) - 1) * np.log(noises) - fit.rest / (2 * noises**2)
    precision = fit.precision[None] / noises[:, None, None] ** 2
    score = fit.score[None] / noises[:, None] ** 2
    own = np.einsum("skk->sk", precision)
    alone = np.log(ONE * widths / widths.sum()) + _evidence(size**2, own, score)
    two = _pairs(widths) + _evidence_of_two(size**2, precision, score)
    index = np.arange(len(widths))
    two[:, index, index] += _evidence(2 * size**2, own, score)
    cover = many_covariance(widths, size)
    factor = np.eye(len(widths)) + precision @ cover
    quadratic = np.einsum("sk,skl,sl->s", score, cover @ np.linalg.inv(factor), score)
    many = math.log(MANY) - np.linalg.slogdet(factor)[1] / 2 + quadratic / 2
    return Case(fit, size, base[:, None] + alone, base[:, None, None] + two, base + many, base + math.log(NONE))


def many_covariance(widths: Floats, size: float) -> Floats:
    """Return the covariance of the increments when every commit changes a little: half a line, half a random walk."""
    parts = widths / widths.sum()
    cover: Floats = size**2 * (np.outer(parts, parts) + np.diag(parts)) / 2
    return cover


def _pairs(widths: Floats) -> Floats:
    """Return the log prior of two steps in each pair of intervals; there is none in the order of the greater first."""
    count = widths.sum()
    pairs = np.triu(np.outer(widths, widths), 1) + np.diag(widths * (widths - 1) / 2)
    with np.errstate(divide="ignore"):
        logs: Floats = np.log(TWO * pairs / max(1.0, count * (count - 1) / 2))
    return logs


def _evidence(variance: float, precision: Floats, score: Floats) -> Floats:
    """Return the log evidence of one step of this variance, against none."""
    factor = 1 + variance * precision
    found: Floats = variance * score**2 / (2 * factor) - np.log(factor) / 2
    return found


def _evidence_of_two(variance: float, precision: Floats, score: Floats) -> Floats:
    """Return the log evidence of two steps in different intervals, against none; 0 for the same interval."""
    own = 1 + variance * np.einsum("skk->sk", precision)
    first, second = own[:, :, None], own[:, None, :]
    across = variance * precision
    determinant = first * second - across**2
    own_score, other_score = score[:, :, None], score[:, None, :]
    index = np.arange(precision.shape[1])
    determinant[:, index, index] = 1.0
    quadratic = (second * own_score**2 - 2 * across * own_score * other_score + first * other_score**2) / determinant
    found: Floats = variance * quadratic / 2 - np.log(determinant) / 2
    found[:, index, index] = 0.0
    return found
