"""Distributions of response times: a histogram with marks and two overlaid ones as SVG text, and one as a line."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import NamedTuple

from harness.report.charts import svg
from harness.report.charts.axes import Axis, log_axis, nice_step, number_tick, ticks_between, value_axis
from harness.report.charts.over_time import Series
from harness.report.charts.svg import Bar, LeastSize, Plot

LOG_FROM_RATIO = 10  # greatest ÷ median; above it nearly all samples would fall into a few bars of equal width
LOG_FACTORS = (1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 5.0, 10.0)
# Bars of a line grow by this factor. It is the same for every run, so that two runs can be overlaid.
_LINE_FACTOR = 1.1
_MOST_BARS, _FEWEST_BARS = 150, 12
_LABEL_PX = 18  # one of the two lines of a mark's label
_LABEL_GAP_PX = 14
_LEADER_PX = 14
_LEAST_BAR = LeastSize(0.0, 1.5)  # one slow sample in a million is visible


class _Scale(NamedTuple):
    """How response times are assigned to bars: bar i covers edges_ms[i] up to, not including, edges_ms[i + 1].

    Bars are drawn half a millisecond earlier, so that a whole millisecond is in the middle of its bar.
    `bar_width` is the width of a bar in positions of the axis, `bar_text` the same as text.
    """

    edges_ms: tuple[int, ...]
    axis: Axis
    bar_width: float
    bar_text: str


def distribution_chart(title: str, counts: Mapping[int, int], marks: Sequence[tuple[str, float]]) -> str:
    """Return the histogram of sample counts by elapsed_ms; `marks` are named values in ms: ("p90", 1134).

    The x axis is logarithmic, and labelled so, if the greatest value is far above the median. Heights are % of all
    samples per bar. Bars that are wider than the others because of whole milliseconds are lower by the same factor, so
    that areas are correct.
    """
    pairs = sorted((value_ms, count) for value_ms, count in counts.items() if count)
    total = sum(count for _, count in pairs)
    labels = _labels(marks) if pairs else []
    top = svg.HEAD_PX + (2 * _LABEL_PX + _LEADER_PX if labels else 12)
    bottom = svg.HEIGHT - svg.FOOT_PX
    if not pairs:
        plot = Plot(_linear([(0, 1)]).axis, value_axis([]), top, bottom)
        nothing = svg.text((svg.LEFT + svg.RIGHT) / 2, (top + bottom) / 2, "no samples", "muted middle")
        return svg.document(title, "", "No samples.", svg.HEIGHT, [plot.axes("response time, ms"), nothing])
    scale = _scale_of(pairs)
    bars = _bars(pairs, scale, total)
    plot = Plot(scale.axis, value_axis([bar.value for bar in bars]), top, bottom)
    body = [
        plot.axes("response time, ms, logarithmic" if scale.axis.is_log else "response time, ms"),
        plot.bars(bars, svg.MAIN, _LEAST_BAR),
        *_mark_lines(plot, labels),
    ]
    named = "".join(f", {name} {svg.figure(value_ms)} ms" for name, value_ms in marks)
    about = f"{total:,} samples from {pairs[0][0]:,} to {pairs[-1][0]:,} ms{named}."
    return svg.document(title, f"% of samples per {scale.bar_text}", about, svg.HEIGHT, body)


@dataclass(frozen=True)
class NamedCounts:
    """The sample counts by elapsed_ms of one side of an overlaid chart, and its name in the legend."""

    name: str
    counts: Mapping[int, int]

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The counts that are not 0, in ascending order of elapsed_ms."""
        return sorted((value_ms, count) for value_ms, count in self.counts.items() if count)


