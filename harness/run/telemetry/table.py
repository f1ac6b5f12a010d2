"""Reads telemetry.csv: CPU, memory, threads, descriptors and sockets per process."""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from harness.base.units import MS_PER_S
from harness.metrics.downsampling import SERIES_POINTS_MOST
from harness.metrics.interval import IntervalMs
from harness.run.telemetry.processes import GENERATOR, GENERATOR_PREFIX, HARNESS, HOST, STOLEN, process_at
from harness.run.telemetry.resources import RESOURCE_COLUMNS, Resources, resource_series

if TYPE_CHECKING:
    from harness.metrics.resource_growth import ResourceSeries

FILE_NAME = "telemetry.csv"
# cpu_cores is CPU seconds per second (1.0 is one core); rss_bytes of the host is its used memory.
_USE_COLUMNS = ("time_ms", "process", "cpu_cores", "rss_bytes", "thread_count")
# Only rows of a host have them: rates of the whole machine, and threads that run or wait for a core.
MACHINE_COLUMNS = (
    "iowait_cores", "runnable_threads", "switches_per_s", "received_bytes_per_s", "sent_bytes_per_s",
    "read_bytes_per_s", "written_bytes_per_s", "cpu_mhz",
)  # fmt: skip
# Only rows of processes with a CPU quota have them: periods of the quota, and those in which it was used up.
QUOTA_COLUMNS = ("quota_periods", "throttled_periods")
# 1 in rows of a process that a signal such as SIGSTOP or a debugger has stopped, else empty.
_STOPPED_COLUMN = "is_stopped"
COLUMNS = (*_USE_COLUMNS, *MACHINE_COLUMNS, *QUOTA_COLUMNS, *RESOURCE_COLUMNS, _STOPPED_COLUMN)
Row = list[str]


@dataclass(frozen=True)
class Usage:
    """The resource usage of one process over an interval; `thread_count_max` is None for the host.

    `throttled_ratio` is the share of the periods of its CPU quota in which the quota was used up; None without one.
    """

    process: str
    second_count: int
    cpu_cores_mean: float
    cpu_cores_min: float
    cpu_cores_max: float
    rss_bytes_mean: int
    rss_bytes_min: int
    rss_bytes_max: int
    thread_count_max: int | None
    throttled_ratio: float | None = None


@dataclass(frozen=True)
class MachineFigure:
    """One of MACHINE_COLUMNS over an interval; `process` is the name of the host."""

    process: str
    figure: str
    mean: float
    minimum: float
    maximum: float


@dataclass(frozen=True)
class UsageSeries:
    """The CPU and memory of one process for a chart; `seconds` count from the start of the run.

    There are at most SERIES_POINTS_MOST points; those of a longer run are means of a few seconds each.
    """

    process: str
    seconds: tuple[float, ...]
    cpu_cores: tuple[float, ...]
    rss_bytes: tuple[int, ...]


@dataclass(frozen=True)
class ProcessStop:
    """A time in which a process was stopped by a signal or a debugger, in seconds after the start of the run."""

    process: str
    from_s: float
    to_s: float


def rows_at(lines: Iterable[str], generator: str, ahead_ms: int = 0, without: Collection[str] = ()) -> Iterator[Row]:
    """Yield the rows of a generator's telemetry for that of the whole run, without some processes of its machine.

    Its processes are named with the generator, and its clock is `ahead_ms` ahead.
    """
    for row in csv.DictReader(lines):
        process = row["process"] or ""
        if process not in without:
            time_ms = row["time_ms"] or ""
            row["time_ms"] = str(int(time_ms) - ahead_ms) if ahead_ms and time_ms.isdecimal() else time_ms
            row["process"] = process_at(process, generator)
            yield [row.get(column) or "" for column in COLUMNS]


class _Row(NamedTuple):
    time_ms: int
    process: str
    cpu_cores: float
    rss_bytes: int
    thread_count: int | None
    machine: tuple[float | None, ...]
    resources: tuple[int | None, ...]
    is_stopped: bool
    quota_periods: int
    throttled_periods: int


