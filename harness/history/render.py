"""Render a history as Markdown, with a table and a chart for each set of conditions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from urllib.parse import quote

from harness.base import units
from harness.base.command import Command
from harness.compare.conditions import Conditions
from harness.history.change_points import ChangePoint
from harness.history.series import History, HistoryLine, Point
from harness.history.summary_page import figures_of, start_text
from harness.judge.result import KeyFigure, NextStep, Result
from harness.metrics.metric import Metric, Table
from harness.report.charts import svg
from harness.report.charts.axes import Axis, value_axis
from harness.report.charts.chart import Chart
from harness.report.charts.svg import Plot
from harness.report.first_screen import brief, first_screen, printed_screen
from harness.report.setup import load_text
from harness.report.tables import cell, table
from harness.report.template import filled
from harness.report.wide_tables import narrow_tables
from harness.run.jmeter.progress_line import sparkline
from harness.run.kinds import short_name

_KEY_ROWS_MOST = 12
# What a terminal shows; its first columns are aligned left.
_SCREEN_ROWS = 8
_SCREEN_LEFT = 3
_MOST_TICKS = 9
_TICK_GAP_PX = 16
_DOT_PX = 3.5
_TEXT_GAP_PX = 4


def history_report(history: History, charts: Sequence[Chart | None], runs_folder: str | None, command: str) -> str:
    """Return the history as Markdown; `charts` has the chart of each set of conditions, or None.

    `runs_folder` is the relative path of the runs' reports; None for text without links. `command` creates the history
    again.
    """
    images = [f"![{cell(chart.alternative)}]({quote(chart.name)})" if chart else "" for chart in charts]
    shown = next(iter(history.lines), None)
    has_more = shown is not None and len(shown.changes) + len(shown.accepted) > _KEY_ROWS_MOST
    return filled(
        "harness.history",
        "history.md.j2",
        command=command,
        plan=cell(history.plan),
        label=cell(history.label),
        first_screen=first_screen(
            result_of(history),
            chart=images[0] if images else "",
            table=(shown and _changes(shown, history.metric, _KEY_ROWS_MOST))
            or (shown and _newest(shown, history.metric, runs_folder))
            or "No run has this metric.",
        ),
        metric=f"the {history.metric.phrase}"
        if history.metric.is_time and history.metric.beside is None
        else history.metric.short_title,
        is_errors=history.metric.is_share,
        lines=[
            {
                "title": cell(load_text(line.conditions.load)),
                "machine": cell(_machine(line.conditions)),
                "image": "" if line is shown else image,
                "changes": "" if line is shown and not has_more else _changes(line, history.metric),
                "table": _table(line, history.metric, runs_folder),
            }
            for line, image in zip(history.lines, images, strict=True)
        ],
        left_out=[(cell(run), cell(why)) for run, why in history.left_out],
    )


def history_screen(history: History) -> str:
    """Return the history for a terminal: the answer, the newest runs with the newest run's load, and how they went."""
    shown = next(iter(history.lines), None)
    if shown is None:
        return printed_screen(result_of(history), table="No run has this metric.")
    metric, newest = history.metric, list(reversed(shown.points))[:_SCREEN_ROWS]
    heads = ("run", "started UTC", "verdict", metric.title, f"change {metric.change_unit}")
    rows = [
        (
            short_name(point.run),
            start_text(point.started_at),
            point.verdict,
            metric.text(point.value),
            change_text(point.change_ratio),
        )
        for point in newest
    ]
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    lines = ["  ".join(map(_padded, row, widths, range(len(row)))).rstrip() for row in (heads, *rows)]
    values = [point.value for point in shown.valid if point.value is not None]
    if len(values) > 1:
        ends = f"{metric.text(min(values))} to {metric.text(max(values))} {metric.unit}"
        lines += ["", f"{metric.name}, oldest first: {sparkline(values)}  {ends} in {len(values)} VALID runs"]
    if others := len(history.lines) - 1:
        lines.append(f"{units.plural(others, 'other load, profile or machine')}: see the page")
    return printed_screen(result_of(history), table="\n".join(lines))


def _padded(text: str, width: int, column: int) -> str:
    return text.ljust(width) if column < _SCREEN_LEFT else text.rjust(width)


