"""Charts over time as SVG text: lines with goals, and the errors in front of all samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple, TypeGuard

from harness.base import units
from harness.metrics.downsampling import chunk_size, chunks
from harness.report.charts import svg
from harness.report.charts.axes import Axis, time_axis, value_axis
from harness.report.charts.goals import ChartGoal, GoalLines
from harness.report.charts.svg import Bar, Key, LeastSize, Plot, Range

AFTER_START = "time since the load began"
FEW_BARS = 20
LEAST_BAR = LeastSize(4.0, 8.0)  # few bars: one second with one error among thousands of samples stays visible
LEAST_BAR_OF_MANY = LeastSize(1.0, 2.0)  # many bars are visible anyway, and must not look like more errors
_MOST_POINTS = 800  # of a line, about one per px; longer lines are drawn as means and ranges
_CHUNKS = 400

Values = Sequence[float | None]


class Band(NamedTuple):
    """An interval of a chart that is emphasised: the measurement window, in seconds after the load began."""

    from_s: float
    to_s: float


@dataclass(frozen=True)
class Series:
    """A line: its name and its points, (second, value of 0 or more) in order; a value of None is a gap."""

    name: str
    points: tuple[tuple[float, float | None], ...]

    @property
    def values(self) -> list[float]:
        """The known values."""
        return [value for _, value in self.points if _is_known(value)]


@dataclass(frozen=True)
class Frame:
    """Title, unit and range of a chart over time; `band` is the measurement window.

    The x axis ends at `end_s` or later, so that charts of one run are aligned.
    """

    title: str
    y_unit: str
    band: Band | None = None
    end_s: float = 0.0


def line_chart(frame: Frame, lines: Sequence[Series], goals: Sequence[ChartGoal] = ()) -> str:
    """Return a chart of lines over seconds, with goals as dashed lines.

    Up to six lines are easy to distinguish. A line of more than 800 points is drawn as the means of chunks of points,
    with the range of each chunk shaded; the legend states it.
    """
    most_points = max((len(line.points) for line in lines), default=0)
    chunk = chunk_size(most_points, _CHUNKS) if most_points > _MOST_POINTS else 1
    drawn = [(line, _look(index)) for index, line in enumerate(lines)]

    def draw(plot: Plot) -> list[str]:
        runs = [(run, look) for line, look in drawn for run in known_runs(line, chunk)]
        shaded = [(run, look) for run, look in runs if chunk > 1 and len(run) > 1]
        return [
            *levels.drawn(plot),
            *(plot.shade([span.range for span in run], look.colour) for run, look in shaded),
            *(plot.line([(span.range.x, span.mean) for span in run], look.colour, look.dash) for run, look in runs),
        ]

    levels = GoalLines.of(goals, max((value for line in lines for value in line.values), default=0.0))
    keys = [svg.line_key(line.name, look.colour, look.dash) for line, look in drawn] if len(lines) > 1 else []
    keys += levels.keys
    if chunk > 1:
        keys.append(svg.box_key(f"line: mean of {chunk} points; shaded: their range", f"shade c{svg.CONTEXT}"))
    description = " ".join([*map(series_text, lines), *(f"{key.name}." for key in levels.keys)])
    values = [*(value for line in lines for value in line.values), *levels.limits]
    return framed_chart(frame, lines, keys, draw, description, value_axis(values))


def error_chart(
    frame: Frame, xs: Sequence[float], error_counts: Sequence[int], sample_counts: Sequence[int], bucket_s: float
) -> str:
    """Return the chart of errors per second, drawn in front of all samples per second.

    The bar of a bucket of `bucket_s` seconds is centred on its x. The legend states the total.
    """
    total = _errors_text(sum(error_counts), sum(sample_counts))
    joined = chunk_size(len(xs), _CHUNKS) if len(xs) > _MOST_POINTS else 1
    errors, samples = (_rate_bars(xs, counts, bucket_s, joined) for counts in (error_counts, sample_counts))
    rates = Series("samples", tuple((x, bar.value) for x, bar in zip(xs[::joined], samples, strict=True)))
    failed = [bar for bar in errors if bar.value]
    least = LEAST_BAR if len(failed) <= FEW_BARS else LEAST_BAR_OF_MANY

    def draw(plot: Plot) -> list[str]:
        return [
            plot.bars(samples, svg.CONTEXT, LeastSize(0, 0), "shade"),
            *([plot.bars(failed, svg.WARNING, least)] if failed else []),
        ]

    keys = [svg.box_key(total, f"bar c{svg.WARNING}"), svg.box_key("all samples", f"shade c{svg.CONTEXT}")]
    if joined > 1:
        frame = replace(frame, y_unit=f"{frame.y_unit}, mean of {units.duration_text(joined * bucket_s)}")
    return framed_chart(frame, [rates], keys, draw, f"{total}.", value_axis(rates.values))


def framed_chart(
    frame: Frame, lines: Sequence[Series], keys: list[Key], draw: Callable[[Plot], list[str]], description: str, y: Axis
) -> str:
    """Return a chart over time with its legend, axes and the measurement window; `draw` returns what is in the plot."""
    x = time_axis([frame.end_s, *(second for line in lines for second, _ in line.points)])
    if band := _clipped(frame.band, x):
        keys = [*keys, svg.box_key(f"window: {_interval(band, x)}", "band edge")]
    legend = svg.legend(keys, svg.HEAD_PX)
    plot = Plot(x, y, legend.end + 12, max(legend.end + 12 + svg.LEAST_PLOT_PX, svg.HEIGHT - svg.FOOT_PX))
    nothing = svg.text((svg.LEFT + svg.RIGHT) / 2, (plot.top + plot.bottom) / 2, "no values", "muted middle")
    body = [
        legend.rows,
        *(plot.band(*band)[:1] if band else []),
        plot.axes(f"{AFTER_START}, {x.unit}"),
        *(draw(plot) if any(line.values for line in lines) else [nothing]),
        *(plot.band(*band)[1:] if band else []),
    ]
    about = f"{frame.y_unit} over {AFTER_START}, {_interval(Band(x.low, x.high), x)}. {description}"
    unit = f"{frame.y_unit}, logarithmic" if y.is_log else frame.y_unit
    return svg.document(frame.title, unit, about, plot.bottom + svg.FOOT_PX, body)


def _clipped(band: Band | None, x: Axis) -> Band | None:
    if band is None or band.to_s <= x.low or band.from_s >= x.high:
        return None
    return Band(max(band.from_s, x.low), min(band.to_s, x.high))


def _interval(band: Band, x: Axis) -> str:
    """Return an interval in the time format of the axis, to the second."""
    if x.unit == "s":
        return f"{band.from_s:.3g} to {band.to_s:.3g} s"
    return " to ".join(f"{'−' if at < 0 else ''}{units.clock_text(abs(at))}" for at in band)


class _Look(NamedTuple):
    """The colour (an index) and the dash of a line."""

    colour: int
    dash: str


class Span(NamedTuple):
    """A chunk of points: the mean of the known values, and their range at the middle second."""

    mean: float
    range: Range


def known_runs(line: Series, chunk: int = 1) -> list[list[Span]]:
    """Return the spans of each `chunk` points between gaps, where no value is known."""
    spans = []
    for points in chunks(line.points, chunk):
        known = [value for _, value in points if _is_known(value)]
        middle = (points[0][0] + points[-1][0]) / 2
        spans.append(Span(sum(known) / len(known), Range(middle, min(known), max(known))) if known else None)
    return [[span for span in run if span] for is_gap, run in groupby(spans, lambda span: span is None) if not is_gap]


def _look(index: int) -> _Look:
    """Return the look of the series with this index; looks repeat after 36 series."""
    count = len(svg.COLOURS)
    return _Look(index % count, svg.DASHES[(index + index // count) % count])


def _rate_bars(xs: Sequence[float], counts: Sequence[int], bucket_s: float, joined: int) -> list[Bar]:
    """Return bars of rates per second, each of `joined` buckets of `bucket_s` seconds; the last may have fewer."""
    bars = []
    for x, joined_counts in zip(xs[::joined], chunks(counts, joined), strict=True):
        seconds = len(joined_counts) * bucket_s
        left = x - bucket_s / 2
        bars.append(Bar(left, left + seconds, sum(joined_counts) / seconds))
    return bars


def series(name: str, xs: Sequence[float], values: Values) -> Series:
    """Return a line of these values."""
    return Series(name, tuple(zip(xs, values, strict=True)))


def scaled(line: Series, factor: float) -> Series:
    """Return a line with its values times a factor."""
    return Series(line.name, tuple((x, None if value is None else value * factor) for x, value in line.points))


def in_mb(line: Series) -> Series:
    """Return a line of bytes in MB."""
    return scaled(line, 1 / units.BYTES_PER_MB)


def _is_known(value: float | None) -> TypeGuard[float]:
    return value is not None and math.isfinite(value)


def _errors_text(error_count: int, sample_count: int) -> str:
    percent = units.percent_text(error_count / sample_count)
    percent = "below 0.01" if percent == "0.00" else percent
    return f"errors: {error_count:,} of {sample_count:,} samples ({percent} %)"


def series_text(line: Series) -> str:
    """Return the least, the greatest and the last value of a line in a sentence."""
    known = line.values
    if not known:
        return f"{line.name}: no values."
    gap_count = len(line.points) - len(known)
    gaps = f"; {gap_count} of {len(line.points)} points without a value" if gap_count else ""
    least, most, last = (svg.figure(value) for value in (min(known), max(known), known[-1]))
    return f"{line.name}: least {least}, most {most}, last {last}{gaps}."
