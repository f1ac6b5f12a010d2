"""Draws CPU, resident memory and JVM heap of each process at each level of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from harness.base.units import BYTES_PER_MB
from harness.report.charts.chart import Chart
from harness.report.charts.svg import Range
from harness.run.telemetry.processes import HOST, STOLEN, process_title
from harness.sweep.charts import Line, Marks, doubtful_x, named_chart
from harness.sweep.level_axis import LevelAxis
from harness.sweep.levels import Level

_HEAP_SIZES = {"used": "used", "after GC": "after_gc", "committed": "committed", "reserved": "reserved"}


def usage_charts(levels: Sequence[Level]) -> tuple[Chart, ...]:
    """Return the charts of CPU and memory, one line per process; without those that have no values.

    A point is the median of the runs' means in the measurement window. The memory of the whole host is left out.
    """
    processes = [process for process in _processes(levels, "usages") if process != STOLEN]
    cpu = [_line(levels, one, "usages", one, "cpu_cores_mean", 100) for one in processes]
    memory = [_line(levels, one, "usages", one, "rss_bytes_mean", 1 / BYTES_PER_MB) for one in processes if one != HOST]
    over = LevelAxis.of(levels)
    cpu_chart = named_chart("cpu.svg", "CPU", "% of one core", cpu, Marks(), over)
    memory_chart = named_chart("memory.svg", "Memory", "MB resident", memory, Marks(), over)
    return tuple(filter(None, (cpu_chart, memory_chart)))


def heap_charts(levels: Sequence[Level]) -> tuple[Chart, ...]:
    """Return a chart of the heap of each JVM: used, after collections, committed and reserved, as in `usage_charts`."""
    processes = _processes(levels, "heap_uses")
    charts = []
    for number, process in enumerate(processes, start=1):
        lines = [
            _line(levels, title, "heap_uses", process, f"{size}_bytes_mean", 1 / BYTES_PER_MB)
            for title, size in _HEAP_SIZES.items()
        ]
        lines = [line for line in lines if line.points]
        name = f"heap-{number}.svg" if len(processes) > 1 else "heap.svg"
        charts.append(named_chart(name, f"JVM heap of {process}", "MB", lines, Marks(), LevelAxis.of(levels)))
    return tuple(filter(None, charts))


def recorded_charts(levels: Sequence[Level]) -> tuple[Chart, ...]:
    """Return the chart of the CPU of recorded JVMs elsewhere, as in `usage_charts`; nothing without a recording."""
    processes = _processes(levels, "recorded")
    lines = [_line(levels, one, "recorded", one, "jvm_cpu_ratio_mean", 100) for one in processes]
    chart = named_chart("jvm-cpu.svg", "CPU of recorded JVMs", "% of all CPUs", lines, Marks(), LevelAxis.of(levels))
    return (chart,) if chart else ()


def _processes(levels: Sequence[Level], uses: str) -> list[str]:
    return list(dict.fromkeys(use.process for level in levels for run in level.counted for use in getattr(run, uses)))


def _line(levels: Sequence[Level], title: str, uses: str, process: str, mean: str, factor: float) -> Line:
    """Return a line of the medians over the counted runs of each level, with the range of repeats.

    `uses` is the field of a run with what its processes used, `mean` the field of that with the drawn value.
    """
    over = LevelAxis.of(levels)
    points, ranges = [], []
    for level in levels:
        found = [next((use for use in getattr(run, uses) if use.process == process), None) for run in level.counted]
        means = [getattr(use, mean) for use in found if use]
        values = [value * factor for value in means if value is not None]
        if values:
            points.append((over.x(level), median(values)))
        if len(values) > 1:
            ranges.append(Range(over.x(level), min(values), max(values)))
    return Line(process_title(title), tuple(points), tuple(ranges), doubtful_x(levels, over))
