"""The statements of a database during a load, summed up by the database itself: MariaDB's digests, pg_stat_statements.

A manifest names the command that prints them, a table with tab-separated columns and a head line. docs/systems.md
describes the columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from harness.base import units

STATEMENTS_MOST = WAITS_MOST = 10
# Of a longer statement the beginning and the end are shown.
_CHARACTERS_MOST = 300
_NEEDED = ("statement", "count", "total_ms")
_NOT_SUMS = ("statement", "longest_ms")


@dataclass(frozen=True)
class StatementUse:
    """A normalised statement: executions, time in all and the longest, rows read, full scans, lock time.

    `page_count` are the 8 KB pages that PostgreSQL read from its cache or a disk. What the database does not tell is
    None.
    """

    statement: str
    count: int
    total_ms: float
    longest_ms: float | None
    rows_examined: int | None
    count_without_index: int | None
    lock_ms: float | None
    page_count: int | None = None

    @property
    def mean_ms(self) -> float:
        """The average time of one execution."""
        return self.total_ms / self.count


@dataclass(frozen=True)
class DatabaseWait:
    """What threads of the database waited for, such as row locks or a file: how often, and how long in all."""

    name: str
    count: int
    total_ms: float


@dataclass(frozen=True)
class DatabaseUse:
    """The statements that took most time, at most STATEMENTS_MOST; count and time are those of all statements.

    `waits` are the longest in all, at most WAITS_MOST; empty for a database that does not tell them.
    """

    process: str
    count: int
    total_ms: float
    statements: tuple[StatementUse, ...]
    waits: tuple[DatabaseWait, ...] = ()


def read_waits(lines: Iterable[str]) -> tuple[DatabaseWait, ...]:
    """Return the waits of a database from the output of its command; ValueError when it is not such a table."""
    found = (
        DatabaseWait(row["statement"], int(row["count"]), round(float(row["total_ms"]), 1)) for row in _rows(lines)
    )
    waited = sorted((wait for wait in found if wait.count), key=lambda wait: (-wait.total_ms, wait.name))
    return tuple(waited[:WAITS_MOST])


def read_statements(process: str, lines: Iterable[str]) -> DatabaseUse:
    """Return the use of a database from the output of its command; ValueError when it is not such a table."""
    found = [_use(row) for row in _rows(lines)]
    used = sorted((use for use in found if use.count), key=lambda use: (-use.total_ms, use.statement))
    total_ms = round(sum(use.total_ms for use in used), 1)
    return DatabaseUse(process, sum(use.count for use in used), total_ms, tuple(used[:STATEMENTS_MOST]))


def difference(before: Iterable[str], after: Iterable[str]) -> str:
    """Return the table of what a database did between two tables; ValueError when one of them is no such table.

    A statement that the database forgot in between counts from 0. The longest time of an interval is not known.
    """
    earlier = {row["statement"]: row for row in _rows(before)}
    lines = []
    for row in _rows(after):
        was = earlier.get(row["statement"], {})
        if int(was.get("count", 0)) > int(row["count"]):
            was = {}
        sums = {name: text for name, text in row.items() if name not in _NOT_SUMS}
        left = {name: _minus(text, was.get(name, "0")) for name, text in sums.items()}
        lines.append({"statement": row["statement"], **left})
    columns = tuple(lines[0]) if lines else _NEEDED
    table = (columns, *([line[name] for name in columns] for line in lines))
    return "".join("\t".join(cells) + "\n" for cells in table)


def _minus(text: str, earlier: str) -> str:
    now, was = _number(text), _number(earlier)
    return "NULL" if now is None else units.number_text(round(now - (was or 0.0), 3))


def _rows(lines: Iterable[str]) -> list[dict[str, str]]:
    rows = [line.rstrip("\n").split("\t") for line in lines if line.strip()]
    head = rows[0] if rows else []
    missing = [name for name in _NEEDED if name not in head]
    if missing:
        raise ValueError(f"its first line has no column {missing[0]}")
    short = next((row for row in rows if len(row) < len(head)), None)
    if short:
        raise ValueError(f"a line has too few columns: {short[0][:40]}")
    return [dict(zip(head, row, strict=False)) for row in rows[1:]]


def _use(row: Mapping[str, str]) -> StatementUse:
    statement = " ".join(row["statement"].split())
    if len(statement) > _CHARACTERS_MOST:
        # The end of a query names its table and its conditions.
        half = _CHARACTERS_MOST // 2
        statement = f"{statement[:half]} … {statement[-half:]}"
    longest, locked = (_number(row.get(name, "")) for name in ("longest_ms", "lock_ms"))
    rows, without, pages = (
        _number(row.get(name, "")) for name in ("rows_examined", "count_without_index", "page_count")
    )
    return StatementUse(
        statement=statement,
        count=int(row["count"]),
        total_ms=round(float(row["total_ms"]), 3),
        longest_ms=longest,
        rows_examined=None if rows is None else round(rows),
        count_without_index=None if without is None else round(without),
        lock_ms=locked,
        page_count=None if pages is None else round(pages),
    )


def _number(text: str) -> float | None:
    return None if text in ("", "NULL", "\\N") else round(float(text), 3)
