"""What an A/B test sees of a benchmark whose variance is known, and the cheapest test that sees a given change.

A run's variance is between + within · window / its window: longer runs reduce what scatters within a run, and only more
pairs reduce the rest. The difference of a pair has twice the variance of a run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from statistics import NormalDist

from harness.base import units
from harness.metrics.shift import CONFIDENCE, POWER
from harness.metrics.window import STEADY_LEAST_S

# By pairs: the change, in standard deviations of the differences of pairs, that the rule of harness/kinds/ab/rule.py
# finds in 80 % of tests after at most so many pairs. The metric's threshold is that change, no other metric changes,
# alpha is 5 %. Simulated with 4,000 tests; tests/kinds/trust/test_power.py checks it. With fewer than six pairs the
# rule finds none.
DEVIATIONS_FOUND = {6: 3.03, 8: 2.02, 10: 1.58}
# Longer runs are not proposed.
LENGTH_MOST_S = 3600.0
# Simulated tests of which a power is computed.
_DRAWS = 2_000
_SHORT_S, _SHORT_STEP_S, _STEP_S = 120, 10, 30


@dataclass(frozen=True)
class Costs:
    """What a run took: its load, the measured window of that, and the rest of its time: start, JMeter, report."""

    length_s: float
    window_s: float
    overhead_s: float


@dataclass(frozen=True)
class Way:
    """An A/B test that sees a change: so many pairs of so long runs, with the warm-up run `took_s` in all."""

    pairs: int
    length_s: float
    took_s: float

    @property
    def text(self) -> str:
        """The test in words: 8 pairs of 3 min (52 min)."""
        whole = units.duration_text(round(self.took_s / 60) * 60)
        return f"{self.pairs} pairs of {units.duration_text(self.length_s)} ({whole})"


def change_text(ratio: float) -> str:
    """Return a change that must be seen, such as 5 % or 2.5 %."""
    return f"{units.number_text(round(100 * ratio, 3))} %"


def least_change(variance: float, pairs: int, step: float = 0.0) -> float | None:
    """Return the smallest change (ratio) that 80 % of tests of so many pairs find; None when they find none.

    `variance` is that of a run's logarithm, `step` the clock's resolution as a difference of logarithms.
    """
    factor = max((count for count in DEVIATIONS_FOUND if count <= pairs), default=None)
    return None if factor is None else math.expm1(DEVIATIONS_FOUND[factor] * math.sqrt(2 * variance) + step)


def ways(
    between: float, within: float, costs: Costs, detect_ratio: float, window_least_s: float = 0.0, step: float = 0.0
) -> tuple[Way, ...]:
    """Return the tests that see a change, the one that takes least time first; empty when none does.

    `between` is the variance that longer runs do not reduce, `within` what a window of `costs` adds to it.
    """
    found = (
        _way(pairs, between, within, costs, math.log1p(detect_ratio) - step, max(window_least_s, STEADY_LEAST_S))
        for pairs in DEVIATIONS_FOUND
    )
    return tuple(sorted((way for way in found if way), key=lambda way: way.took_s))


def slow_power(change: float, deviation: float, slow: float, share: float, pairs: int) -> float:
    """Return the power of an A/B test if so large a share of its runs is slower; all but the shares are logarithms.

    `deviation` is that of the other runs. The limit of the test is the one with which 80 % of tests without slow runs
    find what is stated for them.
    """
    chance, unit = Random(1), math.sqrt(2) * deviation
    stated, plain, mixed = DEVIATIONS_FOUND[pairs] * unit, [], []
    for _ in range(_DRAWS):
        noise = [unit * chance.gauss(0.0, 1.0) for _ in range(pairs)]
        slower = [slow * ((chance.random() < share) - (chance.random() < share)) for _ in range(pairs)]
        plain.append(_signal(noise, stated))
        mixed.append(_signal([one + other for one, other in zip(noise, slower, strict=True)], change))
    limit = sorted(plain)[round((1 - POWER) * _DRAWS)]
    return sum(one >= limit for one in mixed) / _DRAWS


def _signal(differences: Sequence[float], change: float) -> float:
    """Return a change plus the mean of differences, in standard deviations of these."""
    mean = sum(differences) / len(differences)
    return (change + mean) / math.sqrt(sum((one - mean) ** 2 for one in differences) / (len(differences) - 1))


def false_alarms(total: float, known: float, threshold: float) -> float:
    """Return how often two equal runs differ "significantly" by more than a threshold, for the worse (0-1).

    `compare` of one run with another takes the variance `known` for that of a run; it is `total`.
    """
    normal = NormalDist()
    reach = normal.inv_cdf((1 + CONFIDENCE) / 2) * math.sqrt(2 * known)
    return normal.cdf(-(math.log1p(threshold) + reach) / math.sqrt(2 * total)) if total > 0 else 0.0


def length_of(allowed: float, between: float, within: float, costs: Costs, window_least_s: float = 0.0) -> float | None:
    """Return the length in s of runs whose variance is at most `allowed`; None when that of no run up to an hour is."""
    if allowed <= between:
        return None
    window_s = max(within * costs.window_s / (allowed - between), window_least_s)
    length_s = window_s + costs.length_s - costs.window_s
    step_s = _SHORT_STEP_S if length_s <= _SHORT_S else _STEP_S
    length_s = float(math.ceil(length_s / step_s) * step_s)
    return length_s if length_s <= LENGTH_MOST_S else None


def _way(pairs: int, between: float, within: float, costs: Costs, change: float, window_least_s: float) -> Way | None:
    if change <= 0:
        return None
    allowed = (change / DEVIATIONS_FOUND[pairs]) ** 2 / 2
    length_s = length_of(allowed, between, within, costs, window_least_s)
    return Way(pairs, length_s, (2 * pairs + 1) * (length_s + costs.overhead_s)) if length_s else None
