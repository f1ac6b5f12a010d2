"""The statements of a database during a load, summed up by the database itself: MariaDB's digests, pg_stat_statements.

A manifest names the command that prints them, a table with tab-separated columns and a head line. docs/systems.md
describes the columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

STATEMENTS_MOST = 10
# Of a longer statement the beginning and the end are shown.
_CHARACTERS_MOST = 300
_NEEDED = ("statement", "count", "total_ms")


@dataclass(frozen=True)
class StatementUse:
    """A normalised statement: executions, time in all and the longest, rows read, full scans, lock time.

    What the database does not tell is None.
    """

    statement: str
    count: int
    total_ms: float
    longest_ms: float | None
    rows_examined: int | None
    count_without_index: int | None
    lock_ms: float | None

    @property
    def mean_ms(self) -> float:
        """The average time of one execution."""
        return self.total_ms / self.count


@dataclass(frozen=True)
class DatabaseUse:
    """The statements that took most time, at most STATEMENTS_MOST; count and time are those of all statements."""

    process: str
    count: int
    total_ms: float
    statements: tuple[StatementUse, ...]


def read_statements(process: str, lines: Iterable[str]) -> DatabaseUse:
    """Return the use of a database from the output of its command; ValueError when it is not such a table."""
    rows = [line.rstrip("\n").split("\t") for line in lines if line.strip()]
    head = rows[0] if rows else []
    missing = [name for name in _NEEDED if name not in head]
    if missing:
        raise ValueError(f"its first line has no column {missing[0]}")
    found = [_use(dict(zip(head, row, strict=False))) for row in rows[1:]]
    used = sorted((use for use in found if use.count), key=lambda use: (-use.total_ms, use.statement))
    total_ms = round(sum(use.total_ms for use in used), 1)
    return DatabaseUse(process, sum(use.count for use in used), total_ms, tuple(used[:STATEMENTS_MOST]))


def _use(row: Mapping[str, str]) -> StatementUse:
    statement = " ".join(row["statement"].split())
    if len(statement) > _CHARACTERS_MOST:
        # The end of a query names its table and its conditions.
        half = _CHARACTERS_MOST // 2
        statement = f"{statement[:half]} … {statement[-half:]}"
    longest, rows, without, locked = (
        _number(row.get(name, "")) for name in ("longest_ms", "rows_examined", "count_without_index", "lock_ms")
    )
    return StatementUse(
        statement=statement,
        count=int(row["count"]),
        total_ms=round(float(row["total_ms"]), 3),
        longest_ms=longest,
        rows_examined=None if rows is None else round(rows),
        count_without_index=None if without is None else round(without),
        lock_ms=locked,
    )


def _number(text: str) -> float | None:
    return None if text in ("", "NULL", "\\N") else round(float(text), 3)
