"""The data of the site's charts: time series and distribution of a run, as plain data for the scripts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from harness.base import units
from harness.base.records import build, fields_to_plain
from harness.metrics.figures import LOAD
from harness.metrics.histogram import Histogram
from harness.metrics.metric import metric_of
from harness.metrics.timeline import Timeline
from harness.metrics.window import Window
from harness.report.charts.run_charts import middles_s, rates_per_s
from harness.run.telemetry import UsageSeries
from harness.system.heap import HeapSeries

# Bars of the distribution grow by this factor. It is the same for every run, so that two runs can be overlaid.
BAR_FACTOR = 1.1
_DISTRIBUTION = "share of samples"


@dataclass(frozen=True)
class Line:
    """A line of a chart: x and y of its points; a y of None is a gap."""

    name: str
    xs: tuple[float, ...]
    ys: tuple[float | None, ...]

    def to_plain(self) -> dict[str, Any]:
        """Return plain data with the digits that a chart shows."""
        return {"name": self.name, "x": [_short(x) for x in self.xs], "y": [_short(y) for y in self.ys]}


@dataclass(frozen=True)
class ChartData:
    """The data of a chart: `key` is the name of the chart in the report; x is seconds (s) or response times (ms)."""

    key: str
    title: str
    unit: str
    x_unit: str
    lines: tuple[Line, ...]

    def to_plain(self) -> dict[str, Any]:
        """Return plain data by the names of the site's scripts."""
        data = fields_to_plain(self)
        data["xUnit"] = data.pop("x_unit")
        return data


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.5g}")


def chart_data_of(data: Mapping[str, Any], where: str) -> tuple[ChartData, ...]:
    """Return the charts with data from a run's JSON; `where` names the JSON in errors."""
    window = build(Window, data["window"])
    origin_s = data["origin_s"] or 0
    observed = data["observed"]
    heaps = build(tuple[HeapSeries, ...], observed["heap_series"])
    timeline = build(Timeline, data["timeline"]) if data["timeline"] else None
    charts = [
        *(_over_time(timeline, origin_s, window.run_s) if timeline else ()),
        *_distribution(data["groups"], where),
        *_machine(build(tuple[UsageSeries, ...], observed["usage_series"])),
        *(_heap(heap, f"heap-{number}" if len(heaps) > 1 else "heap") for number, heap in enumerate(heaps, start=1)),
    ]
    return tuple(chart for chart in charts if chart.lines)


def _over_time(timeline: Timeline, origin_s: int, run_s: int) -> list[ChartData]:
    xs = tuple(middles_s(timeline, origin_s))
    errors = [count / timeline.bucket_s for count in timeline.error_count]
    has_users = any(users is not None for users in timeline.active_users)
    users = (Line("users", xs, timeline.active_users),) if has_users else ()
    times = tuple(Line(metric_of(key).phrase, xs, values) for key, values in timeline.times_ms.items())
    return [
        ChartData("response-time", "Response time", "ms", "s", times),
        ChartData(
            "throughput", "Throughput", "samples/s", "s", (Line("samples", xs, rates_per_s(timeline, origin_s, run_s)),)
        ),
        ChartData("errors", "Errors", "per second", "s", (Line("errors", xs, tuple(errors)),)),
        ChartData("users", "Users", "active", "s", users),
    ]


def _distribution(groups: Iterable[Mapping[str, Any]], where: str) -> list[ChartData]:
    load = next((group for group in groups if group["name"] == LOAD), None)
    if load is None:
        return []
    counts = Histogram()
    for label in load["labels"]:
        if load["counts_transactions"] or not label["is_transaction"]:
            counts.merge(build(Histogram, label["counts"]["histogram"], where).counts)
    lines = (distribution_line(counts.counts),)
    return [ChartData("distribution", "Response times of the load", "% of samples per 10 % of time", "ms", lines)]


def distribution_line(counts: Mapping[int, int]) -> Line:
    """Return bars as a line: x are their left edges (ms), y their heights (% of all samples).

    The last height, 0, ends the last bar.

    The right edge of a bar is `BAR_FACTOR` times the left one. A bar that is wider because of whole milliseconds is
    lower by the same factor, so that areas are correct on a logarithmic axis. Bars begin half a millisecond early, so
    that a whole millisecond is inside its bar; the bar of 0 ms, which a logarithmic axis cannot show, begins at 0.25.
    """
    total = sum(counts.values())
    if not total:
        return Line(_DISTRIBUTION, (), ())
    edges_ms = _edges_ms(max(counts))
    bars = [0] * (len(edges_ms) - 1)
    index = 0
    for elapsed_ms in sorted(counts):
        while elapsed_ms >= edges_ms[index + 1]:
            index += 1
        bars[index] += counts[elapsed_ms]
    first = next(index for index, count in enumerate(bars) if count)
    lefts = [edge_ms - 0.5 if edge_ms else 0.25 for edge_ms in edges_ms[first:]]
    heights = [
        100 * count / total * math.log(BAR_FACTOR) / math.log(right / left)
        for count, (left, right) in zip(bars[first:], pairwise(lefts), strict=True)
    ]
    return Line(_DISTRIBUTION, tuple(lefts), (*heights, 0.0))


def _edges_ms(greatest_ms: int) -> list[int]:
    """Return whole milliseconds from 0 to above the greatest, each about `BAR_FACTOR` times the one before."""
    edges = [0, 1]
    power = 0
    while edges[-1] <= greatest_ms:
        power += 1
        edge = round(BAR_FACTOR**power)
        if edge > edges[-1]:
            edges.append(edge)
    return edges


def _machine(series: Sequence[UsageSeries]) -> list[ChartData]:
    return [
        ChartData(
            "cpu",
            "CPU",
            "% of one core",
            "s",
            tuple(Line(one.process, one.seconds, tuple(100 * cores for cores in one.cpu_cores)) for one in series),
        ),
        ChartData(
            "memory",
            "Memory",
            "MB resident",
            "s",
            tuple(Line(one.process, one.seconds, _in_mb(one.rss_bytes)) for one in series if any(one.rss_bytes)),
        ),
    ]


def _heap(heap: HeapSeries, key: str) -> ChartData:
    sizes = (("used", heap.used_bytes), ("committed", heap.committed_bytes), ("reserved", heap.reserved_bytes))
    lines = tuple(Line(name, tuple(heap.seconds), _in_mb(values)) for name, values in sizes)
    return ChartData(key, f"JVM heap of {heap.process}", "MB", "s", lines)


def _in_mb(sizes_bytes: Iterable[float]) -> tuple[float, ...]:
    return tuple(size_bytes / units.BYTES_PER_MB for size_bytes in sizes_bytes)
