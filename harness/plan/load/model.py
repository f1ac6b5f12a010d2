"""The load of a run: command line and plan together give a closed load, an open one, or several."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NoReturn

from harness.base import units
from harness.base.errors import UsageError
from harness.plan.load import CLOSED, MIXED, OPEN
from harness.plan.load.groups import REQUEST, TRANSACTION, GroupLoad, SeveralLoads
from harness.plan.load.scaling import (
    SHARE_OF_RAMP,
    check_graceful,
    in_whole_seconds,
    until_steady,
    with_duration,
    with_loops,
    with_ramp,
    with_rate,
    with_users,
)

# The limits apply to both plans and the command line.
USERS_MAX = 100_000
LOOPS_MAX = REQUESTS_MAX = 1_000_000_000
DURATION_MAX_S = 7 * 86_400.0
RATE_MAX_PER_S = 100_000.0
PARTS_MAX = 100
AUTO = "auto"
AUTO_MOST_S = 600.0
# The least budget of a load that ends when it is steady: a ramp, a one-minute window, and a second check 10 s later.
AUTO_LEAST_S = 80.0


@dataclass(frozen=True)
class PlanLoad:
    """A plan's default load; `think_time_s` is the mean pause per request, or per transaction (`think_time_per`).

    It lasts `duration_s`, or `loops` iterations per user (the other is None), and at most about `requests` samples. A
    single user may have another ramp, because no users start one after the other. With `auto_most_s` a run lasts until
    it is steady, at most this long; `duration_s` then applies where auto is impossible: sweeps and open loads.
    `loads` are those of [[load]] tables; the other values then sum them up. With `is_paced` a throughput timer of the
    JMX pauses users, too.
    """

    users: int
    ramp_per_user_s: float
    duration_s: float | None
    think_time_s: float
    loops: int | None = None
    requests: int | None = None
    ramp_single_user_s: float | None = None
    auto_most_s: float | None = None
    think_time_per: str = REQUEST
    loads: tuple[GroupLoad, ...] = ()
    is_paced: bool = False

    @property
    def think_time(self) -> Mapping[str, str]:
        """Return the property with the think time; none of several loads, whose thread groups have theirs."""
        return {} if self.loads else {"think_time_ms": str(round(self.think_time_s * units.MS_PER_S))}

    def with_think_time(self, think_time_s: float) -> PlanLoad:
        """Return the load with another think time, in s; of several loads each gets it."""
        loads = tuple(replace(one, think_time_s=think_time_s) for one in self.loads)
        return replace(self, think_time_s=0.0 if loads else think_time_s, loads=loads)

    def ramp_s(self, users: int) -> float:
        """Return the default ramp for this number of users."""
        if users == 1 and self.ramp_single_user_s is not None:
            return self.ramp_single_user_s
        return users * self.ramp_per_user_s


@dataclass(frozen=True)
class ClosedLoad:
    """A fixed number of users who each wait for their answer: JMeter's Thread Group.

    After about `requests` samples the harness ends the load, whatever its duration. With `is_auto` it ends it as
    soon as it is steady and its mean is known well enough, at the latest after `duration_s`.
    """

    users: int
    ramp_s: float
    duration_s: float | None
    loops: int | None
    requests: int | None = None
    is_auto: bool = False


@dataclass(frozen=True)
class OpenLoad:
    """Users who arrive at a rate that does not depend on response times: JMeter's Open Model Thread Group."""

    rate_per_s: float
    ramp_s: float
    duration_s: float


Load = ClosedLoad | OpenLoad | SeveralLoads


@dataclass(frozen=True)
class Part:
    """Part `number`, counted from 1, of a run that is split into `count` parts."""

    number: int
    count: int

    def __str__(self) -> str:
        """Return it as --part gives it."""
        return f"{self.number}/{self.count}"


def parse_part(text: str) -> Part:
    """Return the part that a text such as 3/8 names; UsageError for another text."""
    number, _, count = text.partition("/")
    if number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count) <= PARTS_MAX:
        return Part(int(number), int(count))
    raise UsageError(
        f"--part={text}: not a part of a run", f"give number/count, such as 3/8; at most {PARTS_MAX} parts"
    )


@dataclass(frozen=True)
class LoadRecord:
    """The requested load; fields that the model does not have are None.

    With `is_auto` it may end before `duration_s`, as soon as it is steady and its mean known well enough; else None.
    `think_time_per` is `transaction` when users pause once per transaction; None for a pause per request.
    `loads` are those that ran side by side, each in a thread group of its own; None for a single one. Users and rate
    are then their sums, each load at its greatest; ramp and duration are those of the longest. The model is "mixed" if
    some of them are open and some closed. `is_paced` is True when a throughput timer of the JMX pauses users, None
    without one.
    """

    model: str
    users: int | None
    rate_per_s: float | None
    ramp_s: float
    duration_s: float | None
    loops: int | None
    think_time_s: float
    requests: int | None = None
    is_auto: bool | None = None
    think_time_per: str | None = None
    loads: tuple[GroupLoad, ...] | None = None
    is_paced: bool | None = None


