"""The heap of a JVM before and after each garbage collection, read from heap.csv.

A JVM reports its heap only at collections. Between two of them, `used` grows about evenly, so straight lines between
the points describe it well, and the mean is the mean of these lines over time.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import Any

from harness.base.units import MS_PER_S
from harness.metrics.downsampling import SERIES_POINTS_MOST
from harness.metrics.resource_growth import HEAP, Bins, ResourceSeries, has_lost_garbage
from harness.system.histograms import forced_ms
from harness.system.recorder import Reading

# The event that is printed from a recording; every collector of OpenJDK 17 writes it (G1, Parallel, Serial, Z,
# Shenandoah).
EVENT = "jdk.GCHeapSummary"
FILE_NAME = "heap.csv"
COLUMNS = ("time_ms", "process", "used_bytes", "committed_bytes", "reserved_bytes", "when")
# The values of `when`; files of versions without that column do not know it.
BEFORE, AFTER = "before", "after"


@dataclass(frozen=True)
class HeapPoint:
    """The heap of one JVM at one instant (epoch ms): bytes in use, committed and reserved.

    `is_after_gc` is False before a collection, and when the file has no such column.
    """

    time_ms: int
    used_bytes: int
    committed_bytes: int
    reserved_bytes: int
    is_after_gc: bool = False


Heaps = Mapping[str, tuple[HeapPoint, ...]]


@dataclass(frozen=True)
class HeapUse:
    """The heap of one process during an interval; the sizes are None without a garbage collection in it.

    `after_gc_bytes_mean` is the mean of the bytes in use after collections; None when the file has no column for it.
    """

    process: str
    point_count: int
    used_bytes_mean: int | None
    used_bytes_min: int | None
    used_bytes_max: int | None
    committed_bytes_mean: int | None
    committed_bytes_min: int | None
    committed_bytes_max: int | None
    reserved_bytes_mean: int | None
    reserved_bytes_min: int | None
    reserved_bytes_max: int | None
    after_gc_bytes_mean: int | None = None


@dataclass(frozen=True)
class HeapSeries:
    """The heap of one process for a chart: used, committed and reserved bytes by seconds after the start of the run."""

    process: str
    seconds: tuple[float, ...]
    used_bytes: tuple[int, ...]
    committed_bytes: tuple[int, ...]
    reserved_bytes: tuple[int, ...]


def read_heaps(lines: Iterable[str]) -> Heaps:
    """Return the points per process from the lines of a heap.csv, by time; incomplete rows are skipped."""
    heaps: dict[str, list[HeapPoint]] = {}
    for row in csv.DictReader(lines):
        with suppress(TypeError, ValueError, KeyError):  # a full disk leaves an incomplete last row
            time_ms, used, committed, reserved = (int(row[name]) for name in (COLUMNS[0], *COLUMNS[2:5]))
            point = HeapPoint(time_ms, used, committed, reserved, row.get("when") == AFTER)
            heaps.setdefault(row["process"], []).append(point)
    return {process: tuple(sorted(points, key=lambda point: point.time_ms)) for process, points in heaps.items()}


def read_heap_uses(of: Reading) -> dict[str, Any]:
    """Return the heaps of a run for its report, and add them to its resources."""
    heaps = read_heaps(of.lines(FILE_NAME))
    of.resources.extend(heap_after_gc(heaps, *of.window_ms, forced_ms(of.histograms)))
    return {"heap_uses": heap_uses(heaps, *of.window_ms), "heap_series": heap_series(heaps, *of.run_ms)}


def heap_uses(heaps: Heaps, first_ms: int, last_ms: int) -> tuple[HeapUse, ...]:
    """Return the heap use of each process between two instants (epoch ms), in order of appearance."""
    return tuple(_use(process, _within(points, first_ms, last_ms)) for process, points in heaps.items())


def heap_series(heaps: Heaps, first_ms: int, last_ms: int) -> tuple[HeapSeries, ...]:
    """Return the points per process between two instants, in seconds after the first; thinning preserves peaks.

    A process without points in the interval has no series.
    """
    shown = {name: _thinned(_within(points, first_ms, last_ms), first_ms, last_ms) for name, points in heaps.items()}
    return tuple(
        HeapSeries(
            process,
            tuple((point.time_ms - first_ms) / MS_PER_S for point in points),
            tuple(point.used_bytes for point in points),
            tuple(point.committed_bytes for point in points),
            tuple(point.reserved_bytes for point in points),
        )
        for process, points in shown.items()
        if points
    )


def heap_after_gc(
    heaps: Heaps, first_ms: int, last_ms: int, forced_ms: Mapping[str, Sequence[int]] | None = None
) -> tuple[ResourceSeries, ...]:
    """Return the heap of each process after collections between two instants (epoch ms): the least of each part.

    Young collections leave old garbage, so a rise is conclusive only if old garbage was collected, too: the values
    fell once, or a full collection was forced (at `forced_ms`, by process).
    """
    series = []
    for process, points in heaps.items():
        after = [point for point in _within(points, first_ms, last_ms) if point.is_after_gc]
        bins = Bins(first_ms, last_ms)
        for point in after:
            bins.add(point.time_ms, point.used_bytes)
        if after:
            least = bins.minimums()
            is_forced = any(first_ms <= at_ms <= last_ms for at_ms in (forced_ms or {}).get(process, ()))
            is_conclusive = is_forced or has_lost_garbage([used for _, used in least])
            series.append(ResourceSeries(process, HEAP, least, after[-1].reserved_bytes, is_conclusive))
    return tuple(series)


def _within(points: Sequence[HeapPoint], first_ms: int, last_ms: int) -> list[HeapPoint]:
    return [point for point in points if first_ms <= point.time_ms <= last_ms]


def _thinned(points: list[HeapPoint], first_ms: int, last_ms: int) -> list[HeapPoint]:
    """Return at most SERIES_POINTS_MOST points: per slice of time the lowest, the highest and the most committed."""
    if len(points) <= SERIES_POINTS_MOST:
        return points
    slice_count = SERIES_POINTS_MOST // 3
    slices: list[list[HeapPoint]] = [[] for _ in range(slice_count)]
    for point in points:
        slices[(point.time_ms - first_ms) * slice_count // (last_ms - first_ms + 1)].append(point)
    chosen: list[HeapPoint] = []
    for part in filter(None, slices):
        indexes = range(len(part))
        extremes = {
            min(indexes, key=lambda index: part[index].used_bytes),
            max(indexes, key=lambda index: part[index].used_bytes),
            max(indexes, key=lambda index: part[index].committed_bytes),
        }
        chosen.extend(part[index] for index in sorted(extremes))
    return chosen


def _use(process: str, points: Sequence[HeapPoint]) -> HeapUse:
    used, committed, reserved = (
        _summed_up(points, [getattr(point, name) for point in points])
        for name in ("used_bytes", "committed_bytes", "reserved_bytes")
    )
    after = [point.used_bytes for point in points if point.is_after_gc]
    return HeapUse(process, len(points), *used, *committed, *reserved, round(fmean(after)) if after else None)


# The mean over time, the smallest and the largest; None without a point.
_Sizes = tuple[int | None, int | None, int | None]


def _summed_up(points: Sequence[HeapPoint], sizes: Sequence[int]) -> _Sizes:
    if not sizes:
        return (None, None, None)
    passed_ms = points[-1].time_ms - points[0].time_ms
    steps_ms = (later.time_ms - earlier.time_ms for earlier, later in pairwise(points))
    means = ((earlier + later) / 2 for earlier, later in pairwise(sizes))
    area = sum(step_ms * mean for step_ms, mean in zip(steps_ms, means, strict=True))
    return (round(area / passed_ms if passed_ms else fmean(sizes)), min(sizes), max(sizes))
