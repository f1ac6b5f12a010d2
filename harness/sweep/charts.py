"""Draws the charts of sweeps as SVG: throughput, response times and errors at each level."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from harness.base import units
from harness.judge.verdict import DOUBTFUL
from harness.metrics.batch_means import estimate
from harness.metrics.distributions import student_t_quantile
from harness.metrics.metric import AVERAGE, MEDIAN, P95, THROUGHPUT, Metric, Table, metric_of, times_of
from harness.metrics.shift import CONFIDENCE
from harness.plan.goal import Goal
from harness.report.charts import svg
from harness.report.charts.axes import value_axis
from harness.report.charts.chart import Chart
from harness.report.charts.goals import ChartGoal, GoalLines
from harness.report.charts.svg import Key, Plot
from harness.sweep.analysis import SweepAnalysis, goal_parts
from harness.sweep.goal_intervals import average_interval, percentile_interval
from harness.sweep.level_axis import LevelAxis
from harness.sweep.levels import Level, LevelRange, Sweep
from harness.sweep.throughput_curve import Cliff, Plateau

# The chart files that a report may have.
FILE_NAME = re.compile(r"(throughput|response-time|average|p[\d.]+|errors|(jvm-)?cpu|memory|heap(-\d+)?)\.svg")
# Markers distinguish lines without colour.
_MARKERS = (
    "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
    "m-3.7-3.7h7.4v7.4h-7.4z",
    "m0-5l4.8 8.4h-9.6z",
    "m0-5.2l5.2 5.2l-5.2 5.2l-5.2-5.2z",
    "m0 5l4.8-8.4h-9.6z",
    "m-5.2-1.8h10.4v3.6h-10.4z",
)
_CROSS = "m-4.5-4.5l9 9m0-9l-9 9"
_CURVE_POINTS = 120
_CAP_PX = 3
RATE, ERRORS = "success_rate_per_s", "error_ratio"
# What the bars of a line are.
OF_REPEATS, WITHIN_RUNS = "least to greatest of the repeats", "95 % interval within the run"


@dataclass(frozen=True)
class Line:
    """A line over levels: its name, its points (x, value), bars with what they are, and the x of DOUBTFUL levels."""

    name: str
    points: tuple[tuple[float, float], ...]
    ranges: tuple[svg.Range, ...] = ()
    doubtful: frozenset[float] = frozenset()
    range_text: str = OF_REPEATS


@dataclass(frozen=True)
class Marks:
    """The marks of a chart, as far as they are known.

    `knee` is its position: users, throughput. `invalid` are x of levels, `curve` is a curve with its name, `goals` are
    texts with limits, `within` is the greatest number of users within the goal.
    """

    plateau: Plateau | None = None
    cliff: Cliff | None = None
    knee: tuple[float, float] | None = None
    invalid: tuple[float, ...] = ()
    curve: tuple[tuple[float, float], ...] = ()
    curve_name: str = ""
    goals: tuple[ChartGoal, ...] = ()
    within: int | None = None


def sweep_charts(sweep: Sweep, analysis: SweepAnalysis) -> tuple[Chart, ...]:
    """Return the charts of one sweep, without those that have no values."""
    levels, over = sweep.levels, LevelAxis.of(sweep.levels)
    quality = Marks(invalid=tuple(over.x(level) for level in levels if level.invalid))
    marks = replace(quality, plateau=analysis.plateau)
    limits = _limits(analysis.goal)
    has_errors = any(level.figures.error_ratio for level in levels)
    charts = [
        _throughput_chart(levels, analysis, marks, "successful req/s" if has_errors else "req/s"),
        _time_chart(levels, limits, replace(marks, within=analysis.answer.users)),
    ]
    if has_errors:
        charts.append(_errors_chart(levels, limits, quality))
    return tuple(one for one in charts if one)


def _throughput_chart(levels: Sequence[Level], analysis: SweepAnalysis, marks: Marks, unit: str) -> Chart | None:
    cliff, fit = analysis.cliff, analysis.usl
    knee, saturation = analysis.knee, analysis.saturation
    if cliff and cliff.is_certain and not cliff.is_gradual:
        marks = replace(marks, cliff=cliff)
    if fit and fit.follows:
        counted = [level.users for level in levels if level.figures.rate_per_s is not None] or [0]
        first, last = counted[0], counted[-1]
        drawn_at = (first + (last - first) * index / _CURVE_POINTS for index in range(_CURVE_POINTS + 1))
        curve = tuple((users, fit.rate_per_s(users)) for users in drawn_at)
        marks = replace(marks, curve=curve, curve_name="USL fit")
    if knee and saturation:
        marks = replace(marks, knee=(knee.users.value, saturation.rate_per_s))
    lines = [_line(levels, RATE, "throughput")]
    return named_chart("throughput.svg", "Throughput", unit, lines, marks, LevelAxis.of(levels))


def _time_chart(levels: Sequence[Level], limits: Mapping[str, float], marks: Marks) -> Chart | None:
    metrics = _time_metrics(levels, limits)
    goals = tuple(
        ChartGoal(f"goal: {metric.name} ≤ {limits[metric.key]:g} ms", limits[metric.key])
        for metric in metrics
        if metric.key in limits
    )
    lines = [_line(levels, metric.key, metric.name) for metric in metrics]
    marks = replace(marks, goals=goals)
    return named_chart("response-time.svg", "Response time", "ms", lines, marks, LevelAxis.of(levels))


def _time_metrics(levels: Sequence[Level], limits: Mapping[str, float]) -> list[Metric]:
    """Return p50, p95 and the metrics with a goal; the average and p90 of published numbers that have neither."""
    known = [metric for metric in times_of(Table.SWEEP) if any(level.figures.of(metric.key) for level in levels)]
    drawn = [metric for metric in known if metric in (MEDIAN, P95) or metric.key in limits]
    return drawn if {MEDIAN, P95} & {*drawn} else [metric for metric in known if Table.BRIEF in metric.tables]


def _errors_chart(levels: Sequence[Level], limits: Mapping[str, float], marks: Marks) -> Chart | None:
    if ERRORS in limits:
        goal = ChartGoal(f"goal: ≤ {units.percent_text(limits[ERRORS])} %", limits[ERRORS] * 100)
        marks = replace(marks, goals=(goal,))
    lines = [_line(levels, ERRORS, "errors", 100)]
    return named_chart("errors.svg", "Errors", "% of samples", lines, marks, LevelAxis.of(levels))


def named_chart(name: str, title: str, unit: str, lines: Sequence[Line], marks: Marks, over: LevelAxis) -> Chart | None:
    """Return a chart with its file name; None when its lines have no points."""
    return Chart(name, chart(title, unit, lines, marks, over)) if any(line.points for line in lines) else None


def _limits(goal: Goal | None) -> dict[str, float]:
    return {part.figure: part.limit for part in goal_parts(goal)} if goal else {}


def overlay_charts(sweeps: Sequence[Sweep], analyses: Sequence[SweepAnalysis]) -> tuple[Chart, ...]:
    """Return the charts of several sweeps, one line per sweep; only goals that all sweeps share are drawn."""
    goals = {analysis.goal for analysis in analyses}
    limits = _limits(goals.pop() if len(goals) == 1 else None)
    has_errors = any(level.figures.error_ratio for sweep in sweeps for level in sweep.levels)
    over = LevelAxis.of([level for sweep in sweeps for level in sweep.levels])
    charts = []
    times = ((f"{one.name}.svg", one.key, f"Response time: {one.name}", "ms") for one in times_of(Table.BRIEF))
    for name, figure, title, unit in (
        ("throughput.svg", RATE, "Throughput", "successful req/s" if has_errors else "req/s"),
        *times,
    ):
        lines = [_line(sweep.levels, figure, sweep.name, over=over) for sweep in sweeps]
        marks = Marks(goals=(ChartGoal(f"goal: ≤ {limits[figure]:g} ms", limits[figure]),) if figure in limits else ())
        charts.append(named_chart(name, title, unit, lines, marks, over))
    return tuple(one for one in charts if one)


def _line(levels: Sequence[Level], figure: str, name: str, factor: float = 1.0, over: LevelAxis | None = None) -> Line:
    over = over or LevelAxis.of(levels)
    points = tuple(
        (over.x(level), value * factor) for level in levels if (value := level.figures.of(figure)) is not None
    )
    text, ranges = level_ranges(levels, figure)
    found = [(over.x(level), ends) for level, ends in zip(levels, ranges, strict=True) if ends]
    drawn = tuple(svg.Range(x, ends.least * factor, ends.greatest * factor) for x, ends in found)
    return Line(name, points, drawn, doubtful_x(levels, over), text)


def doubtful_x(levels: Sequence[Level], over: LevelAxis) -> frozenset[float]:
    """Return the positions of the levels with a DOUBTFUL run."""
    return frozenset(
        over.x(level)
        for level in levels
        if any(run.verdict is not None and run.verdict.state == DOUBTFUL for run in level.counted)
    )


def chart(title: str, unit: str, lines: Sequence[Line], marks: Marks, over: LevelAxis) -> str:
    """Return a chart of lines over levels; each line has its own colour, dash and marker."""
    positions = [x for line in lines for x, _ in line.points] + list(marks.invalid)
    values = [value for line in lines for _, value in line.points] + [one.most for line in lines for one in line.ranges]
    greatest = max(values, default=0.0)
    goals = GoalLines.of(marks.goals, greatest)
    x = over.axis(positions)
    y = value_axis([*values, *goals.limits, *(value for _, value in marks.curve)])
    keys = [_key(line.name, index) for index, line in enumerate(lines)] if len(lines) > 1 or marks.curve else []
    keys += [Key(text, _range_swatch) for text in dict.fromkeys(line.range_text for line in lines if line.ranges)]
    keys += _mark_keys(marks, goals)
    doubtful = sorted({at for line in lines for at, _ in line.points if at in line.doubtful})
    if doubtful:
        keys.append(_marker_key("hollow: DOUBTFUL", _MARKERS[0], "hollow c0"))
    legend = svg.legend(keys, svg.HEAD_PX)
    plot = Plot(x, y, legend.end + 12, max(legend.end + 12 + svg.LEAST_PLOT_PX, svg.HEIGHT - svg.FOOT_PX))
    within_px = [plot.x_px(marks.within)] if marks.within is not None and marks.goals else []
    body = [
        legend.rows,
        *(plot.band(marks.plateau.from_users, marks.plateau.to_users) if marks.plateau else []),
        plot.axes(over.title),
        *([plot.line(marks.curve, svg.CONTEXT, svg.DASHES[1])] if marks.curve else []),
        *goals.drawn(plot),
        *(svg.straight(at, plot.top, at, plot.bottom, "mark") for at in within_px),
        *(part for index, line in enumerate(lines) for part in _drawn(plot, line, index, is_joined=not over.texts)),
        *_cliff(plot, marks.cliff, lines),
        *(_marker(plot.x_px(users), plot.y_px(0.0), _CROSS, f"line c{svg.WARNING}") for users in marks.invalid),
        *([_ring(plot.x_px(knee[0]), plot.y_px(knee[1]), 8)] if (knee := marks.knee) else []),
    ]
    about = f"{unit} over {over.title}. " + " ".join(_line_text(line, over) for line in lines)
    about += "".join(f" {key.name}." for key in _mark_keys(marks, goals))
    about += f" DOUBTFUL at {', '.join(map(over.text, doubtful))}." if doubtful else ""
    return svg.document(title, unit, about, plot.bottom + svg.FOOT_PX, body)


def _mark_keys(marks: Marks, goals: GoalLines) -> list[Key]:
    keys = []
    if marks.curve:
        keys.append(svg.line_key(marks.curve_name, svg.CONTEXT, svg.DASHES[1]))
    if marks.plateau:
        keys.append(svg.box_key(f"plateau: {marks.plateau.from_users} to {marks.plateau.to_users} users", "band edge"))
    if marks.cliff:
        fall = units.percent_text(marks.cliff.fall_ratio, 1)
        text = f"cliff after {units.plural(marks.cliff.users, 'user')}: −{fall} %"
        keys.append(svg.line_key(text, svg.WARNING, svg.DASHES[2]))
    if marks.knee is not None:
        text = f"knee: N* = {marks.knee[0]:.3g} users"
        keys.append(Key(text, lambda x, y: _ring(x + svg.SWATCH_PX / 2, y, 7)))
    keys += goals.keys
    if marks.within is not None and marks.goals:
        keys.append(svg.goal_key(f"within the goal up to {units.plural(marks.within, 'user')}", ""))
    if marks.invalid:
        keys.append(_marker_key("INVALID", _CROSS, f"line c{svg.WARNING}"))
    return keys


class _Style(NamedTuple):
    """The look of a line: the index of its colour, its dashes and the path of its markers."""

    colour: int
    dashes: str
    marker: str


def _style(index: int) -> _Style:
    """Return the style of a line; the styles repeat after 36 lines."""
    count = len(svg.COLOURS)
    colours = (0, 1, 2, 3, 5, 4)
    shifted = (index + index // count) % count
    return _Style(colours[index % count], svg.DASHES[shifted], _MARKERS[shifted])


def _key(name: str, index: int) -> Key:
    style = _style(index)
    line = svg.line_key(name, style.colour, style.dashes)
    dot = _marker_key(name, style.marker, f"bar c{style.colour}")
    return Key(name, lambda x, y: line.swatch(x, y) + dot.swatch(x, y))


def _range_swatch(x: float, y: float) -> str:
    middle = svg.number(x + svg.SWATCH_PX / 2)
    return f'<path class="line c0" d="M{middle} {svg.number(y - 7)}m-3 0h6m-3 0v14m-3 0h6"/>'


def _ring(x_px: float, y_px: float, radius: int) -> str:
    return f'<circle cx="{svg.number(x_px)}" cy="{svg.number(y_px)}" r="{radius}" class="mark"/>'


def _marker_key(name: str, outline: str, css_class: str) -> Key:
    return Key(name, lambda x, y: _marker(x + svg.SWATCH_PX / 2, y, outline, css_class))


def _marker(x_px: float, y_px: float, outline: str, css_class: str) -> str:
    return f'<path class="{css_class}" d="M{svg.number(x_px)} {svg.number(y_px)}{outline}"/>'


def _drawn(plot: Plot, line: Line, index: int, *, is_joined: bool) -> list[str]:
    style = _style(index)
    parts = [plot.line(line.points, style.colour, style.dashes)] if len(line.points) > 1 and is_joined else []
    parts += [plot.whisker(ends, style.colour, _CAP_PX) for ends in line.ranges]
    for x, value in line.points:
        look = "hollow" if x in line.doubtful else "bar"
        parts.append(_marker(plot.x_px(x), plot.y_px(value), style.marker, f"{look} c{style.colour}"))
    return parts


def _cliff(plot: Plot, cliff: Cliff | None, lines: Sequence[Line]) -> list[str]:
    values = dict(lines[0].points)
    ends = [cliff.users, cliff.next_users] if cliff else []
    if not ends or not all(users in values for users in ends):
        return []
    fall = [(plot.x_px(users), plot.y_px(values[users])) for users in ends]
    d = "M" + "L".join(f"{svg.number(x)} {svg.number(y)}" for x, y in fall)
    return [
        f'<path class="line c{svg.WARNING}" style="stroke-width:4.5" d="{d}"{svg.dashed(svg.DASHES[2])}/>',
        *(_marker(x, y, _MARKERS[0], "bar c0") for x, y in fall),
    ]


def _line_text(line: Line, over: LevelAxis) -> str:
    if not line.points:
        return f"{line.name}: no values."
    values = [value for _, value in line.points]
    best = max(line.points, key=lambda point: point[1])
    last = line.points[-1]
    return (
        f"{line.name}: least {svg.figure(min(values))}, most {svg.figure(best[1])} at {over.text(best[0])}, "
        f"last {svg.figure(last[1])} at {over.text(last[0])}."
    )


class LevelRanges(NamedTuple):
    """What the bars are, and the bar of each level; None where it is unknown."""

    text: str
    ranges: Sequence[LevelRange | None]


def level_ranges(levels: Sequence[Level], figure: str) -> LevelRanges:
    """Return the bars of a figure: intervals within runs when no level has repeats, as far as batches are known."""
    if any(len(level.counted) > 1 for level in levels):
        ranges = [
            LevelRange.of(one.success_rates_per_s()) if figure == RATE else one.range_of(figure) for one in levels
        ]
        return LevelRanges(OF_REPEATS, ranges)
    return LevelRanges(WITHIN_RUNS, [_interval(level, figure) for level in levels])


def _interval(level: Level, figure: str) -> LevelRange | None:
    total = level.counted[0].total if level.counted else None
    if total is None or total.batches is None or figure == ERRORS:
        return None
    if figure == RATE:
        bounds, rate_per_s = estimate(total.batches, total.histogram, THROUGHPUT), level.figures.success_rate_per_s
        if isinstance(bounds, str) or not rate_per_s or not bounds.value:
            return None
        reach = rate_per_s * student_t_quantile(bounds.freedom, (1 + CONFIDENCE) / 2) * bounds.error / bounds.value
        return LevelRange(max(0.0, rate_per_s - reach), rate_per_s + reach)
    metric = metric_of(figure)
    interval = average_interval([total]) if metric == AVERAGE else percentile_interval([total], metric)
    return LevelRange(interval.low_ms, interval.high_ms) if interval and interval.high_ms is not None else None
