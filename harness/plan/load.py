"""The load of a run: what the command line and the plan say of it become a closed or an open load."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from harness.base import units
from harness.base.errors import UsageError
from harness.plan.plan import AUTO_LEAST_S, DURATION_MAX_S, LOOPS_MAX, REQUESTS_MAX, USERS_MAX, PlanLoad

CLOSED, OPEN = "closed", "open"
RATE_MAX_PER_S = 100_000.0
# When only DURATION is given, the ramp takes at most this part (a quarter) of it.
SHARE_OF_RAMP = 4
AUTO = "auto"
AUTO_MOST_S = 600.0


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
    """Users who arrive at a rate whatever the answers take: JMeter's Open Model Thread Group."""

    rate_per_s: float
    ramp_s: float
    duration_s: float


@dataclass(frozen=True)
class LoadRecord:
    """The load that was asked for; fields that the model does not have are None.

    With `is_auto` it may end before `duration_s`, as soon as it is steady and its mean known well enough; else None.
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


@dataclass(frozen=True)
class LoadArguments:
    """The load as the command line gives it: texts, None where nothing was said."""

    users: str | None = None
    ramp: str | None = None
    duration: str | None = None
    loops: str | None = None
    rate: str | None = None
    requests: str | None = None
    most: str | None = None


def resolve_load(arguments: LoadArguments, default: PlanLoad) -> ClosedLoad | OpenLoad:
    """Return the load to drive: the arguments where given, else the plan's defaults; UsageError on nonsense.

    A default ramp never breaks a run: it is cut to a quarter of a DURATION that was given, and without one the
    duration grows to twice the ramp. A RAMP that was given and does not fit is refused.
    """
    if arguments.loops and arguments.duration:
        raise UsageError(f"LOOPS={arguments.loops} and DURATION={arguments.duration} exclude each other", "give one")
    ramp_s = None if not arguments.ramp else units.parse_duration_s(arguments.ramp, "RAMP")
    duration_s = _auto_most_s(arguments, default)
    is_auto = duration_s is not None
    if arguments.duration and not is_auto:
        duration_s = units.parse_duration_s(arguments.duration, "DURATION")
        if not 1 <= duration_s <= DURATION_MAX_S:
            raise UsageError(f"DURATION={arguments.duration}: must be from 1 s to 7 days")
    if arguments.rate:
        open_s = default.duration_s if is_auto else duration_s or default.duration_s
        if open_s is None:
            raise UsageError(f"RATE={arguments.rate}: the plan has loops and no duration", "give a DURATION, too")
        return _open_load(arguments, arguments.rate, ramp_s or 0.0, open_s)
    users = default.users
    if arguments.users:
        users = units.parse_whole_number(arguments.users, "USERS", 1, USERS_MAX)
    requests = default.requests
    if arguments.requests:
        requests = units.parse_whole_number(arguments.requests, "REQUESTS", 1, REQUESTS_MAX)
    loops = None
    if arguments.loops:
        loops = units.parse_whole_number(arguments.loops, "LOOPS", 1, LOOPS_MAX)
    elif duration_s is None:
        loops = default.loops
    if loops:
        return _whole_seconds(users, default.ramp_s(users) if ramp_s is None else ramp_s, None, loops, requests)
    default_s = default.duration_s or 0.0  # 0 where the plan has loops: then a DURATION was given
    if ramp_s is not None:
        duration_s = duration_s or default_s
        _check_ramp(arguments, ramp_s, duration_s)
    elif duration_s is not None:
        ramp_s = min(default.ramp_s(users), duration_s / SHARE_OF_RAMP)
    else:
        ramp_s = default.ramp_s(users)
        duration_s = max(default_s, 2 * ramp_s)
    return replace(_whole_seconds(users, ramp_s, duration_s, None, requests), is_auto=is_auto)


def _auto_most_s(arguments: LoadArguments, default: PlanLoad) -> float | None:
    """Return how long a load of the length `auto` may last, s; None where it has another length."""
    is_asked = (arguments.duration or "").lower() == AUTO
    if is_asked and arguments.rate:
        what = f"RATE={arguments.rate} and DURATION={arguments.duration} exclude each other"
        raise UsageError(what, "JMeter cannot end an open load gracefully: give a DURATION such as 5m")
    is_default = default.auto_most_s is not None and not (arguments.duration or arguments.loops or arguments.rate)
    if not is_asked and not is_default:
        if arguments.most:
            raise UsageError(f"MAX={arguments.most}: only DURATION=auto has one", "leave it out, or give DURATION=auto")
        return None
    most_s = default.auto_most_s or AUTO_MOST_S
    if arguments.most:
        most_s = units.parse_duration_s(arguments.most, "MAX")
        if not AUTO_LEAST_S <= most_s <= DURATION_MAX_S:
            least = f"it takes {AUTO_LEAST_S:.0f} s and more to see that a load is steady; at most 7 days"
            short = "too short" if most_s < AUTO_LEAST_S else "too long"
            raise UsageError(f"MAX={arguments.most}: {short} for DURATION=auto", least)
    return most_s


def _whole_seconds(
    users: int, ramp_s: float, duration_s: float | None, loops: int | None, requests: int | None
) -> ClosedLoad:
    """Return the closed load in whole seconds: JMeter's Thread Group takes 2.5 for 0."""
    whole_s = None if duration_s is None else math.ceil(duration_s)
    return ClosedLoad(users, math.floor(ramp_s + 0.5), whole_s, loops, requests)


def _open_load(arguments: LoadArguments, rate: str, ramp_s: float, duration_s: float) -> OpenLoad:
    for name, value in (("USERS", arguments.users), ("LOOPS", arguments.loops), ("REQUESTS", arguments.requests)):
        if value:
            raise UsageError(
                f"RATE={rate} and {name}={value} exclude each other",
                "with RATE the number of users follows from the response time, and that of requests from the "
                f"duration; leave {name} out",
            )
    rate_per_s = units.parse_number(rate, "RATE", 0.0, RATE_MAX_PER_S)
    _check_ramp(arguments, ramp_s, duration_s)
    return OpenLoad(rate_per_s, ramp_s, duration_s)


def _check_ramp(arguments: LoadArguments, ramp_s: float, duration_s: float) -> None:
    if ramp_s >= duration_s:
        limit = f"DURATION={arguments.duration}" if arguments.duration else "the plan's duration"
        raise UsageError(
            f"RAMP={arguments.ramp} is not shorter than {limit} ({units.number_text(duration_s)} s)",
            "the ramp is part of the duration: give a longer DURATION or a shorter RAMP",
        )


def load_record(load: ClosedLoad | OpenLoad, think_time_s: float) -> LoadRecord:
    """Return what run.json says of a load."""
    if isinstance(load, OpenLoad):
        return LoadRecord(OPEN, None, load.rate_per_s, load.ramp_s, load.duration_s, None, think_time_s)
    return LoadRecord(
        CLOSED,
        load.users,
        None,
        load.ramp_s,
        load.duration_s,
        load.loops,
        think_time_s,
        load.requests,
        load.is_auto or None,
    )
