"""The charts of a run's report: their data and the names of their files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from harness.cloudwatch.points import CloudMetrics
from harness.metrics.figures import LOAD
from harness.metrics.timeline import Timeline
from harness.report.charts.chart import Chart
from harness.report.charts.cloudwatch import CHART_NAMES, cloud_charts
from harness.report.charts.distribution import distribution_chart
from harness.report.charts.memory_response import memory_response_chart
from harness.report.charts.over_time import (
    Band,
    Series,
    cpu_chart,
    error_chart,
    heap_chart,
    memory_chart,
    response_time_chart,
    stage_requests_chart,
    stage_users_chart,
    throughput_chart,
    user_chart,
)
from harness.report.loads import LoadFigures
from harness.report.summary import RunSummary
from harness.run.telemetry import UsageSeries
from harness.system.heap import HeapSeries

# Names of all charts of a run: a chart of an earlier report that the new report lacks is deleted.
FILE_NAME = re.compile(
    rf"(response-time|response-memory|throughput|errors|users(-\d+)?|requests-\d+|distribution|cpu|memory|heap(-\d+)?|{'|'.join(CHART_NAMES)})\.svg"
)
_MARKS = (("median", "50"), ("p90", "90"), ("p95", "95"), ("p99", "99"))


@dataclass(frozen=True)
class RunCharts:
    """The charts of a run's report, by section."""

    over_time: tuple[Chart, ...]
    distribution: tuple[Chart, ...]
    machine: tuple[Chart, ...]
    heap: tuple[Chart, ...]
    cloud: tuple[Chart, ...]
    growth: tuple[Chart, ...] = ()

    @property
    def all(self) -> tuple[Chart, ...]:
        """All of them."""
        return (*self.over_time, *self.distribution, *self.machine, *self.heap, *self.cloud, *self.growth)


def run_charts(summary: RunSummary) -> RunCharts:
    """Return the charts of a summary that have data."""
    window = summary.window
    is_cut = window.length_s < window.run_s
    frame = _Frame(Band(window.from_s, window.to_s) if is_cut else None, window.run_s, summary.origin_s or 0)
    observed = summary.observed
    return RunCharts(
        over_time=(*(frame.over_time(summary.timeline) if summary.timeline else ()), *frame.curves(summary.loads)),
        distribution=_distribution(summary),
        machine=frame.machine(observed.usage_series) if observed.usage_series else (),
        heap=frame.heaps(observed.heap_series),
        cloud=frame.cloud(observed.cloudwatch) if observed.cloudwatch else (),
        growth=_growth(summary),
    )


def middles_s(timeline: Timeline, origin_s: int) -> list[float]:
    """Return the middle of each bucket of a timeline, in seconds after the load began."""
    first_s = timeline.start_s - origin_s + timeline.bucket_s / 2
    return [first_s + timeline.bucket_s * index for index in range(len(timeline.sample_count))]


def rates_per_s(timeline: Timeline, origin_s: int, run_s: int) -> tuple[float | None, ...]:
    """Return the samples per second of each bucket of a timeline.

    None for the first and the last bucket if the run covers only part of it: the rate would be too low.
    """
    width_s = timeline.bucket_s
    starts = [timeline.start_s - origin_s + width_s * index for index in range(len(timeline.sample_count))]
    return tuple(
        count / width_s if start >= 0 and start + width_s < run_s else None
        for start, count in zip(starts, timeline.sample_count, strict=True)
    )


@dataclass(frozen=True)
class _Frame:
    """What the charts over time share: the measurement window, the length of the run, its first second."""

    band: Band | None
    run_s: int
    origin_s: int

    def over_time(self, timeline: Timeline) -> tuple[Chart, ...]:
        width_s = timeline.bucket_s
        middles = middles_s(timeline, self.origin_s)
        rates = rates_per_s(timeline, self.origin_s, self.run_s)
        known = [(middle, rate) for middle, rate in zip(middles, rates, strict=True) if rate is not None]
        charts = [
            Chart(
                "response-time.svg",
                response_time_chart(middles, timeline.times_ms, self.band, self.run_s),
            ),
            Chart(
                "throughput.svg",
                throughput_chart([at for at, _ in known], [rate for _, rate in known], self.band, self.run_s),
            ),
            Chart(
                "errors.svg",
                error_chart(middles, timeline.error_count, timeline.sample_count, width_s, self.band, self.run_s),
            ),
        ]
        if any(users is not None for users in timeline.active_users):
            charts.append(Chart("users.svg", user_chart(middles, timeline.active_users, self.band, self.run_s)))
        return tuple(charts)

    def curves(self, loads: Sequence[LoadFigures]) -> tuple[Chart, ...]:
        """Return a chart of each load with stages: the requested and the delivered users, or requests."""
        found = []
        for number, load in enumerate(loads, 1):
            curve = load.curve or load.request_curve
            if curve is None:
                continue
            first_s = curve.start_s - self.origin_s + curve.bucket_s / 2
            xs = [first_s + curve.bucket_s * index for index in range(len(curve.requested))]
            name, draw = ("users", stage_users_chart) if load.curve else ("requests", stage_requests_chart)
            svg = draw(load.name, xs, curve.requested, curve.delivered, self.band, self.run_s)
            found.append(Chart(f"{name}-{number}.svg", svg))
        return tuple(found)

    def machine(self, series: Sequence[UsageSeries]) -> tuple[Chart, ...]:
        cores = [
            Series(process.process, tuple(zip(process.seconds, process.cpu_cores, strict=True))) for process in series
        ]
        sizes = [
            Series(process.process, tuple(zip(process.seconds, process.rss_bytes, strict=True)))
            for process in series
            if any(process.rss_bytes)
        ]
        return (
            Chart("cpu.svg", cpu_chart(cores, self.band, self.run_s)),
            Chart("memory.svg", memory_chart(sizes, self.band, self.run_s)),
        )

    def heaps(self, series: Sequence[HeapSeries]) -> tuple[Chart, ...]:
        return tuple(
            Chart(
                f"heap-{number}.svg" if len(series) > 1 else "heap.svg",
                heap_chart(heap, self.band, self.run_s),
            )
            for number, heap in enumerate(series, start=1)
        )

    def cloud(self, found: CloudMetrics) -> tuple[Chart, ...]:
        return cloud_charts(found, self.band, self.run_s)


def _distribution(summary: RunSummary) -> tuple[Chart, ...]:
    load = summary.group(LOAD)
    if load is None:
        return ()
    percentiles = load.total.percentiles_ms
    marks = [(name, percentiles[key]) for name, key in _MARKS if key in percentiles]
    chart = distribution_chart("Response times of the load", load.total.counts.histogram.counts, marks)
    return (Chart("distribution.svg", chart),)


def _growth(summary: RunSummary) -> tuple[Chart, ...]:
    chart = memory_response_chart(summary)
    return (Chart("response-memory.svg", chart),) if chart else ()
