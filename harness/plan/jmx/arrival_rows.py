"""Writes the stages of returning users as rows of the Free-Form Arrivals Thread Group, so that all of them arrive.

After each arrival the group (casutg 2.10) waits for 1 / rate of that moment. So a ramp from 0 has one arrival and then
none for minutes, and a slow rate waits into the next stage.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from harness.plan.load.groups import Stage

# From this rate on, per s, the group waits for less than a second.
_FAST = 1.0
_ROUNDING = 1e-9


class ArrivalRow(NamedTuple):
    """A row of the group: it goes from one rate to another (per s) in whole seconds."""

    begin: float
    end: float
    length_s: int


def arrival_rows(stages: Sequence[Stage]) -> list[ArrivalRow]:
    """Return the rows for the stages of an open load; the group knows whole seconds only."""
    rows, level = list[ArrivalRow](), 0.0
    for stage in stages:
        rows += _ramp(ArrivalRow(level, stage.level, round(stage.over_s)))
        rows += _constant(stage.level, round(stage.for_s))
        level = stage.level
    return [row for row in rows if row.length_s]


def _constant(rate: float, length_s: int) -> Iterator[ArrivalRow]:
    """Yield the rows of a constant rate, whose last arrival does not wait beyond them."""
    until_s = length_s
    if 0 < rate < _FAST:
        count = math.floor(rate * length_s + _ROUNDING)
        until_s = min(length_s, round((count - 0.5) / rate)) if count else 0
    yield ArrivalRow(rate, rate, until_s)
    yield ArrivalRow(0.0, 0.0, length_s - until_s)


def _ramp(row: ArrivalRow) -> Iterator[ArrivalRow]:
    """Yield the rows of a ramp: while it is slow, each second has as many arrivals as are due in it."""

    def rate_at(second: int) -> float:
        return row.begin + (row.end - row.begin) * second / row.length_s

    def due_until(second: int) -> int:
        return math.floor(second * (row.begin + rate_at(second)) / 2 + 0.5)

    def slow_rate(second: int) -> int | None:
        is_slow = min(rate_at(second), rate_at(second + 1)) < _FAST
        return due_until(second + 1) - due_until(second) if is_slow else None

    for slow, grouped in groupby(range(row.length_s), slow_rate):
        seconds = list(grouped)
        begin, end = rate_at(seconds[0]), rate_at(seconds[-1] + 1)
        yield ArrivalRow(begin, end, len(seconds)) if slow is None else ArrivalRow(slow, slow, len(seconds))
