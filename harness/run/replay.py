"""Proves the extractors of a recorded plan: replays it with all of them, and without each of them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from rich.console import Console

from harness.base.guardian import Guardian
from harness.base.interrupts import Interrupts
from harness.plan.har.jmx import Recorded, recorded_jmx
from harness.plan.har.proof import Answer, Answers, difference, failures
from harness.plan.load import ClosedLoad
from harness.run.context import RunContext, ready_jmeter
from harness.run.exchanges import RAW_NAME, Exchange, parse_exchanges
from harness.run.one_pass import PassInterruptedError, PassStoppedError, run_once
from harness.run.request import Request

USERS = 3
# The agent stores 8 MB of texts in a pass, at most twice 16 kB for a request.
_MOST_SAMPLES = 200
_WITHOUT = "without "


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
    """Replay a plan that is written: three users with all extractors, and one without each; then without the needless.

    Only the request's target is contacted. Each JMeter process ends within `limit_s`.
    """
    names = [one.name for one in recorded.found.variables]
    variants = {f"{_WITHOUT}{name}": [other for other in names if other != name] for name in names}
    proof = Proof()
    answers = _replays(recorded, request, limit_s, _users(names) | variants, proof)
    full = [answers.answers[user] for user in _users(names)]
    proof.failures = _failures(recorded, full)
    if proof.failures:
        return proof
    labels = recorded.labels()
    for variable in recorded.found.variables:
        sent = [answers.values[user].get(variable.name, "") for user in _users(names)]
        first = min(use.step for use in variable.uses)
        other = answers.answers[f"{_WITHOUT}{variable.name}"]
        is_constant = set(sent) == {variable.given}
        if is_constant:
            proof.dropped.append(variable.name)
        elif what := difference(variable, first, labels, full, other, sent):
            proof.without[variable.name] = what
        else:
            proof.dropped.append(variable.name)
    if proof.dropped:
        needed = list(proof.without)
        again = _replays(recorded, request, limit_s, _users(needed), proof)
        if _failures(recorded, list(again.answers.values())):
            proof.shared, proof.dropped = proof.dropped, []
    return proof


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
) -> _Replayed:
    """Run thread groups one after the other, in one JMeter process unless there are many."""
    names, size = list(groups), max(1, _MOST_SAMPLES // max(1, len(recorded.steps)))
    found = _Replayed()
    for start in range(0, len(names), size):
        batch = {name: groups[name] for name in names[start : start + size]}
        exchanges = _pass(recorded, request, limit_s, batch)
        proof.passes += len(batch)
        for name in batch:
            own = [one for one in exchanges if one.thread.startswith(f"{name} ")]
            last = {one.label: one for one in own if one.method}
            found.answers[name] = [
                Answer(one.code, one.url, one.response_body or "") if (one := last.get(label)) else None
                for label in recorded.labels()
            ]
            changes = (pair for one in own for pair in (one.variables or {}).items())
            found.values[name] = {key: change.after for key, change in changes}
    return found


def _pass(
    recorded: Recorded, request: Request, limit_s: float, groups: Mapping[str, Collection[str]]
) -> tuple[Exchange, ...]:
    """Return the exchanges of thread groups, with their secrets. PassStoppedError after `limit_s`."""
    plan = replace(request.plan, load=replace(request.plan.load, think_time_s=0.0))
    with Interrupts() as interrupts, ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="replay-")))
        data = plan.jmx_path.parent / "data" / recorded.name
        if data.is_dir():
            shutil.copytree(data, folder / "data" / recorded.name)
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
