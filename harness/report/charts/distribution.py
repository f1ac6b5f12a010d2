"""Charts of the distribution of response times, as SVG text: a histogram with marks, and two overlaid histograms."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from harness.report.charts import svg
from harness.report.charts.axes import Axis, log_axis, nice_step, number_tick, ticks_between, value_axis
from harness.report.charts.svg import Plot

LOG_FROM_RATIO = 10  # greatest ÷ median; above it nearly all samples would fall into a few bars of equal width
LOG_FACTORS = (1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 5.0, 10.0)
_MOST_BARS, _FEWEST_BARS = 150, 12
_LABEL_PX = 18  # one of the two lines of a mark's label
_LABEL_GAP_PX = 14
_LEADER_PX = 14
_LEAST_BAR_PX = (0.0, 1.5)  # one slow sample in a million is visible


@dataclass(frozen=True)
class _Scale:
    """How response times are assigned to bars: bar i covers edges_ms[i] up to, not including, edges_ms[i + 1].

    Bars are drawn half a millisecond earlier, so that a whole millisecond is in the middle of its bar.
    `bar_width` is the width of a bar in positions of the axis, `bar_text` the same as text.
    """

    edges_ms: tuple[int, ...]
    axis: Axis
    bar_width: float
    bar_text: str


def distribution_chart(
    title: str, counts: Mapping[int, int] | Sequence[tuple[int, int]], marks: Sequence[tuple[str, float]]
) -> str:
    """Return the histogram of (elapsed_ms, sample count); `marks` are named values in ms: ("p90", 1134).

    The x axis is logarithmic, and labelled so, if the greatest value is far above the median. Heights are % of all
    samples per bar. Bars that are wider than the others because of whole milliseconds are lower by the same factor, so
    that areas are correct.
    """
    pairs = sorted((value_ms, count) for value_ms, count in _pairs(counts) if count)
    total = sum(count for _, count in pairs)
    labels = _labels(marks) if pairs else []
    top = svg.HEAD_PX + (2 * _LABEL_PX + _LEADER_PX if labels else 12)
    bottom = svg.HEIGHT - svg.FOOT_PX
    if not pairs:
        plot = Plot(_linear([(0, 1)]).axis, value_axis([]), top, bottom)
        nothing = svg.text((svg.LEFT + svg.RIGHT) / 2, (top + bottom) / 2, "no samples", "muted middle")
        return svg.document(title, "", "No samples.", svg.HEIGHT, [plot.axes("response time, ms"), nothing])
    scale = _logarithmic(pairs) if _is_far_tailed(pairs) else _linear(pairs)
    bars = _bars(pairs, scale, total)
    plot = Plot(scale.axis, value_axis([height for _, _, height in bars]), top, bottom)
    body = [
        plot.axes("response time, ms, logarithmic" if scale.axis.is_log else "response time, ms"),
        plot.bars(bars, svg.MAIN, _LEAST_BAR_PX),
        *_mark_lines(plot, labels),
    ]
    said = "".join(f", {name} {svg.figure(value_ms)} ms" for name, value_ms in marks)
    words = f"{total:,} samples from {pairs[0][0]:,} to {pairs[-1][0]:,} ms{said}."
    return svg.document(title, f"% of samples per {scale.bar_text}", words, svg.HEIGHT, body)


def overlaid_chart(title: str, base: tuple[str, Mapping[int, int]], new: tuple[str, Mapping[int, int]]) -> str:
    """Return two overlaid histograms of (elapsed_ms, sample count): the first is filled, the second an outline.

    Heights are % of the samples of each side, so that a longer run is not higher than a shorter one.
    """
    sides = [
        (name, sorted((value_ms, count) for value_ms, count in counts.items() if count)) for name, counts in (base, new)
    ]
    together = sorted(pair for _, pairs in sides for pair in pairs)
    scale = _logarithmic(together) if _is_far_tailed(together) else _linear(together)
    filled, outlined = (_bars(pairs, scale, sum(count for _, count in pairs)) for _, pairs in sides)
    keys = [
        svg.box_key(sides[0][0], f"bar c{svg.CONTEXT}"),
        svg.line_key(sides[1][0], svg.WARNING, ""),
    ]
    rows, legend_end = svg.legend(keys, svg.HEAD_PX)
    heights = [height for _, _, height in (*filled, *outlined)]
    bottom = max(legend_end + 12 + svg.LEAST_PLOT_PX, svg.HEIGHT - svg.FOOT_PX)
    plot = Plot(scale.axis, value_axis(heights), legend_end + 12, bottom)
    body = [
        rows,
        plot.axes("response time, ms, logarithmic" if scale.axis.is_log else "response time, ms"),
        plot.bars(filled, svg.CONTEXT, _LEAST_BAR_PX),
        plot.line(_outline(outlined), svg.WARNING, ""),
    ]
    words = "; ".join(
        f"{name}: {sum(count for _, count in pairs):,} samples from {pairs[0][0]:,} to {pairs[-1][0]:,} ms"
        for name, pairs in sides
    )
    return svg.document(title, f"% of samples per {scale.bar_text}", f"{words}.", bottom + svg.FOOT_PX, body)


def _outline(bars: Sequence[tuple[float, float, float]]) -> list[tuple[float, float]]:
    """Return the outline of bars; it is 0 between them."""
    points: list[tuple[float, float]] = []
    for start, end, height in bars:
        if not points or points[-1][0] != start:
            points += [(points[-1][0], 0.0)] if points else []
            points.append((start, 0.0))
        points += [(start, height), (end, height)]
    return [*points, (bars[-1][1], 0.0)]


def _pairs(counts: Mapping[int, int] | Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    return list(counts.items() if isinstance(counts, Mapping) else counts)


def _is_far_tailed(pairs: Sequence[tuple[int, int]]) -> bool:
    half, seen = sum(count for _, count in pairs) / 2, 0
    for value_ms, count in pairs:
        seen += count
        if seen >= half:
            return pairs[-1][0] > LOG_FROM_RATIO * max(1, value_ms)
    return False


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


def _bars(pairs: Sequence[tuple[int, int]], scale: _Scale, total: int) -> list[tuple[float, float, float]]:
    """Return (from ms, to ms, % of samples per bar of the scale's width) of the bars that contain samples."""
    held = [0] * (len(scale.edges_ms) - 1)
    for value_ms, count in pairs:
        held[bisect_right(scale.edges_ms, value_ms) - 1] += count
    drawn = pairwise(edge_ms - 0.5 for edge_ms in scale.edges_ms)
    width_of = scale.axis.position
    return [
        (start, end, 100 * count / total * scale.bar_width / (width_of(end) - width_of(start)))
        for (start, end), count in zip(drawn, held, strict=True)
        if count
    ]


def _labels(marks: Sequence[tuple[str, float]]) -> list[tuple[str, str, float]]:
    """Return (names, value as text, value in ms) in ascending order; marks of one value share a label."""
    names: dict[str, list[str]] = {}
    values: dict[str, float] = {}
    for name, value_ms in sorted(marks, key=lambda mark: mark[1]):
        words = f"{svg.figure(value_ms)} ms"
        names.setdefault(words, []).append(name)
        values.setdefault(words, value_ms)
    return [(", ".join(names[words]), words, value_ms) for words, value_ms in values.items()]


def _mark_lines(plot: Plot, labels: Sequence[tuple[str, str, float]]) -> list[str]:
    """Return the marks: a line up through the plot, bent to a label that does not overlap its neighbours.

    If not all labels fit side by side, the marks of the smallest values are dropped.
    """
    widths = [max(svg.text_width(names), svg.text_width(words)) + _LABEL_GAP_PX for names, words, _ in labels]
    while sum(widths) > svg.WIDTH - 24:
        widths, labels = widths[1:], labels[1:]
    places = [plot.x_px(value_ms) for _, _, value_ms in labels]
    parts = []
    for (names, words, _), place, label_at in zip(
        labels, places, svg.spread(places, widths, 12, svg.WIDTH - 12), strict=True
    ):
        base = svg.HEAD_PX + 2 * _LABEL_PX
        parts += [
            svg.text(label_at, base - _LABEL_PX - 4, names, "muted middle"),
            svg.text(label_at, base - 4, words, "middle"),
            svg.bent((label_at, base + 1), (place, plot.top), (place, plot.bottom), "mark"),
        ]
    return parts
