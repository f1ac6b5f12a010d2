"""Builds the tables of test runs, goals and errors of releases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import quote

from harness.base import units
from harness.judge.goals import GoalResult
from harness.metrics.metric import AVERAGE, ERRORS, P95, THROUGHPUT
from harness.metrics.tally import ErrorKey
from harness.release.cells import ReleaseCell, Runs, all_cells, cell_heads, cell_texts, cells_text
from harness.release.release import Edition, Release
from harness.report.run_result import RunResult
from harness.report.tables import cell, table
from harness.report.wide_tables import narrow_tables

_ERRORS_MOST = 20
COLUMNS = (THROUGHPUT, AVERAGE, P95, ERRORS)


def run_table(release: Release, links: Mapping[str, str]) -> str:
    """Return the table of all test runs: the new release first, each with its users, ramp-up and duration."""
    found = (row for edition in release.editions for row in _run_rows(release, edition, links))
    rows = [[str(number), *row] for number, row in enumerate(found, start=1)]
    plan = ["workload"] if len(release.plans) > 1 else []
    heads = ["test", "release", "run", "profile", "verdict", *plan, "users", "ramp-up s", "duration s", "samples"]
    columns = [*heads, *(metric.title for metric in COLUMNS)]
    return narrow_tables(columns, rows, text_columns=5 + len(plan), kept=3)


def _run_rows(release: Release, edition: Edition, links: Mapping[str, str]) -> Iterator[list[str]]:
    levels = ((plan, level) for plan, found in edition.sweeps.items() for level in found.sweep.levels)
    for plan, level in levels:
        for run in level.runs:
            load, short, length = run.record.load if run.record else None, cell(run.name.rpartition("/")[2]), ""
            if load:
                length = f"{load.loops} loops" if load.duration_s is None else units.number_text(load.duration_s)
            count = run.figures.sample_count
            yield [
                cell(edition.name),
                f"[{short}]({quote(links[run.name])})" if run.name in links else short,
                cell(run.record.profile if run.record else ""),
                run.verdict.state if run.verdict else "",
                *cell_texts(release.cell(plan, level.users)),
                units.number_text(load.ramp_s) if load else "",
                length,
                "" if count is None else str(count),
                *(metric.text(run.figures.of(metric.key)) for metric in COLUMNS),
            ]


def goal_table(results: Sequence[Runs], names: Sequence[str]) -> str:
    """Return the table of the goals (SLA) in each cell: what the releases measured, and whether they met it.

    Of repeats, the number of runs that met the goal. Empty without goals.
    """
    cells = all_cells(results)
    by_side = [{one: _goals_of(side.get(one, ())) for one in cells} for side in results]
    rows = []
    for goal in dict.fromkeys(text for side in by_side for one in cells for text in side[one]):
        for load in cells:
            sides = [side[load].get(goal, []) for side in by_side]
            if any(sides):
                rows.append([cell(goal), *cell_texts(load), *(text for found in sides for text in _goal_cells(found))])
    heads = ["goal", *cell_heads(cells), *(text for name in names for text in (cell(name), "met"))]
    return table(heads, rows, text_columns=len(cell_heads(cells))) if rows else ""


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


def missed_goals(side: Runs) -> dict[str, list[ReleaseCell]]:
    """Return each goal that at least one run missed, with the cells of these runs."""
    missed: dict[str, list[ReleaseCell]] = {}
    for load, runs in sorted(side.items()):
        for goal, results in _goals_of(runs).items():
            if not all(result.is_met for result in results):
                missed.setdefault(goal, []).append(load)
    return missed


def error_table(results: Sequence[Runs], names: Sequence[str]) -> str:
    """Return the table of the failed samples by label and cause, most frequent first; empty without any."""
    sides = [_errors_of(side) for side in results]
    rows = []
    kinds = dict.fromkeys(kind for side in sides for kind in side)
    for kind in sorted(kinds, key=lambda kind: ([-_sum(side, kind) for side in sides], kind))[:_ERRORS_MOST]:
        where = next(side[kind] for side in sides if kind in side)
        rows.append([*map(cell, kind), *(str(_sum(side, kind)) for side in sides), cell(cells_text(sorted(where)))])
    heads = ["label", "code", "cause", *map(cell, names), "at"]
    return table(heads, rows, text_columns=3) if rows else ""


def new_errors(baseline: Runs, contender: Runs) -> list[tuple[str, str]]:
    """Return the failures that only the contender has: text and cells of each label, code and cause."""
    earlier, later = map(_errors_of, (baseline, contender))
    return [
        (f"{kind.label}: {kind.code} {kind.cause}".strip(), cells_text(sorted(later[kind])))
        for kind in sorted(later.keys() - earlier.keys(), key=lambda kind: (-_sum(later, kind), kind))
    ]


def _errors_of(side: Runs) -> dict[ErrorKey, dict[ReleaseCell, int]]:
    counts_by_error: dict[ErrorKey, dict[ReleaseCell, int]] = {}
    for load, runs in side.items():
        for error in (error for run in runs for error in run.errors):
            counts = counts_by_error.setdefault(ErrorKey(error.label, error.code, error.cause), {})
            counts[load] = counts.get(load, 0) + error.count
    return counts_by_error


def _sum(counts: Mapping[ErrorKey, Mapping[ReleaseCell, int]], kind: ErrorKey) -> int:
    return sum(counts.get(kind, {}).values())