def overlaid_chart(title: str, base: NamedCounts, new: NamedCounts) -> str:
    """Return two overlaid histograms: that of the baseline is filled, that of the contender an outline.

    Heights are % of the samples of each side, so that a longer run is not higher than a shorter one.
    """
    scale = _scale_of(sorted([*base.pairs, *new.pairs]))
    filled, outlined = (_bars(side.pairs, scale, sum(side.counts.values())) for side in (base, new))
    keys = [svg.box_key(base.name, f"bar c{svg.CONTEXT}"), svg.line_key(new.name, svg.WARNING, "")]
    legend = svg.legend(keys, svg.HEAD_PX)
    bottom = max(legend.end + 12 + svg.LEAST_PLOT_PX, svg.HEIGHT - svg.FOOT_PX)
    plot = Plot(scale.axis, value_axis(bar.value for bar in (*filled, *outlined)), legend.end + 12, bottom)
    body = [
        legend.rows,
        plot.axes("response time, ms, logarithmic" if scale.axis.is_log else "response time, ms"),
        plot.bars(filled, svg.CONTEXT, _LEAST_BAR),
        plot.line(_outline(outlined), svg.WARNING, ""),
    ]
    about = "; ".join(
        f"{side.name}: {sum(side.counts.values()):,} samples from {side.pairs[0][0]:,} to {side.pairs[-1][0]:,} ms"
        for side in (base, new)
    )
    return svg.document(title, f"% of samples per {scale.bar_text}", f"{about}.", bottom + svg.FOOT_PX, body)


def _outline(bars: Sequence[Bar]) -> list[tuple[float, float]]:
    """Return the outline of bars; it is 0 between them."""
    points: list[tuple[float, float]] = []
    for bar in bars:
        if not points or points[-1][0] != bar.start:
            points += [(points[-1][0], 0.0)] if points else []
            points.append((bar.start, 0.0))
        points += [(bar.start, bar.value), (bar.end, bar.value)]
    return [*points, (bars[-1].end, 0.0)]


def _scale_of(pairs: Sequence[tuple[int, int]]) -> _Scale:
    half, seen = sum(count for _, count in pairs) / 2, accumulate(count for _, count in pairs)
    median_ms = next(value_ms for (value_ms, _), count in zip(pairs, seen, strict=True) if count >= half)
    return _logarithmic(pairs) if pairs[-1][0] > LOG_FROM_RATIO * max(1, median_ms) else _linear(pairs)


def _bar_limit(pairs: Sequence[tuple[int, int]]) -> int:
    """Return how many bars the samples can fill without random holes: three times the cube root of their number."""
    return min(_MOST_BARS, max(_FEWEST_BARS, round(3 * math.cbrt(sum(count for _, count in pairs)))))


