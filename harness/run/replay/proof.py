"""Proves the extractors of a recorded plan: replays it with all of them, and without some of them."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import randrange
from typing import NamedTuple

from rich.console import Console

from harness.base.guardian import Guardian
from harness.base.interrupts import Interrupts
from harness.plan.har.jmx import recorded_jmx
from harness.plan.har.needed import Tried, group_count
from harness.plan.har.proof import Answers, ReplayAnswer, failures
from harness.plan.har.recorded import Recorded, csv_text
from harness.plan.load.model import ClosedLoad
from harness.run.context import RunContext, ready_jmeter
from harness.run.jmeter.exchanges import RAW_NAME, Exchange, parse_exchanges
from harness.run.replay.one_pass import PassInterruptedError, PassStoppedError, run_once
from harness.run.request import Request

USERS = 3
# The agent stores 8 MB of texts in a pass, at most twice 16 kB for a request.
_MOST_SAMPLES = 200
_WITHOUT = "without "
# The lines of a data file with the recorded row alone.
_SAMPLE_LINES = 2
_NUMBERS = 100_000


@dataclass
class Proof:
    """What replays showed: `without` has, by extractor, what differs without it; the `dropped` ones change nothing.

    `failures` are those of users with all extractors; then nothing is proven. `shared` are extractors of which each
    may be left out, but not all together.
    """

    without: dict[str, str] = field(default_factory=dict)
    dropped: list[str] = field(default_factory=list)
    shared: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    passes: int = 0


def prove(recorded: Recorded, request: Request, limit_s: float) -> Proof:
    """Replay a plan that is written: three users with all extractors, some without several, one without the needless.

    Only the request's target is contacted. Each JMeter process ends within `limit_s`. Where the data file has one row,
    each user types texts of his own, which end with a number, unless the first users do not pass so.
    """
    names = [one.name for one in recorded.found.variables]
    proof, is_own = Proof(), has_rows(recorded, request.plan.jmx_path.parent)
    for is_varied in (True, False) if recorded.varied and not is_own else (False,):
        replayed = _replays(recorded, request, limit_s, _users(names), proof, is_varied=is_varied)
        full = [replayed.answers[user] for user in _users(names)]
        proof.failures = _failures(recorded, full)
        if not proof.failures:
            break
    if proof.failures:
        return proof
    sent = {name: [replayed.values[user].get(name, "") for user in _users(names)] for name in names}
    # To send a value that never changes as it was recorded makes no difference.
    constant = [one.name for one in recorded.found.variables if set(sent[one.name]) == {one.given}]
    rest = [one for one in recorded.found.variables if one.name not in constant]

    def without(groups: Sequence[Collection[str]]) -> list[Answers]:
        names = {
            f"{_WITHOUT}{number} of {len(groups)}": [one.name for one in rest if one.name not in group]
            for number, group in enumerate(groups, 1)
        }
        again = _replays(recorded, request, limit_s, names, proof, is_varied=is_varied)
        return [again.answers[name] for name in names]

    def passes(dropped: Sequence[str], kept: Sequence[str]) -> bool:
        if not dropped:
            return True
        last = _replays(recorded, request, limit_s, {"user": kept}, proof, is_varied=is_varied)
        return not _failures(recorded, list(last.answers.values()))

    # First, since passes that leave out others change the data of the target.
    proof.dropped = constant if passes(constant, [one.name for one in rest]) else []
    proof.without = Tried(recorded, rest, full, sent).needed(without)
    needless = [one.name for one in rest if one.name not in proof.without]
    if needless and passes(needless, list(proof.without)):
        proof.dropped = [*proof.dropped, *needless]
    proof.shared = [one for one in (*constant, *needless) if one not in proof.dropped]
    return proof


class PassCount(NamedTuple):
    """The least and the largest number of passes."""

    least: int
    most: int


def passes_of(recorded: Recorded, *, is_varied: bool) -> PassCount:
    """Return how many passes prove a plan."""
    count, groups = len(recorded.found.variables), group_count(recorded)
    least = USERS + bool(count)
    most = (2 if is_varied else 1) * USERS + count + (groups if groups < count else 0) + 2 * bool(count)
    return PassCount(least, most)


def has_rows(recorded: Recorded, plans: Path) -> bool:
    """Return whether a person has added rows to the data file of a plan."""
    path = plans / recorded.data_name
    return path.is_file() and len(path.read_text(encoding="utf-8").splitlines()) > _SAMPLE_LINES


def _users(names: Collection[str]) -> dict[str, list[str]]:
    return {f"user {number + 1}": list(names) for number in range(USERS)}


def _failures(recorded: Recorded, users: Sequence[Answers]) -> list[str]:
    """Return the failures of the first user who has any."""
    labels = recorded.labels()
    return next((found for user in users if (found := list(failures(recorded.steps, labels, user)))), [])


@dataclass
class _Replayed:
    """The answers and the extracted values of each thread group."""

    answers: dict[str, Answers] = field(default_factory=dict)
    values: dict[str, dict[str, str]] = field(default_factory=dict)


def _replays(
    recorded: Recorded,
    request: Request,
    limit_s: float,
    groups: Mapping[str, Collection[str]],
    proof: Proof,
    *,
    is_varied: bool,
) -> _Replayed:
    """Run thread groups one after the other, in one JMeter process unless there are many."""
    names, size = list(groups), max(1, _MOST_SAMPLES // max(1, len(recorded.steps)))
    replayed = _Replayed()
    for start in range(0, len(names), size):
        batch = {name: groups[name] for name in names[start : start + size]}
        rows = varied_rows(recorded, len(batch)) if is_varied else ""
        exchanges = _pass(recorded, request, limit_s, batch, rows)
        proof.passes += len(batch)
        for name in batch:
            own = [one for one in exchanges if one.thread.startswith(f"{name} ")]
            last = {one.label: one for one in own if one.method}
            replayed.answers[name] = [
                ReplayAnswer(one.code, one.url, one.response_body or "") if (one := last.get(label)) else None
                for label in recorded.labels()
            ]
            changes = (pair for one in own for pair in (one.variables or {}).items())
            replayed.values[name] = {key: change.after for key, change in changes}
    return replayed


def varied_rows(recorded: Recorded, count: int) -> str:
    """Return a data file with texts that no other user types: each ends with a number, a-slug with -number."""
    first = randrange(_NUMBERS, 9 * _NUMBERS)

    def varied(column: str, text: str, number: int) -> str:
        joint = "-" if re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)+", text) else " "
        return f"{text}{joint}{number}" if column in recorded.varied else text

    rows = ([varied(*pair, number) for pair in recorded.columns.items()] for number in range(first, first + count))
    return csv_text([list(recorded.columns), *rows])


def _pass(
    recorded: Recorded, request: Request, limit_s: float, groups: Mapping[str, Collection[str]], rows: str
) -> tuple[Exchange, ...]:
    """Return the exchanges of thread groups, with their secrets; `rows` replace the data file, unless they are empty.

    PassStoppedError after `limit_s`.
    """
    plan = replace(request.plan, load=replace(request.plan.load, think_time_s=0.0))
    with Interrupts() as interrupts, ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="replay-")))
        data = plan.jmx_path.parent / "data" / recorded.name
        if data.is_dir():
            shutil.copytree(data, folder / "data" / recorded.name)
        if rows:
            (folder / recorded.data_name).write_text(rows, encoding="utf-8")
        jmx = folder / plan.jmx_path.name
        jmx.write_bytes(recorded_jmx(recorded, groups))
        request = replace(request, plan=replace(plan, jmx_path=jmx))
        spec = request.run_spec(ClosedLoad(1, 0.0, None, 1), note="", command="lth init --har")
        context = RunContext(
            ready_jmeter(request, folder),
            interrupts,
            Console(highlight=False, stderr=True),
            stack.enter_context(Guardian()),
        )
        context.guardian.remove_at_end(folder)
        done = run_once(spec, request, folder, context, limit_s)
        if done.stopped:
            error = PassInterruptedError if done.is_interrupted else PassStoppedError
            raise error(f"{recorded.name}: {done.stopped}", "nothing is proven; the plan is kept")
        return parse_exchanges((folder / "check" / "pass" / RAW_NAME).read_text(encoding="utf-8", errors="replace"))
