"""Finds the resources of a process that grow during one long run, and forecasts when they reach their limit.

A resource grows if the slope of its line over the window is significant, no shape that ends describes it better, and
the rise is no trifle. Memory that is filled once (caches, a heap that gets its size) levels off; a heap grows in steps.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean, median

from harness.base.units import BYTES_PER_MB, MS_PER_S
from harness.metrics.growth_shape import Shape, shape_of
from harness.metrics.slope import Points, Slope, correlation_of, slope

# The window is divided into so many parts of equal length; a resource has one value in each.
BIN_COUNT = 60
# In a shorter window a JVM still warms up.
SPAN_LEAST_S = 600.0
_POINTS_LEAST = 12
# All rows of a run together claim a growth that does not exist in so many runs at most.
_FALSE_CLAIMS_MOST = 0.025
# Of the resource's mean, or of what is left of a disk; a smaller rise is a trifle.
RISE_LEAST_RATIO = 0.02
# Two slopes that differ by more standard errors of their difference are not of one line.
_ERRORS_MOST = 1.5
# A rate that changed by no more than this part of it between the last two quarters still says when the end comes.
_DIFFERENCE_MOST = 0.1
# A fall of the heap from one part to the next by so many times the median deviation of all steps is no chance.
_FALL_LEAST = 8.0
_S_PER_H = 3600.0
_DECIMALS = 6

HEAP, RSS, THREADS = "heap_after_gc_bytes", "rss_bytes", "thread_count"
OPEN_FILES, SOCKETS, DISK, MEMORY_RATIO = "open_files", "sockets", "disk_used_bytes", "memory_ratio"
GROWS, STEADY, CANNOT_TELL = "grows", "steady", "cannot tell"
# The least rise of each resource in a window.
RISE_LEAST: Mapping[str, float] = {
    HEAP: BYTES_PER_MB,
    RSS: BYTES_PER_MB,
    THREADS: 3,
    OPEN_FILES: 3,
    SOCKETS: 3,
    DISK: BYTES_PER_MB,
    MEMORY_RATIO: 0.005,
}


@dataclass(frozen=True)
class ResourceSeries:
    """One resource of a process in the window: (seconds after its begin, value) of each part that has a value.

    `limit` is what the value cannot exceed, None when it is not known. `is_conclusive` is False when a rise may be
    garbage that was not collected yet.
    """

    process: str
    resource: str
    points: tuple[tuple[float, float], ...]
    limit: float | None = None
    is_conclusive: bool = True


@dataclass(frozen=True)
class Growth:
    """The growth of a resource in the window, in bytes, a count or a ratio per hour, with its 95 % interval.

    `first` and `last` are the means of the first and the last tenth of the window. `verdict` is one of grows, steady
    and cannot tell. For a resource that grows, `left_h` is the forecast of the hours from the end of the window until
    `limit`, and `left_low_h` to `left_high_h` its interval; None when the limit is not known, or when the rate changes
    so much in the window that it says nothing about the time after it.
    """

    process: str
    resource: str
    point_count: int
    first: float
    last: float
    per_hour: float
    low_per_hour: float
    high_per_hour: float
    verdict: str
    limit: float | None = None
    left_h: float | None = None
    left_low_h: float | None = None
    left_high_h: float | None = None


@dataclass
class _Bin:
    """The values of one part: the least of them, their number and their sum."""

    least: float
    count: int = 0
    total: float = 0.0


class Bins:
    """The values of one resource in BIN_COUNT parts of the time between two instants (epoch ms, both included)."""

    def __init__(self, first_ms: int, last_ms: int) -> None:
        self._first_ms, self._last_ms = first_ms, last_ms
        self._bins: dict[int, _Bin] = {}

    def add(self, time_ms: int, value: float) -> None:
        """Add a value; one outside of the interval is ignored."""
        if self._first_ms <= time_ms <= self._last_ms:
            number = (time_ms - self._first_ms) * BIN_COUNT // (self._last_ms - self._first_ms + 1)
            current = self._bins.setdefault(number, _Bin(value))
            current.count += 1
            current.total += value
            current.least = min(current.least, value)

    def means(self) -> tuple[tuple[float, float], ...]:
        """Return the middle of each part with values, in seconds after the begin, and their mean."""
        return tuple((at_s, one.total / one.count) for at_s, one in self._by_time())

    def minimums(self) -> tuple[tuple[float, float], ...]:
        """Return the middle of each part with values, in seconds after the begin, and the least of them."""
        return tuple((at_s, one.least) for at_s, one in self._by_time())

    def _by_time(self) -> Iterator[tuple[float, _Bin]]:
        width_s = (self._last_ms - self._first_ms + 1) / MS_PER_S / BIN_COUNT
        return ((round((number + 0.5) * width_s, 3), self._bins[number]) for number in sorted(self._bins))


def has_lost_garbage(values: Sequence[float]) -> bool:
    """Return whether the least heap of each part fell once by far more than it scatters: old garbage was collected."""
    if not (steps := [after - before for before, after in pairwise(values)]):
        return False
    middle = median(steps)
    scatter = median(abs(step - middle) for step in steps)
    return -min(steps) > _FALL_LEAST * scatter and min(steps) < 0


def growths(series: Sequence[ResourceSeries], span_s: float, least_s: float = SPAN_LEAST_S) -> tuple[Growth, ...]:
    """Return the growth of each resource in a window of `span_s` seconds.

    Empty for a window shorter than `least_s`; a resource with too few values is left out.
    """
    if span_s < least_s:
        return ()
    known = [one for one in series if len(one.points) >= _POINTS_LEAST]
    found = (_growth(one, span_s, _FALSE_CLAIMS_MOST / len(known)) for one in known)
    return tuple(growth for growth in found if growth is not None)


def _growth(series: ResourceSeries, span_s: float, level: float) -> Growth | None:
    """Return the growth of a resource, a claim at this level of significance."""
    points = series.points
    correlation = correlation_of(points)
    if (line := slope((points,), correlation)) is None:
        return None
    tenth = max(1, len(points) // 10)
    first = fmean(value for _, value in points[:tenth])
    last = fmean(value for _, value in points[-tenth:])
    is_sure = line.value > line.reach and line.rise_p_value <= level
    is_rise = is_sure and not _is_trifle(series, line.value, span_s)
    shape = shape_of(points) if is_rise else None
    is_growth = shape is not None and shape.goes_on
    verdict = STEADY if not is_growth else GROWS if series.is_conclusive else CANNOT_TELL
    low, high = line.value - line.reach, line.value + line.reach
    left_h = left_low_h = left_high_h = None
    if shape and verdict == GROWS and series.limit is not None:
        # `last` is the value half a tenth before the end of the window.
        since_s = span_s - fmean(at_s for at_s, _ in points[-tenth:])
        left_h, left_low_h, left_high_h = _forecast(series.limit - last, since_s, _rates_ahead(points, line, shape))
    return Growth(
        process=series.process,
        resource=series.resource,
        point_count=len(points),
        first=round(first, _DECIMALS),
        last=round(last, _DECIMALS),
        per_hour=round(line.value * _S_PER_H, _DECIMALS),
        low_per_hour=round(low * _S_PER_H, _DECIMALS),
        high_per_hour=round(high * _S_PER_H, _DECIMALS),
        verdict=verdict,
        limit=series.limit,
        left_h=left_h,
        left_low_h=left_low_h,
        left_high_h=left_high_h,
    )


def _rates_ahead(points: Points, line: Slope, shape: Shape) -> Sequence[Slope]:
    """Return the estimates of the rate after the window, the best one first; empty when the rate does not settle.

    The whole line and its second half where the halves agree; otherwise the second half and the last quarter, after a
    warm-up also the lines beside it that the values do not exclude. A small change between the last two quarters may
    happen once more.
    """
    middle = len(points) // 2
    parts = points[:middle], points[middle:], points[middle : middle + middle // 2], points[-middle // 2 :]
    first, second, third, fourth = (slope((part,), shape.correlation) for part in parts)
    if third is None or second is None or fourth is None:
        return ()
    difference = fourth.value - third.value
    changed: tuple[Slope, ...] = ()
    if not _agree(third, fourth):
        if abs(difference) > _DIFFERENCE_MOST * abs(line.value):
            return ()
        changed = fourth, replace(fourth, value=fourth.value + difference, error=0.0)
    if shape.rates:
        return second, fourth, *(replace(second, value=rate) for rate in shape.rates), *changed
    return (line, second, *changed) if _agree(first, second) else (second, fourth, *changed)


def _agree(one: Slope | None, other: Slope) -> bool:
    """Return whether two slopes may be those of one line."""
    return one is not None and abs(one.value - other.value) <= _ERRORS_MOST * math.hypot(one.error, other.error)


def _forecast(left: float, since_s: float, rates: Sequence[Slope]) -> list[float | None]:
    """Return the hours until what was `left` so many seconds before the end of the window is used up at these rates.

    Their interval follows, which contains those of all rates, since the run cannot tell which one continues. All are
    None when a rate may be none.
    """
    low = min((one.value - one.reach for one in rates), default=0.0)
    if low <= 0:
        return [None, None, None]
    rate, high = rates[0].value, max(one.value + one.reach for one in rates)
    rest = max(0.0, left - rate * since_s)
    return [round(rest / one / _S_PER_H, 3) for one in (rate, high, low)]


def _is_trifle(series: ResourceSeries, rate: float, span_s: float) -> bool:
    base = fmean(value for _, value in series.points)
    if series.resource == DISK and series.limit is not None:
        base = max(0.0, series.limit - series.points[-1][1])
    return rate * span_s < max(RISE_LEAST[series.resource], RISE_LEAST_RATIO * base)
