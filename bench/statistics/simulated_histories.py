"""Simulates histories with known changes: measures false alarms and power of the nightly gate.

The value of a nightly run is 100 ms times a factor. The logarithm of the factor has the coefficient of variation as its
standard deviation, and is normal, or Student's t with 4 degrees of freedom and the same deviation, which has many
outliers. Neighbouring runs may be correlated: each logarithm is rho times the one before plus a new one (AR(1)). Each
run is judged with the knowledge of its day, including its change points.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from harness.history.trend import (
    BASELINE_VALUES_MOST,
    IMPROVED,
    REGRESSED,
    VALUES_LEAST,
    WARNED,
    Gauge,
    TrendSeries,
    changes_of,
    positions,
)
from harness.metrics.metric import AVERAGE
from harness.plan.thresholds import Thresholds

RUN_COUNT = 60
# The judged runs with fewer than 20 runs before them.
LEARNING_RUNS = BASELINE_VALUES_MOST - VALUES_LEAST
_BASE_MS = 100.0
_RUNS_AFTER = 10
_TAIL_FREEDOM = 4


@dataclass(frozen=True)
class Noise:
    """The noise between runs: coefficient of variation, normal or heavy-tailed, and the correlation of neighbours."""

    cv: float
    is_heavy: bool = False
    rho: float = 0.0


@dataclass(frozen=True)
class Alarms:
    """Shares of the judged runs of histories without a change; `of_learning` is the share of failed early runs.

    `in_series` is the share of histories with a failed run.
    """

    run_count: int
    warned: float
    failed: float
    improved: float
    of_learning: float
    in_series: float


@dataclass(frozen=True)
class Found:
    """Shares of histories with a regression: warned in its first run, failed by its second run or one of the ten."""

    by_first: float
    by_second: float
    by_tenth: float


def history(random: np.random.Generator, noise: Noise, count: int) -> list[float]:
    """Return the values (ms) of a number of runs."""
    if noise.is_heavy:
        new = random.standard_t(_TAIL_FREEDOM, count) / math.sqrt(_TAIL_FREEDOM / (_TAIL_FREEDOM - 2))
    else:
        new = random.standard_normal(count)
    logs = [float(new[0])]
    for value in new[1:]:
        logs.append(noise.rho * logs[-1] + math.sqrt(1 - noise.rho**2) * float(value))
    return [_BASE_MS * math.exp(noise.cv * log) for log in logs]


def states(values: list[float], first: int) -> Iterator[str]:
    """Yield the state of each run from `first`, as judged on its day."""
    gauge = Gauge(AVERAGE, Thresholds().of(AVERAGE))
    for index in range(first, len(values)):
        known = values[: index + 1]
        weekdays = [night % 7 for night in range(index + 1)]
        yield positions(TrendSeries(known, weekdays, changes_of(known, gauge)), gauge)[-1].state


def alarms(random: np.random.Generator, noise: Noise, series: int) -> Alarms:
    """Return the rates of false alarms in histories without a change."""
    judged = [list(states(history(random, noise, RUN_COUNT), VALUES_LEAST)) for _ in range(series)]
    run_count = series * (RUN_COUNT - VALUES_LEAST)
    return Alarms(
        run_count=run_count,
        warned=sum(one.count(WARNED) for one in judged) / run_count,
        failed=sum(one.count(REGRESSED) for one in judged) / run_count,
        improved=sum(one.count(IMPROVED) for one in judged) / run_count,
        of_learning=sum(one[:LEARNING_RUNS].count(REGRESSED) for one in judged) / (series * LEARNING_RUNS),
        in_series=sum(REGRESSED in one for one in judged) / series,
    )


def found(random: np.random.Generator, noise: Noise, shift_ratio: float, runs_before: int, series: int) -> Found:
    """Return how often a regression after this number of runs is detected."""
    judged = []
    for _ in range(series):
        values = history(random, noise, runs_before + _RUNS_AFTER)
        values[runs_before:] = [value * (1 + shift_ratio) for value in values[runs_before:]]
        judged.append(list(states(values, runs_before)))
    return Found(
        by_first=sum(one[0] in (WARNED, REGRESSED) for one in judged) / series,
        by_second=sum(one[1] == REGRESSED for one in judged) / series,
        by_tenth=sum(REGRESSED in one for one in judged) / series,
    )


def weekend_alarms(random: np.random.Generator, noise: Noise, shift_ratio: float, series: int) -> float:
    """Return the share of histories with a failed run although only each sixth and seventh value is that much worse."""
    failed = 0
    for _ in range(series):
        values = history(random, noise, RUN_COUNT)
        values = [value * (1 + shift_ratio * (index % 7 >= 5)) for index, value in enumerate(values)]
        failed += REGRESSED in states(values, VALUES_LEAST)
    return failed / series
