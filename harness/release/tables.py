"""Builds the tables of test runs, goals and errors of two releases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import quote

from harness.base import units
from harness.compare.result import RunResult
from harness.metrics.metric import AVERAGE, ERRORS, THROUGHPUT, metric_of
from harness.metrics.tally import ErrorKey
from harness.release.sides import Runs, Sides
from harness.report.goals import GoalResult
from harness.report.tables import cell, table
from harness.report.wide_tables import narrow_tables
from harness.sweep.levels import Sweep
from harness.sweep.text import users_text

_ERRORS_MOST = 20
COLUMNS = (THROUGHPUT, AVERAGE, metric_of("p95"), ERRORS)


def run_table(sweeps: Sequence[tuple[str, Sweep]], links: Mapping[str, str]) -> str:
    """Return the table of all test runs: the new release first, each with its users, ramp-up and duration."""
    found = (row for name, sweep in sweeps for row in _run_rows(name, sweep, links))
    rows = [[str(number), *row] for number, row in enumerate(found, start=1)]
    heads = ["test", "release", "run", "profile", "verdict", "users", "ramp-up s", "duration s", "samples"]
    return narrow_tables([*heads, *(metric.title for metric in COLUMNS)], rows, text_columns=5, kept=3)


def _run_rows(name: str, sweep: Sweep, links: Mapping[str, str]) -> Iterator[list[str]]:
    for level in sweep.levels:
        for run in level.runs:
            load, short, length = run.record.load if run.record else None, cell(run.name.rpartition("/")[2]), ""
            if load:
                length = f"{load.loops} loops" if load.duration_s is None else units.number_text(load.duration_s)
            count = run.figures.sample_count
            yield [
                cell(name),
                f"[{short}]({quote(links[run.name])})" if run.name in links else short,
                cell(run.record.profile if run.record else ""),
                run.verdict.state if run.verdict else "",
                str(level.users),
                units.number_text(load.ramp_s) if load else "",
                length,
                "" if count is None else str(count),
                *(metric.text(run.figures.of(metric.key)) for metric in COLUMNS),
            ]


def goal_table(runs: Sides[Runs], names: Sides[str]) -> str:
    """Return the table of the goals (SLA) at each level: what both releases measured, and whether they met it.

    Of repeats, the number of runs that met the goal. Empty without goals.
    """
    goals = dict.fromkeys(text for side in reversed(runs) for level in side.values() for text in _goals_of(level))
    rows = []
    for goal in goals:
        for users in sorted(runs.base.keys() | runs.new.keys()):
            sides = [_goals_of(side.get(users, ())).get(goal, []) for side in runs]
            if any(sides):
                rows.append([cell(goal), str(users), *(text for found in sides for text in _goal_cells(found))])
    heads = ["goal", "users", *(text for name in names for text in (cell(name), "met"))]
    return table(heads, rows) if rows else ""


def _goals_of(runs: Sequence[RunResult]) -> dict[str, list[GoalResult]]:
    """Return the results of each goal in the runs of a level; runs that are INVALID have none."""
    results_by_goal: dict[str, list[GoalResult]] = {}
    for run in runs:
        for goal in run.verdict.goals if run.verdict else ():
            results_by_goal.setdefault(goal.goal_text, []).append(goal)
    return results_by_goal


def _goal_cells(results: Sequence[GoalResult]) -> list[str]:
    if not results:
        return ["", ""]
    met_count = sum(goal.is_met for goal in results)
    if len(results) == 1:
        return [cell(results[0].measured_text), "met" if met_count else "missed"]
    values = dict.fromkeys(goal.measured_text for goal in results)
    return [cell(", ".join(values)), f"{met_count} of {len(results)} runs"]


def missed_goals(side: Runs) -> dict[str, list[int]]:
    """Return each goal that at least one run missed, with the users of these runs."""
    missed: dict[str, list[int]] = {}
    for users, runs in sorted(side.items()):
        for goal, results in _goals_of(runs).items():
            if not all(result.is_met for result in results):
                missed.setdefault(goal, []).append(users)
    return missed


def error_table(runs: Sides[Runs], names: Sides[str]) -> str:
    """Return the table of the failed samples by label and cause, the most frequent first; empty without any."""
    baseline, contender = map(_errors_of, runs)
    rows = []
    for kind in sorted(baseline.keys() | contender.keys(), key=lambda kind: (-_sum(contender, kind), kind))[
        :_ERRORS_MOST
    ]:
        users = ", ".join(map(str, sorted(contender.get(kind, baseline.get(kind, {})))))
        rows.append([*map(cell, kind), str(_sum(baseline, kind)), str(_sum(contender, kind)), users])
    heads = ["label", "code", "cause", *map(cell, names), "at users"]
    return table(heads, rows, text_columns=3) if rows else ""


def new_errors(runs: Sides[Runs]) -> list[tuple[str, str]]:
    """Return the failures that only the new release has: text and users of each label, code and cause."""
    baseline, contender = map(_errors_of, runs)
    return [
        (f"{kind.label}: {kind.code} {kind.cause}".strip(), users_text(sorted(contender[kind])))
        for kind in sorted(contender.keys() - baseline.keys(), key=lambda kind: (-_sum(contender, kind), kind))
    ]


def _errors_of(side: Runs) -> dict[ErrorKey, dict[int, int]]:
    counts_by_error: dict[ErrorKey, dict[int, int]] = {}
    for users, runs in side.items():
        for error in (error for run in runs for error in run.errors):
            counts = counts_by_error.setdefault(ErrorKey(error.label, error.code, error.cause), {})
            counts[users] = counts.get(users, 0) + error.count
    return counts_by_error


def _sum(counts: Mapping[ErrorKey, Mapping[int, int]], kind: ErrorKey) -> int:
    return sum(counts.get(kind, {}).values())
