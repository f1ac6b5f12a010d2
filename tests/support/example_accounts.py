"""The reports of docs/examples up to their account: simulated runs and a comparison, each with a line that is off."""

from __future__ import annotations

import heapq
import io
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import NamedTuple

from harness.cli.verbs import main
from harness.plan.load import CLOSED
from harness.plan.load.model import LoadRecord
from harness.report.files import write_report
from harness.run.directory import RunDirectory
from harness.run.group_counts import NO_DATA, EarlyEnd, GroupCounts
from harness.run.record import RowsRecord
from tests.support.paths import ROOT
from tests.support.report_folder import START_MS, run_folder

FOLDER = ROOT / "docs" / "examples"
LINES_MOST = 60
_HEAD = (
    "timeStamp,elapsed,label,responseCode,responseMessage,threadName,success,failureMessage,bytes,sentBytes,allThreads"
)
_USERS, _LENGTH_S, _PAUSE_MS = 20, 300, 800
_LABELS = {"Home": 25.0, "Search": 60.0, "Pay": 90.0}


class _Answer(NamedTuple):
    """What the system does with a request, and how long the load generator keeps its user busy besides."""

    factor: float = 1.0
    is_failed: bool = False
    own_ms: float = 0.0


@dataclass(frozen=True)
class Example:
    """A run: what happens to a request at a second, when its users end, its ramp, what its writer does, its labels."""

    answer: Callable[[float, Random], _Answer] = lambda _at_s, _random: _Answer()
    ends_s: float = _LENGTH_S
    ramp_s: float = 0.0
    quotes: bool = True
    labels: tuple[str, ...] = ("Home", "Search", "Pay")


def _errors_in_the_ramp(at_s: float, random: Random) -> _Answer:
    return _Answer(is_failed=at_s < 55 and random.random() < 0.25)


def _wave(at_s: float, _random: Random) -> _Answer:
    return _Answer(factor=1.6 if at_s % 160 < 80 else 1.0)


def _rare_failure(_at_s: float, random: Random) -> _Answer:
    return _Answer(is_failed=random.random() < 0.008)


# By the code of the line that does not balance.
EXAMPLES: Mapping[str, Example] = {
    "asked-offered": Example(ends_s=141.0),
    "offered-read": Example(answer=_rare_failure, quotes=False),
    "read-counted": Example(answer=_errors_in_the_ramp, ramp_s=60.0),
    "one-state": Example(answer=_wave),
    "users-time": Example(answer=lambda _at_s, _random: _Answer(own_ms=300.0)),
}


# The line about both sides of a comparison: the contender no longer sends Pay.
SAME_WORK = "same-work"
_SIDES = {"shop/run-01_1": Example(), "shop/run-02_1": Example(labels=("Home", "Search"))}


@cache
def page(code: str) -> str:
    """Return the report of an example up to its account."""
    with tempfile.TemporaryDirectory() as folder:
        directory = _written(Path(folder), "shop/run-01_1", EXAMPLES[code], Random(code))
        report = directory.report.read_text(encoding="utf-8")
    return _until_account(
        report, f"A simulated run of which the line [{code}](../doubtful.md#{code}) does not balance."
    )


@cache
def comparison_page() -> str:
    """Return the comparison of two examples up to its accounts."""
    with tempfile.TemporaryDirectory() as folder:
        for name, example in _SIDES.items():
            _written(Path(folder), name, example, Random(name))
        output = Path(folder) / "comparison.md"
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            main(["compare", *_SIDES, "--output", str(output), "--reports", folder])
        report = output.read_text(encoding="utf-8")
    note = f"Two simulated runs. The line [{SAME_WORK}](../doubtful.md#{SAME_WORK}) about both sides does not balance."
    return _until_account(report, note)


