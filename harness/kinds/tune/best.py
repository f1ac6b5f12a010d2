"""Finds the best combination of the settings that have an effect, and how sure it is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from harness.judge.result import FOUND
from harness.kinds.tune.effects import Effect
from harness.kinds.tune.factors import Factor
from harness.kinds.tune.model import ModelFit, VarianceModel, Vector, row
from harness.metrics.metric import Metric
from harness.metrics.shift import as_ratio

_DRAWS, _PARTS = 10_000, 10
_SEED = 1
_LEVEL = 0.95

# The index of a value of each factor; None for a factor without a found effect.
Choice = tuple[int | None, ...]


@dataclass(frozen=True)
class Best:
    """The best values of the factors with an effect.

    `sure_ratio` is the probability that no other choice of these factors is better, given the fitted model.
    `delta_ratio` is its change from the baseline's choice, with a 95 % interval. `equals` are other choices that the
    runs cannot distinguish from it.
    """

    choice: Choice
    sure_ratio: float
    delta_ratio: float
    low_ratio: float
    high_ratio: float
    equals: tuple[Choice, ...]

    @property
    def is_baseline(self) -> bool:
        """Whether the baseline is best."""
        return not any(self.choice)


def best_of(factors: Sequence[Factor], fit: ModelFit, effects: Sequence[Effect], metric: Metric) -> Best | None:
    """Return the best choice; None when no effect was found.

    The probability is the share of draws of the coefficients (multivariate t around the estimates) in which the choice
    is best. Another choice is distinguished when the lower end of its one-sided interval of being worse is above 0, all
    intervals together at 95 %.
    """
    active = {index for effect in effects if effect.verdict == FOUND for index in effect.factor_indexes}
    if not active:
        return None
    levels = (range(len(one.values)) if index in active else [None] for index, one in enumerate(factors))
    choices: list[Choice] = list(product(*levels))
    sign = -1.0 if metric.more_is_better else 1.0
    terms = np.array([row(factors, choice) for choice in choices])
    best = int(np.argmin(sign * (terms @ fit.coefficients)))
    probability = 1 - (1 - _LEVEL) / max(1, len(choices) - 1)
    equals = []
    for other, choice in enumerate(choices):
        worse = sign * (terms[other] - terms[best])
        if other != best and fit.value(worse) <= fit.reach(worse, probability):
            equals.append(choice)
    change = fit.value(terms[best] - terms[0])
    two_sided = fit.reach(terms[best] - terms[0], (1 + _LEVEL) / 2)
    return Best(
        choice=choices[best],
        sure_ratio=min(_share_of_draws(fit.coefficients, model, sign * terms, best) for model in fit.models),
        delta_ratio=as_ratio(change),
        low_ratio=as_ratio(change - two_sided),
        high_ratio=as_ratio(change + two_sided),
        equals=tuple(equals),
    )


def _share_of_draws(coefficients: Vector, model: VarianceModel, terms: Vector, best: int) -> float:
    """Return the share of draws of the coefficients in which the row `best` of the terms has the least value.

    The variance of each group is drawn as well: it is as uncertain as its degrees of freedom say.
    """
    chance = np.random.default_rng(_SEED)
    draws = np.tile(coefficients, (_DRAWS, 1))
    for group, part in enumerate(model.parts):
        freedom = model.freedom(np.eye(len(model.variances))[group])
        variances = model.variances[group] * freedom / chance.chisquare(freedom, _DRAWS)
        values, vectors = np.linalg.eigh(part)
        root = vectors * np.sqrt(np.clip(values, 0.0, math.inf))
        draws += chance.normal(size=(_DRAWS, len(values))) @ root.T * np.sqrt(variances)[:, None]
    parts = np.array_split(draws, _PARTS)  # of many choices all at once would take much memory
    return sum(int((np.argmin(part @ terms.T, axis=1) == best).sum()) for part in parts) / _DRAWS
