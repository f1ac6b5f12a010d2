"""Reads the data of a run's charts from its JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from harness.base.records import build
from harness.metrics.figures import LOAD
from harness.metrics.histogram import Histogram
from harness.metrics.timeline import Timeline
from harness.metrics.window import Window
from harness.report.charts.run_charts import plotted
from harness.report.charts.run_data import ChartData, ChartSource
from harness.run.telemetry import UsageSeries
from harness.system.heap import HeapSeries


def chart_data_of(data: Mapping[str, Any], where: str) -> tuple[ChartData, ...]:
    """Return the charts with data from a run's JSON; `where` names the JSON in errors."""
    observed = data["observed"]
    source = ChartSource(
        window=build(Window, data["window"]),
        origin_s=data["origin_s"] or 0,
        timeline=build(Timeline, data["timeline"]) if data["timeline"] else None,
        counts=_counts(data["groups"], where),
        usage_series=build(tuple[UsageSeries, ...], observed["usage_series"]),
        heap_series=build(tuple[HeapSeries, ...], observed["heap_series"]),
    )
    return tuple(chart for _, chart in plotted(source) if chart.lines)


def _counts(groups: Iterable[Mapping[str, Any]], where: str) -> Mapping[int, int] | None:
    """Return the samples of the load by elapsed_ms, as TOTAL counts them; None without a load."""
    load = next((group for group in groups if group["name"] == LOAD), None)
    if load is None:
        return None
    counts = Histogram()
    for label in load["labels"]:
        if load["counts_transactions"] or not label["is_transaction"]:
            counts.merge(build(Histogram, label["counts"]["histogram"], where).counts)
    return counts.counts
