"""Draws the changes of a comparison: a bar for each interval against its threshold, with the verdict in words."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from harness.compare.answer import AnswerRow, by_weight
from harness.compare.change_text import change_of, interval_of
from harness.compare.comparison import BETTER, CANNOT_TELL, OK, REGRESSED
from harness.metrics.figures import TOTAL
from harness.report.charts import svg
from harness.report.charts.axes import Axis, nice_step, number_tick, ticks_between

_NAME_LEFT, _PLOT_LEFT, _PLOT_RIGHT, _TEXT_LEFT = 20, 170, 390, 402
_ROW_PX, _FIRST_ROW_PX, _FOOT_PX = 26, 46, 48
_BAR_PX, _DOT_PX, _BAND_PX = 3, 5, 22
_ROWS_MOST = 12
# The axis has at least so many thresholds, and at most so many times the median interval: wider ones are cut off.
_THRESHOLDS_LEAST, _MEDIANS_MOST = 1.5, 3.0
_COLOURS = {REGRESSED: svg.WARNING, BETTER: 2, OK: svg.MAIN, CANNOT_TELL: svg.CONTEXT}


def interval_chart(rows: Sequence[AnswerRow]) -> str:
    """Return the chart of the rows with an interval, TOTAL first and at most 12; empty without any."""
    known = [row for row in rows if row.metric.low_ratio is not None and row.metric.high_ratio is not None]
    total = [row for row in known if row.label == TOTAL]
    drawn = [*total, *by_weight(row for row in known if row.label != TOTAL)][:_ROWS_MOST]
    if not drawn:
        return ""
    axis = _axis(drawn)
    bottom = _FIRST_ROW_PX + _ROW_PX * len(drawn)
    body = []
    middles = [_FIRST_ROW_PX + _ROW_PX * (index + 0.5) for index in range(len(drawn))]
    for row, y in zip(drawn, middles, strict=True):
        left, right = (_x_px(axis, sign * row.metric.threshold_ratio * 100) for sign in (-1, 1))
        body.append(svg.rectangle(left, y - _BAND_PX / 2, right - left, _BAND_PX, "band"))
    for value, text in axis.ticks:
        x = _x_px(axis, value)
        style = "grid" if value else "axis"
        body += [svg.straight(x, _FIRST_ROW_PX, x, bottom, style), svg.text(x, bottom + 18, text, "muted middle")]
    for row, y in zip(drawn, middles, strict=True):
        body += _row(row, axis, y)
    axis_title = "change; the band is the threshold"
    body.append(svg.text((_PLOT_LEFT + _PLOT_RIGHT) / 2, bottom + 38, axis_title, "muted middle"))
    about = " ".join(f"{_name(row)}: {_about(row)}, {row.metric.word}." for row in drawn)
    return svg.document("Change from the baseline", "%, with its interval", about, bottom + _FOOT_PX, body)


def _axis(rows: Sequence[AnswerRow]) -> Axis:
    """Return an axis with 0 in its middle that has all thresholds and most intervals."""
    ends = [max(abs(row.metric.low_ratio or 0.0), abs(row.metric.high_ratio or 0.0)) for row in rows]
    least = max(row.metric.threshold_ratio for row in rows) * _THRESHOLDS_LEAST
    most = max(least, min(max(ends), _MEDIANS_MOST * median(ends))) * 100
    step = nice_step(most, 3)
    ticks = tuple(
        (value, f"{'+' if value > 0 else ''}{number_tick(value, step, most)}")
        for value in ticks_between(-most, most, step)
    )
    return Axis(-most, most, ticks)


def _x_px(axis: Axis, percent: float) -> float:
    share = max(0.0, min(axis.share(percent), 1.0))
    return _PLOT_LEFT + share * (_PLOT_RIGHT - _PLOT_LEFT)


def _row(row: AnswerRow, axis: Axis, y: float) -> list[str]:
    """Return name, interval, point, change and verdict of a row."""
    metric = row.metric
    ends = (metric.low_ratio or 0.0, metric.high_ratio or 0.0)
    if metric.word == CANNOT_TELL:  # a bar on one side would be a direction
        most = max(map(abs, ends))
        ends = (-most, most)
    low, high = (_x_px(axis, end * 100) for end in ends)
    colour = f"c{_COLOURS[metric.word]}"
    parts = [
        svg.text(_NAME_LEFT, y + 5, _short_name(row)),
        svg.rectangle(low, y - _BAR_PX / 2, max(high - low, 1), _BAR_PX, f"bar {colour}"),
        svg.text(
            _TEXT_LEFT, y + 5, svg.shortened(f"{_change(row)} {metric.word}".lstrip(), svg.WIDTH - _TEXT_LEFT - 8)
        ),
    ]
    if metric.change_ratio is not None and metric.word != CANNOT_TELL:
        x = _x_px(axis, metric.change_ratio * 100)
        parts.append(f'<circle cx="{svg.number(x)}" cy="{svg.number(y)}" r="{_DOT_PX}" class="bar {colour}"/>')
    return parts


def _name(row: AnswerRow) -> str:
    return row.metric.metric.name if row.label == TOTAL else f"{row.label} {row.metric.metric.name}"


def _short_name(row: AnswerRow) -> str:
    """Return the name, its label shortened so that there is room for the metric."""
    if row.label == TOTAL:
        return _name(row)
    metric = f" {row.metric.metric.name}"
    return svg.shortened(row.label, _PLOT_LEFT - _NAME_LEFT - 8 - svg.text_width(metric)) + metric


def _change(row: AnswerRow) -> str:
    metric = row.metric
    text = change_of(metric)
    return f"{text} {'pt' if metric.metric.is_share else '%'}" if text else ""


def _about(row: AnswerRow) -> str:
    """Return the change with its interval, of CANNOT TELL the largest change either way."""
    change, interval = _change(row), interval_of(row.metric)
    return f"{change} ({interval})" if change else f"{interval} %" if interval else "unknown"
