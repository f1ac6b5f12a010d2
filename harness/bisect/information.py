"""Computes how much one more run at a position is expected to say about where the step is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from harness.bisect.posterior import Floats, Posterior, covariance, many_covariance

# The outcomes of a run are computed at so many values; only the most probable explanations predict them.
_VALUES, _EXPLANATIONS_MOST = 64, 32
_REACH = 4.0


class _Explanation(NamedTuple):
    """Where the steps are, with the increments that it expects; `only` is the interval of the only step."""

    log_weight: float
    mean: Floats
    cover: Floats
    only: int | None = None


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
    explanations = _explanations(found)
    return [_mutual(list(_outcomes(explanations, found, at, shares @ fit.steps)), variance) for at in positions]


def _explanations(found: Posterior) -> list[_Explanation]:
    """Return the most probable explanations."""
    case, level = found.best_case
    noise, size = float(found.noises[level]), case.size
    precision, score = case.fit.precision / noise**2, case.fit.score / noise**2
    count = len(score)
    places: list[tuple[float, tuple[int, ...]]] = [(float(case.one[level, k]), (k,)) for k in range(count)]
    places += [(float(case.two[level, k, m]), (k, m)) for k in range(count) for m in range(k, count)]
    places += [(float(case.many[level]), tuple(range(count + 1))), (float(case.none[level]), ())]
    places.sort(key=lambda one: -one[0])
    explained = []
    for log_weight, steps in places[:_EXPLANATIONS_MOST]:
        prior = np.zeros((count, count))
        if len(steps) > count:  # many
            prior = many_covariance(np.diff(np.array(found.tested, dtype=float)), size)
        else:
            for step in steps:
                prior[step, step] += size**2
        cover = prior @ np.linalg.inv(np.eye(count) + precision @ prior)
        explained.append(_Explanation(log_weight, cover @ score, cover, steps[0] if len(steps) == 1 else None))
    return explained


def _outcomes(
    explanations: Sequence[_Explanation], found: Posterior, position: int, known: Floats
) -> Iterator[tuple[float, float, float]]:
    """Yield weight, mean and variance of what each explanation expects; `known` is the part of earlier runs."""
    passed = np.array([after <= position for after in found.tested[1:]], dtype=float)
    inside = next((k for k, (a, b) in enumerate(pairwise(found.tested)) if a < position < b), None)
    share = 0.0
    if inside is not None:
        share = (position - found.tested[inside]) / (found.tested[inside + 1] - found.tested[inside])
    for log_weight, mean, cover, only in explanations:
        weight = float(np.exp(log_weight - explanations[0].log_weight))
        # The only step, if it is in this interval, is before the position or behind it.
        parts = ((share, 1.0), (1 - share, 0.0)) if inside is not None and only == inside else ((1.0, share),)
        for part, level in parts:
            factors = passed - known
            if inside is not None:
                factors = factors.copy()
                factors[inside] += level
            yield weight * part, float(factors @ mean), float(factors @ cover @ factors)


def _mutual(outcomes: Sequence[tuple[float, float, float]], variance: float) -> float:
    """Return the entropy of the mixture without the mean entropy of its parts."""
    weights, means, variances = map(np.array, zip(*outcomes, strict=True))
    weights, spreads = weights / weights.sum(), np.sqrt(variances + variance)
    low, high = (means - _REACH * spreads).min(), (means + _REACH * spreads).max()
    values, step = np.linspace(low, high, _VALUES, retstep=True)
    each = np.exp(-(((values[None] - means[:, None]) / spreads[:, None]) ** 2) / 2) / spreads[:, None]
    density = weights @ each / np.sqrt(2 * np.pi)
    whole = -float((density * np.log(np.maximum(density, 1e-300))).sum() * step)
    own = float(weights @ np.log(spreads * np.sqrt(2 * np.pi * np.e)))
    return max(0.0, whole - own)
