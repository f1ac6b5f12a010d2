"""Compares the time of the users with what they did: waiting for answers, and pausing (Little's law).

Seen: More users were active than response times and think time account for, by 10 % over 10 s or by a factor of 1.5.

Why it matters: Users waited inside the load generator, for each other, or in scripts: that may have limited the load,
not the system.

What to do: Look at the generator's CPU and garbage collections, or drive from a machine of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from harness.base import units
from harness.judge.account.line import NOT_KNOWN_TEXT, Balance, LineKind, Sides, judged
from harness.judge.evidence import Evidence
from harness.judge.ignored import named, named_counts
from harness.judge.loads import pause_s
from harness.judge.users_counted import counts_by_label, groups_of
from harness.judge.warning_kind import ReportPart
from harness.metrics.figures import LabelFigures
from harness.metrics.littles_law import LittlesLaw

if TYPE_CHECKING:
    from harness.run.group_counts import GroupCounts, LabelCount

    _Get: TypeAlias = Callable[[GroupCounts], Sequence[LabelCount]]

DOUBT_RATIO = 0.10
# Users are counted per second: over a shorter time the first and last second alone make the difference.
LEAST_S = 10.0
# Off by this factor it is a finding over any time; below a second users are not counted.
FACTOR = 1.5
FACTOR_LEAST_S = 1.0
# So much of the time that is not accounted for is that at locks, or in scripts. A ramp has fewer users, who wait less.
_HELD_RATIO = 0.5


class _Check(NamedTuple):
    """Little's law of a load: ` of NAME`, the law, its samples, and the mean pause before one."""

    of: str
    law: LittlesLaw
    load: LabelFigures
    think_s: float

    @property
    def difference(self) -> float:
        """The share of the users' time that is off by more than the ends of the window can cause.

        A sample counts where it ends: one in flight at the window's beginning counts whole, one at its end not at all.
        """
        at_the_ends = self.load.average_ms / units.MS_PER_S / self.law.over_s
        return max(0.0, abs(self.law.ratio - 1) - at_the_ends)

    @property
    def balance(self) -> Balance:
        """Whether it is off: by a factor over any time, or by the usual share over long enough."""
        at_the_ends = self.load.average_ms / units.MS_PER_S / self.law.over_s
        is_far = self.law.ratio + at_the_ends < 1 / FACTOR or self.law.ratio - at_the_ends > FACTOR
        if self.law.over_s >= LEAST_S:
            return Balance.DOUBT if is_far else judged(self.difference, DOUBT_RATIO)
        return Balance.DOUBT if is_far and self.law.over_s >= FACTOR_LEAST_S else Balance.BALANCED


def measure(evidence: Evidence) -> Sides:
    """Return the users that were active, and those that waited or paused; of several loads the one that is off most."""
    checks = _checks(evidence)
    if not checks:
        return _of_file(evidence) if evidence.run is None else Sides()
    worst = max(checks, key=lambda check: (check.balance is Balance.DOUBT, check.difference))
    law, load = worst.law, worst.load
    left = f"{law.active_users:.1f} users{worst.of}"
    right = f"{law.busy_users - law.pausing_users:.1f} waiting + {law.pausing_users:.1f} pausing"
    if law.pausing_users and (timed := _with_pauses(evidence)):
        right = f"{right}, which the times of {named(timed)} include"
    if outside := _long_outside(evidence):
        right = f"{right}; in samplers beside their samples: {named_counts(outside)}"
    if awaited := counts_by_label(evidence.run, lambda group: group.awaited_ms):
        right = f"{right}; for messages: {named_counts(awaited)}"
    if together := counts_by_label(evidence.run, lambda group: group.together_ms):
        right = f"{right}, samples of {named_counts(together)} at once"
    if worst.balance is Balance.BALANCED:
        return Sides(left, right, abs(law.ratio - 1), worst.balance)
    if evidence.run and evidence.run.stop_reasons and law.ratio < 1:  # samples that never ended have no row
        return Sides(left, f"{right}; samples that did not end: {NOT_KNOWN_TEXT}")
    numbers = f"{law.active_users:.1f} users{worst.of} active, {law.busy_users:.1f} busy"
    if beyond := counts_by_label(evidence.run, lambda group: group.beyond_ms) if law.ratio > 1 else {}:
        brief = f"Samples say that they took longer than they did: {numbers}"
        return Sides(left, right, abs(law.ratio - 1), worst.balance, brief, f"{named_counts(beyond)}: {_BEYOND}")
    brief = f"The load generator may be the bottleneck: {numbers}"
    round_ms = units.average_text(law.active_users * law.over_s / load.sample_count * units.MS_PER_S)
    accounted_ms = units.average_text(load.average_ms + worst.think_s * units.MS_PER_S)
    if groups_of(evidence.run):
        for who, get, why in _HOLDS:
            if held_ms := _held_ms(evidence, get, 1 - law.ratio):
                brief = f"{who}: {numbers}"
                return Sides(left, right, abs(law.ratio - 1), worst.balance, brief, f"{named_counts(held_ms)}: {why}")
        rest = f"{abs(law.active_users - law.busy_users):.1f} users are not accounted for: the generator's own time."
        return Sides(left, right, abs(law.ratio - 1), worst.balance, brief, f"{rest} {_LOOK}")
    advice = (
        f"Users ÷ throughput is {round_ms} ms, mean response and think time {accounted_ms} ms (Little's law). "
        "Look at the generator's CPU and at pauses that the plan's think_time_s does not include, or drive from a "
        "machine of its own."
    )
    return Sides(left, right, abs(law.ratio - 1), worst.balance, brief, advice)


