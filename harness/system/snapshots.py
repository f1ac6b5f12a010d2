"""Snapshots of the cumulative statistics of a database during a load, and what it did between two of them.

A file snapshots-<database>.jsonl has a line per snapshot: when it was requested, how long the answer took, and per
table the rows whose numbers are not those of the line before. A text is written once; later lines have its number.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from harness.base import units
from harness.system.statements import LONGEST, STATEMENT, Row, number_of, rows_of

STATEMENTS, WAITS = "statements", "waits"
_COUNT = "count"
_Value = int | float | None
_Values = tuple[_Value, ...]


@dataclass(frozen=True)
class Snapshot:
    """The statistics of a database since it began to count, by table; read between two instants (ms since 1970)."""

    requested_ms: int
    answered_ms: int
    tables: Mapping[str, Mapping[str, Row]]


class SnapshotEnds(NamedTuple):
    """The first and the last snapshot of an interval."""

    first: Snapshot
    last: Snapshot


class _Statistics(NamedTuple):
    """The columns of a table without that of the texts, and the numbers of each text in their order."""

    columns: tuple[str, ...]
    rows: dict[str, _Values]


class SnapshotLines:
    """Makes the lines of a file of snapshots."""

    def __init__(self) -> None:
        self._columns: dict[str, tuple[str, ...]] = {}
        self._numbers: dict[str, dict[str, int]] = {}
        self._values: dict[str, dict[str, _Values]] = {}

    def line(self, requested_ms: int, took_ms: int, tables: Mapping[str, Sequence[str]]) -> str:
        """Return the line of a snapshot from the lines that commands printed; ValueError when these are no table.

        The client of MariaDB prints nothing, not even a head line, for a table without rows.
        """
        # All is read before anything is remembered as written.
        read = {name: _summed(rows_of(lines) if lines else ()) for name, lines in tables.items()}
        made = {name: self._table(name, statistics) for name, statistics in read.items()}
        return _text({"asked_ms": requested_ms, "took_ms": took_ms, **made})

    def _table(self, name: str, statistics: _Statistics) -> dict[str, Any]:
        columns, rows = statistics.columns, statistics.rows
        is_other = bool(rows) and columns != self._columns.get(name)
        if is_other:
            self._columns[name], self._values[name] = columns, {}
        numbers, before = self._numbers.setdefault(name, {}), self._values.get(name, {})
        changed = []
        for statement, values in rows.items():
            if before.get(statement) != values:
                changed.append([numbers.get(statement, statement), *values])
                numbers.setdefault(statement, len(numbers))
                before[statement] = values
        return {**({"columns": columns} if is_other else {}), "rows": changed}


def problem_line(requested_ms: int, why: str) -> str:
    """Return the line for a database that did not answer."""
    return _text({"asked_ms": requested_ms, "problem": why})


def _text(data: Mapping[str, Any]) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n"


def _summed(rows: Sequence[Row]) -> _Statistics:
    """Return the statistics in the rows of a table; rows with the same, shortened text are one."""
    columns = tuple(column for column in rows[0] if column != STATEMENT) if rows else ()
    sums: dict[str, _Values] = {}
    for row in rows:
        values = tuple(_value(row[column]) for column in columns)
        other = sums.get(row[STATEMENT])
        sums[row[STATEMENT]] = tuple(map(_joined, columns, other, values)) if other else values
    return _Statistics(columns, sums)


def _joined(column: str, value: _Value, other: _Value) -> _Value:
    if value is None or other is None:
        return other if value is None else value
    return max(value, other) if column == LONGEST else value + other


def _value(text: str) -> _Value:
    number = number_of(text)
    return int(number) if number is not None and number.is_integer() else number


def read_snapshots(lines: Iterable[str]) -> Iterator[Snapshot]:
    """Yield the snapshots of a file; what follows a damaged line, such as the last one after a crash, is left out."""
    columns: dict[str, tuple[str, ...]] = {}
    texts: dict[str, list[str]] = {STATEMENTS: [], WAITS: []}
    tables: dict[str, dict[str, Row]] = {STATEMENTS: {}, WAITS: {}}
    for line in lines:
        try:
            data = json.loads(line)
            if "problem" in data:
                continue
            for name in tables.keys() & data.keys():
                columns[name] = tuple(data[name].get("columns", columns.get(name, ())))
                for text, *values in data[name]["rows"]:
                    if isinstance(text, str):
                        texts[name].append(text)
                    statement = text if isinstance(text, str) else texts[name][text]
                    tables[name][statement] = _row(statement, columns[name], values)
            snapshot = Snapshot(data["asked_ms"], data["asked_ms"] + data["took_ms"], dict(tables))
        except (ValueError, LookupError, TypeError, AttributeError):
            return
        yield snapshot
        tables = {name: dict(rows) for name, rows in tables.items()}


def _row(statement: str, columns: tuple[str, ...], values: Iterable[_Value]) -> Row:
    cells = ("NULL" if value is None else units.number_text(value) for value in values)
    return {STATEMENT: statement, **dict(zip(columns, cells, strict=True))}


def problem_of(lines: Iterable[str]) -> str:
    """Return why a snapshot is missing; empty when none is."""
    for line in lines:
        try:
            why = json.loads(line).get("problem")
        except (ValueError, AttributeError):
            return ""
        if why:
            return str(why)
    return ""


def ends_within(snapshots: Iterable[Snapshot], first_ms: int, last_ms: int) -> SnapshotEnds | None:
    """Return the first and the last snapshot between two instants (ms since 1970); None unless there are two."""
    first = last = None
    for snapshot in snapshots:
        if first_ms <= snapshot.requested_ms and snapshot.answered_ms <= last_ms:
            first, last = first or snapshot, snapshot
    return SnapshotEnds(first, last) if first and last and first is not last else None


def with_shares(rows: Iterable[Row], whole: Mapping[str, Row], column: str) -> list[Row]:
    """Return rows with a column that snapshots lack: its share of the executions in the whole load."""
    shares: list[Row] = []
    for row in rows:
        of_load = whole.get(row[STATEMENT], {})
        sum_of_load, load_count = number_of(of_load.get(column, "")), number_of(of_load.get(_COUNT, ""))
        part = None if sum_of_load is None or not load_count else sum_of_load / load_count * int(row[_COUNT])
        shares.append({**row, column: "NULL" if part is None else units.number_text(round(part, 3))})
    return shares
