"""Reads the statements of databases before, during and after a load, stores them, and reads the stored ones."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from harness.base import process as child
from harness.base.background_threads import BackgroundThreads, Wait
from harness.base.errors import UsageError
from harness.system import snapshots, statements
from harness.system.jcmd import Environment, exit_code_within
from harness.system.snapshots import STATEMENTS, WAITS, SnapshotEnds, SnapshotLines
from harness.system.statements import STATEMENT, DatabaseUse, DatabaseWait, Row, StatementInterval
from harness.system.system import StatementCommands

# The files of a database.
_STATEMENTS_NAME, _WAITS_NAME, _SNAPSHOTS_NAME = "statements-{}.tsv", "waits-{}.tsv", "snapshots-{}.jsonl"
# A snapshot is taken so often at first, and later each time when a sixtieth of the load has passed: 60 in the first
# five minutes, some 330 in eight hours.
SNAPSHOT_PERIOD_S = 5.0
_PART_OF_LOAD = 60
# The commands may use this share of a core. The client of MariaDB needs 0.1 s of CPU time to connect, so its snapshots
# are taken every 10 s or so. A slow database gets fewer requests, too: answers may take this share of the time.
SHARE_MOST = 0.02
_WAIT_MOST = 0.2
_DEADLINE_S = 5.0
# A column that a snapshot may lack; its share of the executions in the whole load is used instead.
_OF_WHOLE_LOAD = "count_without_index"
_TOO_FEW = "fewer than two snapshots are in the window"

# Makes an interval of two instants (ms since 1970).
IntervalOf = Callable[[int, int], StatementInterval]


Argv = tuple[str, ...]
# A table of a database: its file, the command that prints it, and whether its difference over the load counts.
_Table = tuple[Path, Argv, bool]


class DatabaseReader:
    """Asks databases before, during and after a load, which lasts from entering to leaving it.

    A thread per database that has a command for them takes snapshots every SNAPSHOT_PERIOD_S seconds, or less often
    when they take more than SHARE_MOST of a core. `unknown` has (database, why its statements are not known). Problems
    never end a run. `environment` is for child processes.
    """

    def __init__(self, databases: Mapping[str, StatementCommands], folder: Path, environment: Environment) -> None:
        self._databases, self._folder, self._environment = databases, folder, environment
        self._threads = BackgroundThreads({})
        self.unknown: list[tuple[str, str]] = []

    def __enter__(self) -> DatabaseReader:
        for process, commands in self._databases.items():
            if commands.reset:
                printed = _before(self._folder / _STATEMENTS_NAME.format(process))
                self._ask(process, commands, commands.reset, printed)
                printed.unlink(missing_ok=True)
            for path, argv, is_difference in self._tables(process, commands):
                if is_difference:
                    self._ask(process, commands, argv, _before(path))
        self._threads = BackgroundThreads(
            {
                f"snapshots of {process}": partial(self._watch, process, commands)
                for process, commands in self._databases.items()
                if commands.snapshot and process not in dict(self.unknown)
            }
        )
        self._threads.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.__exit__()
        for process, commands in self._databases.items():
            for path, argv, is_difference in self._tables(process, commands):
                if process not in dict(self.unknown):
                    self._ask(process, commands, argv, path)
                if is_difference:
                    self._subtract(process, path)

    def _tables(self, process: str, commands: StatementCommands) -> Iterator[_Table]:
        yield self._folder / _STATEMENTS_NAME.format(process), commands.read, not commands.reset
        if commands.waits:
            yield self._folder / _WAITS_NAME.format(process), commands.waits, True

    def _subtract(self, process: str, after: Path) -> None:
        """Replace a table at the end of the load by its difference from the one at the beginning."""
        before = _before(after)
        if process not in dict(self.unknown):
            texts = (path.read_text(encoding="utf-8", errors="replace").splitlines() for path in (before, after))
            try:
                after.write_text(statements.difference(*texts), encoding="utf-8")
            except ValueError as error:
                self.unknown.append((process, f"its statements cannot be read ({error})"))
                after.unlink()
        before.unlink(missing_ok=True)

    def _ask(self, process: str, commands: StatementCommands, argv: tuple[str, ...], printed: Path) -> None:
        """Run a command of a database and store its output; a failure is added to `unknown`."""
        why = self._why_not(process, commands, argv, printed)
        if why:
            self.unknown.append((process, f"its statements cannot be read ({why})"))
            printed.unlink(missing_ok=True)

    def _why_not(
        self, process: str, commands: StatementCommands, argv: Argv, printed: Path, deadline_s: float | None = None
    ) -> str:
        """Run a command of a database that prints to a file; return why that failed, "" when it did not."""
        environment = {**self._environment, **commands.environment}
        launch = child.Launch(f"{process}: statements", argv, self._folder, environment, printed)
        try:
            code = exit_code_within(launch, deadline_s)
        except UsageError as error:
            return error.what
        if code is None:
            return f"no answer within {deadline_s:g} s"
        last = child.tail_of(printed).rpartition("\n")[2] if code else ""
        return f"code {code}: {last}" if code else ""

    def _watch(self, process: str, commands: StatementCommands, wait: Wait) -> None:
        """Append snapshots of a database to its file until the load is over."""
        path, lines = self._folder / _SNAPSHOTS_NAME.format(process), SnapshotLines()
        began_s, wait_s, has_failed = time.monotonic(), SNAPSHOT_PERIOD_S, False
        while not wait(wait_s):
            requested_s, cpu_s = time.monotonic(), _children_cpu_s()
            requested_ms, why = time.time_ns() // 1_000_000, ""
            try:
                line = self._snapshot(process, commands, lines, requested_ms)
            except (ValueError, OSError) as error:
                why = str(error)
                line = snapshots.problem_line(requested_ms, why)
            try:
                if not (why and has_failed):
                    with path.open("a", encoding="utf-8") as file:
                        file.write(line)
            except OSError:
                return  # the whole load is known without snapshots
            has_failed |= bool(why)
            now_s, cpu_s = time.monotonic(), _children_cpu_s() - cpu_s
            took_s = now_s - requested_s
            by_cost_s = max(cpu_s / SHARE_MOST, took_s / _WAIT_MOST)
            wait_s = max(SNAPSHOT_PERIOD_S, (now_s - began_s) / _PART_OF_LOAD, by_cost_s) - took_s

    def _snapshot(self, process: str, commands: StatementCommands, lines: SnapshotLines, requested_ms: int) -> str:
        """Take a snapshot and return its line; ValueError or OSError when there is none."""
        printed = self._folder / f".{_SNAPSHOTS_NAME.format(process)}.printed"
        tables, took_ms = {}, 0
        try:
            for name, argv in ((STATEMENTS, commands.snapshot), (WAITS, commands.waits)):
                if not argv:
                    continue
                if why := self._why_not(process, commands, argv, printed, _DEADLINE_S):
                    raise ValueError(why)
                tables[name] = printed.read_text(encoding="utf-8", errors="replace").splitlines()
                took_ms = took_ms or time.time_ns() // 1_000_000 - requested_ms
            return lines.line(requested_ms, took_ms, tables)
        finally:
            printed.unlink(missing_ok=True)


def _children_cpu_s() -> float:
    """Return the CPU time of all child processes that have ended: during a load hardly others than those that ask."""
    times = os.times()
    return times.children_user + times.children_system


def _before(path: Path) -> Path:
    """Return where a table of a database is from the beginning of the load to its end."""
    return path.with_name(f".{path.name}.before")


def databases(
    folder: Path, first_ms: int = 0, last_ms: int = 0, interval_of: IntervalOf | None = None
) -> tuple[DatabaseUse, ...]:
    """Return the use of each database whose statements are in a folder; a file that is no such table is left out.

    The statements are those between the first and the last snapshot of two instants (ms since 1970); `interval_of`
    knows the requests in between. Without two snapshots, or without `interval_of`, they are those of the whole load.
    """
    names = {path.stem.removeprefix("statements-") for path in folder.glob(_STATEMENTS_NAME.format("*"))}
    names |= {path.stem.removeprefix("snapshots-") for path in folder.glob(_SNAPSHOTS_NAME.format("*"))}
    all_used = []
    for process in sorted(names):
        used = None
        if interval_of:
            taken = snapshots.read_snapshots(_lines(folder / _SNAPSHOTS_NAME.format(process)))
            if ends := snapshots.ends_within(taken, first_ms, last_ms):
                with contextlib.suppress(ValueError):
                    used = _within(process, ends, _rows(folder / _STATEMENTS_NAME.format(process)), interval_of)
        if used := used or _whole(folder, process):
            all_used.append(used)
    return tuple(all_used)


def _lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file; nothing without it."""
    with contextlib.suppress(OSError), path.open(encoding="utf-8", errors="replace") as lines:
        yield from lines


