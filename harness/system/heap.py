"""The heap of a JVM, seen before and after each garbage collection: what `jfr print` says, what heap.csv holds.

A JVM reports its heap at collections only. Between two of them `used` grows about evenly, so that a straight line from
one point to the next is the figure's own course, and the mean is that of these lines over time.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from harness.base.units import MS_PER_S

# What is printed of a recording; every collector of OpenJDK 17 writes it (G1, Parallel, Serial, Z, Shenandoah).
EVENT = "jdk.GCHeapSummary"
COLUMNS = ("time_ms", "process", "used_bytes", "committed_bytes", "reserved_bytes")
SERIES_POINTS_KEPT = 600

_FIELD = re.compile(r'\s*"(type|startTime|heapUsed|committedSize|reservedSize)": "?([^",]+)')
_NEEDED = frozenset({"startTime", "heapUsed", "committedSize", "reservedSize"})


@dataclass(frozen=True)
class HeapPoint:
    """The heap of one JVM at one instant (epoch ms): in use, backed by memory, and the most it may become."""

    time_ms: int
    used_bytes: int
    committed_bytes: int
    reserved_bytes: int


Heaps = Mapping[str, tuple[HeapPoint, ...]]


@dataclass(frozen=True)
class HeapUse:
    """The heap of one process over a stretch of time; without a garbage collection in it the figures are None."""

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


@dataclass(frozen=True)
class HeapSeries:
    """The heap of one process to be drawn: used, committed and reserved bytes at seconds after the start of the run."""

    process: str
    seconds: tuple[float, ...]
    used_bytes: tuple[int, ...]
    committed_bytes: tuple[int, ...]
    reserved_bytes: tuple[int, ...]


def printed_points(lines: Iterable[str]) -> Iterator[HeapPoint]:
    """Yield the points in what `jfr print --json --events jdk.GCHeapSummary` printed, in its order.

    Line by line: a recording of hours is not held in memory, and of an output that breaks off the whole events count.
    """
    event: dict[str, str] = {}
    for line in lines:
        field = _FIELD.match(line)
        if field is None:
            continue
        name, value = field.groups()
        if name == "type":
            event = {}
            continue
        event[name] = value
        if event.keys() >= _NEEDED:
            point = _point(event)
            event = {}
            if point:
                yield point


def _point(event: Mapping[str, str]) -> HeapPoint | None:
    try:
        return HeapPoint(
            round(datetime.fromisoformat(event["startTime"]).timestamp() * MS_PER_S),
            int(event["heapUsed"]),
            int(event["committedSize"]),
            int(event["reservedSize"]),
        )
    except ValueError:
        return None


def read_heaps(lines: Iterable[str]) -> Heaps:
    """Return the points per process in the lines of a heap.csv, by time; torn rows are passed over."""
    found: dict[str, list[HeapPoint]] = {}
    for row in csv.DictReader(lines):
        try:
            sizes = int(row["used_bytes"]), int(row["committed_bytes"]), int(row["reserved_bytes"])
            found.setdefault(row["process"], []).append(HeapPoint(int(row["time_ms"]), *sizes))
        except (TypeError, ValueError, KeyError):
            continue  # a disk that was full leaves half a row at the end
    return {process: tuple(sorted(points, key=lambda point: point.time_ms)) for process, points in found.items()}


def heap_uses(heaps: Heaps, first_ms: int, last_ms: int) -> tuple[HeapUse, ...]:
    """Return the use of the heap per process between two instants (epoch ms), in order of appearance."""
    return tuple(_use(process, _within(points, first_ms, last_ms)) for process, points in heaps.items())


def heap_series(heaps: Heaps, first_ms: int, last_ms: int) -> tuple[HeapSeries, ...]:
    """Return the points per process between two instants, in seconds after the first; peaks survive the thinning.

    A process without a point in between has no series.
    """
    series = []
    for process, points in heaps.items():
        kept = _thinned(_within(points, first_ms, last_ms), first_ms, last_ms)
        if kept:
            series.append(
                HeapSeries(
                    process,
                    tuple((point.time_ms - first_ms) / MS_PER_S for point in kept),
                    tuple(point.used_bytes for point in kept),
                    tuple(point.committed_bytes for point in kept),
                    tuple(point.reserved_bytes for point in kept),
                )
            )
    return tuple(series)


def _within(points: Sequence[HeapPoint], first_ms: int, last_ms: int) -> list[HeapPoint]:
    return [point for point in points if first_ms <= point.time_ms <= last_ms]


def _thinned(points: list[HeapPoint], first_ms: int, last_ms: int) -> list[HeapPoint]:
    """Return at most SERIES_POINTS_KEPT points: of each slice of time the lowest, the highest, the most committed."""
    if len(points) <= SERIES_POINTS_KEPT:
        return points
    slice_count = SERIES_POINTS_KEPT // 3
    slices: list[list[HeapPoint]] = [[] for _ in range(slice_count)]
    for point in points:
        slices[(point.time_ms - first_ms) * slice_count // (last_ms - first_ms + 1)].append(point)
    kept: list[HeapPoint] = []
    for found in filter(None, slices):
        places = range(len(found))
        chosen = {
            min(places, key=lambda place: found[place].used_bytes),
            max(places, key=lambda place: found[place].used_bytes),
            max(places, key=lambda place: found[place].committed_bytes),
        }
        kept.extend(found[place] for place in sorted(chosen))
    return kept


def _use(process: str, points: Sequence[HeapPoint]) -> HeapUse:
    used = _mean_min_max(points, lambda point: point.used_bytes)
    committed = _mean_min_max(points, lambda point: point.committed_bytes)
    reserved = _mean_min_max(points, lambda point: point.reserved_bytes)
    return HeapUse(process, len(points), *used, *committed, *reserved)


def _mean_min_max(
    points: Sequence[HeapPoint], size_of: Callable[[HeapPoint], int]
) -> tuple[int | None, int | None, int | None]:
    if not points:
        return None, None, None
    sizes = [size_of(point) for point in points]
    passed_ms = points[-1].time_ms - points[0].time_ms
    if passed_ms == 0:
        return round(sum(sizes) / len(sizes)), min(sizes), max(sizes)
    area = sum(
        (later.time_ms - earlier.time_ms) * (size_of(earlier) + size_of(later)) / 2
        for earlier, later in pairwise(points)
    )
    return round(area / passed_ms), min(sizes), max(sizes)
