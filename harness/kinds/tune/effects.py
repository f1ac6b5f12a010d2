"""Decides which settings have an effect: the change by each value and each pair of values, with intervals.

All intervals are simultaneous: each is at the level 1 - alpha / number of effects (Bonferroni). So of experiments in
which nothing has an effect, at most alpha report one. The bench `tune` measures it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import ClassVar, NamedTuple

from harness.judge.result import FOUND, NO_EFFECT
from harness.judge.stored_comparisons import CANNOT_TELL
from harness.kinds.tune.factors import Factor
from harness.kinds.tune.model import ModelFit, Vector, main_contrast, pair_contrast
from harness.metrics.shift import as_ratio

# Differences below it are rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Effect:
    """The change of the metric by a value of a factor against its first value, or by a pair of values.

    `factor_indexes` has one or two indexes, `levels` are the indexes of their values. The change of a pair is by how
    much the change of the one factor is larger with the other one's value than with its first.

    FOUND: the interval excludes 0. NO EFFECT: it includes 0, and no change as large as the threshold. CANNOT TELL:
    everything else.
    """

    factor_indexes: tuple[int, ...]
    levels: tuple[int, ...]
    delta_ratio: float
    low_ratio: float
    high_ratio: float
    threshold_ratio: float
    verdict: str
    json_keys: ClassVar = {"factor_indexes": "places"}

    @property
    def is_pair(self) -> bool:
        """Whether it is an interaction of two factors."""
        return len(self.factor_indexes) > 1

    @property
    def bound_ratio(self) -> float:
        """The largest change, in either direction, that the interval includes."""
        return max(abs(self.low_ratio), abs(self.high_ratio))

    @property
    def is_small(self) -> bool:
        """Whether no part of the interval reaches the threshold."""
        return self.bound_ratio <= self.threshold_ratio


def effects_of(factors: Sequence[Factor], fit: ModelFit, threshold: float, alpha: float) -> tuple[Effect, ...]:
    """Return the effects of all values in the order of the factors, then those of all pairs of values."""
    contrasts = list(_contrasts(factors))
    probability = 1 - alpha / (2 * len(contrasts))
    return tuple(_effect(contrast, fit, probability, threshold) for contrast in contrasts)


class _Contrast(NamedTuple):
    """An effect before its estimate: the indexes of its factors and of their values, and its combination of terms."""

    factor_indexes: tuple[int, ...]
    levels: tuple[int, ...]
    terms: Vector


def _contrasts(factors: Sequence[Factor]) -> Iterator[_Contrast]:
    others = [range(1, len(factor.values)) for factor in factors]
    for index, levels in enumerate(others):
        for level in levels:
            yield _Contrast((index,), (level,), main_contrast(factors, index, level))
    for one, other in combinations(range(len(factors)), 2):
        for pair in product(others[one], others[other]):
            yield _Contrast((one, other), pair, pair_contrast(factors, (one, other), pair))


def _effect(contrast: _Contrast, fit: ModelFit, probability: float, threshold: float) -> Effect:
    value = fit.value(contrast.terms)
    width = fit.reach(contrast.terms, probability) + _ROUNDING
    change, low, high = (as_ratio(one) for one in (value, value - width, value + width))
    verdict = FOUND if low > 0 or high < 0 else CANNOT_TELL
    if verdict != FOUND and max(-low, high) <= threshold:
        verdict = NO_EFFECT
    return Effect(contrast.factor_indexes, contrast.levels, change, low, high, threshold, verdict)