def _long_outside(evidence: Evidence) -> Mapping[str, int]:
    """Return the steps whose samplers took much time that no sample has, which is pausing, with ms."""
    outside_ms = counts_by_label(evidence.run, lambda group: group.outside_ms)
    took_ms = {one.label: one.counts.elapsed_sum_ms for one in evidence.whole_labels}
    return {label: ms for label, ms in outside_ms.items() if ms > DOUBT_RATIO * (ms + took_ms.get(label, 0))}


def _held_ms(evidence: Evidence, get: _Get, missing_ratio: float) -> Mapping[str, int]:
    """Return the elements of the plan in which users spent most of the time not accounted for, with ms."""
    held_ms = counts_by_label(evidence.run, get) if missing_ratio > 0 else {}
    users_ms = sum(sum(group.alive_ms) for group in groups_of(evidence.run))
    return held_ms if sum(held_ms.values()) > _HELD_RATIO * missing_ratio * users_ms else {}


def _with_pauses(evidence: Evidence) -> list[str]:
    """Return the transactions that the plan measures with the pauses of its users."""
    steps = evidence.run.steps if evidence.run else ()
    return [step.label for step in steps if step.includes_pauses and step.label in evidence.sent]


def _of_file(evidence: Evidence) -> Sides:
    """Return the line of a file: how long its users paused is not known, but that they did not wait so much longer."""
    waiting, users = evidence.waiting_count, evidence.users_most
    if not users or not evidence.has_other_unit:
        return Sides()
    brief = f"{waiting:,.0f} requests were in flight on average, of at most {units.plural(users, 'user')}"
    advice = "A user waits for one at a time. Are elapsed in ms and allThreads right in this file? Correct them."
    left, right = units.plural(users, "user"), f"{waiting:,.0f} waiting"
    sides = Sides(left, right, waiting / users - 1, Balance.DOUBT, brief, advice)
    return replace(sides, explains=_FOLLOW)


# Times in another unit are other silences, and parts of the run.
_FOLLOW = ("one-state", "throttled", "read-counted")
_LOCKED = (
    "this Critical Section lets in one user at a time, so it limits the rate, not the system. Look for steps that need "
    "no lock."
)
_SCRIPTED = (
    "this script computes, or asks a system by itself, before or after a sample. That limits the rate, and no sample "
    "has its time: prepare what it computes before the load, or make it a sampler."
)
_BEYOND = (
    "this sampler sets its time by itself. Let a Dummy Sampler simulate its response time, and a sampler of your own "
    "call sampleStart() and sampleEnd()."
)
# What holds users up: the reason, the counts, and what it is.
_HOLDS: tuple[tuple[str, _Get, str], ...] = (
    ("Users waited for each other", lambda group: group.locked_ms, _LOCKED),
    ("Users were in scripts of the plan", lambda group: group.scripts_ms, _SCRIPTED),
)
_LOOK = "Look at the generator's CPU and garbage collections, or drive from a machine of its own."


def _checks(evidence: Evidence) -> list[_Check]:
    """Return Little's law of each closed load; nothing where the pauses of the users are not known."""
    run = evidence.run
    # Users of an open load come and go within a second: the samples do not show how many were active.
    if run is None or evidence.is_open:
        return []
    loads = {one.group: one for one in run.load.loads or ()}
    if not loads:
        found = [("", evidence.law, evidence.load, evidence.pause_s)]
    else:
        own = [one for one in evidence.loads if one.group]
        found = [
            (f" of {one.name}", one.littles_law, one.group.total, pause_s(loads[one.name], one.group))
            for one in own
            if one.group
        ]
    return [_Check(of, law, load, think_s) for of, law, load, think_s in found if law and load]


LINE = LineKind(
    code="users-time",
    since="1.2.0",
    title="users' time = waiting + pausing",
    concerns=(ReportPart.VERDICT, ReportPart.LAW),
    is_of_answers=True,
    formerly=("littles-law",),
    page=__doc__,
    measure=measure,
)
