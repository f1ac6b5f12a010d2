"""The chart of response time against memory: a dot per part of the window shows whether a leak costs time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from harness.base import units
from harness.metrics.metric import AVERAGE
from harness.metrics.resource_growth import GROWS, HEAP, RSS, Bins, Growth
from harness.metrics.timeline import Timeline
from harness.metrics.window import Window
from harness.report.charts import svg
from harness.report.charts.axes import Axis, nice_step, number_tick, ticks_between, value_axis
from harness.report.charts.over_time import Series
from harness.report.charts.run_data import ChartData, ChartSource, Plotted
from harness.report.charts.svg import Plot
from harness.run.telemetry.processes import HOST

_DOT_PX = 3.5
_TICKS_MOST = 8
_POINTS_LEAST = 12
_THIRDS = ("first third of the window", "second third", "last third")


def memory_response(source: ChartSource) -> Iterator[Plotted]:
    """Yield the average response time against the memory of the process that grows most, else of the largest one.

    Memory is the least heap of each part of the window, where the heap is known, else resident memory. The points are
    (MB, ms) in order of time; there are none for a run without growths, which is a short one.
    """
    growth = _chosen(source.growths)
    if growth is None or source.timeline is None:
        return
    memory = _memory(source, growth.process)
    sizes, times = memory.bytes_at, _averages_ms(source, source.timeline)
    dots = tuple((sizes[at_s] / units.BYTES_PER_MB, times[at_s]) for at_s in sorted(sizes.keys() & times.keys()))
    if len(dots) >= _POINTS_LEAST:
        yield Plotted([Series(f"{memory.kind} of {growth.process}", dots)])


class _Memory(NamedTuple):
    """The memory of a process: bytes by the middle (s) of each part of the window, and which memory it is."""

    bytes_at: Mapping[float, float]
    kind: str


def _chosen(growths: Sequence[Growth]) -> Growth | None:
    memories = [one for one in growths if one.resource in (HEAP, RSS) and one.process.partition(" ")[0] != HOST]
    growing = [one for one in memories if one.verdict == GROWS]
    return max(growing, key=lambda one: one.per_hour, default=max(memories, key=lambda one: one.last, default=None))


def _memory(source: ChartSource, process: str) -> _Memory:
    """Return the least heap of a process in each part of the window if its heap is known, else its resident memory."""
    window = source.window
    bins = _bins(window)
    heaps = [zip(one.seconds, one.used_bytes, strict=True) for one in source.heap_series if one.process == process]
    sizes = [zip(one.seconds, one.rss_bytes, strict=True) for one in source.usage_series if one.process == process]
    for at_s, size_bytes in chain.from_iterable(heaps[:1] or sizes):
        bins.add(_ms(at_s, window), size_bytes)
    return _Memory(dict(bins.minimums()), "least heap") if heaps else _Memory(dict(bins.means()), "resident memory")


def _averages_ms(source: ChartSource, timeline: Timeline) -> dict[float, float]:
    window = source.window
    sums, counts = _bins(window), _bins(window)
    times_ms = timeline.times_ms[AVERAGE.key]
    for at_s, count, average_ms in zip(source.middles_s, timeline.sample_count, times_ms, strict=True):
        if average_ms is not None:
            sums.add(_ms(at_s, window), average_ms * count)
            counts.add(_ms(at_s, window), count)
    totals = dict(counts.means())
    return {at_s: total / totals[at_s] for at_s, total in sums.means()}


def _bins(window: Window) -> Bins:
    return Bins(0, window.length_s * units.MS_PER_S - 1)


def _ms(at_s: float, window: Window) -> int:
    return math.floor((at_s - window.from_s) * units.MS_PER_S)


def memory_response_chart(_source: ChartSource, chart: ChartData) -> str:
    """Return the chart with a dot for each part of the window."""
    (line,) = chart.lines
    dots = [(size, time_ms) for size, time_ms in line.points if time_ms is not None]
    x = _axis([size for size, _ in dots])
    y = value_axis([time_ms for _, time_ms in dots])
    keys = [svg.box_key(name, f"bar c{colour}") for colour, name in enumerate(_THIRDS)]
    legend = svg.legend(keys, svg.HEAD_PX)
    plot = Plot(x, y, legend.end + 12, svg.HEIGHT - svg.FOOT_PX)
    x_title = f"{line.name}, {chart.x_unit}"
    body = [
        legend.rows,
        plot.axes(x_title),
        *(_dot(plot, dot, len(_THIRDS) * index // len(dots)) for index, dot in enumerate(dots)),
    ]
    third = len(dots) // len(_THIRDS)
    means = "; ".join(
        f"{name}: {svg.figure(sum(size for size, _ in part) / len(part))} MB, "
        f"{svg.figure(sum(time_ms for _, time_ms in part) / len(part))} ms"
        for name, part in ((_THIRDS[0], dots[:third]), (_THIRDS[2], dots[-third:]))
    )
    about = f"Average response time against {x_title}; {len(dots)} parts of the window. {means}."
    return svg.document(chart.title, chart.unit, about, svg.HEIGHT, body)


def _dot(plot: Plot, dot: tuple[float, float], colour: int) -> str:
    at = f'cx="{svg.number(plot.x_px(dot[0]))}" cy="{svg.number(plot.y_px(dot[1]))}"'
    return f'<circle {at} r="{_DOT_PX}" class="bar c{colour}"/>'


def _axis(values: Sequence[float]) -> Axis:
    """Return an axis from the tick below the least value to the tick above the greatest."""
    step = nice_step(max(max(values) - min(values), 0.1), _TICKS_MOST)
    low, high = math.floor(min(values) / step) * step, (math.floor(max(values) / step) + 1) * step
    return Axis(low, high, tuple((at, number_tick(at, step, high)) for at in ticks_between(low, high, step)))
