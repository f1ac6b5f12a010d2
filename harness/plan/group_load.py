"""The loads of a plan with [[load]] tables: each drives one thread group of the JMX, in stages.

USERS, RATE and DURATION of a command line scale all of them in proportion.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from harness.base import units
from harness.base.errors import UsageError


@dataclass(frozen=True)
class Stage:
    """A stage of a load: it goes to its users, or new users per second, within `over_s`, and stays there for `for_s`.

    Either `users` or `rate_per_s` is None.
    """

    users: int | None
    rate_per_s: float | None
    over_s: float
    for_s: float

    @property
    def level(self) -> float:
        """The users, or the new users per second."""
        return (self.rate_per_s or 0.0) if self.users is None else float(self.users)


@dataclass(frozen=True)
class GroupLoad:
    """The load of one thread group; `think_time_s` is the mean pause before a request.

    All stages have users (closed model), or all have rates (open model). Without stages in the plan there is one.
    """

    group: str
    stages: tuple[Stage, ...]
    think_time_s: float = 0.0

    @property
    def is_open(self) -> bool:
        """Whether its users arrive at a rate."""
        return self.stages[0].rate_per_s is not None

    @property
    def is_staged(self) -> bool:
        """Whether its users or its rate change after the ramp."""
        return len(self.stages) > 1

    @property
    def level(self) -> float:
        """The greatest users, or new users per second, of its stages."""
        return max(stage.level for stage in self.stages)

    @property
    def users(self) -> int | None:
        """The greatest users of its stages; None in the open model."""
        return None if self.is_open else int(self.level)

    @property
    def rate_per_s(self) -> float | None:
        """The greatest rate of its stages; None in the closed model."""
        return self.level if self.is_open else None

    @property
    def ramp_s(self) -> float:
        """The time until its first level."""
        return self.stages[0].over_s

    @property
    def duration_s(self) -> float:
        """The length of all stages."""
        return sum(stage.over_s + stage.for_s for stage in self.stages)

    @property
    def longest_peak_s(self) -> float:
        """How long it stays at its greatest users or rate without a change."""
        return max(stage.for_s for stage in self.stages if stage.level == self.level)

    def text(self) -> str:
        """Return the load as text: `20 users, ramp 10 s, 300 s in all`."""
        if self.is_staged:
            steps = ", ".join(_stage_text(stage) for stage in self.stages)
            text = f"{steps}; {units.number_text(self.duration_s)} s in all"
        else:
            ramp = f", ramp {units.number_text(self.ramp_s)} s" if self.ramp_s else ""
            text = f"{_level_text(self.stages[0])}{ramp}, {units.number_text(self.duration_s)} s in all"
        return f"{text}, think time {units.number_text(self.think_time_s)} s" if self.think_time_s else text


def _level_text(stage: Stage) -> str:
    if stage.users is None:
        return f"{units.number_text(stage.rate_per_s or 0.0)} new users/s"
    return units.plural(stage.users, "user")


def _stage_text(stage: Stage) -> str:
    over = f" over {units.number_text(stage.over_s)} s" if stage.over_s else ""
    hold = f" for {units.number_text(stage.for_s)} s" if stage.for_s else ""
    return f"{_level_text(stage)}{over}{hold}"


@dataclass(frozen=True)
class SeveralLoads:
    """The loads of one run, in the order of the plan; one with 0 users or a rate of 0 does not run."""

    loads: tuple[GroupLoad, ...]

    @property
    def driven(self) -> tuple[GroupLoad, ...]:
        """The loads that run."""
        return tuple(load for load in self.loads if load.level)

    @property
    def has_open(self) -> bool:
        """Whether the users of one of the loads arrive at a rate."""
        return any(load.is_open for load in self.driven)

    @property
    def is_staged(self) -> bool:
        """Whether users or rate of one of the loads change after the ramp."""
        return any(load.is_staged for load in self.driven)

    @property
    def users(self) -> int | None:
        """The users of all closed loads, each at its greatest; None without one."""
        return total_users(self.driven)

    @property
    def rate_per_s(self) -> float | None:
        """The new users per second of all open loads, each at its greatest; None without one."""
        rates = [load.level for load in self.driven if load.is_open]
        return sum(rates) if rates else None

    @property
    def ramp_s(self) -> float:
        """The time until each load has reached its first level."""
        return max((load.ramp_s for load in self.driven), default=0.0)

    @property
    def duration_s(self) -> float:
        """The length of the longest load."""
        return max((load.duration_s for load in self.driven), default=0.0)

    @property
    def think_time_s(self) -> float:
        """The mean think time of the users of closed loads."""
        users = total_users(self.driven) or 0
        waited_s = sum((load.users or 0) * load.think_time_s for load in self.driven)
        return round(waited_s / users, 3) if users else 0.0

    @property
    def requests(self) -> None:
        """No number of samples ends several loads."""
        return None


def total_users(loads: Iterable[GroupLoad]) -> int | None:
    """Return the users of all closed loads, each at its greatest; None without one."""
    users = [load.users for load in loads if load.users is not None]
    return sum(users) if users else None


def shares(weights: Sequence[int], total: int) -> tuple[int, ...]:
    """Return `total` divided in proportion to whole weights: each part is 1 or more, unless its weight is 0.

    By the method of the largest remainder (Hamilton); of equal remainders the first weight wins. A part below 1 gets 1,
    and the others divide the rest. `total` must not be less than the number of weights above 0.
    """
    parts = [0] * len(weights)
    open_places = [place for place, weight in enumerate(weights) if weight]
    left = total
    while open_places:
        whole = sum(weights[place] for place in open_places)
        too_small = [place for place in open_places if weights[place] * left < whole]
        if not too_small:
            break
        for place in too_small:
            parts[place] = 1
        left -= len(too_small)
        open_places = [place for place in open_places if place not in too_small]
    if open_places:
        whole = sum(weights[place] for place in open_places)
        for place in open_places:
            parts[place] = weights[place] * left // whole
        missing = left - sum(parts[place] for place in open_places)
        by_remainder = sorted(open_places, key=lambda place: -(weights[place] * left % whole))
        for place in by_remainder[:missing]:
            parts[place] += 1
    return tuple(parts)


def with_users(loads: Sequence[GroupLoad], users: int) -> tuple[GroupLoad, ...]:
    """Return the loads with `users` in all, divided in proportion; the stages of a load scale with its greatest one."""
    closed = [load for load in loads if load.users]
    if not closed:
        raise UsageError(f"USERS={users}: none of the plan's loads has users", "give RATE, or leave USERS out")
    if users < len(closed):
        what = f"USERS={users} is less than the {len(closed)} loads with users, so one would have none"
        raise UsageError(what, "give more users, or set the users of a load to 0 in the plan")
    parts = iter(shares([load.users or 0 for load in closed], users))
    return tuple(_scaled_users(load, next(parts)) if load.users else load for load in loads)


def _scaled_users(load: GroupLoad, users: int) -> GroupLoad:
    def scaled(stage: Stage) -> Stage:
        wanted = (stage.users or 0) * users / load.level
        return replace(stage, users=max(1, math.floor(wanted + 0.5)) if stage.users else 0)

    return replace(load, stages=tuple(map(scaled, load.stages)))


def with_rate(loads: Sequence[GroupLoad], rate_per_s: float) -> tuple[GroupLoad, ...]:
    """Return the loads with this rate in all, divided in proportion."""
    total = sum(load.level for load in loads if load.is_open)
    if not total:
        todo = "give USERS, or leave RATE out"
        raise UsageError(f"RATE={units.number_text(rate_per_s)}: none of the plan's loads has a rate", todo)

    def scaled(stage: Stage) -> Stage:
        return stage if stage.rate_per_s is None else replace(stage, rate_per_s=stage.rate_per_s * rate_per_s / total)

    return tuple(replace(load, stages=tuple(map(scaled, load.stages))) for load in loads)


def with_duration(loads: Sequence[GroupLoad], duration_s: float) -> tuple[GroupLoad, ...]:
    """Return the loads stretched or compressed in time, ramps and stages included; the longest lasts `duration_s`."""
    factor = duration_s / SeveralLoads(tuple(loads)).duration_s
    return _timed(loads, lambda at_s: at_s * factor)


def with_ramp(loads: Sequence[GroupLoad], ramp_s: float) -> tuple[GroupLoad, ...]:
    """Return the loads with this ramp for each one without stages, within its length."""
    ramp = f"RAMP={units.number_text(ramp_s)}"
    plain = [load for load in loads if not load.is_staged]
    if not plain:
        raise UsageError(f"{ramp}: the plan's loads have stages, which say how fast they grow", "leave RAMP out")
    for load in plain:
        if ramp_s >= load.duration_s:
            what = f"{ramp} is not shorter than the load {load.group} ({units.number_text(load.duration_s)} s)"
            raise UsageError(what, "the ramp is part of the duration: give a longer DURATION or a shorter RAMP")
    return tuple(
        load
        if load.is_staged
        else replace(load, stages=(replace(load.stages[0], over_s=ramp_s, for_s=load.duration_s - ramp_s),))
        for load in loads
    )


def in_whole_seconds(loads: Sequence[GroupLoad]) -> tuple[GroupLoad, ...]:
    """Return the loads with the stages of closed ones at whole seconds: JMeter's thread groups know no others."""
    closed = [load for load in loads if not load.is_open]
    whole = dict(zip(closed, _timed(closed, lambda at_s: math.floor(at_s + 0.5)), strict=True))
    return tuple(whole.get(load, load) for load in loads)


def _timed(loads: Sequence[GroupLoad], moved: Callable[[float], float]) -> tuple[GroupLoad, ...]:
    """Return the loads with every begin and end of a stage moved; times count from the start of the load, s."""
    found = []
    for load in loads:
        stages, at_s = [], 0.0
        for stage in load.stages:
            full_s = at_s + stage.over_s
            end_s = full_s + stage.for_s
            over_s, for_s = moved(full_s) - moved(at_s), moved(end_s) - moved(full_s)
            stages.append(replace(stage, over_s=round(over_s, 3), for_s=round(for_s, 3)))
            at_s = end_s
        found.append(replace(load, stages=tuple(stages)))
    return tuple(found)
