"""The charts of a run: one table, from which the report draws SVG, and the site the same data as charts that zoom."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from harness.base import units
from harness.cloudwatch.queries import BURST, CPU, CPU_CREDITS, FREE_MEMORY, LAG, MEMORY
from harness.judge.summary import RunSummary
from harness.metrics.metric import MEDIAN, P95, THROUGHPUT, metric_of
from harness.report.charts.chart import Chart
from harness.report.charts.cloudwatch import cloud_lines
from harness.report.charts.distribution import UNIT, cumulative_line, distribution_chart, marks_of
from harness.report.charts.goals import ChartGoal
from harness.report.charts.heat import Cells, heat_chart
from harness.report.charts.labels import label_charts, panels_of
from harness.report.charts.memory_response import memory_response, memory_response_chart
from harness.report.charts.over_time import Frame, Series, error_chart, in_mb, line_chart, scaled, series
from harness.report.charts.run_data import ChartData, ChartSource, Plotted

# The sections of the report that have charts, by the names of its template.
OVER_TIME, DISTRIBUTION, MACHINE, HEAP, CLOUD, GROWTH = (
    "over_time", "distribution", "machine", "heap", "cloud", "growth_charts",
)  # fmt: skip
SECTIONS = (OVER_TIME, DISTRIBUTION, MACHINE, HEAP, CLOUD, GROWTH)
_PER_MB = 1 / units.BYTES_PER_MB


def _times(source: ChartSource) -> Iterator[Plotted]:
    """Yield p50 and p95 with the heat map behind them; a file of an earlier version only has lines."""
    timeline = source.timeline
    if timeline and (heat := timeline.heat_map):
        cells = Cells(timeline.start_s - source.origin_s, heat)
        lines = ((MEDIAN, heat.p50_ms), (P95, heat.p95_ms))
        yield Plotted([series(metric.name, cells.middles_s, times) for metric, times in lines], cells=cells)
    elif timeline:
        xs = source.middles_s
        yield Plotted([series(metric_of(key).name, xs, times) for key, times in timeline.times_ms.items()])


def _draw_times(source: ChartSource, chart: ChartData) -> str:
    frame = _frame(source, chart)
    return heat_chart(frame, chart.cells, chart.lines) if chart.cells else line_chart(frame, chart.lines)


def _rates(source: ChartSource) -> Iterator[Plotted]:
    """Yield the samples per second.

    None for the first and the last bucket if the run covers only part of it: the rate would be too low.
    """
    if timeline := source.timeline:
        half_s, run_s = timeline.bucket_s / 2, source.window.run_s
        points = (
            (middle, count / timeline.bucket_s if middle >= half_s and middle + half_s < run_s else None)
            for middle, count in zip(source.middles_s, timeline.sample_count, strict=True)
        )
        limits = [
            ChartGoal(f"goal: {goal.goal_text}", goal.max or goal.min or 0.0)
            for goal in source.goals
            if goal.metric == THROUGHPUT.key and goal.label is None and not goal.load
        ]
        yield Plotted([Series("samples", tuple(points))], goals=limits)


def _draw_rates(source: ChartSource, chart: ChartData) -> str:
    known = tuple(point for line in chart.lines for point in line.points if point[1] is not None)
    return line_chart(_frame(source, chart), [Series(chart.unit, known)], chart.goals)


def _errors(source: ChartSource) -> Iterator[Plotted]:
    if (timeline := source.timeline) and any(timeline.error_count):
        errors = [count / timeline.bucket_s for count in timeline.error_count]
        yield Plotted([series("errors", source.middles_s, errors)])


def _draw_errors(source: ChartSource, chart: ChartData) -> str:
    timeline = source.timeline
    assert timeline
    counts = (timeline.error_count, timeline.sample_count)
    return error_chart(_frame(source, chart), source.middles_s, *counts, timeline.bucket_s)


def _users(source: ChartSource) -> Iterator[Plotted]:
    """Yield the active users if they change within the measurement window."""
    if timeline := source.timeline:
        points = list(zip(source.middles_s, timeline.active_users, strict=True))
        inside = {users for at_s, users in points if source.window.from_s <= at_s <= source.window.to_s}
        if len(inside - {None}) > 1:
            yield Plotted([Series("users", tuple(points))])


def _stages(source: ChartSource, *, of_users: bool) -> Iterator[Plotted]:
    """Yield the requested and the delivered users, or requests, of each load with stages."""
    for number, load in enumerate(source.loads, 1):
        curve = load.curve if of_users else None if load.curve else load.request_curve
        if curve:
            xs = source.middles_of(curve.start_s, curve.bucket_s, len(curve.requested))
            lines = [series("delivered", xs, curve.delivered), series("requested", xs, curve.requested)]
            yield Plotted(lines, load.name, number)


def _distribution(source: ChartSource) -> Iterator[Plotted]:
    if source.counts is not None:
        yield Plotted([cumulative_line(source.counts)], marks=marks_of(source.counts))


def _draw_distribution(source: ChartSource, chart: ChartData) -> str:
    return distribution_chart(chart.title, source.counts or {})


def _first_bytes(source: ChartSource) -> Iterator[Plotted]:
    if source.first_bytes:
        yield Plotted([cumulative_line(source.first_bytes)], marks=marks_of(source.first_bytes))


def _draw_first_bytes(source: ChartSource, chart: ChartData) -> str:
    return distribution_chart(chart.title, source.first_bytes, "time to first byte, ms, logarithmic")


def _labels(source: ChartSource) -> Iterator[Plotted]:
    """Yield a chart without lines for two labels or more: their small charts are an image on the site."""
    if len(panels_of(source.labels)) > 1:
        yield Plotted([])


def _draw_labels(source: ChartSource, chart: ChartData) -> str:
    return label_charts(chart.title, panels_of(source.labels), source.window.from_s)


def _cpu(source: ChartSource) -> Iterator[Plotted]:
    if source.usage_series:
        yield Plotted([scaled(series(one.process, one.seconds, one.cpu_cores), 100) for one in source.usage_series])


def _memory(source: ChartSource) -> Iterator[Plotted]:
    if source.usage_series:
        known = [one for one in source.usage_series if any(one.rss_bytes)]
        yield Plotted([in_mb(series(one.process, one.seconds, one.rss_bytes)) for one in known])


def _heaps(source: ChartSource) -> Iterator[Plotted]:
    for number, heap in enumerate(source.heap_series, 1):
        sizes = (("used", heap.used_bytes), ("committed", heap.committed_bytes), ("reserved", heap.reserved_bytes))
        lines = [in_mb(series(name, heap.seconds, values)) for name, values in sizes]
        yield Plotted(lines, heap.process, number if len(source.heap_series) > 1 else 0)


def _database_loads(source: ChartSource) -> Iterator[Plotted]:
    """Yield the active sessions of each database by what they waited for."""
    databases = source.services.databases if source.services else ()
    for number, database in enumerate(databases, 1):
        lines = []
        for wait in database.waits:
            points = [
                (database.from_s + (at + 0.5) * database.period_s, value) for at, value in enumerate(wait.sessions)
            ]
            lines.append(Series(wait.wait, tuple(point for point in points if 0 <= point[0] <= source.window.run_s)))
        if any(value is not None for line in lines for _, value in line.points):
            yield Plotted(lines, database.name, number if len(databases) > 1 else 0)


def _draw_lines(source: ChartSource, chart: ChartData) -> str:
    return line_chart(_frame(source, chart), chart.lines)


def _frame(source: ChartSource, chart: ChartData) -> Frame:
    return Frame(chart.title, chart.unit, source.band, source.window.run_s)


class RunChart(NamedTuple):
    """A kind of chart: the name of its file, its section of the report, its title and unit, and its data.

    `{}` in the title is replaced by what the data are about. `draw` returns the SVG; the site draws the data. `live`
    are its lines on the live page: names of the values of a second, SECOND in harness/live/state.py; with `has_cells`
    the heat map is behind them.
    """

    name: str
    section: str
    title: str
    unit: str
    data: Callable[[ChartSource], Iterable[Plotted]]
    draw: Callable[[ChartSource, ChartData], str] = _draw_lines
    x_unit: str = "s"
    live: tuple[str, ...] = ()
    has_cells: bool = False


# To add a chart, write the function of its data, and add it here. The first one is at the top of the run's page.
CHARTS = (
    RunChart("response-time", OVER_TIME, "Response time", "ms", _times, _draw_times, live=(MEDIAN.name, P95.name),
             has_cells=True),
    RunChart("throughput", OVER_TIME, "Throughput", "samples/s", _rates, _draw_rates, live=("samples",)),
    RunChart("errors", OVER_TIME, "Errors", "per second", _errors, _draw_errors, live=("errors",)),
    RunChart("users", OVER_TIME, "Users", "active", _users, live=("users",)),
    RunChart("labels", OVER_TIME, "Response time of each label", "ms", _labels, _draw_labels),
    RunChart("users", OVER_TIME, "Users of {}", "active", partial(_stages, of_users=True)),
    RunChart("requests", OVER_TIME, "Requests of {}", "requests/s", partial(_stages, of_users=False)),
    RunChart("distribution", DISTRIBUTION, "Response times of the load", UNIT, _distribution,
             _draw_distribution, "ms"),
    RunChart("first-byte", DISTRIBUTION, "Time to first byte of the load", UNIT, _first_bytes, _draw_first_bytes, "ms"),
    RunChart("cpu", MACHINE, "CPU", "% of one core", _cpu),
    RunChart("memory", MACHINE, "Memory", "MB resident", _memory),
    RunChart("heap", HEAP, "JVM heap of {}", "MB", _heaps),
    RunChart("cloudwatch-cpu", CLOUD, "CPU in {}", "%", partial(cloud_lines, CPU, 100.0)),
    RunChart("cloudwatch-memory", CLOUD, "Memory in {}", "%", partial(cloud_lines, MEMORY, 100.0)),
    RunChart("cloudwatch-free-memory", CLOUD, "Free memory in {}", "MB", partial(cloud_lines, FREE_MEMORY, _PER_MB)),
    RunChart("cloudwatch-cpu-credits", CLOUD, "CPU credits in {}", "credits", partial(cloud_lines, CPU_CREDITS, 1.0)),
    RunChart("cloudwatch-burst-balance", CLOUD, "Burst balance in {}", "%", partial(cloud_lines, BURST, 100.0)),
    RunChart("cloudwatch-consumer-lag", CLOUD, "Lag of consumers in {}", "messages", partial(cloud_lines, LAG, 1.0)),
    RunChart("database-load", CLOUD, "Load of {}", "average active sessions", _database_loads),
    RunChart("response-memory", GROWTH, "Response time against memory", "ms, average", memory_response,
             memory_response_chart, "MB"),
)  # fmt: skip


# The drawn charts by section; each section is there.
RunCharts = Mapping[str, tuple[Chart, ...]]


def plotted(source: ChartSource) -> Iterator[tuple[RunChart, ChartData]]:
    """Yield each chart that has data, with its kind: those of several loads after the others, in order of the loads."""
    found = [(part.number, kind, part) for kind in CHARTS for part in kind.data(source)]
    for number, kind, part in sorted(found, key=lambda one: one[0]):
        key = f"{kind.name}-{number}" if number else kind.name
        yield (
            kind,
            ChartData(
                key,
                kind.title.format(part.about),
                kind.unit,
                kind.x_unit,
                part.lines,
                part.cells,
                part.marks,
                part.goals,
            ),
        )


def run_charts(summary: RunSummary) -> RunCharts:
    """Return the charts of a summary that have data."""
    source = ChartSource.of(summary)
    drawn = [(kind.section, Chart(f"{chart.key}.svg", kind.draw(source, chart))) for kind, chart in plotted(source)]
    return {section: tuple(chart for where, chart in drawn if where == section) for section in SECTIONS}


def file_names() -> re.Pattern[str]:
    """Return the pattern of all charts' names: a chart of an earlier report that the new report lacks is deleted."""
    return re.compile(rf"({'|'.join(re.escape(kind.name) for kind in CHARTS)})(-\d+)?\.svg")
