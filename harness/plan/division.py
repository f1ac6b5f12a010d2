"""Divides the load of a run among its parts, so that the sums are those of the whole in every stage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.base.errors import UsageError
from harness.plan.load.groups import GroupLoad, SeveralLoads, Stage
from harness.plan.load.model import ClosedLoad, Load, OpenLoad, Part
from harness.plan.load.scaling import REQUESTS_LEAST_PER_S


def users_each(users: int, count: int) -> tuple[int, ...]:
    """Return the users of each of `count` generators; UsageError if one has none."""
    if users < count:
        what = f"--users={users} is less than the {count} generators, so one would have no users"
        raise UsageError(what, "give more users, or fewer load generators")
    return tuple(users // count + (number < users % count) for number in range(count))


def check_users(load: Load, count: int) -> None:
    """Raise UsageError if one of `count` generators would have no users, or none of one of several loads."""
    if count:
        part_of(load, Part(count, count))


def count_of_parts(load: Load, most: int) -> int:
    """Return how many of `most` parts there are of a load, so that each has a user of each load with users."""
    loads = load.loads if isinstance(load, SeveralLoads) else (load,)
    return min([most, *(load.users for load in loads if not isinstance(load, OpenLoad) and load.users)])


def part_of(load: Load, part: Part) -> Load:
    """Return the load of one part of a run: its share of users and rates, for the whole time.

    A number of requests and --duration=auto are left out: only the whole run knows when it has enough samples.
    """
    if isinstance(load, SeveralLoads):
        return SeveralLoads(parts(load.loads, part.count)[part.number - 1])
    if isinstance(load, ClosedLoad):
        users = users_each(load.users, part.count)[part.number - 1]
        return replace(load, users=users, requests=None, is_auto=False)
    return replace(load, rate_per_s=load.rate_per_s / part.count)


def shares(load: Load, count: int) -> list[tuple[int | None, float | None]]:
    """Return users and new users per second of each of `count` parts; None for what the load does not have."""
    loads = (part_of(load, Part(number, count)) for number in range(1, count + 1))
    return [
        (None, one.rate_per_s) if isinstance(one, OpenLoad) else (one.users, getattr(one, "rate_per_s", None))
        for one in loads
    ]


def parts(loads: Sequence[GroupLoad], count: int) -> tuple[tuple[GroupLoad, ...], ...]:
    """Return the loads of each of `count` generators; the first generators have one user more.

    Each stage is divided by itself, so that the sums are those of the plan in every stage. A rate is divided equally.
    UsageError for a load with fewer users than generators, because one of them would not have it.
    """
    for load in loads:
        if 0 < (load.users or 0) < count:
            what = f"the load {load.group} has {load.users} of the users, less than the {count} generators"
            raise UsageError(what, "give more users, or fewer load generators")
    loads_of_generators = tuple(
        tuple(replace(load, stages=tuple(_part(stage, number, count) for stage in load.stages)) for load in loads)
        for number in range(count)
    )
    for load in loads_of_generators[-1]:  # no other part is smaller
        least = min(stage.requests_per_s or REQUESTS_LEAST_PER_S for stage in load.stages)
        if least < REQUESTS_LEAST_PER_S:
            stage = f"a stage of {least:.3g} requests/s for each of {count} generators"
            todo = "give more users, or fewer load generators: a timer lets at least one pass in each second"
            raise UsageError(f"the load {load.group} has {stage}", todo)
    return loads_of_generators


def _part(stage: Stage, number: int, count: int) -> Stage:
    if stage.users is None:
        return replace(stage, rate_per_s=(stage.rate_per_s or 0.0) / count)
    users = stage.users // count + (number < stage.users % count)
    if stage.requests_per_s is None:
        return replace(stage, users=users)
    return replace(stage, users=users, requests_per_s=stage.requests_per_s * users / stage.users)
