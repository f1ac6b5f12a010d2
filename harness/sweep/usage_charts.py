"""Draws CPU, resident memory and JVM heap of each process at each level of a sweep."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import median

from harness.base.units import BYTES_PER_MB
from harness.report.charts.chart import Chart
from harness.report.charts.svg import Range
from harness.run.telemetry import HOST, STOLEN, process_title
from harness.sweep.charts import Line, Marks, named_chart
from harness.sweep.level_axis import LevelAxis
from harness.sweep.levels import Level, LevelRun

_ValueOf = Callable[[LevelRun], float | None]


def usage_charts(levels: Sequence[Level]) -> tuple[Chart, ...]:
    """Return the charts of CPU and memory, one line per process; without those that have no values.

    A point is the median of the runs' means in the measurement window. The memory of the whole host is left out.
    """
    processes = _names(usage.process for level in levels for run in level.counted for usage in run.usages)
    cpu = [_line(levels, process, _cpu_percent(process)) for process in processes if process != STOLEN]
    memory = [_line(levels, process, _memory_mb(process)) for process in processes if process not in (HOST, STOLEN)]
    over = LevelAxis.of(levels)
    charts = (
        named_chart("cpu.svg", "CPU", "% of one core", cpu, Marks(), over),
        named_chart("memory.svg", "Memory", "MB resident", memory, Marks(), over),
    )
    return tuple(chart for chart in charts if chart)


def heap_charts(levels: Sequence[Level]) -> tuple[Chart, ...]:
    """Return a chart of the heap of each JVM: used, after collections, committed and reserved, as in `usage_charts`."""
    processes = _names(use.process for level in levels for run in level.counted for use in run.heap_uses)
    charts = []
    for number, process in enumerate(processes, start=1):
        sizes = {"used": "used", "after GC": "after_gc", "committed": "committed", "reserved": "reserved"}
        lines = [_line(levels, title, _heap_mb(process, size)) for title, size in sizes.items()]
        lines = [line for line in lines if line.points]
        name = f"heap-{number}.svg" if len(processes) > 1 else "heap.svg"
        charts.append(named_chart(name, f"JVM heap of {process}", "MB", lines, Marks(), LevelAxis.of(levels)))
    return tuple(chart for chart in charts if chart)


def recorded_charts(levels: Sequence[Level]) -> tuple[Chart, ...]:
    """Return the chart of the CPU of recorded JVMs elsewhere, as in `usage_charts`; nothing without a recording."""
    processes = _names(use.process for level in levels for run in level.counted for use in run.recorded)
    lines = [_line(levels, process, _recorded_percent(process)) for process in processes]
    chart = named_chart("jvm-cpu.svg", "CPU of recorded JVMs", "% of all CPUs", lines, Marks(), LevelAxis.of(levels))
    return (chart,) if chart else ()


def _recorded_percent(process: str) -> _ValueOf:
    def found(run: LevelRun) -> float | None:
        ratios = (use.jvm_cpu_ratio_mean for use in run.recorded if use.process == process)
        ratio = next(ratios, None)
        return None if ratio is None else 100 * ratio

    return found


def _names(processes: Iterator[str]) -> list[str]:
    return list(dict.fromkeys(processes))


def _cpu_percent(process: str) -> _ValueOf:
    return lambda run: next((100 * usage.cpu_cores_mean for usage in run.usages if usage.process == process), None)


def _memory_mb(process: str) -> _ValueOf:
    def found(run: LevelRun) -> float | None:
        sizes = (usage.rss_bytes_mean for usage in run.usages if usage.process == process)
        return next((size / BYTES_PER_MB for size in sizes), None)

    return found


def _heap_mb(process: str, size: str) -> _ValueOf:
    def found(run: LevelRun) -> float | None:
        means: Iterator[int | None] = (
            getattr(use, f"{size}_bytes_mean") for use in run.heap_uses if use.process == process
        )
        mean = next(means, None)
        return None if mean is None else mean / BYTES_PER_MB

    return found


def _line(levels: Sequence[Level], name: str, value_of: _ValueOf) -> Line:
    """Return a line of the medians over the counted runs of each level, with the range of repeats."""
    over = LevelAxis.of(levels)
    points, ranges = [], []
    for level in levels:
        values = [value for run in level.counted if (value := value_of(run)) is not None]
        if values:
            points.append((over.x(level), median(values)))
        if len(values) > 1:
            ranges.append(Range(over.x(level), min(values), max(values)))
    return Line(process_title(name), tuple(points), tuple(ranges))