def _whole(folder: Path, process: str) -> DatabaseUse | None:
    """Return the use of a database in the whole load; None when that is not known."""
    taken = folder / _SNAPSHOTS_NAME.format(process)
    with contextlib.suppress(ValueError):
        used = statements.read_statements(process, _lines(folder / _STATEMENTS_NAME.format(process)))
        why = (snapshots.problem_of(_lines(taken)) or _TOO_FEW) if taken.is_file() else ""
        return replace(used, waits=_waits(folder / _WAITS_NAME.format(process)), no_interval=why)
    return None


def _within(process: str, ends: SnapshotEnds, whole: Mapping[str, Row], interval_of: IntervalOf) -> DatabaseUse:
    """Return the use of a database between two snapshots; `whole` has the rows of the whole load by statement."""
    first, last = ends.first, ends.last
    rows, waits = (
        statements.grown(first.tables[name].values(), last.tables[name].values()) for name in (STATEMENTS, WAITS)
    )
    is_lacking = any(_OF_WHOLE_LOAD in row for row in whole.values()) and not any(_OF_WHOLE_LOAD in row for row in rows)
    if is_lacking:
        rows = snapshots.with_shares(rows, whole, _OF_WHOLE_LOAD)
    return replace(
        statements.use_of(process, rows),
        waits=statements.waits_of(waits),
        interval=interval_of(first.answered_ms, last.answered_ms),
        of_whole_load=(_OF_WHOLE_LOAD,) if is_lacking else (),
    )


def _rows(path: Path) -> Mapping[str, Row]:
    """Return the rows of a table by statement; empty without it."""
    with contextlib.suppress(ValueError):
        return {row[STATEMENT]: row for row in statements.rows_of(_lines(path))}
    return {}


def _waits(path: Path) -> tuple[DatabaseWait, ...]:
    with contextlib.suppress(ValueError):
        return statements.waits_of(statements.rows_of(_lines(path)))
    return ()
