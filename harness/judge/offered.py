"""Compares the users, arrivals or requests that a load asked for, second by second, with those that were there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from harness.base import units
from harness.judge.users_counted import begin_s
from harness.metrics.downsampling import chunks

if TYPE_CHECKING:
    from harness.judge.curve import RequestCurve
    from harness.plan.load.groups import GroupLoad
    from harness.run.group_counts import GroupCounts

# A load begins so many seconds earlier or later than the first user shows.
_SHIFT_S = 2
# JMeter ends a user who would pause beyond their end: so many of a user's usual requests before it.
LAST_REQUESTS = 2.0
# A shorter part of a second of a user is the edge of a ramp.
_PART_OF_USER = 0.5
# Arrivals come at random times: a part of so many has so many standard deviations less by chance.
_ARRIVALS_LEAST, _PART_S, _DEVIATIONS = 100, 10, 4.0
# A timer meets its requests per second within this share.
_TIMER_RATIO = 0.05
_ROUNDING = 1e-6


class Shortfall(NamedTuple):
    """The share (0-1) of what a load asked for that was not there, and that as text; the text is empty without any."""

    ratio: float
    text: str


def users_missing(load: GroupLoad, groups: Sequence[GroupCounts], each_s: float) -> Shortfall:
    """Return the users of a closed load with stages who were not there; `each_s` is their time from request to request.

    A second lacks users only if a load that began a little earlier or later would lack them, too.
    """
    levels, later_s = _levels(load), _SHIFT_S + math.ceil(LAST_REQUESTS * each_s)
    least = [math.floor(min(level) + _ROUNDING) for level in levels]
    asked = [min(least[max(0, at - _SHIFT_S) : at + later_s + 1]) for at in range(len(least))]
    asked = [users if _SHIFT_S <= at < len(least) - later_s else 0 for at, users in enumerate(asked)]
    first_s = next((at for at, level in enumerate(levels) if max(level) + _ROUNDING >= 1), 0)
    there = [0.0] * first_s + _by_second(groups, [group.alive_ms for group in groups])
    lacking = [
        max(0.0, users - alive_ms / units.MS_PER_S)
        for users, alive_ms in zip(asked, _padded(there, len(asked)), strict=True)
    ]
    lacking_s = [at for at, users in enumerate(lacking) if users > _PART_OF_USER]
    if not lacking_s:
        return Shortfall(0.0, "")
    most = math.ceil(max(lacking) - _PART_OF_USER)
    text = f"up to {units.plural(most, 'user')} fewer than asked, from {lacking_s[0]} s to {lacking_s[-1] + 1} s"
    return Shortfall(sum(lacking[at] for at in lacking_s) / sum(map(max, levels)), text)


def arrivals_missing(load: GroupLoad, groups: Sequence[GroupCounts]) -> Shortfall:
    """Return the arrivals of an open load that were not made, in all or in any part of it, beyond chance."""
    asked = [sum(level) / 2 for level in _levels(load)]
    whole, first_s = sum(asked), next((at for at, sum_ in enumerate(accumulate(asked)) if sum_ >= 1), 0)
    made = [0.0] * first_s + _by_second(groups, [group.arrivals or () for group in groups])
    if not whole:
        return Shortfall(0.0, "")
    total = max(0.0, whole - sum(made) - arrivals_rounded(load, len(groups)))
    each_s = max(_PART_S, math.ceil(_ARRIVALS_LEAST * len(asked) / whole))
    around = [0.0] * _SHIFT_S
    padded = [*around, *asked, *around]
    least = [min(padded[at : at + 2 * _SHIFT_S + 1]) for at in range(len(asked))]
    parts = zip(chunks(least, each_s), chunks(_padded(made, len(least)), each_s), strict=True)
    lacking = [max(0.0, sum(some) - sum(real) - _DEVIATIONS * math.sqrt(sum(some))) for some, real in parts]
    if total >= sum(lacking):
        not_made = whole - sum(made) if total else 0.0
        text = f"{not_made:,.0f} of {whole:,.0f} arrivals were not made" if total else ""
        return Shortfall(not_made / whole, text)
    numbers = [at for at, count in enumerate(lacking) if count]
    span = f"from {numbers[0] * each_s} s to {min(len(asked), (numbers[-1] + 1) * each_s)} s"
    return Shortfall(sum(lacking) / whole, f"{sum(lacking):,.0f} or more arrivals were not made {span}")


def arrivals_rounded(load: GroupLoad, group_count: int) -> float:
    """Return by how much the arrivals that JMeter makes may differ from those of the stages.

    Its Open Model Thread Group makes as many as are asked for, at random times: it rounds each ramp and each constant
    part, in each of the groups (one per load generator). Users who return are late by up to a second in each.
    """
    late = sum(1 + stage.level for stage in load.stages) if load.users_return else 0.0
    return 2.0 * len(load.stages) * max(1, group_count) + late


def requests_missing(curve: RequestCurve | None) -> Shortfall:
    """Return the requests per second that a load with a timer did not send; nothing where they are not known."""
    if curve is None or not sum(curve.requested):
        return Shortfall(0.0, "")
    pairs = list(zip(curve.requested, curve.delivered, strict=True))
    ratio = sum(max(0.0, wanted - real) for wanted, real in pairs) / sum(curve.requested)
    text = f"{units.percent_text(ratio)} % of the requests of its stages were not sent" if ratio > _TIMER_RATIO else ""
    return Shortfall(ratio if text else 0.0, text)


def _levels(load: GroupLoad) -> list[tuple[float, float]]:
    """Return the users, or new users per second, at the begin and at the end of each second of a load."""
    return [(load.level_at(at), load.level_at(at + 1 - _ROUNDING)) for at in range(math.ceil(load.duration_s))]


def _by_second(groups: Sequence[GroupCounts], series: Sequence[Sequence[int]]) -> list[float]:
    """Return the sums of series by second, from the first user on; a value of several seconds is divided."""
    from_s = begin_s(groups)
    ends = [group.from_s + group.step_s * len(values) for group, values in zip(groups, series, strict=True)]
    sums = [0.0] * max(0, max(ends, default=from_s) - from_s)
    for group, values in zip(groups, series, strict=True):
        for at, value in enumerate(values):
            for second in range(group.step_s):
                place = group.from_s - from_s + at * group.step_s + second
                if place >= 0:
                    sums[place] += value / group.step_s
    return sums


def _padded(values: Sequence[float], count: int) -> list[float]:
    """Return as many values as asked for; those that are missing are 0."""
    return [*values, *[0.0] * max(0, count - len(values))][:count]