@dataclass(frozen=True)
class Telemetry:
    """What telemetry.csv has: the usage per process within the window, its time series over the run, and machines.

    All are in order of appearance; the figures of machines and the resources of the system cover the window, `stops`
    the run.
    """

    usages: tuple[Usage, ...]
    series: tuple[UsageSeries, ...]
    machines: tuple[MachineFigure, ...]
    resources: tuple[ResourceSeries, ...] = ()
    stops: tuple[ProcessStop, ...] = ()


def read_telemetry(lines: Iterable[str], run_ms: IntervalMs, window_ms: IntervalMs) -> Telemetry:
    """Return the usages and time series of a run.

    Both intervals are epoch ms and include their ends. Rows are read once and not stored, as a run may last for days.
    Stolen time is left out when there is none.
    """
    uses: dict[str, _Use] = {}
    series: dict[str, _Series] = {}
    resources: dict[str, Resources] = {}
    stops = _Stops(run_ms.from_ms)
    for row in _rows(lines):
        if window_ms.from_ms <= row.time_ms <= window_ms.to_ms:
            uses.setdefault(row.process, _Use()).add(row)
            if _is_of_system(row.process):
                found = resources.setdefault(row.process, Resources(window_ms))
                found.add(row.time_ms, row.rss_bytes, row.thread_count, row.resources)
        if run_ms.from_ms <= row.time_ms <= run_ms.to_ms:
            series.setdefault(row.process, _Series()).add(row)
            stops.add(row)
    return Telemetry(
        tuple(use.usage(process) for process, use in uses.items() if use.is_any or not _is_stolen(process)),
        tuple(
            one.series(process, run_ms.from_ms)
            for process, one in series.items()
            if one.is_any or not _is_stolen(process)
        ),
        tuple(figure for process, use in uses.items() for figure in use.figures(process)),
        resource_series(resources, HOST),
        tuple(stops.found),
    )


def _is_stolen(process: str) -> bool:
    return process == STOLEN or process.startswith(f"{STOLEN} ")


def _is_of_system(process: str) -> bool:
    """Return whether a process is one of the system, or the host."""
    return process.partition(" ")[0] not in (GENERATOR, GENERATOR_PREFIX.strip(), HARNESS, STOLEN)


def _rows(lines: Iterable[str]) -> Iterator[_Row]:
    for row in csv.DictReader(lines):
        with suppress(TypeError, ValueError, KeyError):  # a killed harness leaves an incomplete last row
            yield _Row(
                int(row["time_ms"]),
                row["process"],
                float(row["cpu_cores"]),
                int(row["rss_bytes"]),
                int(row["thread_count"]) if row["thread_count"] else None,
                tuple(float(value) if (value := row.get(column)) else None for column in MACHINE_COLUMNS),
                tuple(int(value) if (value := row.get(column)) else None for column in RESOURCE_COLUMNS),
                row.get(_STOPPED_COLUMN) == "1",
                *(int(row.get(column) or 0) for column in QUOTA_COLUMNS),
            )


class _Stops:
    """Joins the rows in which a process was stopped; a stop begins at the row before its first one."""

    def __init__(self, origin_ms: int) -> None:
        self._origin_ms = origin_ms
        self._last_ms: dict[str, int] = {}
        self._current: dict[str, int] = {}
        self.found: list[ProcessStop] = []

    def add(self, row: _Row) -> None:
        process, last_ms = row.process, self._last_ms.get(row.process, row.time_ms)
        self._last_ms[process] = row.time_ms
        if not row.is_stopped:
            self._current.pop(process, None)
            return
        from_s, to_s = (round((time_ms - self._origin_ms) / MS_PER_S, 1) for time_ms in (last_ms, row.time_ms))
        if process in self._current:
            index = self._current[process]
            self.found[index] = replace(self.found[index], to_s=to_s)
        else:
            self._current[process] = len(self.found)
            self.found.append(ProcessStop(process, from_s, to_s))


