"""The statements of a database during a load, summed up by the database itself: MariaDB's digests, pg_stat_statements.

A manifest names the command that prints them, a table with tab-separated columns and a head line. docs/systems.md
describes the columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from harness.base import units
from harness.system.system import StatementCommands

STATEMENTS_MOST = WAITS_MOST = 10
# Of a longer statement the beginning and the end are shown.
_CHARACTERS_MOST = 300
# The first words of statements that read and write no rows themselves.
_CONTROLS = frozenset(("BEGIN", "COMMIT", "RELEASE", "ROLLBACK", "SAVEPOINT", "SET", "START"))
# Columns: the text, the only one that is no sum, and the one that a difference adds to it.
STATEMENT, LONGEST, _BOUND = "statement", "longest_ms", "longest_is_bound"
_NEEDED = (STATEMENT, "count", "total_ms")
# The name of a PostgreSQL in the report and of its files.
POSTGRESQL = "postgresql"
_CONNECT_TIMEOUT_S = 10
# The columns of times have other names since PostgreSQL 13. Statements that set a password are left out.
_QUERY = r"""
SELECT regexp_replace(query, '\s+', ' ', 'g') AS statement, sum(calls) AS count,
  sum(coalesce(used ->> 'total_exec_time', used ->> 'total_time')::float8) AS total_ms,
  max(coalesce(used ->> 'max_exec_time', used ->> 'max_time')::float8) AS longest_ms,
  sum(shared_blks_hit + shared_blks_read) AS page_count
