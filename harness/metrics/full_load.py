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
from harness.metrics.load_seconds import spells_of
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
    by_users = _full_load_by_users(seconds, drive) if drive.users_are_driven else None
    return by_users or _full_load_by_arrivals(seconds, drive.ramp_s, drive.duration_s)


def _full_load_by_users(seconds: Sequence[SecondFigures], drive: Drive) -> Interval | None:
    """Return when the users are the target, or else the largest stable number of users; None if unknown.

    Full load lasts until the number of users falls for good: a system that stalls at the end is not a tail. It ends
    with the planned duration: after it, users only wait for the last answers.
    """
    spells = [spell for spell in spells_of(seconds) if spell.value.active_users is not None]
    users = [(spell.value.active_users or 0, spell.length_s) for spell in spells]
    if (stable := _stable_users(users)) is None:
        return None
    target = stable if drive.user_count is None else min(stable, drive.user_count)
    full = [at for at, (count, _) in enumerate(users) if count >= target]
    # Users may already have left within the last full second: it is complete only if the next sample is later.
    left_s = spells[full[-1] + 1].from_s if full[-1] + 1 < len(spells) else len(seconds)
    from_s = spells[full[0]].from_s + 1
    planned_s = left_s if drive.duration_s is None else max(from_s, math.ceil(drive.duration_s))
    return Interval(from_s, min(left_s - 1, planned_s))


def _stable_users(seen: Sequence[tuple[int, int]]) -> int | None:
    """Return the greatest stable number of users; None without one. `seen` are users and for how many seconds.

    It lasts three seconds or more, and covers half of the seconds between its first and last. When users come and go,
    as with an open load, it is the usual number, not the peak.
    """
    lasted: dict[int, tuple[int, int, int]] = {}
    total_s = 0
    for users, length_s in seen:
        seconds, first, _ = lasted.get(users, (0, total_s, 0))
        total_s += length_s
        lasted[users] = seconds + length_s, first, total_s - 1
    count, first, last = 0, total_s, -1
    for users, own in sorted(lasted.items(), reverse=True):
        count, first, last = count + own[0], min(first, own[1]), max(last, own[2])
        if count >= _LEVEL_LEAST_S and 2 * count >= last - first + 1:
            return users
    return None


def _full_load_by_arrivals(seconds: Sequence[SecondFigures], ramp_s: float, duration_s: float | None) -> Interval:
    """Return when users arrive at the full rate."""
    from_s = max(1, math.ceil(ramp_s))
    if duration_s is not None:
        return Interval(from_s, max(from_s, min(len(seconds) - 1, math.floor(duration_s))))
    to_s = len(seconds) - 1
    spells = [(spell.length_s, spell.value.sample_count) for spell in spells_of(seconds[from_s:to_s])]
    usual, before_s = 0, 0
    for length_s, count in sorted(spells, key=lambda spell: spell[1]):
        if before_s <= (to_s - from_s) // 2 < before_s + length_s:
            usual = count
        before_s += length_s
    while spells and spells[-1][1] < max(1, usual / 2):
        to_s -= spells.pop()[0]
    return Interval(from_s, to_s)
