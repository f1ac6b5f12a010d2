"""Computes how much one more run at a position is expected to say about where the step is."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.kinds.bisect.posterior import Floats, Posterior, covariance, many_covariance

# The outcomes of a run are computed at so many values; only the most probable explanations predict them.
_VALUES, _EXPLANATIONS_MOST = 64, 32
_REACH = 4.0
_MANY = (-1,)


class _Explanations(NamedTuple):
    """Where the steps may be, with the increments that each expects; `only` is the interval of one step, else -1."""

    weights: Floats
    means: Floats
    covers: Floats
    only: NDArray[np.int64]


class _Outcomes(NamedTuple):
    """What each explanation expects of a run."""

    weights: Floats
    means: Floats
    variances: Floats


def information(found: Posterior, positions: Sequence[int]) -> list[float]:
    """Return for each position the expected information of one more run there, in nats.

    It is the mutual information of the run's value and the explanation, given the most probable drift, noise and scale.
    """
    case, level = found.best_case
    fit, count = case.fit, len(case.fit.values)
    runs = covariance(count + 1, fit.drift)
    towards, own = runs[:count, count], runs[count, count]
    # The best linear prediction of a run from those before it, whose mean is unknown.
    rows = fit.inverse.sum(axis=0)
    missing = 1 - float(rows @ towards)
    shares = fit.inverse @ towards + rows * missing / rows.sum()
    rest = float(own - towards @ fit.inverse @ towards + missing**2 / rows.sum())
    variance = float(found.noises[level]) ** 2 * rest
    explanations, known = _explanations(found), shares @ fit.steps
    return [_mutual(_outcomes(explanations, found.tested, at, known), variance) for at in positions]


def _explanations(found: Posterior) -> _Explanations:
    """Return the most probable explanations."""
    case, level = found.best_case
    noise, size = float(found.noises[level]), case.size
    precision, score = case.fit.precision / noise**2, case.fit.score / noise**2
    count = len(score)
    places: list[tuple[float, tuple[int, ...]]] = [(float(case.one[level, k]), (k,)) for k in range(count)]
    places += [(float(case.two[level, k, m]), (k, m)) for k in range(count) for m in range(k, count)]
    places += [(float(case.many[level]), _MANY), (float(case.none[level]), ())]
    places = sorted(places, key=lambda one: -one[0])[:_EXPLANATIONS_MOST]
    priors = np.zeros((len(places), count, count))
    for prior, (_, steps) in zip(priors, places, strict=True):
        if steps == _MANY:
            prior += many_covariance(np.diff(np.array(found.tested, dtype=float)), size)
            continue
        for step in steps:
            prior[step, step] += size**2
    covers = priors @ np.linalg.inv(np.eye(count) + precision @ priors)
    logs = np.array([log_weight for log_weight, _ in places])
    only = np.array([steps[0] if len(steps) == 1 and steps != _MANY else -1 for _, steps in places])
    return _Explanations(np.exp(logs - logs.max()), covers @ score, covers, only)


def _outcomes(explained: _Explanations, tested: Sequence[int], position: int, known: Floats) -> _Outcomes:
    """Return what each explanation expects of a run at a position; `known` is the part of earlier runs."""
    passed = np.array([after <= position for after in tested[1:]], dtype=float)
    inside = next((k for k, (a, b) in enumerate(pairwise(tested)) if a < position < b), None)
    if inside is None:
        return _expected(explained, passed - known)
    # The only step, if it is in this interval, is before the position or behind it.
    share = (position - tested[inside]) / (tested[inside + 1] - tested[inside])
    is_here = explained.only == inside
    parts = []
    for weights, level in (
        (np.where(is_here, 0.0, 1.0), share),
        (np.where(is_here, share, 0.0), 1.0),
        (np.where(is_here, 1 - share, 0.0), 0.0),
    ):
        factors = passed - known
        factors[inside] += level
        found = _expected(explained, factors)
        is_used = weights > 0
        parts.append([(found.weights * weights)[is_used], found.means[is_used], found.variances[is_used]])
    return _Outcomes(*map(np.concatenate, zip(*parts, strict=True)))


def _expected(explained: _Explanations, factors: Floats) -> _Outcomes:
    return _Outcomes(explained.weights, explained.means @ factors, explained.covers @ factors @ factors)


def _mutual(outcomes: _Outcomes, variance: float) -> float:
    """Return the entropy of the mixture without the mean entropy of its parts."""
    weights, means = outcomes.weights / outcomes.weights.sum(), outcomes.means
    spreads = np.sqrt(outcomes.variances + variance)
    low, high = (means - _REACH * spreads).min(), (means + _REACH * spreads).max()
    values, step = np.linspace(low, high, _VALUES, retstep=True)
    each = np.exp(-(((values[None] - means[:, None]) / spreads[:, None]) ** 2) / 2) / spreads[:, None]
    density = weights @ each / np.sqrt(2 * np.pi)
    whole = -float((density * np.log(np.maximum(density, 1e-300))).sum() * step)
    own = float(weights @ np.log(spreads * np.sqrt(2 * np.pi * np.e)))
    return max(0.0, whole - own)
