"""The schedule of a Throughput Shaping Timer for a load with stages of requests per second."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from harness.plan.load.groups import Stage


# Users whom the timer delays when the load ends send one request each, at the last rate. The timer must not end before
# them, because it would abort requests.
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
    """Return the requests that stages at whole seconds request in each second: the rate in its middle."""
    return tuple(slope.middle_rate_per_s(second) for slope in _slopes(stages) for second in range(slope.length_s))


def shaping_rows(stages: Sequence[Stage]) -> tuple[ShapingRow, ...]:
    """Return the rows of the timer for stages of requests per second at whole seconds.

    The timer reads its schedule at the begin of a second and uses that rate for the second; at the border of two rows
    the end of the first one counts (jmeter-plugins-tst 2.5). So each row goes from the rate in the middle of a second
    to that of a later one.
    """
    points: list[tuple[int, float]] = []  # the rate that the timer reads at a second after the start
    begin_s = 0
    for slope in _slopes(stages):
        for second in dict.fromkeys((0, slope.length_s - 1)):
            is_constant = slope.change_per_s == 0
            rate = round(slope.first_per_s) if is_constant else slope.middle_rate_per_s(second) - _ROUNDING
            points.append((begin_s + second, round(max(rate, _LEAST_PER_S), 3)))
        begin_s += slope.length_s
    points.append((points[-1][0] + _TAIL_S, points[-1][1]))
    return tuple(ShapingRow(one, other, end_s - at_s) for (at_s, one), (end_s, other) in pairwise(points))


class _Slope(NamedTuple):
    """An interval of whole seconds in which the rate changes evenly, or not at all."""

    first_per_s: float
    change_per_s: float
    length_s: int

    def middle_rate_per_s(self, second: int) -> float:
        """Return the rate in the middle of a second of the interval, from 0."""
        return self.first_per_s + self.change_per_s * (second + _MIDDLE_S)


def _slopes(stages: Sequence[Stage]) -> Iterator[_Slope]:
    """Yield the intervals of stages, each without a change of slope."""
    level = 0.0
    for stage in stages:
        end = stage.requests_per_s or 0.0
        over_s, for_s = round(stage.over_s), round(stage.for_s)
        if over_s:
            yield _Slope(level, (end - level) / over_s, over_s)
        if for_s:
            yield _Slope(end, 0.0, for_s)
        level = end