# How messages call its fields; other fields have their own names.
LOAD_TITLES = {
    "rate_per_s": "rate (1/s)", "ramp_s": "ramp-up (s)", "duration_s": "duration (s)", "model": "load model",
    "think_time_s": "think time (s)", "think_time_per": "think time per", "is_auto": "--duration=auto",
    "is_paced": "paced by a timer",
}  # fmt: skip


@dataclass(frozen=True)
class LoadArguments:
    """The load as the command line gives it: texts, None where nothing was given."""

    users: str | None = None
    ramp: str | None = None
    duration: str | None = None
    loops: str | None = None
    rate: str | None = None
    requests: str | None = None
    most: str | None = None


@dataclass(frozen=True)
class LoadRequest:
    """The load that a command requests, None where it names no value; `most_s` limits a load that `is_auto`."""

    users: int | None = None
    ramp_s: float | None = None
    duration_s: float | None = None
    loops: int | None = None
    rate_per_s: float | None = None
    requests: int | None = None
    is_auto: bool = False
    most_s: float | None = None


def parse_load(arguments: LoadArguments) -> LoadRequest:
    """Return the load that the texts request, as numbers; UsageError when one is none, or too small or too large."""
    is_auto = (arguments.duration or "").lower() == AUTO
    duration_s = None
    if arguments.duration and not is_auto:
        duration_s = units.parse_duration_s(arguments.duration, "--duration")
        if not 1 <= duration_s <= DURATION_MAX_S:
            raise UsageError(f"--duration={arguments.duration}: must be from 1 s to 7 days")
    if "," in (arguments.users or ""):
        raise UsageError(f"--users={arguments.users}: a run has one number", "several are levels of lth sweep")
    return LoadRequest(
        users=_whole_number(arguments.users, "--users", USERS_MAX),
        ramp_s=units.parse_duration_s(arguments.ramp, "--ramp") if arguments.ramp else None,
        duration_s=duration_s,
        loops=_whole_number(arguments.loops, "--loops", LOOPS_MAX),
        rate_per_s=units.parse_number(arguments.rate, "--rate", 0.0, RATE_MAX_PER_S) if arguments.rate else None,
        requests=_whole_number(arguments.requests, "--requests", REQUESTS_MAX),
        is_auto=is_auto,
        most_s=units.parse_duration_s(arguments.most, "--max") if arguments.most else None,
    )


def _whole_number(text: str | None, name: str, most: int) -> int | None:
    return units.parse_whole_number(text, name, 1, most) if text else None


def resolve_load(request: LoadRequest, default: PlanLoad) -> Load:
    """Return the load to drive: the request, else the plan's defaults; UsageError on nonsense.

    A default ramp never breaks a run: it is cut to a quarter of a --duration that was given, and without one the
    duration grows to twice the ramp. A --ramp that was given and does not fit is refused. Several loads are scaled.
    """
    if request.loops and _duration_text(request):
        _refuse_both(f"--loops={request.loops}", f"--duration={_duration_text(request)}", "give one")
    duration_s = _auto_most_s(request, default)
    if default.loads:
        return _several_loads(request, default.loads, duration_s)
    is_auto = duration_s is not None
    duration_s = duration_s if is_auto else request.duration_s
    if request.rate_per_s is not None:
        return _open_load(request, default.duration_s if is_auto else duration_s or default.duration_s)
    users = request.users or default.users
    requests = request.requests or default.requests
    loops = request.loops or (default.loops if duration_s is None else None)
    ramp_s = request.ramp_s
    default_s = default.duration_s or 0.0  # 0 where the plan has loops: then a DURATION was given
    if loops:
        ramp_s, duration_s = default.ramp_s(users) if ramp_s is None else ramp_s, None
    elif ramp_s is not None:
        duration_s = duration_s or default_s
        _check_ramp(request, ramp_s, duration_s)
    elif duration_s is not None:
        ramp_s = min(default.ramp_s(users), duration_s / SHARE_OF_RAMP)
    else:
        ramp_s = default.ramp_s(users)
        duration_s = max(default_s, 2 * ramp_s)
    # JMeter's Thread Group takes 2.5 for 0.
    whole_s = None if duration_s is None else math.ceil(duration_s)
    return ClosedLoad(users, math.floor(ramp_s + 0.5), whole_s, loops, requests, is_auto)