def result_of(history: History, first_chart: str = "") -> Result:
    """Return what the history shows; nothing is judged, so it has no verdict."""
    runs = units.plural(sum(len(line.points) for line in history.lines), "run")
    changes = [(line.valid[one.index], one) for line in history.lines for one in line.changes]
    newest = max(changes, key=lambda change: change[0].started_at, default=None)
    text = "no lasting change"
    steps: tuple[NextStep, ...] = ()
    if newest:
        point, change = newest
        size = size_text(change, history.metric)
        text = f"{units.plural(len(changes), 'lasting change')}, the newest since {point.run}: {size}"
        line = next(line for line in history.lines if change in line.changes)
        sides = [f"{history.plan}/{line.valid[index].run}" for index in (change.index - 1, change.index)]
        command = str(Command.of("compare", base=sides[0], new=sides[1]))
        steps = (NextStep("Compare the runs before and after it", command),) if change.index else ()
    return Result(
        kind="history",
        title=f"{history.plan}: {history.label} over time",
        headline=brief(f"{runs}; {history.metric.name}: {text}."),
        key_figures=(KeyFigure("runs", runs.partition(" ")[0]), KeyFigure("lasting changes", str(len(changes)))),
        first_chart=first_chart,
        next_steps=steps,
    )


def _machine(conditions: Conditions) -> str:
    if not conditions.load.model:
        return "These runs have no run.json: profile, machine and system are not known."
    system = f"the system at {conditions.target}" if conditions.target else "the system on the load generator's machine"
    return f"Profile {conditions.profile}; {host_text(conditions)} memory; {system}."


def host_text(conditions: Conditions) -> str:
    """Return a short text for the machine."""
    if not conditions.cpu_model:
        return "unknown"
    return f"{conditions.cpu_model}, {conditions.cpu_count} cores, {conditions.memory_gb:g} GB"


_COLUMNS = figures_of(Table.HISTORY)


def _table(line: HistoryLine, metric: Metric, runs_folder: str | None) -> str:
    shown = [column.title for column in _COLUMNS]
    more = [] if metric.title in shown else [metric.title]
    titles = ("run", "verdict", "started UTC", "commit", *shown, *more, f"change {metric.change_unit}")
    rows = [
        [
            *_run_cells(point, runs_folder),
            cell((point.git_commit or "")[:12]),
            *(column.text(column.value(point.figures)) if point.figures else "" for column in _COLUMNS),
            *([metric.text(point.value)] if more else []),
            change_text(point.change_ratio),
        ]
        for point in reversed(line.points)
    ]
    return narrow_tables(titles, rows, text_columns=4)


def _run_cells(point: Point, runs_folder: str | None) -> list[str]:
    link = point.run if runs_folder is None else f"[{point.run}]({quote(runs_folder)}{point.run}.md)"
    return [link, cell(point.verdict), cell(start_text(point.started_at))]


def _newest(line: HistoryLine, metric: Metric, runs_folder: str | None) -> str:
    """Return the newest runs with the metric and its change."""
    rows = [
        [*_run_cells(point, runs_folder), metric.text(point.value), change_text(point.change_ratio)]
        for point in list(reversed(line.points))[:_KEY_ROWS_MOST]
    ]
    return table(("run", "verdict", "started UTC", metric.title, f"change {metric.change_unit}"), rows, text_columns=3)


def _changes(line: HistoryLine, metric: Metric, most: int | None = None) -> str:
    """Return the table of the newest lasting and accepted changes, all of them by default; empty without any."""
    changes = {change.index: change for change in line.changes}
    reasons = {index: one.reason for index, one in line.accepted}
    rows = []
    for index in sorted({*changes, *reasons}, reverse=True)[:most]:
        point, change = line.valid[index], changes.get(index)
        sizes = [""] * 3
        if change:
            means = [metric.mean_text(mean) for mean in (change.before, change.after)]
            sizes = [*means, size_text(change, metric)]
        rows.append([point.run, cell(start_text(point.started_at)), cell(reasons.get(index, "")), *sizes])
    heads = ("since run", "started UTC", "accepted", "mean before", "mean after", "change")
    return table(heads, rows, text_columns=3) if rows else ""


def change_text(change_ratio: float | None) -> str:
    """Return a change as the number before a % sign, with its sign; empty when there is none."""
    return "" if change_ratio is None else f"{change_ratio * 100:+.2f}"


