"""The heap of JVMs as Markdown tables: from recordings of the system, and of JVMs that run elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from harness.base import units
from harness.base.units import MS_PER_S
from harness.report.tables import cell, table
from harness.system.heap import HeapUse
from harness.system.recording import RecordedUse


def heap_table(uses: Sequence[HeapUse]) -> str:
    """Return the table of heap sizes, a row per JVM."""
    columns = ("process", "used MB", "range", "committed MB", "range", "reserved MB", "range", "points")
    return table(columns, [_heap_row(use) for use in uses])


def _heap_row(use: HeapUse) -> list[str]:
    sizes = (
        (use.used_bytes_mean, use.used_bytes_min, use.used_bytes_max),
        (use.committed_bytes_mean, use.committed_bytes_min, use.committed_bytes_max),
        (use.reserved_bytes_mean, use.reserved_bytes_min, use.reserved_bytes_max),
    )
    cells = []
    for mean, low, high in sizes:
        cells += [units.mb_text(mean), "" if low is None else f"{units.mb_text(low)}-{units.mb_text(high)}"]
    return [cell(use.process), *cells, str(use.point_count)]


def recorded_table(uses: Sequence[RecordedUse]) -> str:
    """Return the table of collections, pauses and CPU of recorded JVMs; an empty text without any."""
    columns = (
        "process", "before GC MB", "after GC MB", "most after GC MB", "collections", "pauses ms", "longest ms",
        "% of time", "JVM CPU %", "most", "machine CPU %",
    )  # fmt: skip
    return table(columns, [_recorded_row(use) for use in uses]) if uses else ""


def _recorded_row(use: RecordedUse) -> list[str]:
    sizes = (use.used_before_bytes_mean, use.used_after_bytes_mean, use.used_after_bytes_max)
    ratios = (use.jvm_cpu_ratio_mean, use.jvm_cpu_ratio_max, use.machine_cpu_ratio_mean)
    paused = use.pause_ms / MS_PER_S / use.length_s if use.length_s else None
    return [
        cell(use.process),
        *(units.mb_text(size) for size in sizes),
        str(use.collection_count),
        units.average_text(use.pause_ms),
        units.average_text(use.longest_ms),
        units.percent_text(paused),
        *(units.percent_text(ratio, 1) for ratio in ratios),
    ]