def _linear(pairs: Sequence[tuple[int, int]]) -> _Scale:
    """Return bars of equal whole milliseconds, from 0 unless all samples are far from 0."""
    low, high = pairs[0][0], pairs[-1][0]
    first = min(0, low) if low < 0.4 * high else low
    width_ms = max(1, round(nice_step(max(1, high - first), _bar_limit(pairs))))
    start_ms = first // width_ms * width_ms
    bar_count = (high - start_ms) // width_ms + 1
    if bar_count < _FEWEST_BARS:
        start_ms = max(min(0, start_ms), start_ms - (_FEWEST_BARS - bar_count) // 2 * width_ms)
        bar_count = _FEWEST_BARS
    end_ms = start_ms + bar_count * width_ms
    step_ms = max(1.0, nice_step(end_ms - start_ms, 8))
    ticks = tuple((at, number_tick(at, step_ms, end_ms)) for at in ticks_between(start_ms, end_ms - 0.5, step_ms))
    edges_ms = tuple(range(start_ms, end_ms + 1, width_ms))
    axis = Axis(start_ms - 0.5, end_ms - 0.5, ticks)
    return _Scale(edges_ms, axis, width_ms, f"{width_ms:,} ms")


def _logarithmic(pairs: Sequence[tuple[int, int]]) -> _Scale:
    """Return bars of an equal factor, as far as whole milliseconds allow; 0 ms has one of its own."""
    low, high = pairs[0][0], pairs[-1][0] + 1
    first, limit = max(1, low), _bar_limit(pairs)
    factor = next((factor for factor in LOG_FACTORS if first * factor**limit >= high), LOG_FACTORS[-1])
    edges_ms = [low, first] if low < first else [first]
    power = 0
    while edges_ms[-1] < high:
        power += 1
        edges_ms.append(max(edges_ms[-1], round(first * factor**power)))
    edges_ms = sorted(set(edges_ms))
    axis = log_axis(edges_ms[0] - 0.5, edges_ms[-1] - 0.5)
    return _Scale(tuple(edges_ms), axis, math.log10(factor), f"factor of {factor:g}")


def _bars(pairs: Sequence[tuple[int, int]], scale: _Scale, total: int) -> list[Bar]:
    """Return the bars that contain samples, from ms to ms; values are % of samples per bar of the scale's width."""
    counts = [0] * (len(scale.edges_ms) - 1)
    for value_ms, count in pairs:
        counts[bisect_right(scale.edges_ms, value_ms) - 1] += count
    drawn = pairwise(edge_ms - 0.5 for edge_ms in scale.edges_ms)
    width_of = scale.axis.position
    return [
        Bar(start, end, 100 * count / total * scale.bar_width / (width_of(end) - width_of(start)))
        for (start, end), count in zip(drawn, counts, strict=True)
        if count
    ]


def distribution_line(counts: Mapping[int, int]) -> Series:
    """Return bars as a line: x are their left edges (ms), y their heights (% of all samples).

    The last height, 0, ends the last bar.

    The right edge of a bar is 1.1 times the left one. A bar that is wider because of whole milliseconds is
    lower by the same factor, so that areas are correct on a logarithmic axis. Bars begin half a millisecond early, so
    that a whole millisecond is inside its bar; the bar of 0 ms, which a logarithmic axis cannot show, begins at 0.25.
    """
    total = sum(counts.values())
    if not total:
        return Series("share of samples", ())
    edges_ms = _line_edges_ms(max(counts))
    bars = [0] * (len(edges_ms) - 1)
    for elapsed_ms, count in counts.items():
        bars[bisect_right(edges_ms, elapsed_ms) - 1] += count
    first = next(index for index, count in enumerate(bars) if count)
    lefts = [edge_ms - 0.5 if edge_ms else 0.25 for edge_ms in edges_ms[first:]]
    heights = [
        100 * count / total * math.log(_LINE_FACTOR) / math.log(right / left)
        for count, (left, right) in zip(bars[first:], pairwise(lefts), strict=True)
    ]
    return Series("share of samples", tuple(zip(lefts, (*heights, 0.0), strict=True)))


def _line_edges_ms(greatest_ms: int) -> list[int]:
    """Return whole milliseconds from 0 to above the greatest, each about 1.1 times the one before."""
    edges = [0]
    while edges[-1] <= greatest_ms:
        edges.append(round(_LINE_FACTOR ** (len(edges) - 1)))
    return sorted(set(edges))


class _MarkLabel(NamedTuple):
    """The label of the marks of one value: their names, the value in ms, and its text."""

    names: str
    text: str
    value_ms: float

    @property
    def width_px(self) -> float:
        return max(svg.text_width(self.names), svg.text_width(self.text)) + _LABEL_GAP_PX


def _labels(marks: Sequence[tuple[str, float]]) -> list[_MarkLabel]:
    """Return the labels of marks in ascending order; marks of one value share a label."""
    names: dict[str, list[str]] = {}
    values: dict[str, float] = {}
    for name, value_ms in sorted(marks, key=lambda mark: mark[1]):
        text = f"{svg.figure(value_ms)} ms"
        names.setdefault(text, []).append(name)
        values.setdefault(text, value_ms)
    return [_MarkLabel(", ".join(names[text]), text, value_ms) for text, value_ms in values.items()]


def _mark_lines(plot: Plot, labels: Sequence[_MarkLabel]) -> list[str]:
    """Return the marks: a line up through the plot, bent to a label that does not overlap its neighbours.

    If not all labels fit side by side, the marks of the smallest values are dropped.
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
