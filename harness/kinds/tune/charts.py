"""Draws the charts of a designed experiment: the mean with each value, and the means of pairs of values."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from harness.judge.result import FOUND
from harness.kinds.tune.effects import Effect
from harness.kinds.tune.factors import Factor
from harness.kinds.tune.model import ModelFit, row
from harness.kinds.tune.outcome import TuneOutcome
from harness.metrics.metric import Metric
from harness.report.charts import svg
from harness.report.charts.axes import Axis, near_axis
from harness.report.charts.chart import Chart
from harness.report.charts.svg import Plot

# The chart files that a report may have.
FILE_NAME = re.compile(r"(effects|pair-\d+)\.svg")
_PAIRS_MOST = 6
_CAP_PX, _DOT_PX = 4, 4
_LEVEL = 0.95
_NAME_PX = 20
# Where an axis cannot begin at 0, it begins at this part of the least value.
_ROOM = 0.9


class Mean(NamedTuple):
    """A mean of the metric, in its unit, with its 95 % interval."""

    value: float
    low: float
    high: float


class Point(NamedTuple):
    """A mean and its position on the x axis."""

    x: float
    mean: Mean


def tune_charts(outcome: TuneOutcome) -> tuple[Chart, ...]:
    """Return the chart of all means, and one for each of the most important pairs; none without a fitted model."""
    record, fit = outcome.record, outcome.fit
    if fit is None:
        return ()
    drawn = (_pair_chart(record.factors, pair, fit, record.metric) for pair in _pairs(outcome))
    charts = (Chart(f"pair-{number}.svg", text) for number, text in enumerate(drawn, start=1))
    return (Chart("effects.svg", _effects_chart(record.factors, fit, record.metric)), *charts)


def _pairs(outcome: TuneOutcome) -> list[tuple[int, ...]]:
    """Return the pairs of factors to draw, as their indexes: those with the clearest interactions first."""
    clearest: dict[tuple[int, ...], float] = dict.fromkeys(combinations(range(len(outcome.record.factors)), 2), 0.0)
    for effect in outcome.effects:
        if effect.is_pair:
            clearest[effect.factor_indexes] = max(clearest[effect.factor_indexes], _clearness(effect))
    return sorted(clearest, key=lambda pair: -clearest[pair])[:_PAIRS_MOST]


def _clearness(effect: Effect) -> float:
    """Return an effect in half-widths of its interval; found ones are above 1."""
    width = math.log1p(effect.high_ratio) - math.log1p(effect.low_ratio)
    clearness = abs(math.log1p(effect.delta_ratio)) / (width / 2) if width else 0.0
    return max(clearness, 1.0) if effect.verdict == FOUND else clearness


def _mean(factors: Sequence[Factor], levels: dict[int, int], fit: ModelFit) -> Mean:
    """Return the mean of the metric with these values, averaged over the other factors, with its 95 % interval."""
    terms = row(factors, [levels.get(index) for index in range(len(factors))])
    value, reach = fit.value(terms), fit.reach(terms, (1 + _LEVEL) / 2)
    return Mean(math.exp(value), math.exp(value - reach), math.exp(value + reach))


def _axis(means: Sequence[Mean]) -> Axis:
    """Return a logarithmic axis around the means and their intervals: equal relative changes have equal heights."""
    values = [value for mean in means for value in mean]
    near = near_axis(values)
    low = near.low or min(values) * _ROOM
    return Axis(low, near.high, tuple(tick for tick in near.ticks if tick[0] >= low), is_log=True)


def _effects_chart(factors: Sequence[Factor], fit: ModelFit, metric: Metric) -> str:
    """Return the chart of the means with each value: the values of a factor are neighbours, joined by a line."""
    lines = list(_lines(factors, fit))
    end = lines[-1][-1].x + 0.5
    step_px = (svg.RIGHT - svg.LEFT) / (end + 0.5)
    ticks = tuple(
        (point.x, svg.shortened(value, step_px))
        for factor, points in zip(factors, lines, strict=True)
        for value, point in zip(factor.values, points, strict=True)
    )
    y = _axis([point.mean for points in lines for point in points])
    keys = [svg.line_key("mean, with its 95 % interval", svg.MAIN, ""), svg.line_key("mean of all", svg.CONTEXT, "9 3")]
    legend = svg.legend(keys, svg.HEAD_PX)
    plot = Plot(Axis(-0.5, end, ticks), y, legend.end + _NAME_PX + 12, svg.HEIGHT - svg.FOOT_PX)
    overall = _mean(factors, {}, fit).value
    line = plot.line([(-0.5, overall), (end, overall)], svg.CONTEXT, "9 3")
    body = [legend.rows, plot.axes("value of the setting"), line]
    for factor, points in zip(factors, lines, strict=True):
        body += _line(plot, points, svg.MAIN, "")
        middle, width = (points[0].x + points[-1].x) / 2, (len(points) + 0.6) * step_px
        body.append(svg.text(plot.x_px(middle), plot.top - 8, svg.shortened(factor.name, width), "muted middle"))
    about = " ".join(
        f"{factor.assignment(level)}: {svg.figure(mean.value)} ({svg.figure(mean.low)} to {svg.figure(mean.high)})."
        for factor, points in zip(factors, lines, strict=True)
        for level, (_, mean) in enumerate(points)
    )
    return svg.document(f"{metric.phrase} with each value", f"{metric.unit}, logarithmic", about, svg.HEIGHT, body)


def _lines(factors: Sequence[Factor], fit: ModelFit) -> Iterator[list[Point]]:
    """Yield the points of each factor, one for each value; factors are apart by one more position."""
    first = 0.0
    for index, factor in enumerate(factors):
        yield [Point(first + level, _mean(factors, {index: level}, fit)) for level in range(len(factor.values))]
        first += len(factor.values) + 1.0


def _pair_chart(factors: Sequence[Factor], pair: Sequence[int], fit: ModelFit, metric: Metric) -> str:
    """Return the chart of two factors: a line for each value of the second one over those of the first one.

    Its axis is logarithmic, so parallel lines mean that the factors do not depend on each other.
    """
    first, second = pair
    factor, other = factors[first], factors[second]
    lines = [
        [Point(float(x), _mean(factors, {first: x, second: level}, fit)) for x in range(len(factor.values))]
        for level in range(len(other.values))
    ]
    looks = [(index % len(svg.COLOURS), svg.DASHES[index % len(svg.DASHES)]) for index in range(len(lines))]
    keys = [svg.line_key(other.assignment(level), *look) for level, look in enumerate(looks)]
    legend = svg.legend(keys, svg.HEAD_PX)
    y = _axis([point.mean for points in lines for point in points])
    x_axis = Axis(-0.5, len(factor.values) - 0.5, tuple((float(x), value) for x, value in enumerate(factor.values)))
    plot = Plot(x_axis, y, legend.end + 12, max(legend.end + 12 + svg.LEAST_PLOT_PX, svg.HEIGHT - svg.FOOT_PX))
    body = [legend.rows, plot.axes(f"{factor.name}; bars: 95 % intervals")]
    for points, look in zip(lines, looks, strict=True):
        body += _line(plot, points, *look)
    about = " ".join(_line_text(factor, other.assignment(level), points) for level, points in enumerate(lines))
    title = f"{metric.phrase} with {factor.name} and {other.name}"
    return svg.document(title, f"{metric.unit}, logarithmic", about, plot.bottom + svg.FOOT_PX, body)


def _line_text(one: Factor, name: str, points: Sequence[Point]) -> str:
    pairs = zip(one.values, points, strict=True)
    return f"{name}: {', '.join(f'{value} {svg.figure(point.mean.value)}' for value, point in pairs)}."


def _line(plot: Plot, points: Sequence[Point], colour: int, dash: str) -> list[str]:
    """Return the means joined by a line, each with a dot and its interval."""
    parts = [plot.line([(point.x, point.mean.value) for point in points], colour, dash)]
    for point in points:
        parts.append(plot.whisker(svg.Range(point.x, point.mean.low, point.mean.high), colour, _CAP_PX))
        centre = f'cx="{svg.number(plot.x_px(point.x))}" cy="{svg.number(plot.y_px(point.mean.value))}"'
        parts.append(f'<circle {centre} r="{_DOT_PX}" class="bar c{colour}"/>')
    return parts
