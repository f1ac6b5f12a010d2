"""The databases of releases: average active sessions by wait and over time, top SQL, and which SQL became slower.

The time of a statement is that of its active sessions per request: average sessions ÷ requests per second. It grows
with slower calls and with more calls of a request. Only the statements that a run lists are known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from harness.base import units
from harness.base.plain_text import one_line
from harness.cloudwatch.services import DatabaseLoad, Sql
from harness.compare.comparison import REGRESSED
from harness.metrics.metric import P90
from harness.release.cells import ReleaseCell, Runs, all_cells, cell_heads, cell_texts, cells_text
from harness.release.changes import CHANGE_HEADS
from harness.release.release import Release
from harness.release.repeats import Block, Judgement, RepeatedChange, change_over, median_of
from harness.release.resources import change_cells, change_heads
from harness.report.charts.chart import Chart
from harness.report.charts.over_time import Frame, Series, line_chart
from harness.report.run_result import RunResult
from harness.report.tables import cell, table
from harness.report.wide_tables import narrow_tables

_TEXT_MOST = 160
_STATEMENTS_MOST = 10
_NOT_LISTED = "not in every run"
# The table of a statement, with its schema: FROM diku_mod_inventory_storage.item.
_SCHEMA = re.compile(r'\b(?:from|into|update|join)\s+"?([a-z_][\w$]*)"?\s*\.', re.IGNORECASE)


class SqlKey(NamedTuple):
    """A statement of a database."""

    database: str
    id: str


class SqlChange(NamedTuple):
    """The change of a statement's time per request (ms) against the last release, over all cells."""

    key: SqlKey
    text: str
    change: RepeatedChange

    @property
    def sentence(self) -> str:
        """What became slower, by how much, and where."""
        schemas = ", ".join(dict.fromkeys(_SCHEMA.findall(self.text)))
        where = f"{self.key.database}{f', schema {schemas}' if schemas else ''}"
        low, high = (units.signed_percent(end, 0) for end in (self.change.low, self.change.high))
        ms = " → ".join(units.ms_text(one, 2) for one in (self.change.baseline, self.change.contender))
        return f"{_shown(self.text)} ({where}): {ms} ms per request, {low} to {high} %"