def _several_loads(request: LoadRequest, loads: tuple[GroupLoad, ...], auto_most_s: float | None) -> SeveralLoads:
    """Return a plan's loads, scaled to the requested users, rate and length; `auto_most_s` limits auto."""
    if request.requests:
        check_graceful(loads, f"--requests={request.requests}")
    if request.users is not None:
        loads = with_users(loads, request.users)
    if request.rate_per_s is not None:
        loads = with_rate(loads, request.rate_per_s)
    if request.duration_s is not None:
        loads = with_duration(loads, request.duration_s)
    if auto_most_s is not None:
        loads = until_steady(loads, auto_most_s)
    if request.loops:
        loads = with_loops(loads, request.loops)
    if request.ramp_s is not None:
        loads = with_ramp(loads, request.ramp_s)
    return SeveralLoads(in_whole_seconds(loads), request.requests, auto_most_s is not None)


def _refuse_both(one: str, other: str, todo: str) -> NoReturn:
    raise UsageError(f"{one} and {other} cannot be used together", todo)


def _duration_text(request: LoadRequest) -> str:
    """Return the requested DURATION, as messages name it; empty without one."""
    return AUTO if request.is_auto else "" if request.duration_s is None else units.number_text(request.duration_s)


def _auto_most_s(request: LoadRequest, default: PlanLoad) -> float | None:
    """Return how long a load of the length `auto` may last, s; None where it has another length."""
    if request.is_auto and request.rate_per_s is not None:
        todo = "JMeter cannot end an open load gracefully: give a --duration such as 5m"
        _refuse_both(f"--rate={units.number_text(request.rate_per_s)}", f"--duration={AUTO}", todo)
    has_length = any(value is not None for value in (request.duration_s, request.loops, request.rate_per_s))
    is_default = default.auto_most_s is not None and not has_length
    most_s, option = request.most_s, f"--max={units.number_text(request.most_s or 0.0)}"
    if not request.is_auto and not is_default:
        if most_s is not None:
            raise UsageError(f"{option}: needs --duration=auto", "leave it out, or give --duration=auto")
        return None
    if most_s is None:
        return default.auto_most_s or AUTO_MOST_S
    if not AUTO_LEAST_S <= most_s <= DURATION_MAX_S:
        least = f"give {AUTO_LEAST_S:.0f} s to 7 days: detecting a steady load takes {AUTO_LEAST_S:.0f} s or more"
        raise UsageError(f"{option}: too {'short' if most_s < AUTO_LEAST_S else 'long'} for --duration=auto", least)
    return most_s


def _open_load(request: LoadRequest, duration_s: float | None) -> OpenLoad:
    assert request.rate_per_s is not None
    rate = f"--rate={units.number_text(request.rate_per_s)}"
    if duration_s is None:
        raise UsageError(f"{rate}: the plan has loops and no duration", "give --duration, too")
    for name, value in (("--users", request.users), ("--loops", request.loops), ("--requests", request.requests)):
        if value:
            todo = "with --rate, response time and duration determine the numbers of users and requests"
            _refuse_both(rate, f"{name}={value}", f"leave {name} out: {todo}")
    ramp_s = request.ramp_s or 0.0
    _check_ramp(request, ramp_s, duration_s)
    return OpenLoad(request.rate_per_s, ramp_s, duration_s)


def _check_ramp(request: LoadRequest, ramp_s: float, duration_s: float) -> None:
    if ramp_s >= duration_s:
        limit = f"--duration={_duration_text(request)}" if _duration_text(request) else "the plan's duration"
        what = f"--ramp={units.number_text(ramp_s)} is not shorter than {limit} ({units.number_text(duration_s)} s)"
        raise UsageError(what, "the ramp is part of the duration: give a longer --duration or a shorter --ramp")


def load_record(load: Load, plan: PlanLoad) -> LoadRecord:
    """Return the load for run.json; the think time is that of the plan, or of each of several loads."""
    per = TRANSACTION if plan.think_time_s and plan.think_time_per == TRANSACTION else None
    record = LoadRecord(
        model=CLOSED,
        users=None,
        rate_per_s=None,
        ramp_s=load.ramp_s,
        duration_s=load.duration_s,
        loops=None,
        think_time_s=plan.think_time_s,
        think_time_per=per,
        is_paced=plan.is_paced or None,
    )
    if isinstance(load, OpenLoad):
        return replace(record, model=OPEN, rate_per_s=load.rate_per_s)
    record = replace(record, users=load.users, loops=load.loops, requests=load.requests, is_auto=load.is_auto or None)
    if isinstance(load, SeveralLoads):
        model = CLOSED if not load.has_open else OPEN if load.users is None else MIXED
        record = replace(record, model=model, rate_per_s=load.rate_per_s, loads=load.driven)
        record = replace(record, think_time_s=load.think_time_s, think_time_per=None)
    return record