def _written(reports: Path, name: str, example: Example, random: Random) -> RunDirectory:
    """Write a run with its report."""
    rows, paused_ms = _simulated(example, random)
    alive_ms = [_alive_ms(example, second) for second in range(_LENGTH_S)]
    groups = GroupCounts("Users", START_MS // 1000, 1, tuple(paused_ms), len(rows), tuple(alive_ms), None)
    if example.ends_s < _LENGTH_S:
        end = EarlyEnd(NO_DATA, "customers.csv", _USERS, round(START_MS + 1000 * example.ends_s))
        groups = replace(groups, ended_early=(end,))
    directory = run_folder(
        reports, name, command=f"lth run shop --users={_USERS} --duration=5m",
        load=LoadRecord(CLOSED, _USERS, None, example.ramp_s, float(_LENGTH_S), None, 0.0),
        groups=(groups,), rows=RowsRecord(len(rows), at_least=False, clock_step_ms=0), took_s=_LENGTH_S + 4.0,
    )  # fmt: skip
    directory.samples.write_text("\n".join([_HEAD, *rows, ""]), encoding="utf-8")
    write_report(directory)
    return directory


def _until_account(report: str, note: str) -> str:
    head, _, rest = report.partition("## The account")
    head = "\n".join(line for line in head.splitlines() if not line.startswith(("<!--", "![")))
    head = head.replace("\n\n\n", "\n\n")
    account = rest.partition("\n## ")[0].strip()
    return f"<!-- generated by `make generated` -->\n{head.strip()}\n\n## The account\n\n{account}\n\n{note}\n"


def _simulated(example: Example, random: Random) -> tuple[list[str], list[int]]:
    """Return the rows of a run in the order of their ends, and for how long users paused in each second, ms."""
    rows: list[tuple[float, str]] = []
    paused_ms = [0.0] * (_LENGTH_S + 1)
    due = [(example.ramp_s * user / _USERS + random.random(), user, user) for user in range(_USERS)]
    while due:
        start_s, user, step = heapq.heappop(due)
        if start_s >= example.ends_s:
            continue
        label = example.labels[step % len(example.labels)]
        answer = example.answer(start_s, random)
        elapsed_ms = _LABELS[label] * answer.factor * random.lognormvariate(0, 0.25)
        end_s = start_s + elapsed_ms / 1000
        rows.append((end_s, _row(example, label, start_s, elapsed_ms, user, answer)))
        pause_s = _PAUSE_MS / 1000 * random.uniform(0.5, 1.5)
        for second, part_s in _parts(end_s, min(end_s + pause_s, example.ends_s)):
            paused_ms[second] += 1000 * part_s
        heapq.heappush(due, (end_s + pause_s + answer.own_ms / 1000, user, step + 1))
    return [row for _, row in sorted(rows)], [round(ms) for ms in paused_ms[:_LENGTH_S]]


def _row(example: Example, label: str, start_s: float, elapsed_ms: float, user: int, answer: _Answer) -> str:
    outcome = "200,OK"
    if answer.is_failed:
        outcome = '503,"busy, try later, please"' if example.quotes else "503,busy, try later, please"
    users = min(_USERS, 1 + int(start_s / example.ramp_s * _USERS)) if example.ramp_s else _USERS
    times = f"{START_MS + round(1000 * start_s)},{max(1, round(elapsed_ms))}"
    return f"{times},{label},{outcome},Users 1-{user + 1},{str(not answer.is_failed).lower()},,1800,240,{users}"


def _parts(from_s: float, to_s: float) -> Iterator[tuple[int, float]]:
    """Yield the seconds of an interval, and how much of each is in it."""
    for second in range(int(from_s), min(int(to_s), _LENGTH_S) + 1):
        yield second, max(0.0, min(to_s, second + 1) - max(from_s, second))


def _alive_ms(example: Example, second: int) -> int:
    if not example.ramp_s:
        return 1000 * _USERS if second < example.ends_s else 0
    started = sum(example.ramp_s * user / _USERS <= second for user in range(_USERS))
    return 1000 * started


PAGES: Mapping[Path, Callable[[], str]] = {
    **{FOLDER / f"{code}.md": partial(page, code) for code in EXAMPLES},
    FOLDER / f"{SAME_WORK}.md": comparison_page,
}
