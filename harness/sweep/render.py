"""Renders the Markdown report of a sweep."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple
from urllib.parse import quote

from harness.base import units
from harness.metrics.metric import ERRORS, THROUGHPUT, Table, columns_of_runs
from harness.plan.goal import Goal
from harness.report.charts.chart import Chart
from harness.report.markdown import image
from harness.report.setup import setup_lines
from harness.report.tables import cell, one_line, table
from harness.report.template import filled
from harness.report.verdict import VALID
from harness.report.warnings import WarningCode
from harness.sweep import processes
from harness.sweep.analysis import SweepAnalysis, outcome
from harness.sweep.labels import transactions_of
from harness.sweep.levels import Figures, Level, LevelRun, Sweep, level_head, levels_of
from harness.sweep.record import CAPACITY, SweepRecord
from harness.sweep.terminal import goal_text
from harness.sweep.text import answer_text, counted_text, differing, findings, levels_text, users_text, warnings_of

_Print = Callable[[float | None], str]


_cores = partial(units.percent_text, decimals=0)


class _Column(NamedTuple):
    """A column of a table of levels: its title, the key of its figure, and the number format."""

    title: str
    figure: str
    text: _Print


# A column without known values is omitted.
COLUMNS = (
    _Column("samples", "sample_count", lambda value: "" if value is None else f"{value:.0f}"),
    _Column(THROUGHPUT.title, THROUGHPUT.key, THROUGHPUT.text),
    _Column("successful req/s", "success_rate_per_s", units.rate_text),
    *(_Column(metric.title, metric.key, metric.text) for metric in columns_of_runs(Table.SWEEP)[1:-1]),
    _Column("slowest label ms", "slowest_label_ms", units.average_text),
    _Column("users ÷ req/s ms", "cycle_ms", units.average_text),
    _Column(ERRORS.title, ERRORS.key, ERRORS.text),
    _Column("generator CPU %", "generator_cpu_cores", _cores),
    _Column("system CPU %", "system_cpu_cores", _cores),
)
# Columns that only all labels of a run together have.
_OF_TOTAL = ("slowest_label_ms", "cycle_ms", "generator_cpu_cores", "system_cpu_cores")
_RANGED = tuple(metric.key for metric in columns_of_runs(Table.BRIEF))
# The charts that belong to sections of their own.
_PROCESS_CHARTS, _JVM_CHARTS = ("cpu.svg", "memory.svg"), ("heap", "jvm-cpu")
HEADS = {column.figure: column.title for column in COLUMNS}
PRINTS = {column.figure: column.text for column in COLUMNS}


@dataclass(frozen=True)
class Page:
    """Charts, notes and command of a report; `folder` contains the charts, `command` writes the same report again."""

    charts: Sequence[Chart]
    notes: str
    folder: str
    command: str


def sweep_report(sweep: Sweep, analysis: SweepAnalysis, page: Page, links: Mapping[str, str]) -> str:
    """Return the report of one sweep; `links` lead to the reports of its runs."""
    record = sweep.record
    profiles = (processes.profile_table(sweep.levels), processes.statement_table(sweep.levels))
    return filled(
        "harness.sweep",
        "sweep.md.j2",
        command=one_line(page.command),
        made_by=one_line(record.command) if record else "",
        title=cell(sweep.name),
        is_measured=bool(sweep.records),
        answer=cell(answer_text(sweep, analysis)),
        setup=[(name, cell(value)) for name, value in set_up(sweep, analysis)],
        level_table=level_table(sweep, analysis, links),
        counted=cell(counted_text(sweep.levels, sweep.label)),
        has_successes=_has_errors(sweep.levels),
        has_cpu=knows(sweep.levels, "generator_cpu_cores") or knows(sweep.levels, "system_cpu_cores"),
        is_repeated=any(len(level.counted) > 1 for level in sweep.levels),
        range_table=_range_table(sweep.levels),
        transaction_table=transaction_table(sweep.levels),
        steps_table=_steps_table(sweep, analysis, links),
        images=[
            image(one, page.folder)
            for one in page.charts
            if one.name not in _PROCESS_CHARTS and not one.name.startswith(_JVM_CHARTS)
        ],
        process_table=processes.process_table(sweep.levels),
        process_images=[image(one, page.folder) for one in page.charts if one.name in _PROCESS_CHARTS],
        heap_table=processes.heap_table(sweep.levels),
        recorded_table=processes.recorded_table(sweep.levels),
        heap_images=[image(one, page.folder) for one in page.charts if one.name.startswith(_JVM_CHARTS)],
        profile_tables=[*filter(None, profiles)],
        cloud_tables=processes.cloud_level_tables(sweep.levels),
        cloud_title=processes.cloud_title(sweep.levels),
        growth=processes.growth_section(sweep),
        growth_note=processes.growth_note(),
        findings=[(name, cell(text)) for name, text in findings(sweep, analysis).items()],
        notes=page.notes,
        warnings=[cell(text) for text in warnings_of(sweep, analysis)],
    )


def set_up(sweep: Sweep, analysis: SweepAnalysis) -> list[tuple[str, str]]:
    """Return the set-up as (name, value) pairs: the common settings of the runs, and the levels."""
    records, record = sweep.records, sweep.record
    lines: list[tuple[str, str]] = []
    if records:
        own = _own_lines(sweep)
        lines += [*own[:1], ("load", _load(sweep)), *own[1:]]
        lines.append(("started", min(run.started_at for run in records)))
        if all(run.took_s is not None for run in records):
            lines.append(("took", f"{units.duration_text(sum(run.took_s or 0 for run in records))} in all runs"))
        if differs := differing(sweep):
            lines.append(("differs between the runs", ", ".join(differs)))
    else:
        lines.append(("levels", levels_text(sweep.levels)))
    if record is not None:
        lines.append(("order", _order(record)))
    lines.append(("goal", (goal_text(analysis.goal) if analysis.goal else "") or "none"))
    return lines


def _own_lines(sweep: Sweep) -> list[tuple[str, str]]:
    """Return the set-up of the first run, without load and times; in a sweep over a setting with the values of all."""
    records = sweep.records if sweep.is_of_setting else sweep.records[:1]
    lines = [line for record in records for line in setup_lines(record) if line[0] not in ("load", "started", "took")]
    if len(records) == 1:
        return lines
    values_by_name: dict[str, dict[str, None]] = {}
    for name, value in lines:
        values_by_name.setdefault(name, {})[value] = None
    return [(name, "; ".join(values)) for name, values in values_by_name.items()]


def _load(sweep: Sweep) -> str:
    loads = [record.load for record in sweep.records]
    think = [load.think_time_s for load in loads]
    parts = [
        f"closed model, {users_text(dict.fromkeys(level.users for level in sweep.levels))}",
        _span([load.ramp_s for load in loads], "ramp {} s"),
        _span([load.duration_s for load in loads], "{} s in all"),
        _span([load.loops for load in loads], "{} loops each"),
        _span([load.requests for load in loads], "or about {} samples, whichever is first"),
        _span(think if any(think) else [], "think time {} s"),
    ]
    return ", ".join(part for part in parts if part)


def _span(values_or_none: Sequence[float | None], template: str) -> str:
    values = [value for value in values_or_none if value is not None]
    if not values:
        return ""
    low, high = units.number_text(min(values)), units.number_text(max(values))
    return template.format(low if low == high else f"{low} to {high}")


def _order(record: SweepRecord) -> str:
    if record.kind == CAPACITY:
        return "a search; its steps are below"
    if record.repeat > 1:
        return f"{record.repeat} rounds over all levels, so that drift affects all levels alike"
    return "one run per level, in the given order"


def knows(levels: Sequence[Level], figure: str) -> bool:
    return any(level.figures.of(figure) is not None for level in levels)


def _has_errors(levels: Sequence[Level]) -> bool:
    return any(level.figures.error_ratio for level in levels)


def level_table(sweep: Sweep, analysis: SweepAnalysis, links: Mapping[str, str]) -> str:
    """Return the table of the levels, one row each."""
    levels, goal = sweep.levels, analysis.goal
    is_shown = {
        "success_rate_per_s": _has_errors(levels),
        "slowest_label_ms": goal is not None and goal.each_average_ms is not None,
        "cycle_ms": any(WarningCode.LITTLES_LAW in run.warning_codes for run in sweep.runs),
    }
    columns = [one for one in COLUMNS if knows(levels, one.figure) and is_shown.get(one.figure, True)]
    has_goal = goal is not None and bool(goal_text(goal))
    has_runs = any(run.record is not None for run in sweep.runs)
    heads = [level_head(levels), *(column.title for column in columns)]
    heads += (["within the goal"] if has_goal else []) + (["runs"] if has_runs else [])
    rows = []
    for level in levels:
        row = [cell(level.value), *_cells(level.figures, columns)]
        if has_goal and goal:
            row.append(_within(level, goal))
        if has_runs:
            row.append(", ".join(_run_cell(run, links) for run in level.runs))
        rows.append(row)
    return table(heads, rows)


def _cells(figures: Figures, columns: Sequence[_Column]) -> list[str]:
    return [column.text(figures.of(column.figure)) for column in columns]


def transaction_table(levels: Sequence[Level]) -> str:
    """Return the table of the transactions, each at every level; an empty text without any."""
    transactions = list(transactions_of(levels))
    has_errors = any(one.figures.error_count for one in transactions)
    hidden = _OF_TOTAL if has_errors else (*_OF_TOTAL, "success_rate_per_s")
    shown = [column for column in COLUMNS if column.figure not in hidden]
    columns = [column for column in shown if any(one.figures.of(column.figure) is not None for one in transactions)]
    rows = [[cell(one.name), cell(one.level.value), *_cells(one.figures, columns)] for one in transactions]
    return table(["transaction", level_head(levels), *(column.title for column in columns)], rows) if rows else ""


def _within(level: Level, goal: Goal) -> str:
    return {True: "yes", False: "no", None: "cannot tell"}[outcome(level, goal).is_within]


def _run_cell(run: LevelRun, links: Mapping[str, str]) -> str:
    short = cell(run.name.rpartition("/")[2])
    name = f"[{short}]({quote(links[run.name])})" if run.name in links else short
    return name if run.verdict is None or run.verdict.state == VALID else f"{name} {run.verdict.state}"


def _range_table(levels: Sequence[Level]) -> str:
    """Return the table of least and greatest values of repeats; an empty text without repeats."""
    columns = [figure for figure in _RANGED if any(level.range_of(figure) for level in levels)]
    if not columns:
        return ""
    rows = []
    for level in levels:
        cells = ("–".join(map(PRINTS[figure], level.range_of(figure) or ())) for figure in columns)
        rows.append([cell(level.value), str(len(level.counted)), *cells])
    return table([level_head(levels), "runs", *(HEADS[figure] for figure in columns)], rows)


def _steps_table(sweep: Sweep, analysis: SweepAnalysis, links: Mapping[str, str]) -> str:
    """Return the table of a capacity search's runs in order; an empty text for a sweep."""
    record = sweep.record
    if record is None or record.kind != CAPACITY:
        return ""
    runs = {run.name.rpartition("/")[2]: run for run in sweep.runs}
    rows = []
    for number, step in enumerate(record.measured, start=1):
        run = runs.get(step.name)
        figures = run.figures if run else Figures()
        within = _within(levels_of([(step.users, run)])[0], analysis.goal) if run and analysis.goal else ""
        shown = [PRINTS[figure](figures.of(figure)) for figure in _RANGED]
        rows.append([str(number), str(step.users), *shown, within, _run_cell(run, links) if run else cell(step.name)])
    return table(["step", "users", *(HEADS[figure] for figure in _RANGED), "within the goal", "run"], rows)
