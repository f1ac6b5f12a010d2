"""The resources of a process of the system over the window, from the rows of telemetry.csv."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from harness.metrics.interval import IntervalMs
from harness.metrics.resource_growth import DISK, OPEN_FILES, RSS, SOCKETS, THREADS, Bins, ResourceSeries

# Every tenth row of a process has them: descriptors of its member with most, sockets, and its limits. Those of the host
# are its memory, and the disk of the run directory.
RESOURCE_COLUMNS = (OPEN_FILES, "open_files_limit", SOCKETS, "memory_limit_bytes", DISK, "disk_size_bytes")


class Resources:
    """The resources of one process in the parts of a window (epoch ms, both ends included), and their last limits."""

    def __init__(self, window_ms: IntervalMs) -> None:
        self._bins = {
            name: Bins(window_ms.from_ms, window_ms.to_ms) for name in (RSS, THREADS, OPEN_FILES, SOCKETS, DISK)
        }
        self._limits: dict[str, int] = {}

    def add(self, time_ms: int, rss_bytes: int, thread_count: int | None, cells: Sequence[int | None]) -> None:
        """Add a row; `cells` are the values of RESOURCE_COLUMNS."""
        open_files, open_files_limit, sockets, memory_limit, disk, disk_size = cells
        values = {RSS: rss_bytes, THREADS: thread_count, OPEN_FILES: open_files, SOCKETS: sockets, DISK: disk}
        for name, value in values.items():
            if value is not None:
                self._bins[name].add(time_ms, value)
        limits = {OPEN_FILES: open_files_limit, RSS: memory_limit, DISK: disk_size}
        self._limits |= {name: limit for name, limit in limits.items() if limit is not None}

    @property
    def left_bytes(self) -> float | None:
        """Return how much memory is left up to the limit at the end; None without a limit."""
        points, limit = self._bins[RSS].means(), self._limits.get(RSS)
        return None if limit is None or not points else max(0.0, limit - points[-1][1])

    def series(self, process: str, left_bytes: float | None) -> Iterator[ResourceSeries]:
        """Yield what the process has values of; `left_bytes` is the memory that the machine had left at the end."""
        for name, bins in self._bins.items():
            points = bins.means()
            limit: float | None = self._limits.get(name)
            if points and name == RSS and limit is None and left_bytes is not None:
                limit = points[-1][1] + left_bytes
            if points:
                yield ResourceSeries(process, name, points, limit)


def resource_series(resources: Mapping[str, Resources], host: str) -> tuple[ResourceSeries, ...]:
    """Return the series of all processes; one without a limit of its own can get what the machine `host` has left."""
    machine = resources.get(host)
    left_bytes = machine.left_bytes if machine else None
    return tuple(one for process, found in resources.items() for one in found.series(process, left_bytes))
