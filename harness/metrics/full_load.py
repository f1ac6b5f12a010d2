"""Finds when the load was full: without its ramp and its tail.

The load is full from the second after the active users first reach their target until they are last at the target. With
an open load, or a JTL without users, the plan gives the ramp and the end of the arrivals; the tail also includes the
last seconds if they have fewer than half the usual samples per second. The first and the last second are never counted:
the run covers only part of them, and only fast samples can end in the first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from harness.metrics.interval import Interval
from harness.metrics.timeline import SecondFigures

# A number of users counts as a level when it lasts at least three seconds.
_LEVEL_LEAST_S = 3


class Drive(NamedTuple):
    """How the plan drives: its users, whether their number is constant, its ramp-up and duration; None if unknown.

    When users are not controlled (`users_are_driven` False: an open load) or not known, ramp and duration are used.
    """

    user_count: int | None = None
    users_are_driven: bool = True
    ramp_s: float = 0.0
    duration_s: float | None = None


def full_load_s(seconds: Sequence[SecondFigures], drive: Drive) -> Interval:
    """Return the interval without ramp and tail, in s after the first start of the load."""
    by_users = _full_load_by_users(seconds, drive.user_count) if drive.users_are_driven else None
    return by_users or _full_load_by_arrivals(seconds, drive.ramp_s, drive.duration_s)


def _full_load_by_users(seconds: Sequence[SecondFigures], target_users: int | None) -> Interval | None:
    """Return when the users are the target, or else the largest stable number of users; None if unknown.

    Full load lasts until the number of users falls for good: a system that stalls at the end is not a tail.
    """
    users = {second: one.active_users for second, one in enumerate(seconds) if one.active_users is not None}
    if (stable := _stable_users(list(users.values()))) is None:
        return None
    target = stable if target_users is None else min(stable, target_users)
    full = [second for second, count in users.items() if count >= target]
    # Users may already have left within the last full second: it is complete only if the next sample is later.
    left_s = next((second for second in users if second > full[-1]), len(seconds))
    return Interval(full[0] + 1, left_s - 1)


def _stable_users(seen: Sequence[int]) -> int | None:
    """Return the greatest stable number of users in seconds with samples; None without one.

    It lasts three seconds or more, and covers half of the seconds between its first and last. When users come and go,
    as with an open load, it is the usual number, not the peak.
    """
    by_users: dict[int, list[int]] = {}
    for index, users in enumerate(seen):
        by_users.setdefault(users, []).append(index)
    count, first, last = 0, len(seen), -1
    for users, indexes in sorted(by_users.items(), reverse=True):
        count, first, last = count + len(indexes), min(first, indexes[0]), max(last, indexes[-1])
        if count >= _LEVEL_LEAST_S and 2 * count >= last - first + 1:
            return users
    return None


def _full_load_by_arrivals(seconds: Sequence[SecondFigures], ramp_s: float, duration_s: float | None) -> Interval:
    """Return when users arrive at the full rate."""
    from_s = max(1, math.ceil(ramp_s))
    if duration_s is not None:
        return Interval(from_s, max(from_s, min(len(seconds) - 1, math.floor(duration_s))))
    to_s = len(seconds) - 1
    counts = sorted(figures.sample_count for figures in seconds[from_s:to_s])
    while to_s > from_s and seconds[to_s - 1].sample_count < max(1, counts[len(counts) // 2] / 2):
        to_s -= 1
    return Interval(from_s, to_s)
