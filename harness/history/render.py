"""A history in print: Markdown with a table and a chart for each set of conditions; CSV and JSON for programs."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from harness.base import units
from harness.compare.conditions import Conditions
from harness.history.change_marks import change_marks, size_text
from harness.history.series import History, Line, Point
from harness.history.summary import figures_of, start_text
from harness.metrics.metric import Metric, Table
from harness.report.charts import svg
from harness.report.charts.axes import Axis, value_axis
from harness.report.charts.gallery import Picture
from harness.report.charts.svg import Plot
from harness.report.setup import load_text
from harness.report.tables import cell, table
from harness.report.template import filled

_MOST_TICKS = 9
_TICK_GAP_PX = 16
_DOT_PX = 3.5
# A smaller p-value is as good as none.
_P_SHOWN = 1e-6


def _metric_words(metric: Metric) -> str:
    """Return what a metric is called in a sentence."""
    return f"the {metric.words}" if metric.is_time else metric.short_title


def history_report(history: History, pictures: Sequence[Picture | None], runs_folder: str | None, command: str) -> str:
    """Return the history as Markdown; `pictures` has that of each line, or None, and they stand beside it.

    `runs_folder` is where the runs' reports are as seen from it; None for a text that stands nowhere and has no links.
    `command` is what makes it again.
    """
    return filled(
        "history.md.j2",
        command=command,
        plan=cell(history.plan),
        label=cell(history.label),
        metric=_metric_words(history.metric),
        is_errors=history.metric.is_share,
        lines=[
            {
                "title": cell(_title(line.conditions)),
                "machine": cell(_machine(line.conditions)),
                "image": f"![{cell(picture.alternative)}]({quote(picture.name)})" if picture else "",
                "changes": _changes(line, history.metric),
                "table": _table(line, history.metric, runs_folder),
            }
            for line, picture in zip(history.lines, pictures, strict=True)
        ],
        left_out=[(cell(run), cell(why)) for run, why in history.left_out],
    )


def _title(conditions: Conditions) -> str:
    return load_text(conditions.load)


def _machine(conditions: Conditions) -> str:
    system = f"the system at {conditions.target}" if conditions.target else "the system started beside the generator"
    return f"Profile {conditions.profile}; {host_text(conditions)} memory; {system}."


def host_text(conditions: Conditions) -> str:
    """Return the machine in few words."""
    return f"{conditions.cpu_model}, {conditions.cpu_count} cores, {conditions.memory_gb:g} GB"


_COLUMNS = figures_of(Table.HISTORY)


def _table(line: Line, metric: Metric, runs_folder: str | None) -> str:
    """Return the table of a line, the newest run first."""
    extra = metric.title
    more = [] if any(column.title == extra for column in _COLUMNS) else [extra]
    unit = "points" if metric.is_share else "%"
    titles = (
        "run",
        "verdict",
        "started UTC",
        "commit",
        *(column.title for column in _COLUMNS),
        *more,
        f"change {unit}",
    )
    rows = [
        [
            point.run if runs_folder is None else f"[{point.run}]({quote(runs_folder)}{point.run}.md)",
            point.verdict,
            start_text(point.started_at),
            (point.git_commit or "")[:12],
            *(column.text(column.value(point.figures)) if point.figures else "" for column in _COLUMNS),
            *([metric.text(point.value)] if more else []),
            change_text(point.change_ratio),
        ]
        for point in reversed(line.points)
    ]
    return table(titles, rows, text_columns=4)


def _changes(line: Line, metric: Metric) -> str:
    """Return the table of what changed for good and what was accepted, the newest first; empty without any."""
    changes = {change.index: change for change in line.changes}
    reasons = {place: one.reason for place, one in line.accepted}
    rows = []
    for place in sorted({*changes, *reasons}, reverse=True):
        point, change = line.valid[place], changes.get(place)
        sizes = [""] * 4
        if change:
            p_value = f"{change.p_value:.1g}" if change.p_value >= _P_SHOWN else f"< {_P_SHOWN:g}"
            means = [metric.mean_text(mean) for mean in (change.before, change.after)]
            sizes = [*means, size_text(change, metric), p_value]
        rows.append([point.run, start_text(point.started_at), cell(reasons.get(place, "")), *sizes])
    heads = ("since run", "started UTC", "accepted", "mean before", "mean after", "change", "p")
    return table(heads, rows, text_columns=3) if rows else ""


def change_text(change_ratio: float | None) -> str:
    """Return a change as the number before a % sign, with its sign; empty when there is none."""
    return "" if change_ratio is None else f"{change_ratio * 100:+.2f}"


def history_chart(line: Line, label: str, metric: Metric) -> str:
    """Return the chart of a line's valid runs: a dot for each, and the median of those before as a dashed line."""
    points = line.valid
    scale = 100 if metric.is_share else 1
    values = [(place, (point.value or 0) * scale) for place, point in enumerate(points)]
    medians = [
        (place, point.median_before * scale) for place, point in enumerate(points) if point.median_before is not None
    ]
    title = metric.title
    unit = metric.unit if title != metric.short_title else ""
    keys = [svg.line_key(label, svg.MAIN, ""), svg.line_key("median of the runs before", svg.CONTEXT, svg.DASHES[1])]
    rows, legend_end = svg.legend(keys if medians else keys[:1], svg.HEAD_PX)
    axis = value_axis([value for _, value in (*values, *medians)])
    plot = Plot(name_axis([point.run for point in points]), axis, legend_end + 12, svg.HEIGHT - svg.FOOT_PX)
    first, last = (start_text(point.started_at)[:10] for point in (points[0], points[-1]))
    x_title = f"runs from {first} to {last}, oldest first"
    body = [
        rows,
        plot.axes(x_title),
        *([plot.line(medians, svg.CONTEXT, svg.DASHES[1])] if len(medians) > 1 else []),
        *change_marks(plot, line.changes, {place for place, _ in line.accepted}, metric, len(points)),
        *([plot.line(values, svg.MAIN, "")] if len(values) > 1 else []),
        *(_dot(plot, place, value, point) for (place, value), point in zip(values, points, strict=True)),
    ]
    least, most, newest = (
        svg.figure(value)
        for value in (min(value for _, value in values), max(value for _, value in values), values[-1][1])
    )
    words = f"{units.plural(len(points), 'run')}: least {least}, most {most}, {points[-1].run} {newest}."
    return svg.document(f"{metric.short_title} of {label}", unit, f"{x_title}. {words}", svg.HEIGHT, body)


def _dot(plot: Plot, place: float, value: float, point: Point) -> str:
    at = f'cx="{svg.number(plot.x_px(place))}" cy="{svg.number(plot.y_px(value))}"'
    words = svg.plain(f"{point.run}: {svg.figure(value)}")
    return f'<circle {at} r="{_DOT_PX}" class="bar c{svg.MAIN}"><title>{words}</title></circle>'


def name_axis(names: Sequence[str]) -> Axis:
    """Return an axis with a place for each name; names stand where there is room for them, the last one always."""
    width_px = max(svg.text_width(name) for name in names)
    # The last name moves to the left by what would not stand on the card.
    moved_px = max(0.0, width_px / 2 - (svg.WIDTH - svg.RIGHT))
    room_px = width_px + moved_px + _TICK_GAP_PX
    step = -(-len(names) // max(1, min(_MOST_TICKS, int((svg.RIGHT - svg.LEFT) / room_px))))
    ticks = [(float(place), names[place]) for place in range(len(names) - 1, -1, -step)]
    return Axis(-0.5, len(names) - 0.5, tuple(reversed(ticks)))
