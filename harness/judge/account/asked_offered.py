"""Compares the users or arrivals that were asked for with those that were there, over the whole requested time.

Seen: Users left early, arrivals were not made, a load generator was absent (INVALID from 10 % on), a step was not sent,
scripts or conditions failed, or users only paused, had no data, sent an extractor's default or a variable's name, ended
at a login, or missed a rate.

Why it matters: The load was another one than requested; what the missing users would have met is in no number.

What to do: Look in `jmeter.log` for threads that ended. With `--rate` read errors and p99 first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from harness.base import units
from harness.judge.account.line import Balance, LineKind, Sides, judged
from harness.judge.evidence import Evidence
from harness.judge.loads import unlike_the_request
from harness.judge.offered import Shortfall, arrivals_missing, arrivals_rounded, requests_missing, users_missing
from harness.judge.unsent import with_steps
from harness.judge.users_asked import (
    EDGE_S,
    Until,
    before_loops_text,
    ended_before_loops,
    ended_count,
    known_causes,
    left_text,
    request_count,
    stayed,
    stopped_in_setup,
    until_of,
    users_over_time,
    users_there,
    why_left,
)
from harness.judge.users_counted import groups_of, users_by_second
from harness.judge.warning_kind import ReportPart
from harness.metrics.gaps import Gap
from harness.metrics.generators import GeneratorFigures
from harness.metrics.timeline import SecondFigures
from harness.plan.load import OPEN

if TYPE_CHECKING:
    from harness.plan.load.groups import GroupLoad

# Users and arrivals are counted, not estimated.
DOUBT_RATIO, INVALID_RATIO = 0.01, 0.10
# Arrivals come at random times: so many standard deviations of their number may be missing by chance.
_CHANCE_DEVIATIONS = 3.0
# Generators start within a second or two of each other. One that is absent for longer than this changes the load.
ABSENT_LEAST_S = 5.0
ABSENT_RATIO = 0.02
# Between the last sample of a part of a file and the first of the next one.
PART_MOST_S = 1.0


_LOOK = "Run longer than the ramp-up, and look in jmeter.log for threads that ended early."
_SETUP = "So no user of the load began. Look at the errors by cause, and at what the setUp group does on an error."
# With other users the system is in another state, and the part without them is left out of the window.
_FOLLOW = ("read-counted", "one-state")


def measure(evidence: Evidence) -> Sides:
    """Return the users or arrivals that were asked for, and those that were there."""
    run = evidence.run
    if run is None:
        return _with_absent(evidence, _of_tool(evidence))
    load = run.load
    if ends := stopped_in_setup(evidence):
        left = f"{units.plural(load.users, 'user')}" if load.users else "the load"
        return Sides(left, "no user", 1.0, Balance.INVALID, f"The plan stopped the test in setUp{ends}", _SETUP)
    if load.loads:
        sides = _of_loads(evidence)
    elif load.model == OPEN:
        sides = _of_arrivals(evidence)
    else:
        sides = _with_absent(evidence, _of_users(evidence))
    return replace(sides, explains=_FOLLOW) if sides.is_off else with_steps(evidence, sides)


def _of_tool(evidence: Evidence) -> Sides:
    """Return the arrivals that another tool made, where it left some out; what was asked of others is not known."""
    made, left_out = evidence.dropped.made_arrival_count, evidence.dropped.left_arrival_count
    if not left_out:
        return Sides()
    asked = made + left_out
    left, right, missing = f"{asked:,} arrivals", f"{made:,} arrivals", left_out / asked
    balance = judged(missing, DOUBT_RATIO, None)
    if balance is Balance.BALANCED:
        return Sides(left, right, missing, balance)
    brief = f"{left_out:,} of {asked:,} arrivals were not made: no user of the tool was free"
    why = "The system was slower than the rate. Look at errors and p99; drive a lower rate, or allow more users."
    return Sides(left, right, missing, balance, brief, why)


def _of_users(evidence: Evidence) -> Sides:
    """Return the users of a closed load."""
    run, peak = evidence.run, evidence.users_most
    assert run is not None
    asked, duration_s = run.load.users, run.load.duration_s
    if not asked or peak is None:
        return Sides()
    left, right = units.plural(asked, "user"), units.plural(peak, "user")
    if evidence.was_ended:
        return Sides(left, right, 0.0, Balance.BALANCED)
    loops = 0 if duration_s else run.load.loops or 0
    if loops and peak < asked and ended_count(groups_of(run)) == asked:
        right = f"{left}, {units.plural(peak, 'user')} at once"
    elif peak != asked:
        brief = f"{units.plural(peak, 'user')} at the peak, not the requested {asked}"
        why = "The plan starts threads that --users does not set. Look at its thread groups."
        why = why if peak > asked else known_causes(evidence) or _LOOK
        return Sides(left, right, abs(peak - asked) / asked, Balance.INVALID, brief, why)
    if loops:
        return _of_loops(evidence, Sides(f"{left}, {units.plural(loops, 'loop')} each", right), asked)
    until = until_of(evidence)
    if until is None:
        return Sides(left, right, None, Balance.NOT_KNOWN)
    known, sample_count = users_there(evidence), sum(second.sample_count for second in evidence.seconds)
    users = users_over_time(known, sum(known) / max(1, sample_count), asked, run.load.ramp_s, until.at_s)
    requests = run.load.requests
    left = f"{left} for {units.duration_text(duration_s or until.at_s)}"
    left += f" or {units.plural(requests, 'request')}" if requests else " at most" if run.load.is_auto else ""
    if users is None:
        return Sides(left, right, 0.0, Balance.BALANCED) if stayed(evidence) else Sides(left, right)
    missing = users.missing_ratio
    balance = judged(missing, DOUBT_RATIO, INVALID_RATIO)
    # A user may pause from its last sample to the end.
    there_s = max(len(evidence.seconds), sum(count > 0 for count in known))
    right = f"{right} for {units.duration_text(min(there_s, until.at_s))}"
    right += f", {units.plural(request_count(evidence), 'request')}" if requests else ""
    if balance is Balance.BALANCED:
        return Sides(left, right, missing, balance)
    right = f"{users.there_s / users.asked_s * asked:.1f} users on average"
    brief = left_text(evidence, users, asked, until)
    return Sides(left, right, missing, balance, brief, why_left(evidence, users.left_count))


def _of_loops(evidence: Evidence, sides: Sides, asked: int) -> Sides:
    """Return the users who each do so many loops: all are there until they have done them.

    Only the agent knows why a user ended.
    """
    groups = groups_of(evidence.run)
    if not groups:
        return replace(sides, balance=Balance.NOT_KNOWN)
    ended = ended_before_loops(groups)
    balance = judged(ended / asked, DOUBT_RATIO, INVALID_RATIO)
    brief = ""
    if balance is not Balance.BALANCED:
        assert evidence.run is not None
        brief = before_loops_text(ended, asked, evidence.run.load.loops or 0)
    why = why_left(evidence, ended) if brief else ""
    return replace(sides, difference_ratio=ended / asked, balance=balance, brief=brief, advice=why)


def _of_arrivals(evidence: Evidence) -> Sides:
    """Return the arrivals of an open load; each sends at least one request."""
    run = evidence.run
    assert run is not None
    load, arrivals = run.load, _arrivals(evidence)
    made, what = (arrivals, "arrivals") if arrivals is not None else (_sample_count(evidence), "requests")
    if not load.rate_per_s or not load.duration_s:
        return Sides()
    asked = load.rate_per_s * (load.duration_s - load.ramp_s / 2)
    left = (
        f"{asked:,.0f} arrivals ({units.number_text(load.rate_per_s)} per s for {units.duration_text(load.duration_s)})"
    )
    right = f"{made:,} {what}"
    if run.left_out_arrivals:
        return _left_out(evidence, left, right, asked)
    if evidence.was_ended:
        return Sides(left, right, None, Balance.BALANCED)
    from harness.plan.load.groups import GroupLoad, Stage  # here: no bare JTL has any

    whole = GroupLoad("", (Stage(None, load.rate_per_s, load.ramp_s, load.duration_s - load.ramp_s),))
    groups = groups_of(run)
    # An arrival sends one request or more, and only arrivals are counted when they are made.
    missing = abs(1 - made / asked) if arrivals is not None else max(0.0, 1 - made / asked)
    spare = _CHANCE_DEVIATIONS * math.sqrt(asked) if arrivals is None else arrivals_rounded(whole, len(groups))
    balance = judged(missing if missing * asked > spare else 0.0, DOUBT_RATIO, INVALID_RATIO)
    if balance is not Balance.BALANCED:
        rate = f"{made / (load.duration_s - load.ramp_s / 2):.3g}"
        brief = f"{rate} {what} per s, not the requested {units.number_text(load.rate_per_s)}"
        return Sides(left, right, missing, balance, brief, "Look in jmeter.log for arrivals that were not made.")
    ended_s = _last_s(evidence.seconds)
    edge_s = EDGE_S + _CHANCE_DEVIATIONS * 3 / load.rate_per_s
    early = max(0.0, (load.duration_s - edge_s - ended_s) / load.duration_s)
    balance = judged(early, DOUBT_RATIO, INVALID_RATIO)
    if balance is not Balance.BALANCED:
        brief = f"The load ended at {ended_s} s of the requested {units.duration_text(load.duration_s)}"
        return Sides(left, right, early, balance, brief, "Look in jmeter.log for why no user arrived after it.")
    part = arrivals_missing(whole, groups) if arrivals is not None else Shortfall(0.0, "")
    balance = judged(part.ratio, DOUBT_RATIO, INVALID_RATIO)
    if balance is not Balance.BALANCED:
        brief = f"{part.text[:1].upper()}{part.text[1:]}"
        return Sides(left, right, part.ratio, balance, brief, _LOOK_OPEN)
    return Sides(left, right, missing, balance)


_LOOK_OPEN = "Look in jmeter.log, and at the load generator's CPU and pauses at that time."


def _left_out(evidence: Evidence, left: str, right: str, asked: float) -> Sides:
    """Return the line of a load of which arrivals were left out, because the generator had no room for more users."""
    run = evidence.run
    assert run is not None
    plural = "s were" if run.left_out_arrivals > 1 else " was"
    brief = f"{run.left_out_arrivals:,} arrival{plural} not made: {run.users_most:,} users were waiting"
    why = (
        "The system was slower than the rate. Each waiting user takes memory of the load generator, whose heap of "
        f"{run.generator_heap_mb} MB has room for {run.users_most:,}. Look at the errors and the p99; drive a "
        "lower rate, or raise heap_mb in [generator] of the profile."
    )
    return Sides(left, right, run.left_out_arrivals / asked, Balance.DOUBT, brief, why)


def _asked_arrivals(loads: Sequence[GroupLoad]) -> float:
    """Return the arrivals that all open loads ask for."""
    seconds = ((load, at) for load in loads if load.is_open for at in range(math.ceil(load.duration_s)))
    return sum(load.level_at(at + 1 / 2) for load, at in seconds) or 1.0


def _arrivals(evidence: Evidence) -> int | None:
    """Return how many arrivals were made; None where they were not counted."""
    counted = [sum(group.arrivals) for group in groups_of(evidence.run) if group.arrivals is not None]
    return sum(counted) if counted else None


def _sample_count(evidence: Evidence) -> int:
    return evidence.whole.sample_count if evidence.whole else 0


def _last_s(seconds: Sequence[SecondFigures]) -> int:
    """Return the second after the last sample."""
    return max((at + 1 for at, second in enumerate(seconds) if second.sample_count), default=0)


def _of_loads(evidence: Evidence) -> Sides:
    """Return the users of several loads, each in a thread group of its own."""
    run = evidence.run
    assert run is not None and run.load.loads
    loads = run.load.loads
    left = ", ".join(f"{one.group}: {one.text()}" for one in loads)
    if evidence.was_ended:
        return Sides(left, "until it was stopped", None, Balance.BALANCED)
    done = {load.group: ended_count(groups_of(run, load.group)) for load in loads if load.loops}
    if reasons := unlike_the_request(evidence.loads, loads, done):
        return Sides(left, "", None, Balance.INVALID, "; ".join(reasons), known_causes(evidence) or _LOOK)
    if run.left_out_arrivals:
        return _left_out(evidence, left, "fewer arrivals", _asked_arrivals(loads))
    each_load = [_of_load(evidence, load) for load in loads]
    if known := [one for one in each_load if one]:
        name, text, missing, is_users = max(known, key=lambda one: one.missing_ratio)
        balance = judged(missing, DOUBT_RATIO, INVALID_RATIO)
        if balance is not Balance.BALANCED:
            right, why = ("fewer users", why_left(evidence, 0)) if is_users else ("fewer than asked", _LOOK_OPEN)
            return Sides(left, right, missing, balance, f"{name}: {text}", why)
    if None in each_load:
        return Sides(left)
    return Sides(left, "as asked", 0.0, Balance.BALANCED)


class _OfLoad(NamedTuple):
    """What is missing of one of several loads over its time, as text and as a share; `is_users` of a closed one."""

    name: str
    text: str
    missing_ratio: float
    is_users: bool


def _of_load(evidence: Evidence, load: GroupLoad) -> _OfLoad | None:
    """Return what is missing of a load over its time; None where that is not known."""
    run, groups = evidence.run, groups_of(evidence.run, load.group)
    assert run is not None
    figures = next((one for one in evidence.loads if one.name == load.group), None)
    asked, until = load.users or 0, until_of(evidence)
    if load.loops:
        if not groups or not asked:
            return None
        ended = ended_before_loops(groups)
        return _OfLoad(load.group, before_loops_text(ended, asked, load.loops), ended / asked, is_users=True)
    until = until.no_later(load.duration_s) if until else Until(load.duration_s, is_requested=True)
    if not until.is_requested and (load.is_open or load.is_staged):
        return None
    if load.is_shaped:
        curve = figures.request_curve if figures else None
        return _found(load, requests_missing(curve), is_users=False) if curve else None
    if not groups:
        return None
    if load.is_open:
        return _found(load, arrivals_missing(load, groups), is_users=False)
    counted, known = (figures.whole or figures.group) if figures else None, users_by_second(groups)
    each_s = sum(known) / max(1, counted.total.sample_count if counted else 0)
    if load.is_staged:
        return _found(load, users_missing(load, groups, each_s), is_users=True)
    users = users_over_time(known, each_s, asked, load.ramp_s, until.at_s) if asked else None
    if users is None:
        return _OfLoad(load.group, "", 0.0, is_users=True) if stayed(evidence, load.group) else None
    return _OfLoad(load.group, left_text(evidence, users, asked, until, load.group), users.missing_ratio, is_users=True)


def _found(load: GroupLoad, missing: Shortfall, *, is_users: bool) -> _OfLoad:
    return _OfLoad(load.group, missing.text, missing.ratio, is_users)


def _with_absent(evidence: Evidence, measured: Sides) -> Sides:
    """Return the line with the generators that began late or ended early, where nothing else is missing."""
    unloaded = [gap for gap in evidence.gaps if not gap.is_waited and evidence.began_after(gap)]
    unloaded_s, run_s = sum(gap.length_s for gap in unloaded), evidence.window.run_s
    if unloaded_s > INVALID_RATIO * run_s:
        brief = _late_generators(evidence, unloaded)
        return Sides(measured.left, measured.right, unloaded_s / run_s, Balance.INVALID, brief, _AT_ONCE)
    if measured.is_off:
        return measured
    for names, when, first, last in _absent(evidence):
        brief = f"Load generator {names} was absent for part of the load"
        if ", " in names:
            brief = f"Load generators {names} were absent for part of the load, or their clocks differ"
        advice = (
            f"The load lasted from {first} s to {last} s, but generators {when}. Look into their logs, and run again."
        )
        return Sides(measured.left, measured.right, None, Balance.DOUBT, brief, advice)
    return measured


_AT_ONCE = "Look into the logs of the generators, and run again with all of them at once."


def _late_generators(evidence: Evidence, gaps: Sequence[Gap]) -> str:
    """Return which generators began only when all others had ended, and for how long there was no load."""
    first_s = min(one.first_s for one in evidence.generators)
    late = {one.name: one.first_s - first_s for gap in gaps for one in evidence.began_after(gap)}
    began = [f"{name} began {units.duration_text(late_s)} after the first one" for name, late_s in late.items()]
    times = f"{units.duration_text(sum(gap.length_s for gap in gaps))} of {units.duration_text(evidence.window.run_s)}"
    return f"There was no load for {times}: generator {', '.join(began)}, when the others had ended"


def _absent(evidence: Evidence) -> Iterator[tuple[str, str, str, str]]:
    """Yield the generators that began late or ended early, when, and from when to when the load lasted."""
    generators = evidence.generators
    if not generators:
        return
    first_s, last_s = min(one.first_s for one in generators), max(one.last_s for one in generators)
    least_s = max(ABSENT_LEAST_S, ABSENT_RATIO * (last_s - first_s))
    longest_s = (evidence.longest_ms or 0) / units.MS_PER_S
    if evidence.run is None and _are_parts(generators, longest_s):
        return
    late = [one for one in generators if one.first_s - first_s > least_s]
    # A sample that takes long ends late: without one a generator may seem to have stopped before the others.
    early = [one for one in generators if last_s - one.last_s > least_s + longest_s]
    if late or early:
        began = ", ".join(f"{one.name} {one.first_s:.0f} s" for one in late)
        ended = ", ".join(f"{one.name} {one.last_s:.0f} s" for one in early)
        when = [f"began late ({began})"] * bool(late) + [f"ended early ({ended})"] * bool(early)
        names = ", ".join(dict.fromkeys(one.name for one in (*late, *early)))
        yield names, " or ".join(when), f"{first_s:.0f}", f"{last_s:.0f}"


def _are_parts(generators: Sequence[GeneratorFigures], longest_s: float) -> bool:
    """Return whether files are those of one generator: each begins within a second of the end of the one before.

    Its first samples may begin before the last ones of that end.
    """
    ordered = sorted(generators, key=lambda one: one.first_s)
    return all(-longest_s <= later.first_s - one.last_s <= PART_MOST_S for one, later in pairwise(ordered))


LINE = LineKind(
    code="asked-offered",
    since="1.2.0",
    title="asked = offered",
    concerns=(ReportPart.VERDICT, ReportPart.LOAD, ReportPart.GENERATORS),
    hides=_FOLLOW,
    formerly=("left-out-arrivals", "absent-generator"),
    page=__doc__,
    measure=measure,
)