class _Figure:
    """Adds up the values of one figure."""

    def __init__(self) -> None:
        self.count = 0
        self.sum: float = 0  # exact for whole numbers
        self.minimum, self.maximum = math.inf, -math.inf

    def add(self, value: float) -> None:
        self.count += 1
        self.sum += value
        self.minimum, self.maximum = min(self.minimum, value), max(self.maximum, value)

    @property
    def mean(self) -> float:
        return self.sum / self.count


class _Use:
    """Adds up the rows of one process."""

    def __init__(self) -> None:
        self._cores, self._bytes = _Figure(), _Figure()
        self._threads_max: int | None = None
        self._periods, self._throttled = 0, 0
        self._figures: defaultdict[str, _Figure] = defaultdict(_Figure)

    @property
    def is_any(self) -> bool:
        """Whether it used any CPU time."""
        return self._cores.maximum > 0

    def add(self, row: _Row) -> None:
        self._cores.add(row.cpu_cores)
        self._bytes.add(row.rss_bytes)
        if row.thread_count is not None:
            self._threads_max = max(self._threads_max or 0, row.thread_count)
        self._periods += row.quota_periods
        self._throttled += row.throttled_periods
        for column, value in zip(MACHINE_COLUMNS, row.machine, strict=True):
            if value is not None:
                self._figures[column].add(value)

    def usage(self, process: str) -> Usage:
        return Usage(
            process=process,
            second_count=self._cores.count,
            cpu_cores_mean=round(self._cores.mean, 4),
            cpu_cores_min=self._cores.minimum,
            cpu_cores_max=self._cores.maximum,
            rss_bytes_mean=round(self._bytes.mean),
            rss_bytes_min=int(self._bytes.minimum),
            rss_bytes_max=int(self._bytes.maximum),
            thread_count_max=self._threads_max,
            throttled_ratio=round(self._throttled / self._periods, 4) if self._periods else None,
        )

    def figures(self, process: str) -> Iterator[MachineFigure]:
        for name, found in self._figures.items():
            yield MachineFigure(process, name, round(found.mean, 4), found.minimum, found.maximum)


@dataclass
class _Point:
    """The sums of the rows of one point."""

    row_count: int
    time_ms_sum: int
    cores_sum: float
    bytes_sum: int

    def plus(self, other: _Point) -> _Point:
        return _Point(
            self.row_count + other.row_count,
            self.time_ms_sum + other.time_ms_sum,
            self.cores_sum + other.cores_sum,
            self.bytes_sum + other.bytes_sum,
        )


class _Series:
    """The points of one process; when there are too many, neighbours are merged in pairs."""

    def __init__(self) -> None:
        self._rows_per_point = 1
        self._points: list[_Point] = []

    @property
    def is_any(self) -> bool:
        """Whether it used any CPU time."""
        return any(point.cores_sum > 0 for point in self._points)

    def add(self, row: _Row) -> None:
        point = _Point(1, row.time_ms, row.cpu_cores, row.rss_bytes)
        if self._points and self._points[-1].row_count < self._rows_per_point:
            self._points[-1] = self._points[-1].plus(point)
            return
        if len(self._points) == SERIES_POINTS_MOST:
            self._points = [one.plus(other) for one, other in zip(self._points[::2], self._points[1::2], strict=True)]
            self._rows_per_point *= 2
        self._points.append(point)

    def series(self, process: str, origin_ms: int) -> UsageSeries:
        points = self._points
        return UsageSeries(
            process=process,
            seconds=tuple(round((point.time_ms_sum / point.row_count - origin_ms) / MS_PER_S, 1) for point in points),
            cpu_cores=tuple(round(point.cores_sum / point.row_count, 3) for point in points),
            rss_bytes=tuple(round(point.bytes_sum / point.row_count) for point in points),
        )
