"""Distributions of response times as cumulative curves: one with its percentiles marked, and two over each other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import NamedTuple

from harness.metrics.histogram import Histogram
from harness.metrics.metric import MEDIAN, P90, P95, P99, P99_9, Metric
from harness.report.charts import svg
from harness.report.charts.axes import Axis, log_axis, ticks_between
from harness.report.charts.over_time import Series
from harness.report.charts.svg import Plot

X_TITLE = "response time, ms, logarithmic"
UNIT = "% of samples up to a time"
MARKED = (MEDIAN, P90, P95, P99, P99_9)
_SHIFTED = (MEDIAN, P95)
# A curve has a point for each of so many equal steps of the axis, and for each mark.
_STEPS = 200
_LABEL_PX = 19  # one of the two lines of a mark's label
_LABEL_GAP_PX = 14
_LEADER_PX = 14
_DOT_PX = 4
_CAP_PX = 6
_MIDDLE_PERCENT = 50
_SHARES = Axis(0.0, 100.0, tuple((value, f"{value:g}") for value in ticks_between(0.0, 100.0, 20.0)))


class Mark(NamedTuple):
    """A marked percentile: its name (p95), its value in ms, and the share of samples up to it, in %."""

    name: str
    value_ms: int
    percent: float


def marks_of(counts: Mapping[int, int], metrics: Sequence[Metric] = MARKED) -> tuple[Mark, ...]:
    """Return the percentiles of sample counts by elapsed_ms, as in the tables; none without samples."""
    if not any(counts.values()):
        return ()
    values = Histogram(dict(counts)).quantiles_ms([metric.ratio for metric in metrics])
    return tuple(Mark(one.name, value, 100 * one.ratio) for one, value in zip(metrics, values, strict=True))


def cumulative_line(counts: Mapping[int, int]) -> Series:
    """Return the % of samples up to each response time (ms): a step at each point, from 0 at the first one.

    Of many distinct times the steps in a small interval are one; the marked percentiles keep theirs.
    """
    pairs = sorted((value_ms, count) for value_ms, count in counts.items() if count)
    if not pairs:
        return Series("samples", ())
    sums = accumulate(count for _, count in pairs)
    total = sum(count for _, count in pairs)
    points = [(value_ms, 100 * up_to / total) for (value_ms, _), up_to in zip(pairs, sums, strict=True)]
    first, last = (max(0.5, value_ms) for value_ms in (pairs[0][0], pairs[-1][0]))
    per_step = math.log(last / first) / _STEPS or 1.0
    marked = {mark.value_ms for mark in marks_of(counts)}
    kept = [
        point
        for point, after in pairwise([*points, (math.inf, 100.0)])
        if point[0] in marked or after[0] == math.inf or _step(point[0], per_step) != _step(after[0], per_step)
    ]
    return Series("samples", ((float(pairs[0][0]), 0.0), *((float(x), y) for x, y in kept)))


def _step(value_ms: float, per_step: float) -> int:
    return math.floor(math.log(max(0.5, value_ms)) / per_step)


def distribution_chart(title: str, counts: Mapping[int, int], x_title: str = X_TITLE) -> str:
    """Return the cumulative curve of sample counts by elapsed_ms or another time, with its percentiles marked."""
    marks = marks_of(counts)
    labels = _labels(marks)
    plot = Plot(_times(counts), _SHARES, svg.HEAD_PX + 2 * _LABEL_PX + _LEADER_PX, svg.HEIGHT - svg.FOOT_PX)
    if not marks:
        nothing = svg.text((svg.LEFT + svg.RIGHT) / 2, (plot.top + plot.bottom) / 2, "no samples", "muted middle")
        return svg.document(title, UNIT, "No samples.", svg.HEIGHT, [plot.axes(x_title), nothing])
    body = [
        plot.axes(x_title),
        *_mark_lines(plot, labels),
        plot.line(_stepped(cumulative_line(counts)), svg.MAIN, ""),
        *(_dot(plot, mark) for mark in marks),
    ]
    named = "".join(f", {mark.name} {mark.value_ms:,} ms" for mark in marks)
    return svg.document(title, UNIT, f"{_range_text(counts)}{named}.", svg.HEIGHT, body)


@dataclass(frozen=True)
class NamedCounts:
    """The sample counts by elapsed_ms of one side of a comparison, and its name in the legend."""

    name: str
    counts: Mapping[int, int]


def compared_chart(title: str, base: NamedCounts, new: NamedCounts) -> str:
    """Return the cumulative curves of baseline and contender, with the shifts of p50 and p95 marked."""
    sides = ((base, svg.CONTEXT, svg.DASHES[1]), (new, svg.MAIN, ""))
    legend = svg.legend([svg.line_key(side.name, colour, dash) for side, colour, dash in sides], svg.HEAD_PX)
    bottom = max(legend.end + 12 + svg.LEAST_PLOT_PX, svg.HEIGHT - svg.FOOT_PX)
    plot = Plot(_times({**base.counts, **new.counts}), _SHARES, legend.end + 12, bottom)
    pairs = list(zip(*(marks_of(side.counts, _SHIFTED) for side in (base, new)), strict=True))
    body = [
        legend.rows,
        plot.axes(X_TITLE),
        *(plot.line(_stepped(cumulative_line(side.counts)), colour, dash) for side, colour, dash in sides),
        *(part for before, after in pairs for part in _shift(plot, before, after)),
    ]
    about = "; ".join(f"{side.name}: {_range_text(side.counts)}" for side in (base, new))
    shifts = ", ".join(f"{_shift_text(*pair)} ({pair[0].value_ms:,} → {pair[1].value_ms:,} ms)" for pair in pairs)
    return svg.document(title, UNIT, f"{about}; {shifts}.", bottom + svg.FOOT_PX, body)


def _times(counts: Mapping[int, int]) -> Axis:
    """Return the axis from half a millisecond below the least time to half a millisecond above the greatest."""
    known = [value_ms for value_ms, count in counts.items() if count] or [1]
    return log_axis(min(known) - 0.5, max(known) + 0.5)


def _range_text(counts: Mapping[int, int]) -> str:
    known = [value_ms for value_ms, count in counts.items() if count]
    return f"{sum(counts.values()):,} samples from {min(known):,} to {max(known):,} ms"


def _stepped(line: Series) -> list[tuple[float, float]]:
    """Return the corners of a curve: along to each point, then up to it."""
    points = [(x, y) for x, y in line.points if y is not None]
    corners = [corner for (_, before), (x, y) in pairwise(points) for corner in ((x, before), (x, y))]
    return [points[0], *corners]


def _shift(plot: Plot, before: Mark, after: Mark) -> list[str]:
    """Return the shift of a percentile: a line between both curves, and its size beside it, where no curve is.

    Above the middle that is to the left of the curves if there is room, else to the right. Without room at both sides
    it is above the line.
    """
    ends = sorted((plot.x_px(before.value_ms), plot.x_px(after.value_ms)))
    y, content, style = plot.y_px(before.percent), _shift_text(before, after), f"shift c{svg.WARNING}"
    width = svg.text_width(content) + _LABEL_GAP_PX
    fits_left, fits_right = ends[0] - width >= svg.LEFT, ends[1] + width <= svg.RIGHT
    is_left = fits_left and (before.percent > _MIDDLE_PERCENT or not fits_right)
    label = svg.text(sum(ends) / 2, y - _CAP_PX - 4, content, "middle")
    if is_left:
        label = svg.text(ends[0] - _LABEL_GAP_PX, y + 5, content, "end")
    elif fits_right:
        label = svg.text(ends[1] + _LABEL_GAP_PX, y + 5, content)
    return [
        svg.straight(ends[0], y, ends[1], y, style),
        *(svg.straight(x, y - _CAP_PX, x, y + _CAP_PX, style) for x in ends),
        label,
    ]


def _shift_text(before: Mark, after: Mark) -> str:
    difference_ms = after.value_ms - before.value_ms
    size = f"{difference_ms / before.value_ms * 100:+,.1f} %" if before.value_ms else f"{difference_ms:+,} ms"
    return f"{before.name} {size}".replace("-", "−")


def _dot(plot: Plot, mark: Mark) -> str:
    at = f'cx="{svg.number(plot.x_px(mark.value_ms))}" cy="{svg.number(plot.y_px(mark.percent))}"'
    return f'<circle {at} r="{_DOT_PX}" class="bar c{svg.MAIN}"/>'


class _MarkLabel(NamedTuple):
    """The label of the marks of one value: their names, the value in ms, and its text."""

    names: str
    text: str
    value_ms: float

    @property
    def width_px(self) -> float:
        return max(svg.text_width(self.names), svg.text_width(self.text)) + _LABEL_GAP_PX


def _labels(marks: Sequence[Mark]) -> list[_MarkLabel]:
    """Return the labels of ascending marks; marks of one value share a label."""
    together: dict[int, list[Mark]] = {}
    for mark in marks:
        together.setdefault(mark.value_ms, []).append(mark)
    return [
        _MarkLabel(", ".join(mark.name for mark in same), f"{value_ms:,} ms", value_ms)
        for value_ms, same in together.items()
    ]


def _mark_lines(plot: Plot, labels: Sequence[_MarkLabel]) -> list[str]:
    """Return the marks: a line up through the plot, bent to a label that does not overlap its neighbours.

    If not all labels fit side by side, the smallest values have none.
    """
    widths = [label.width_px for label in labels]
    while sum(widths) > svg.WIDTH - 24:
        widths, labels = widths[1:], labels[1:]
    marks_px = [plot.x_px(label.value_ms) for label in labels]
    labels_px = svg.spread(marks_px, widths, 12, svg.WIDTH - 12)
    parts = []
    for label, mark_px, label_px in zip(labels, marks_px, labels_px, strict=True):
        base = svg.HEAD_PX + 2 * _LABEL_PX
        parts += [
            svg.text(label_px, base - _LABEL_PX - 4, label.names, "muted middle"),
            svg.text(label_px, base - 4, label.text, "middle"),
            svg.bent((label_px, base + 1), (mark_px, plot.top), (mark_px, plot.bottom), "mark"),
        ]
    return parts
