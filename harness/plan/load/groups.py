"""The loads of a plan with [[load]] tables: each drives one thread group of the JMX, in stages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from harness.base import units

# What the pause of a user belongs to: every request, or every Transaction Controller.
REQUEST, TRANSACTION = "request", "transaction"
# The name of a tenant becomes part of a thread's name.
TENANT = re.compile(r"[\w.-]{1,60}")


@dataclass(frozen=True)
class Stage:
    """A stage of a load: it goes to its users, or new users per second, within `over_s`, and stays there for `for_s`.

    Either `users` or `rate_per_s` is None. With `requests_per_s` it goes to that rate of requests, and `users`, the
    same in all stages, send them; None without.
    """

    users: int | None
    rate_per_s: float | None
    over_s: float
    for_s: float
    requests_per_s: float | None = None

    @property
    def level(self) -> float:
        """The users, or the new users per second."""
        return (self.rate_per_s or 0.0) if self.users is None else float(self.users)


@dataclass(frozen=True)
class GroupLoad:
    """The load of one thread group; `think_time_s` is the mean pause before a request, or per `think_time_per`.

    All stages have users (closed model), or all have rates (open model). Without stages in the plan there is one. Where
    users do so many `loops`, that one has a ramp only. `think_time_per` is `transaction` when users pause once per
    transaction; None for a pause per request. With `is_paced` a throughput timer of the JMX pauses them, too; None
    without one.

    With `users_return` a user of an open load who is done does the next arrival, too; None if each one is a new user.

    A load with a `tenant` drives a copy of its thread group, named after both. `properties` are values that its group
    reads instead of the plan's.
    """

    group: str
    stages: tuple[Stage, ...]
    think_time_s: float = 0.0
    think_time_per: str | None = None
    loops: int | None = None
    is_paced: bool | None = None
    users_return: bool | None = None
    tenant: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def thread_group(self) -> str:
        """The name of its thread group in the plan."""
        return self.group if self.tenant is None else self.group.removesuffix(f" ({self.tenant})")

    @property
    def is_open(self) -> bool:
        """Whether its users arrive at a rate."""
        return self.stages[0].rate_per_s is not None

    @property
    def is_shaped(self) -> bool:
        """Whether a timer lets its users send the requests per second of its stages."""
        return self.stages[0].requests_per_s is not None

    @property
    def thread_names(self) -> str:
        """The names of its threads up to their numbers: groups of jmeter-plugins (2.10) add a suffix to their own."""
        return f"{self.group}-ThreadStarter" if self.is_shaped or self.users_return else self.group

    @property
    def fails_when_stopped(self) -> bool:
        """Whether its running requests fail when JMeter is stopped before their load has ended."""
        return self.is_open or self.is_shaped

    @property
    def is_staged(self) -> bool:
        """Whether its users or its rate change after the ramp."""
        return len(self.stages) > 1 or self.is_shaped

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

    def is_at_peak(self, from_s: float, to_s: float) -> bool:
        """Return whether it has its greatest users or rate from one instant to another, s after its start."""
        begin_s, since_s = 0.0, None
        for stage in self.stages:
            full_s, end_s = begin_s + stage.over_s, begin_s + stage.over_s + stage.for_s
            since_s = None if stage.level != self.level else full_s if since_s is None else since_s
            if since_s is not None and since_s <= from_s and to_s <= end_s:
                return True
            begin_s = end_s
        return False

    def level_at(self, at_s: float) -> float:
        """Return its users, or its new users per second, at an instant, s after its start; 0 before and after it."""
        level, left_s = 0.0, at_s
        for stage in self.stages if at_s >= 0 else ():
            if left_s < stage.over_s:
                return level + (stage.level - level) * left_s / stage.over_s
            if left_s < stage.over_s + stage.for_s:
                return stage.level
            level, left_s = stage.level, left_s - stage.over_s - stage.for_s
        return 0.0

    def text(self) -> str:
        """Return the load as text: `20 users, ramp 10 s, 300 s in all`."""
        steps, length = ", ".join(map(_stage_text, self.stages)), f"{units.number_text(self.duration_s)} s in all"
        if self.is_shaped:
            return f"{steps}; by {units.plural(self.users or 0, 'user')}, {length}"
        ramp = f", ramp {units.number_text(self.ramp_s)} s" if self.ramp_s else ""
        text = f"{_level_text(self.stages[0])}{ramp}, {length_text(self.duration_s, self.loops)}"
        length = f"{length}, users return" if self.users_return else length
        text = f"{text}, users return" if self.users_return else text
        text = f"{steps}; {length}" if self.is_staged else text
        per = f" per {self.think_time_per}" if self.think_time_per else ""
        return f"{text}, think time {units.number_text(self.think_time_s)} s{per}" if self.think_time_s else text


def length_text(duration_s: float | None, loops: int | None) -> str:
    """Return the length of a load as text: `300 s in all`, `5 loops each`."""
    if loops or not duration_s:
        return f"{units.plural(loops or 0, 'loop')} each"
    return f"{units.number_text(duration_s)} s in all"


def _level_text(stage: Stage) -> str:
    if stage.requests_per_s is not None:
        return f"{units.number_text(stage.requests_per_s)} requests/s"
    if stage.users is None:
        return f"{units.number_text(stage.rate_per_s or 0.0)} new users/s"
    return units.plural(stage.users, "user")


def _stage_text(stage: Stage) -> str:
    over = f" over {units.number_text(stage.over_s)} s" if stage.over_s else ""
    constant = f" for {units.number_text(stage.for_s)} s" if stage.for_s else ""
    return f"{_level_text(stage)}{over}{constant}"


@dataclass(frozen=True)
class SeveralLoads:
    """The loads of one run, in the order of the plan; one with 0 users or a rate of 0 does not run.

    After about `requests` samples of all loads the harness ends them. With `is_auto` it ends them as soon as they are
    steady and their mean is known well enough.
    """

    loads: tuple[GroupLoad, ...]
    requests: int | None = None
    is_auto: bool = False

    @property
    def driven(self) -> tuple[GroupLoad, ...]:
        """The loads that run."""
        return tuple(load for load in self.loads if load.level)

    @property
    def has_open(self) -> bool:
        """Whether the users of one of the loads arrive at a rate."""
        return any(load.is_open for load in self.driven)

    @property
    def fails_when_stopped(self) -> bool:
        """Whether running requests of one of the loads fail when JMeter is stopped before the end."""
        return any(load.fails_when_stopped for load in self.driven)

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
    def duration_s(self) -> float | None:
        """The length of the longest load; None when only loops end them."""
        return None if self.loops else self.longest_s

    @property
    def longest_s(self) -> float:
        """The length of the longest load, of loops that of its ramp."""
        return max((load.duration_s for load in self.driven), default=0.0)

    @property
    def loops(self) -> int | None:
        """The loops of each user; None when time ends the loads."""
        return next((load.loops for load in self.driven), None)

    @property
    def think_time_s(self) -> float:
        """The mean think time of the users of closed loads."""
        users = total_users(self.driven) or 0
        waited_s = sum((load.users or 0) * load.think_time_s for load in self.driven)
        return round(waited_s / users, 3) if users else 0.0

    def is_full(self, from_s: float, to_s: float) -> bool:
        """Return whether each load has its greatest users or rate from one instant to another, s after the start."""
        return all(load.is_at_peak(from_s, to_s) for load in self.driven)


def total_users(loads: Iterable[GroupLoad]) -> int | None:
    """Return the users of all closed loads, each at its greatest; None without one."""
    users = [load.users for load in loads if load.users is not None]
    return sum(users) if users else None