FROM (SELECT s.*, to_jsonb(s) AS used FROM pg_stat_statements s) s
WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND query NOT LIKE '%pg_stat_statements%' AND query !~* '^\s*(create|alter)\s+(user|role)'
GROUP BY 1
"""
# A row of a table: text by column.
Row = Mapping[str, str]


@dataclass(frozen=True)
class StatementUse:
    """A normalised statement: executions, total time and the longest, rows read, full scans, lock time.

    `page_count` are the 8 KB pages that PostgreSQL read from its cache or a disk. What the database does not report is
    None. With `longest_is_bound` none took longer than `longest_ms`, which is from before the interval.
    """

    statement: str
    count: int
    total_ms: float
    longest_ms: float | None
    rows_examined: int | None
    count_without_index: int | None
    lock_ms: float | None
    page_count: int | None = None
    longest_is_bound: bool = False

    @property
    def mean_ms(self) -> float:
        """The average time of one execution."""
        return self.total_ms / self.count

    @property
    def is_control(self) -> bool:
        """Whether the statement controls a transaction or a connection, such as COMMIT and SET."""
        return self.statement.partition(" ")[0].upper() in _CONTROLS


@dataclass(frozen=True)
class DatabaseWait:
    """What threads of the database waited for, such as row locks or a file: how often, and how long in total."""

    name: str
    count: int
    total_ms: float


@dataclass(frozen=True)
class StatementInterval:
    """The interval between two snapshots, s from the start of the load, and the number of requests that ended in it."""

    from_s: float
    to_s: float
    request_count: int


@dataclass(frozen=True)
class DatabaseUse:
    """The statements that took most time, at most STATEMENTS_MOST; count and time are those of all statements.

    `waits` are those with the longest total time, at most WAITS_MOST; empty for a database that does not report them.
    Without `interval` everything is of the whole load, and `no_interval` is the reason; "" for a run without snapshots.
    `of_whole_load` are columns that are of the whole load in spite of an interval.
    """

    process: str
    count: int
    total_ms: float
    statements: tuple[StatementUse, ...]
    waits: tuple[DatabaseWait, ...] = ()
    interval: StatementInterval | None = None
    no_interval: str = ""
    of_whole_load: tuple[str, ...] = ()

    def request_count(self, whole: int) -> int:
        """Return the number of requests that caused the statements; `whole` is that of the whole load."""
        return self.interval.request_count if self.interval else whole


def waits_of(rows: Iterable[Row]) -> tuple[DatabaseWait, ...]:
    """Return the longest waits of a table."""
    found = (DatabaseWait(row[STATEMENT], int(row["count"]), round(float(row["total_ms"]), 1)) for row in rows)
    waited = sorted((wait for wait in found if wait.count), key=lambda wait: (-wait.total_ms, wait.name))
    return tuple(waited[:WAITS_MOST])


def read_statements(process: str, lines: Iterable[str]) -> DatabaseUse:
    """Return the use of a database from the output of its command; ValueError when it is not such a table."""
    return use_of(process, rows_of(lines))


def use_of(process: str, rows: Iterable[Row]) -> DatabaseUse:
    """Return the use of a database from the rows of its table."""
    used = sorted((use for use in map(_use, rows) if use.count), key=lambda use: (-use.total_ms, use.statement))
    total_ms = round(sum(use.total_ms for use in used), 1)
    return DatabaseUse(process, sum(use.count for use in used), total_ms, tuple(used[:STATEMENTS_MOST]))


def difference(before: Iterable[str], after: Iterable[str]) -> str:
    """Return the table of what a database did between two tables; ValueError when one of them is no such table."""
    rows = grown(rows_of(before), rows_of(after))
    columns = tuple(rows[0]) if rows else _NEEDED
    table = (columns, *([row[name] for name in columns] for row in rows))
    return "".join("\t".join(cells) + "\n" for cells in table)


def grown(before: Iterable[Row], after: Iterable[Row]) -> list[Row]:
    """Return what a database did between two tables; a statement that it forgot in between counts from 0.

    A database knows the longest time since it began to count. One that grew in between is of the interval, another one
    is a bound.
    """
    earlier = {row[STATEMENT]: row for row in before}
    differences: list[Row] = []
    for row in after:
        was = earlier.get(row[STATEMENT], {})
        if int(was.get("count", 0)) > int(row["count"]):
            was = {}
        sums = [name for name in row if name not in (STATEMENT, LONGEST)]
        left = {name: _minus(row[name], was.get(name, "0")) for name in sums}
        differences.append({STATEMENT: row[STATEMENT], **left, **_longest(row, was)})
    return differences


def _longest(row: Row, was: Row) -> dict[str, str]:
    if LONGEST not in row:
        return {}
    now, before = number_of(row[LONGEST]), number_of(was.get(LONGEST, ""))
    is_bound = now is not None and before is not None and now <= before
    return {LONGEST: row[LONGEST], _BOUND: str(int(is_bound))}


def _minus(text: str, earlier: str) -> str:
    now, was = number_of(text), number_of(earlier)
    return "NULL" if now is None else units.number_text(round(now - (was or 0.0), 3))


def rows_of(lines: Iterable[str]) -> list[Row]:
    """Return the rows of a table as a command printed it; ValueError when it is no such table."""
    rows = [line.rstrip("\n").split("\t") for line in lines if line.strip()]
    head = rows[0] if rows else []
    missing = [name for name in _NEEDED if name not in head]
    if missing:
        raise ValueError(f"its first line has no column {missing[0]}")
    short = next((row for row in rows if len(row) < len(head)), None)
    if short:
        raise ValueError(f"a line has too few columns: {short[0][:40]}")
    return [dict(zip(head, row, strict=False)) for row in rows[1:]]


def _use(row: Row) -> StatementUse:
    statement = " ".join(row[STATEMENT].split())
    if len(statement) > _CHARACTERS_MOST:
        # The end of a query names its table and its conditions.
        half = _CHARACTERS_MOST // 2
        statement = f"{statement[:half]} … {statement[-half:]}"
    names = (LONGEST, "lock_ms", "rows_examined", "count_without_index", "page_count")
    longest, locked, *numbers = (number_of(row.get(name, "")) for name in names)
    rows, without, pages = (None if number is None else round(number) for number in numbers)
    return StatementUse(
        statement=statement,
        count=int(row["count"]),
        total_ms=round(float(row["total_ms"]), 3),
        longest_ms=longest,
        rows_examined=rows,
        count_without_index=without,
        lock_ms=locked,
        page_count=pages,
        longest_is_bound=row.get(_BOUND) == "1",
    )


def number_of(text: str) -> float | None:
    """Return the number in a cell of a table, rounded to three digits; None for one that is empty or NULL."""
    return None if text in ("", "NULL", "\\N") else round(float(text), 3)


def statement_commands(url: str, password: str = "") -> StatementCommands:
    """Return the command that prints the statements of a PostgreSQL, as its extension pg_stat_statements sums them up.

    A server may be shared, so nothing in it is reset: a run takes the difference of two such tables. psql finds a
    password that is not given in PGPASSWORD or ~/.pgpass.
    """
    read = (
        *("psql", "--no-psqlrc", "--no-password", "--quiet", "--no-align", "--field-separator=\t"),
        *("--pset=footer=off", "--set=ON_ERROR_STOP=1", "--set=VERBOSITY=terse"),
        *(f"--command={' '.join(_QUERY.split())}", url),
    )
    environment = {
        "PGCONNECT_TIMEOUT": str(_CONNECT_TIMEOUT_S),
        "PGOPTIONS": "-c statement_timeout=20s -c client_min_messages=error",
        "PGAPPNAME": "load-test",
        **({"PGPASSWORD": password} if password else {}),
    }
    return StatementCommands((), read, environment, snapshot=read)
