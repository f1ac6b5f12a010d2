"""The charts of measurements that a test gives."""

from __future__ import annotations

from typing import Any

from harness.metrics.window import Window
from harness.report.charts.run_charts import plotted
from harness.report.charts.run_data import ChartSource


def source(from_s: int = 0, to_s: int = 90, **measured: Any) -> ChartSource:
    """Return the source of the charts of a run of 90 s that measured nothing else."""
    nothing = {"timeline": None, "counts": None, "usage_series": (), "heap_series": ()}
    return ChartSource(Window("steady", from_s, to_s, to_s - from_s, 90), 0, **{**nothing, **measured})


def drawn(found: ChartSource) -> dict[str, str]:
    """Return the SVG of each chart by its key."""
    return {chart.key: kind.draw(found, chart) for kind, chart in plotted(found)}
