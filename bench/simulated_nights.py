"""Simulated histories of which it is known what happened in them: how often the gate is wrong, and what it sees.

A night's value is 100 ms times a factor whose logarithm has the standard deviation of the coefficient of variation:
normal, or Student's t with 4 degrees of freedom, scaled to the same deviation, whose outliers are many. Neighbouring
nights may resemble each other: each logarithm is rho times the one before and a new one (AR(1)). Each night is judged
by what was known then, change points among it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from harness.history.trend import IMPROVED, NIGHTS_LEAST, NIGHTS_MOST, REGRESSED, WARNED, Gauge, changes_of, positions
from harness.metrics.metric import AVERAGE
from harness.plan.thresholds import Thresholds

NIGHTS = 60
# Those that are judged while there are fewer than 20 before them.
LEARNING_NIGHTS = NIGHTS_MOST - NIGHTS_LEAST
_BASE_MS = 100.0
_TAIL_FREEDOM = 4


@dataclass(frozen=True)
class Noise:
    """How far nights are apart: coefficient of variation, normal or heavy-tailed, and rho of neighbours."""

    cv: float
    is_heavy: bool = False
    rho: float = 0.0


@dataclass(frozen=True)
class Alarms:
    """Shares of the nights judged of series in which nothing happened; `of_learning` is that of the first 14 that fail.

    `in_series` is the share of series in which any night failed.
    """

    nights: int
    warned: float
    failed: float
    improved: float
    of_learning: float
    in_series: float


@dataclass(frozen=True)
class Found:
    """Shares of series with a change for the worse: warned of in its first night, failed in its second or fifth."""

    first_night: float
    second_night: float
    fifth_night: float


def history(random: np.random.Generator, noise: Noise, count: int) -> list[float]:
    """Return the values (ms) of as many nights."""
    if noise.is_heavy:
        new = random.standard_t(_TAIL_FREEDOM, count) / math.sqrt(_TAIL_FREEDOM / (_TAIL_FREEDOM - 2))
    else:
        new = random.standard_normal(count)
    logs = [float(new[0])]
    for value in new[1:]:
        logs.append(noise.rho * logs[-1] + math.sqrt(1 - noise.rho**2) * float(value))
    return [_BASE_MS * math.exp(noise.cv * log) for log in logs]


def night_states(values: list[float], first: int) -> Iterator[str]:
    """Yield the state of each night from `first` on, as it was judged in that night."""
    gauge = Gauge(AVERAGE, Thresholds().of(AVERAGE))
    for place in range(first, len(values)):
        known = values[: place + 1]
        yield positions(known, gauge, changes_of(known, gauge))[-1].state


def alarms(random: np.random.Generator, noise: Noise, series: int) -> Alarms:
    """Return how often a night of a series in which nothing happened is called something."""
    states = [list(night_states(history(random, noise, NIGHTS), NIGHTS_LEAST)) for _ in range(series)]
    nights = series * (NIGHTS - NIGHTS_LEAST)
    return Alarms(
        nights=nights,
        warned=sum(one.count(WARNED) for one in states) / nights,
        failed=sum(one.count(REGRESSED) for one in states) / nights,
        improved=sum(one.count(IMPROVED) for one in states) / nights,
        of_learning=sum(one[:LEARNING_NIGHTS].count(REGRESSED) for one in states) / (series * LEARNING_NIGHTS),
        in_series=sum(REGRESSED in one for one in states) / series,
    )


def found(random: np.random.Generator, noise: Noise, shift_ratio: float, nights_before: int, series: int) -> Found:
    """Return how often a change for the worse is seen that so many nights precede."""
    states = []
    for _ in range(series):
        values = history(random, noise, nights_before + 5)
        values[nights_before:] = [value * (1 + shift_ratio) for value in values[nights_before:]]
        states.append(list(night_states(values, nights_before)))
    return Found(
        first_night=sum(one[0] in (WARNED, REGRESSED) for one in states) / series,
        second_night=sum(one[1] == REGRESSED for one in states) / series,
        fifth_night=sum(one[4] == REGRESSED for one in states) / series,
    )
