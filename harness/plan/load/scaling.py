"""Scales several loads to a command line: USERS, RATE and DURATION in proportion, RAMP, LOOPS and DURATION=auto."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from harness.base import units
from harness.base.errors import UsageError
from harness.plan.load.groups import GroupLoad, SeveralLoads, Stage

# The Throughput Shaping Timer lets at least so many requests pass in each second.
REQUESTS_LEAST_PER_S = 1.0
# When only DURATION is given, the ramp takes at most this part (a quarter) of it.
SHARE_OF_RAMP = 4


def shares(weights: Sequence[int], total: int) -> tuple[int, ...]:
    """Return `total` divided in proportion to whole weights: each part is 1 or more, unless its weight is 0.

    By the method of the largest remainder (Hamilton); of equal remainders the first weight wins. A part below 1 gets 1,
    and the others divide the rest. `total` must not be less than the number of weights above 0.
    """
    parts = dict.fromkeys(range(len(weights)), 0)
    divided, left = {index: weight for index, weight in enumerate(weights) if weight}, total
    while too_small := [index for index, weight in divided.items() if weight * left < sum(divided.values())]:
        parts |= dict.fromkeys(too_small, 1)
        left -= len(too_small)
        divided = {index: weight for index, weight in divided.items() if index not in too_small}
    whole = sum(divided.values())
    parts |= {index: weight * left // whole for index, weight in divided.items()}
    missing = left - sum(parts[index] for index in divided)
    for index in sorted(divided, key=lambda index: -(divided[index] * left % whole))[:missing]:
        parts[index] += 1
    return tuple(parts.values())


def with_users(loads: Sequence[GroupLoad], users: int) -> tuple[GroupLoad, ...]:
    """Return the loads with `users` in total, divided in proportion; stages of a load scale with its greatest one."""
    closed = [load for load in loads if load.users]
    if not closed:
        raise UsageError(f"--users={users}: none of the plan's loads has users", "give --rate, or leave --users out")
    if users < len(closed):
        what = f"--users={users} is less than the {len(closed)} loads with users, so one would have none"
        raise UsageError(what, "give more users, or set the users of a load to 0 in the plan")
    parts = iter(shares([load.users or 0 for load in closed], users))
    return tuple(_scaled_users(load, next(parts)) if load.users else load for load in loads)


def _scaled_users(load: GroupLoad, users: int) -> GroupLoad:
    def scaled(stage: Stage) -> Stage:
        wanted = (stage.users or 0) * users / load.level
        scaled_users = max(1, math.floor(wanted + 0.5)) if stage.users else 0
        if stage.requests_per_s is None:
            return replace(stage, users=scaled_users)
        rate_per_s = max(REQUESTS_LEAST_PER_S, round(stage.requests_per_s * users / load.level, 6))
        return replace(stage, users=scaled_users, requests_per_s=rate_per_s)

    return replace(load, stages=tuple(map(scaled, load.stages)))


def with_rate(loads: Sequence[GroupLoad], rate_per_s: float) -> tuple[GroupLoad, ...]:
    """Return the loads with this rate in total, divided in proportion."""
    total = sum(load.level for load in loads if load.is_open)
    if not total:
        todo = "give --users, or leave --rate out"
        raise UsageError(f"--rate={units.number_text(rate_per_s)}: none of the plan's loads has a rate", todo)

    def scaled(stage: Stage) -> Stage:
        return stage if stage.rate_per_s is None else replace(stage, rate_per_s=stage.rate_per_s * rate_per_s / total)

    return tuple(replace(load, stages=tuple(map(scaled, load.stages))) for load in loads)


def with_duration(loads: Sequence[GroupLoad], duration_s: float) -> tuple[GroupLoad, ...]:
    """Return the loads made longer or shorter, ramps and stages included; the longest lasts `duration_s`."""
    factor = duration_s / SeveralLoads(tuple(loads)).longest_s
    return tuple(_timed(load, lambda at_s: at_s * factor) for load in loads)


def with_ramp(loads: Sequence[GroupLoad], ramp_s: float) -> tuple[GroupLoad, ...]:
    """Return the loads with this ramp for each one without stages, within its length."""
    ramp = f"--ramp={units.number_text(ramp_s)}"
    plain = [load for load in loads if not load.is_staged]
    if not plain:
        raise UsageError(f"{ramp}: the plan's loads have stages, which set how fast they grow", "leave --ramp out")
    for load in plain:
        if load.loops is None and ramp_s >= load.duration_s:
            what = f"{ramp} is not shorter than the load {load.group} ({units.number_text(load.duration_s)} s)"
            raise UsageError(what, "the ramp is part of the duration: give a longer --duration or a shorter --ramp")
    return tuple(load if load.is_staged else _lasting(load, ramp_s, load.duration_s) for load in loads)


def with_loops(loads: Sequence[GroupLoad], loops: int) -> tuple[GroupLoad, ...]:
    """Return the loads whose users each do so many loops; UsageError for one that only time ends."""
    for load in SeveralLoads(tuple(loads)).driven:
        if load.is_open or load.is_staged:
            staged = f"the load {load.group} has stages, which end by time"
            why = f"users of the open load {load.group} arrive until its time is over" if load.is_open else staged
            raise UsageError(f"--loops={loops}: {why}", "give --duration, or leave --loops out")
    return tuple(replace(load, loops=loops, stages=(replace(load.stages[0], for_s=0.0),)) for load in loads)


def until_steady(loads: Sequence[GroupLoad], most_s: float) -> tuple[GroupLoad, ...]:
    """Return the loads with the length `auto`: each lasts `most_s`, unless the harness ends all of them before."""
    check_graceful(loads, "--duration=auto")
    staged = next((load for load in SeveralLoads(tuple(loads)).driven if load.is_staged), None)
    if staged:
        what = f"--duration=auto: the load {staged.group} has stages, so the run has no steady state"
        raise UsageError(what, "give a time, such as --duration=5m")
    return tuple(
        load if load.is_staged else _lasting(load, min(load.ramp_s, most_s / SHARE_OF_RAMP), most_s) for load in loads
    )


def check_graceful(loads: Sequence[GroupLoad], option: str) -> None:
    """Raise a UsageError for a load that the harness cannot end before its time without failing its requests."""
    for load in SeveralLoads(tuple(loads)).driven:
        if load.fails_when_stopped:
            kind = "open load" if load.is_open else "load"
            what = f"{option}: JMeter cannot end the {kind} {load.group} gracefully"
            raise UsageError(what, "give a time, such as --duration=5m")


def _lasting(load: GroupLoad, ramp_s: float, duration_s: float) -> GroupLoad:
    """Return a load without stages with another ramp and length; one with loops has no length."""
    for_s = 0.0 if load.loops else duration_s - ramp_s
    return replace(load, stages=(replace(load.stages[0], over_s=ramp_s, for_s=for_s),))


def in_whole_seconds(loads: Sequence[GroupLoad]) -> tuple[GroupLoad, ...]:
    """Return the loads with the stages of closed ones at whole seconds: JMeter's thread groups know no others.

    A closed load lasts at least a second, however short a --duration makes it.
    """
    return tuple(load if load.is_open else _in_whole_seconds(load) for load in loads)


def _in_whole_seconds(load: GroupLoad) -> GroupLoad:
    whole = _timed(load, lambda at_s: math.floor(at_s + 0.5))
    if whole.loops or whole.duration_s:
        return whole
    return replace(whole, stages=(*whole.stages[:-1], replace(whole.stages[-1], for_s=1.0)))


def _timed(load: GroupLoad, moved: Callable[[float], float]) -> GroupLoad:
    """Return a load with every begin and end of a stage moved; times count from the start of the load, s."""
    stages, at_s = [], 0.0
    for stage in load.stages:
        full_s = at_s + stage.over_s
        end_s = full_s + stage.for_s
        over_s, for_s = moved(full_s) - moved(at_s), moved(end_s) - moved(full_s)
        stages.append(replace(stage, over_s=round(over_s, 3), for_s=round(for_s, 3)))
        at_s = end_s
    return replace(load, stages=tuple(stages))
