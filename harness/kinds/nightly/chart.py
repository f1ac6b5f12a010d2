"""Draw the chart of a check: the nightly values of a metric, baseline, limit, changes, and tonight."""

from __future__ import annotations

from collections.abc import Sequence

from harness.base import units
from harness.history.render import change_marks, name_axis
from harness.kinds.nightly.gate import REGRESSED, WARNED, Check
from harness.report.charts import svg
from harness.report.charts.axes import near_axis
from harness.report.charts.chart import Chart
from harness.report.charts.svg import Plot

_DOT_PX = 3.5
_TONIGHT_PX = 5.5


def check_chart(check: Check, name: str) -> Chart:
    """Return the chart of a check with at least two nightly values; `name` is its file name."""
    metric = check.metric
    assert metric is not None  # a check of a whole label has no chart
    scale = 100 if metric.is_share else 1
    values = [(float(index), one.value * scale) for index, one in enumerate(check.history)]
    limits = [limit * scale for limit in _limits(check)]
    unit = metric.unit if metric.title != metric.short_title else ""
    keys = [svg.line_key(f"{check.label}, nightly", svg.MAIN, "")]
    if check.baseline is not None:
        keys.append(svg.line_key("median of the earlier nightly runs", svg.CONTEXT, svg.DASHES[1]))
    if limits:
        keys.append(svg.box_key("within the limit", "band"))
    legend = svg.legend(keys, svg.HEAD_PX)
    axis = near_axis([value for _, value in values] + limits)
    plot = Plot(name_axis([one.date for one in check.history]), axis, legend.end + 12, svg.HEIGHT - svg.FOOT_PX)
    indexes = {one.date: index for index, one in enumerate(check.history)}
    accepted = [indexes[date] for date in check.accepted_dates]
    first = min((indexes[date] for date in check.baseline_dates), default=0)
    ends = (first - 0.4, len(values) - 0.6)
    body = [
        legend.rows,
        *([_band(plot, ends, limits)] if limits else []),
        plot.axes(f"nightly runs from {check.history[0].date} to {check.history[-1].date}"),
        *([plot.line([(end, check.baseline * scale) for end in ends], svg.CONTEXT, svg.DASHES[1])]
          if check.baseline is not None else []),
        *change_marks(plot, check.change_points, accepted, metric, len(values)),
        plot.line(values, svg.MAIN, ""),
        *(_dot(plot, index, value, check) for index, (_, value) in enumerate(values)),
    ]  # fmt: skip
    text = f"{units.plural(len(values), 'nightly run')}, tonight {svg.figure(values[-1][1])}: {check.state}."
    if limits:
        text += f" The baseline is {svg.figure((check.baseline or 0) * scale)}, the limit {svg.figure(limits[0])}."
    load = check.conditions.load
    users = units.plural(load.users, "user") if load.users else f"{units.number_text(load.rate_per_s or 0)} users/s"
    heading = f"{metric.short_title} of {check.label}, {check.plan}, {users}"
    return Chart(name, svg.document(heading, unit, text, svg.HEIGHT, body))


def _limits(check: Check) -> tuple[float, ...]:
    """Return the limit for worse values and the opposite limit; empty when unknown."""
    if check.baseline is None or check.limit_ratio is None:
        return ()
    if check.metric and check.metric.is_share:
        return check.baseline + check.limit_ratio, max(0.0, check.baseline - check.limit_ratio)
    return check.baseline * (1 + check.limit_ratio), check.baseline / (1 + check.limit_ratio)


def _band(plot: Plot, ends: Sequence[float], limits: Sequence[float]) -> str:
    """Return the area between the limits, from the first to the last x in `ends`."""
    left, right = map(plot.x_px, ends)
    bottom, top = map(plot.y_px, sorted(limits))
    return svg.rectangle(left, top, right - left, bottom - top, "band")


def _dot(plot: Plot, index: int, value: float, check: Check) -> str:
    date = check.history[index].date
    is_worse = check.since is not None and date >= check.since and check.state in (WARNED, REGRESSED)
    at = f'cx="{svg.number(plot.x_px(index))}" cy="{svg.number(plot.y_px(value))}"'
    radius = _TONIGHT_PX if index == len(check.history) - 1 else _DOT_PX
    text = svg.plain(f"{date}: {svg.figure(value)}")
    colour = svg.WARNING if is_worse else svg.MAIN
    return f'<circle {at} r="{radius}" class="bar c{colour}"><title>{text}</title></circle>'