def history_chart(line: HistoryLine, label: str, metric: Metric) -> str:
    """Return the chart of a line's valid runs: a dot per run, and the median of the earlier runs as a dashed line."""
    points = line.valid
    scale = 100 if metric.is_share else 1
    values = [(index, (point.value or 0) * scale) for index, point in enumerate(points)]
    medians = [
        (index, point.median_before * scale) for index, point in enumerate(points) if point.median_before is not None
    ]
    unit = metric.unit if metric.title != metric.short_title else ""
    keys = [svg.line_key(label, svg.MAIN, ""), svg.line_key("median of the earlier runs", svg.CONTEXT, svg.DASHES[1])]
    legend = svg.legend(keys if medians else keys[:1], svg.HEAD_PX)
    axis = value_axis([value for _, value in (*values, *medians)])
    plot = Plot(name_axis([point.run for point in points]), axis, legend.end + 12, svg.HEIGHT - svg.FOOT_PX)
    first, last = (start_text(point.started_at)[:10] for point in (points[0], points[-1]))
    x_title = f"runs from {first} to {last}, oldest first"
    body = [
        legend.rows,
        plot.axes(x_title),
        *([plot.line(medians, svg.CONTEXT, svg.DASHES[1])] if len(medians) > 1 else []),
        *change_marks(plot, line.changes, {index for index, _ in line.accepted}, metric, len(points)),
        *([plot.line(values, svg.MAIN, "")] if len(values) > 1 else []),
        *(_dot(plot, index, value, point) for (index, value), point in zip(values, points, strict=True)),
    ]
    each = [value for _, value in values]
    least, most, newest = map(svg.figure, (min(each), max(each), each[-1]))
    values_text = f"{units.plural(len(points), 'run')}: least {least}, most {most}, {points[-1].run} {newest}."
    return svg.document(f"{metric.short_title} of {label}", unit, f"{x_title}. {values_text}", svg.HEIGHT, body)


def _dot(plot: Plot, index: float, value: float, point: Point) -> str:
    at = f'cx="{svg.number(plot.x_px(index))}" cy="{svg.number(plot.y_px(value))}"'
    title = svg.plain(f"{point.run}: {svg.figure(value)}")
    return f'<circle {at} r="{_DOT_PX}" class="bar c{svg.MAIN}"><title>{title}</title></circle>'


def size_text(change: ChangePoint, metric: Metric) -> str:
    """Return the size of a change: +21.3 %, for errors +0.50 points."""
    if metric.is_share:
        return f"{(change.after - change.before) * 100:+.2f} points"
    return "from 0" if change.ratio is None else f"{change.ratio * 100:+.1f} %"


def change_marks(
    plot: Plot, changes: Sequence[ChangePoint], accepted: Collection[int], metric: Metric, count: int
) -> list[str]:
    """Return a line at each change, with its size where there is room.

    `accepted` are the indexes where an accepted change begins; `count` is the number of values.
    """
    sizes = {change.index: size_text(change, metric) for change in changes}
    parts, free_px = [], 0.0
    for index in sorted({*sizes, *accepted}):
        if not 0 < index < count:
            continue
        x = plot.x_px(index - 0.5)
        text = ", ".join(filter(None, (sizes.get(index, ""), "accepted" if index in accepted else "")))
        parts.append(svg.straight(x, plot.top, x, plot.bottom, "mark"))
        width = svg.text_width(text)
        # The text is right of the line, or left of it when it would leave the plot.
        left = x + _TEXT_GAP_PX if x + _TEXT_GAP_PX + width <= svg.RIGHT else x - _TEXT_GAP_PX - width
        if left >= free_px:
            parts.append(svg.text(left, plot.top + svg.TEXT_PX, text, "muted"))
            free_px = max(x, left + width) + _TEXT_GAP_PX
    return parts


def name_axis(names: Sequence[str]) -> Axis:
    """Return an axis with a position for each name; names are printed where they fit, the last one always."""
    width_px = max(svg.text_width(name) for name in names)
    # The last name moves left so that it does not leave the chart.
    moved_px = max(0.0, width_px / 2 - (svg.WIDTH - svg.RIGHT))
    room_px = width_px + moved_px + _TICK_GAP_PX
    step = -(-len(names) // max(1, min(_MOST_TICKS, int((svg.RIGHT - svg.LEFT) / room_px))))
    ticks = [(float(index), names[index]) for index in range(len(names) - 1, -1, -step)]
    return Axis(-0.5, len(names) - 0.5, tuple(reversed(ticks)))
