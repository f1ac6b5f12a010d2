"""The schedule of a Throughput Shaping Timer for a load with stages of requests per second."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from harness.plan.group_load import Stage

# Users who wait for their turn when the load ends send one request each, at the last rate; the timer must not end
# before them, because it would abort requests.
_TAIL_S = 3600
# Within a second the timer lets requests pass until their number is not below its rate: it rounds up, and lets one pass
# whatever the rate. With half a request less a ramp is rounded to the nearest number. A constant rate is rounded here:
# at a rate of exactly n, the last of n requests has the most time until the second ends.
_ROUNDING = 0.5
_LEAST_PER_S = 0.5
_MIDDLE_S = 0.5


class ShapingRow(NamedTuple):
    """A row of the timer: the rate goes from one to another within whole seconds."""

    from_per_s: float
    to_per_s: float
    for_s: int


def second_rates(stages: Sequence[Stage]) -> tuple[float, ...]:
    """Return the requests that stages at whole seconds ask for in each second: the rate in its middle."""
    return tuple(begin + slope * (second + _MIDDLE_S) for begin, slope, n in _pieces(stages) for second in range(n))


def shaping_rows(stages: Sequence[Stage]) -> tuple[ShapingRow, ...]:
    """Return the rows of the timer for stages of requests per second at whole seconds.

    The timer reads its schedule at the begin of a second and keeps that rate for the second; at the border of two rows
    the end of the first one counts (jmeter-plugins-tst 2.5). So each row goes from the rate in the middle of a second
    to that of a later one.
    """
    points: list[tuple[int, float]] = []
    at_s = 0
    for begin, slope, length_s in _pieces(stages):
        for second in dict.fromkeys((0, length_s - 1)):
            rate = begin + slope * (second + _MIDDLE_S) - _ROUNDING if slope else round(begin)
            points.append((at_s + second, round(max(rate, _LEAST_PER_S), 3)))
        at_s += length_s
    rows = [ShapingRow(one, other, till_s - from_s) for (from_s, one), (till_s, other) in pairwise(points)]
    last = points[-1][1]
    return (*rows, ShapingRow(last, last, _TAIL_S))


def _pieces(stages: Sequence[Stage]) -> Iterator[tuple[float, float, int]]:
    """Yield each interval without a change of slope: its first rate, the change per second, and its whole seconds."""
    level = 0.0
    for stage in stages:
        end = stage.requests_per_s or 0.0
        over_s, for_s = round(stage.over_s), round(stage.for_s)
        if over_s:
            yield level, (end - level) / over_s, over_s
        if for_s:
            yield end, 0.0, for_s
        level = end
