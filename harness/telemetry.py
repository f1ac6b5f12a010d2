"""What telemetry.csv holds and what is made of it: CPU, memory and threads per process."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass

# cpu_cores is CPU seconds per second (1.0 is one core); rss_bytes of the host is the memory in use.
COLUMNS = ("time_ms", "process", "cpu_cores", "rss_bytes", "thread_count")
HOST = "host"
HARNESS = "harness"
GENERATOR = "jmeter"


@dataclass(frozen=True)
class Usage:
    """What one process used over a stretch of time; thread figures are None for the host."""

    process: str
    second_count: int
    cpu_cores_mean: float
    cpu_cores_min: float
    cpu_cores_max: float
    rss_bytes_mean: float
    rss_bytes_min: int
    rss_bytes_max: int
    thread_count_max: int | None


def usages(lines: Iterable[str], first_ms: int, last_ms: int) -> tuple[Usage, ...]:
    """Return the use per process between two instants, in order of appearance; torn rows are passed over."""
    rows: dict[str, list[tuple[float, int, int | None]]] = {}
    for row in csv.DictReader(lines):
        try:
            if first_ms <= int(row["time_ms"]) <= last_ms:
                threads = int(row["thread_count"]) if row["thread_count"] else None
                values = float(row["cpu_cores"]), int(row["rss_bytes"]), threads
                rows.setdefault(row["process"], []).append(values)
        except (TypeError, ValueError, KeyError):
            continue  # a harness that was killed leaves half a row at the end
    return tuple(_usage(process, values) for process, values in rows.items())


def _usage(process: str, values: list[tuple[float, int, int | None]]) -> Usage:
    cores = [value[0] for value in values]
    sizes = [value[1] for value in values]
    threads = [value[2] for value in values if value[2] is not None]
    return Usage(
        process=process,
        second_count=len(values),
        cpu_cores_mean=sum(cores) / len(cores),
        cpu_cores_min=min(cores),
        cpu_cores_max=max(cores),
        rss_bytes_mean=sum(sizes) / len(sizes),
        rss_bytes_min=min(sizes),
        rss_bytes_max=max(sizes),
        thread_count_max=max(threads, default=None),
    )