def _shown(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _TEXT_MOST else f"{line[: _TEXT_MOST - 1]}…"


def _databases(run: RunResult) -> Sequence[DatabaseLoad]:
    return run.services.databases if run.services else ()


def _statements(run: RunResult) -> Mapping[SqlKey, Sql]:
    return {SqlKey(one.name, sql.id): sql for one in _databases(run) for sql in one.sql}


def _per_request_ms(run: RunResult, key: SqlKey) -> float | None:
    sql, rate = _statements(run).get(key), run.total.rate_per_s if run.total else None
    return sql.average_sessions / rate * units.MS_PER_S if sql and sql.average_sessions and rate else None


def sql_changes(release: Release) -> list[SqlChange]:
    """Return the change of each statement that both releases list, the largest growth first.

    A cell counts only if every run of both sides lists the statement: of a run that does not, it is known only that the
    statement is not among its largest. All statements share one alpha.
    """
    new, base = release.results[:2]
    texts = {key: sql.text for runs in new.values() for run in runs for key, sql in _statements(run).items()}
    blocks = {key: [*_blocks(base, new, key)] for key in texts}
    tested = {key: found for key, found in blocks.items() if found}
    judgement = Judgement(release.thresholds.of(P90), release.thresholds.alpha, max(1, len(tested)))
    changes = [SqlChange(key, texts[key], change_over(found, judgement)) for key, found in tested.items()]
    return sorted(changes, key=lambda one: (one.change.verdict != REGRESSED, -_growth_ms(one.change)))


def _growth_ms(change: RepeatedChange) -> float:
    return (change.contender or 0.0) - (change.baseline or 0.0)


def _blocks(base: Runs, new: Runs, key: SqlKey) -> Iterator[Block]:
    for one in base.keys() & new.keys():
        sides = [[_per_request_ms(run, key) for run in side[one] if _databases(run)] for side in (base, new)]
        known = [[value for value in side if value] for side in sides]
        if all(known) and [len(side) for side in known] == [len(side) for side in sides]:
            yield Block(*known)


def slower_sql(release: Release) -> list[SqlChange]:
    """Return the statements whose time per request grew."""
    return [one for one in sql_changes(release) if one.change.verdict == REGRESSED]


def sql_table(release: Release) -> str:
    """Return the table of the statements with the most time in the new release, with the change of all cells together.

    Calls and times per call are medians over the runs of the new and of the last release.
    """
    sides = [_listed(side) for side in release.results[:2]]
    listed = sides[0]
    changes = {one.key: one.change for one in sql_changes(release)}
    sessions = {key: sum(one.average_sessions or 0.0 for one in found) for key, found in listed.items()}
    ranked = sorted(listed, key=lambda key: (_order(changes.get(key)), -sessions[key]))
    rows = []
    for key in ranked[:_STATEMENTS_MOST]:
        change = changes.get(key)
        row = [cell(_shown(listed[key][0].text)), cell(key.database)]
        row += change.cells if change else ["", "", _NOT_LISTED]
        for name, decimals in (("average_sessions", 3), ("calls_per_s", 2), ("ms_per_call", 2)):
            values = ((getattr(one, name) for one in side.get(key, ())) for side in sides)
            medians = (median_of(value for value in side if value is not None) for side in values)
            row += ["" if value is None else f"{value:.{decimals}f}" for value in medians]
        rows.append(row)
    new, base = map(cell, release.names[:2])
    heads = [f"{name} {what}" for what in ("sessions", "calls/s", "ms per call") for name in (new, base)]
    columns = ["SQL", "database", *CHANGE_HEADS, *heads]
    return narrow_tables(columns, rows, text_columns=2, kept=2) if rows else ""


def _listed(side: Runs) -> Mapping[SqlKey, Sequence[Sql]]:
    """Return each statement as the runs of a release list it."""
    listed: dict[SqlKey, list[Sql]] = {}
    for run in (run for runs in side.values() for run in runs):
        for key, sql in _statements(run).items():
            listed.setdefault(key, []).append(sql)
    return listed


def _order(change: RepeatedChange | None) -> bool:
    return change is None or change.verdict != REGRESSED


def wait_table(release: Release) -> str:
    """Return the table of average active sessions by wait, in each cell; medians over the runs."""
    results, cells = release.results, all_cells(release.results)
    names = dict.fromkeys(
        (one.name, wait.wait) for side in results for runs in side.values() for run in runs
        for one in _databases(run) for wait in one.waits
    )  # fmt: skip
    rows = []
    for database, wait in names:
        for load in cells:
            values = [median_of(_sessions(side, load, database, wait)) for side in results]
            if any(value is not None for value in values):
                shown = change_cells(values, lambda value: "" if value is None else f"{value:.3f}")
                rows.append([cell(database), cell(wait), *cell_texts(load), *shown])
    heads = ["database", "wait", *cell_heads(cells)]
    columns = [*heads, *change_heads("sessions", release.names)]
    return table(columns, rows, text_columns=1 + len(cell_heads(cells))) if rows else ""


def _sessions(side: Runs, one: ReleaseCell, database: str, wait: str) -> list[float]:
    found = (each for run in side.get(one, ()) for each in _databases(run) if each.name == database)
    waits = (each for of_run in found for each in of_run.waits if each.wait == wait)
    return [each.average_sessions for each in waits if each.average_sessions is not None]


def database_charts(release: Release) -> list[Chart]:
    """Return a chart per database: its average active sessions over time in the largest cell of each workload.

    A line is the first run of a release there.
    """
    names = dict.fromkeys(one.name for runs in release.results[0].values() for run in runs for one in _databases(run))
    largest = {one.workload: one for one in all_cells(release.results[:1])}
    charts: list[Chart] = []
    for database in names:
        for load in largest.values():
            sides = zip(release.names, release.results, strict=True)
            lines = [line for name, side in sides for line in _lines(name, side.get(load, ()), database)]
            if lines:
                frame = Frame(f"{database}, {cells_text([load])}", "average active sessions")
                charts.append(Chart(f"sessions-{len(charts) + 1}.svg", line_chart(frame, lines)))
    return charts


def _lines(name: str, runs: Sequence[RunResult], database: str) -> Iterator[Series]:
    """Yield the sum of all waits of the first run that knows them; a moment that a wait lacks is a gap."""
    found = next((one for run in runs for one in _databases(run) if one.name == database and one.waits), None)
    if found:
        moments = zip(*(wait.sessions for wait in found.waits), strict=True)
        sums = [None if None in values else sum(value or 0.0 for value in values) for values in moments]
        yield Series(name, tuple((found.from_s + (at + 0.5) * found.period_s, one) for at, one in enumerate(sums)))
