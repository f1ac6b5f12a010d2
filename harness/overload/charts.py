"""Draws the chart of an overload test: goodput against offered load, one line per variant."""

from __future__ import annotations

import re

from harness.overload.record import OverloadRecord
from harness.overload.result import VariantResult
from harness.report.charts.chart import Chart
from harness.report.charts.svg import Range
from harness.sweep.charts import Line, Marks, chart
from harness.sweep.level_axis import LevelAxis

CHART_NAME = "goodput.svg"
FILE_NAME = re.compile(re.escape(CHART_NAME))


def goodput_chart(record: OverloadRecord) -> Chart | None:
    """Return the chart; None without a measured variant."""
    names = record.variant_names
    found = {names[run.variant]: run.result for run in record.measured if run.result}
    if not found:
        return None
    offered = tuple((_percent(one.offered_ratio), one.offered_per_s) for one in next(iter(found.values())).levels)
    marks = Marks(curve=offered, curve_name="offered", range_text="95 % interval")
    lines = [_line(name, result) for name, result in found.items()]
    unit = "requests/s answered within the goal"
    return Chart(CHART_NAME, chart("Goodput", unit, lines, marks, LevelAxis("load % of the capacity")))


def _line(name: str, result: VariantResult) -> Line:
    points = tuple((_percent(level.offered_ratio), level.goodput.value) for level in result.levels)
    ranges = tuple(
        Range(_percent(level.offered_ratio), level.interval.low_per_s, level.interval.high_per_s)
        for level in result.levels
    )
    return Line(name, points, ranges)


def _percent(ratio: float) -> int:
    return round(100 * ratio)
