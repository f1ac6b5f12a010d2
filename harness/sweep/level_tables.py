"""Renders the tables of levels: key columns, all columns, repeats, transactions, and the steps of a search."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple
from urllib.parse import quote

from harness.base import units
from harness.compare.comparison import CANNOT_TELL
from harness.judge.account import users_time
from harness.judge.verdict import VALID
from harness.metrics.metric import ERRORS, MEDIAN, METRICS, P95, THROUGHPUT, Table, columns_of_runs
from harness.plan.goal import Goal
from harness.report.first_screen import ROWS_MOST
from harness.report.tables import cell, table
from harness.report.wide_tables import narrow_tables
from harness.sweep.analysis import SweepAnalysis, outcome
from harness.sweep.labels import transactions_of
from harness.sweep.levels import Figures, Level, LevelRun, Sweep, level_head, levels_of
from harness.sweep.record import CAPACITY

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
HEADS = {column.figure: column.title for column in COLUMNS}
PRINTS = {column.figure: column.text for column in COLUMNS}


_WITHIN = {True: "met", False: "missed", None: CANNOT_TELL}


def knows(levels: Sequence[Level], figure: str) -> bool:
    """Return whether any level has a value of a figure."""
    return any(level.figures.of(figure) is not None for level in levels)


def has_errors(levels: Sequence[Level]) -> bool:
    """Return whether any sample of the levels failed."""
    return any(level.figures.error_ratio for level in levels)


def key_table(sweep: Sweep, analysis: SweepAnalysis) -> str:
    """Return the key columns of the levels; of many levels the first, the last, and those about the answer."""
    levels, goal = sweep.levels, analysis.goal
    if not levels:
        return ""
    limited = tuple(metric for metric in (goal.of_metrics if goal else ()) if metric.is_time)[:1]
    times = [metric.key for metric in METRICS if metric in (MEDIAN, P95, *limited)]
    figures = [one for one in (THROUGHPUT.key, *times, ERRORS.key) if knows(levels, one)]
    shown = _about_the_answer(levels, analysis)
    has_goal, has_verdicts = goal not in (None, Goal()), any(run.verdict for run in sweep.runs)
    rows = [
        [
            cell(level.value),
            *(PRINTS[figure](level.figures.of(figure)) for figure in figures),
            *([within(level, goal)] if has_goal and goal else []),
            *([_states(level)] if has_verdicts else []),
        ]
        for level in shown
    ]
    heads = [level_head(levels), *(HEADS[figure] for figure in figures)]
    heads += (["goal"] if has_goal else []) + (["verdict"] if has_verdicts else [])
    left_out = len(levels) - len(shown)
    more = f"\n\n{left_out} more levels are in the table of all columns." if left_out else ""
    return table(heads, rows) + more


def _about_the_answer(levels: Sequence[Level], analysis: SweepAnalysis) -> Sequence[Level]:
    """Return at most ROWS_MOST levels: the first, the last, and those next to the answer or the best level."""
    if len(levels) <= ROWS_MOST:
        return levels
    users = analysis.answer.users or analysis.answer.next_users or analysis.best_users
    middle = next((at for at, level in enumerate(levels) if level.users == users), 0)
    inner = sorted(range(1, len(levels) - 1), key=lambda at: (abs(at - middle), at))[: ROWS_MOST - 2]
    return [levels[at] for at in sorted((0, *inner, len(levels) - 1))]


def _states(level: Level) -> str:
    """Return the verdicts of a level's runs, each once."""
    return ", ".join(dict.fromkeys(run.verdict.state for run in level.runs if run.verdict))


def level_table(sweep: Sweep, analysis: SweepAnalysis, links: Mapping[str, str]) -> str:
    """Return the tables of the levels with all columns, one row each."""
    levels, goal = sweep.levels, analysis.goal
    is_shown = {
        "success_rate_per_s": has_errors(levels),
        "slowest_label_ms": goal is not None and goal.each_average_ms is not None,
        "cycle_ms": any(users_time.LINE.code in run.warning_codes for run in sweep.runs),
    }
    columns = [one for one in COLUMNS if knows(levels, one.figure) and is_shown.get(one.figure, True)]
    has_goal = goal not in (None, Goal())
    has_runs = any(run.record is not None for run in sweep.runs)
    heads = [level_head(levels), *(column.title for column in columns)]
    heads += (["goal"] if has_goal else []) + (["runs"] if has_runs else [])
    rows = []
    for level in levels:
        row = [cell(level.value), *_cells(level.figures, columns)]
        if has_goal and goal:
            row.append(within(level, goal))
        if has_runs:
            row.append(", ".join(_run_cell(run, links) for run in level.runs))
        rows.append(row)
    return narrow_tables(heads, rows)


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
    heads = ["transaction", level_head(levels), *(column.title for column in columns)]
    return narrow_tables(heads, rows, kept=2) if rows else ""


def within(level: Level, goal: Goal) -> str:
    """Return whether a level meets a goal: met, missed or CANNOT TELL."""
    return _WITHIN[outcome(level, goal).is_within]


def _run_cell(run: LevelRun, links: Mapping[str, str]) -> str:
    short = cell(run.name.rpartition("/")[2])
    name = f"[{short}]({quote(links[run.name])})" if run.name in links else short
    return name if run.verdict is None or run.verdict.state == VALID else f"{name} {run.verdict.state}"


def range_table(levels: Sequence[Level]) -> str:
    """Return the table of least and greatest values of repeats; an empty text without repeats."""
    columns = [figure for figure in _RANGED if any(level.range_of(figure) for level in levels)]
    if not columns:
        return ""
    rows = []
    for level in levels:
        cells = ("–".join(map(PRINTS[figure], level.range_of(figure) or ())) for figure in columns)
        rows.append([cell(level.value), str(len(level.counted)), *cells])
    return narrow_tables([level_head(levels), "runs", *(HEADS[figure] for figure in columns)], rows)


def steps_table(sweep: Sweep, analysis: SweepAnalysis, links: Mapping[str, str]) -> str:
    """Return the table of a capacity search's runs in order; an empty text for a sweep."""
    record = sweep.record
    if record is None or record.kind != CAPACITY:
        return ""
    runs = {run.name.rpartition("/")[2]: run for run in sweep.runs}
    rows = []
    for number, step in enumerate(record.measured, start=1):
        run = runs.get(step.name)
        figures = run.figures if run else Figures()
        goal = within(levels_of([(step.users, run)])[0], analysis.goal) if run and analysis.goal else ""
        shown = [PRINTS[figure](figures.of(figure)) for figure in _RANGED]
        rows.append([str(number), str(step.users), *shown, goal, _run_cell(run, links) if run else cell(step.name)])
    return table(["step", "users", *(HEADS[figure] for figure in _RANGED), "goal", "run"], rows)
