"""Reads the statements of databases before, during and after a load, stores them, and reads the stored ones."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from harness.base import process as child
from harness.base.errors import UsageError
from harness.system.snapshots import (
    STATEMENTS,
    WAITS,
    SnapshotEnds,
    SnapshotLines,
    ends_within,
    problem_line,
    problem_of,
    read_snapshots,
    with_shares,
)
from harness.system.statements import (
    STATEMENT,
    DatabaseUse,
    DatabaseWait,
    Row,
    StatementInterval,
    difference,
    grown,
    read_statements,
    read_waits,
    rows_of,
    use_of,
    waits_of,
)
from harness.system.system import StatementCommands

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


class _Table(NamedTuple):
    """A table of a database: its file, the command that prints it, and whether its difference over the load counts."""

    path: Path
    argv: tuple[str, ...]
    is_difference: bool


class _SnapshotLine(NamedTuple):
    """A line of the file of snapshots; with `is_problem` it has only the reason why there is no snapshot."""

    text: str
    is_problem: bool = False


class DatabaseReader:
    """Asks databases before, during and after a load, which lasts from entering to leaving it.

    A thread per database that has a command for them takes snapshots every `period_s` seconds, or less often when they
    take more than `share_most` of a core. `unknown` has (database, why its statements are not known). Problems never
    end a run. `environment` is for child processes.
    """

    def __init__(
        self,
        databases: Mapping[str, StatementCommands],
        folder: Path,
        environment: Mapping[str, str],
        period_s: float = SNAPSHOT_PERIOD_S,
        share_most: float = SHARE_MOST,
    ) -> None:
        self._databases, self._folder, self._environment = databases, folder, environment
        self._period_s, self._share_most = period_s, share_most
        self._over = threading.Event()
        self._threads: list[threading.Thread] = []
        self.unknown: list[tuple[str, str]] = []

    def __enter__(self) -> DatabaseReader:
        for process, commands in self._databases.items():
            if commands.reset:
                printed = _before(self._folder / statements_name(process))
                self._ask(process, commands, commands.reset, printed)
                printed.unlink(missing_ok=True)
            for table in self._tables(process, commands):
                if table.is_difference:
                    self._ask(process, commands, table.argv, _before(table.path))
        self._threads = [
            threading.Thread(target=self._watch, args=(process, commands), name=f"snapshots of {process}", daemon=True)
            for process, commands in self._databases.items()
            if commands.snapshot and process not in dict(self.unknown)
        ]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()
        for process, commands in self._databases.items():
            for table in self._tables(process, commands):
                if process not in dict(self.unknown):
                    self._ask(process, commands, table.argv, table.path)
                if table.is_difference:
                    self._subtract(process, table.path)

    def _tables(self, process: str, commands: StatementCommands) -> Iterator[_Table]:
        """Yield the tables of a database."""
        yield _Table(self._folder / statements_name(process), commands.read, is_difference=not commands.reset)
        if commands.waits:
            yield _Table(self._folder / waits_name(process), commands.waits, is_difference=True)

    def _subtract(self, process: str, after: Path) -> None:
        """Replace a table at the end of the load by its difference from the one at the beginning."""
        before = _before(after)
        if process not in dict(self.unknown):
            texts = (path.read_text(encoding="utf-8", errors="replace").splitlines() for path in (before, after))
            try:
                after.write_text(difference(*texts), encoding="utf-8")
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
        self,
        process: str,
        commands: StatementCommands,
        argv: tuple[str, ...],
        printed: Path,
        deadline_s: float | None = None,
    ) -> str:
        """Run a command of a database that prints to a file; return why that failed, "" when it did not."""
        environment = {**self._environment, **commands.environment}
        try:
            process_of = child.start(child.Launch(f"{process}: statements", argv, self._folder, environment, printed))
        except UsageError as error:
            return error.what
        try:
            code = process_of.wait(deadline_s)
        except subprocess.TimeoutExpired:
            return f"no answer within {deadline_s:g} s"
        finally:
            child.stop(process_of, deadline_s=1.0)
        last = child.tail_of(printed).rpartition("\n")[2] if code else ""
        return f"code {code}: {last}" if code else ""

    def _watch(self, process: str, commands: StatementCommands) -> None:
        """Append snapshots of a database to its file until the load is over."""
        path, lines = self._folder / snapshots_name(process), SnapshotLines()
        began_s, wait_s, has_failed = time.monotonic(), self._period_s, False
        while not self._over.wait(wait_s):
            requested_s, cpu_s = time.monotonic(), _children_cpu_s()
            line = self._snapshot(process, commands, lines)
            try:
                if not (line.is_problem and has_failed):
                    with path.open("a", encoding="utf-8") as file:
                        file.write(line.text)
            except OSError:
                return  # the whole load is known without snapshots
            has_failed |= line.is_problem
            now_s, cpu_s = time.monotonic(), _children_cpu_s() - cpu_s
            took_s = now_s - requested_s
            by_cost_s = max(cpu_s / self._share_most, took_s / _WAIT_MOST)
            wait_s = max(self._period_s, (now_s - began_s) / _PART_OF_LOAD, by_cost_s) - took_s

    def _snapshot(self, process: str, commands: StatementCommands, lines: SnapshotLines) -> _SnapshotLine:
        """Take a snapshot and return its line."""
        requested_ms, printed = time.time_ns() // 1_000_000, self._folder / f".{snapshots_name(process)}.printed"
        tables, took_ms = {}, 0
        try:
            for name, argv in ((STATEMENTS, commands.snapshot), (WAITS, commands.waits)):
                why = self._why_not(process, commands, argv, printed, _DEADLINE_S) if argv else ""
                if why:
                    return _SnapshotLine(problem_line(requested_ms, why), is_problem=True)
                if argv:
                    tables[name] = printed.read_text(encoding="utf-8", errors="replace").splitlines()
                    took_ms = took_ms or time.time_ns() // 1_000_000 - requested_ms
            return _SnapshotLine(lines.line(requested_ms, took_ms, tables))
        except (ValueError, OSError) as error:
            return _SnapshotLine(problem_line(requested_ms, str(error)), is_problem=True)
        finally:
            printed.unlink(missing_ok=True)


def _children_cpu_s() -> float:
    """Return the CPU time of all child processes that have ended: during a load hardly others than those that ask."""
    times = os.times()
    return times.children_user + times.children_system


def statements_name(process: str) -> str:
    """Return the name of the file with the statements of a database."""
    return f"statements-{process}.tsv"


def waits_name(process: str) -> str:
    """Return the name of the file with the waits of a database."""
    return f"waits-{process}.tsv"


def snapshots_name(process: str) -> str:
    """Return the name of the file with the snapshots of a database."""
    return f"snapshots-{process}.jsonl"


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
    names = {path.stem.removeprefix("statements-") for path in folder.glob(statements_name("*"))}
    names |= {path.stem.removeprefix("snapshots-") for path in folder.glob(snapshots_name("*"))}
    found = []
    for process in sorted(names):
        ends = _ends(folder / snapshots_name(process), first_ms, last_ms) if interval_of else None
        within = None
        if ends and interval_of:
            with contextlib.suppress(ValueError):
                within = _within(process, ends, _rows(folder / statements_name(process)), interval_of)
        used = within or _whole(folder, process)
        if used:
            found.append(used)
    return tuple(found)


def _whole(folder: Path, process: str) -> DatabaseUse | None:
    """Return the use of a database in the whole load; None when that is not known."""
    path, snapshots = folder / statements_name(process), folder / snapshots_name(process)
    with contextlib.suppress(ValueError, OSError), path.open(encoding="utf-8", errors="replace") as lines:
        used = replace(read_statements(process, lines), waits=_waits(folder / waits_name(process)))
        if not snapshots.is_file():
            return used
        with snapshots.open(encoding="utf-8", errors="replace") as taken:
            return replace(used, no_interval=problem_of(taken) or _TOO_FEW)
    return None


def _ends(path: Path, first_ms: int, last_ms: int) -> SnapshotEnds | None:
    with contextlib.suppress(OSError), path.open(encoding="utf-8", errors="replace") as lines:
        return ends_within(read_snapshots(lines), first_ms, last_ms)
    return None


def _within(process: str, ends: SnapshotEnds, whole: Mapping[str, Row], interval_of: IntervalOf) -> DatabaseUse:
    """Return the use of a database between two snapshots; `whole` has the rows of the whole load by statement."""
    first, last = ends.first, ends.last
    rows, waits = (grown(first.tables[name].values(), last.tables[name].values()) for name in (STATEMENTS, WAITS))
    is_lacking = any(_OF_WHOLE_LOAD in row for row in whole.values()) and not any(_OF_WHOLE_LOAD in row for row in rows)
    if is_lacking:
        rows = with_shares(rows, whole, _OF_WHOLE_LOAD)
    return replace(
        use_of(process, rows),
        waits=waits_of(waits),
        interval=interval_of(first.answered_ms, last.answered_ms),
        of_whole_load=(_OF_WHOLE_LOAD,) if is_lacking else (),
    )


def _rows(path: Path) -> Mapping[str, Row]:
    """Return the rows of a table by statement; empty without it."""
    with contextlib.suppress(ValueError, OSError), path.open(encoding="utf-8", errors="replace") as lines:
        return {row[STATEMENT]: row for row in rows_of(lines)}
    return {}


def _waits(path: Path) -> tuple[DatabaseWait, ...]:
    with contextlib.suppress(ValueError, OSError), path.open(encoding="utf-8", errors="replace") as lines:
        return read_waits(lines)
    return ()
