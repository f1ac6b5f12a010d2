"""Finds gaps: intervals in which no sample ended although samples ended before and after them.

A gap is reported only where it is long for its run: at least 2 s, at least 1 s longer than three times the usual gap,
and longer than chance explains at the rate of samples per active user (Poisson arrivals, one in a thousand runs). A
stall may be as long as the others of its run; it is at least 1.5 s, and 1 s longer than three times the usual response.
One user whose requests take ten seconds has no gaps, nor have users that think in step. A gap of two to five users may
be a pause of the plan: `silences` decides that from the pauses of each user.

If samples of all active users last through a gap, nothing is missing there: the system stalled. Otherwise rows are
missing, the clock was set, or the file contains several runs. In a stall no sample ends, so the waiting ones get more:
of U users, N wait at first, and each of the others begins to wait when its pause is over. Their pauses have the rate
v = r ÷ (U - N), where r is that of the samples, so U - (U - N) · exp(-v·t) users wait after t. Of missing rows only
those last into the gap that end after it: N · exp(-t ÷ R) where t is the time to the end of the gap and R = N ÷ r the
response time.

When the load ends, users leave, and the others wait for their last answers: nothing is missing there, and no stall.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from harness.base.units import MS_PER_S
from harness.metrics.load_seconds import spells_of
from harness.metrics.timeline import SecondFigures

# Shorter gaps are garbage collections and the like: part of the measurement.
GAP_LEAST_S = 2.0
# A stall that every user waited through is certain earlier.
_STALL_LEAST_S = 1.5
# Up to this many gaps may be unusual in a run, or one per this many intervals between seconds with samples.
_UNUSUAL_COUNT = 2
_UNUSUAL_ONE_IN = 20
_USUAL_RATIO = 3
# -ln of the probability that chance produces a gap in a run: one in a thousand.
_CHANCE_LOG = 7.0
# At fewer samples per second, a second with few samples is no evidence of a partial gap.
_RATE_FOR_PARTS = 4.0
# A gap is a stall when the seconds of waiting in it exceed those of missing rows by this share of the difference.
_STALL_RATIO = 1 / 3
# In a stall fewer seconds are waited than expected: at most this share of all users' seconds (and one second), and so
# many standard deviations of the users' pauses.
_IDLE_RATIO = 0.05
_IDLE_DEVIATIONS = 2.0
# With a single user, one slow request or one pause of the plan looks like a gap.
_USERS_LEAST = 2


@dataclass(frozen=True)
class Gap:
    """No sample ended in from_s <= t < to_s, whole seconds after the load began.

    `length_s` includes the empty part of the two neighbouring seconds. `is_waited` is True for a stall: samples of all
    users waited through it. `user_count` is the number of active users, None when the JTL does not contain it.
    """

    from_s: int
    to_s: int
    length_s: float
    is_waited: bool
    user_count: int | None


def find_gaps(seconds: Sequence[SecondFigures]) -> tuple[Gap, ...]:
    """Return the gaps of a run. `seconds` has one entry per second since the first start of the load."""
    filled = [spell.from_s for spell in spells_of(seconds) if spell.value.sample_count]
    empty = [later - earlier - 1 for earlier, later in pairwise(filled)]
    if len(empty) < _UNUSUAL_COUNT + 1 or not any(empty):
        return ()
    unusual_count = max(_UNUSUAL_COUNT, len(empty) // _UNUSUAL_ONE_IN)
    usual_s = sorted(empty, reverse=True)[min(unusual_count, len(empty) - 1)]
    regular_s = len(filled) + sum(length for length in empty if length <= usual_s)
    rate_per_s = sum(seconds[second].sample_count for second in filled) / regular_s
    from statistics import median  # imported late: few runs have gaps, and it loads slowly

    busy_ms = median(seconds[second].elapsed_sum_ms for second in filled) * len(filled) / regular_s
    most_users = max((spell.value.active_users or 0 for spell in spells_of(seconds)), default=0)
    # Stalls can be as usual as pauses are, but not what every request waits for.
    response_s = median(seconds[second].elapsed_sum_ms / seconds[second].sample_count for second in filled) / MS_PER_S
    gaps = []
    for before, after in pairwise(filled):
        if not after - before - 1:
            continue
        users = seconds[before].active_users
        share = users / most_users if users and most_users else 1.0
        local_per_s = rate_per_s * share
        length_s = after - before - 1 + _empty_parts(seconds, before, after, local_per_s)
        by_chance_s = (math.log(max(1.0, rate_per_s * regular_s)) + _CHANCE_LOG) / local_per_s
        if length_s < max(_STALL_LEAST_S, by_chance_s):
            continue
        empty_s, between = after - before - 1, spells_of(seconds[before + 1 : after])
        waited_s = sum(spell.length_s * spell.value.waiting_count for spell in between)
        loads = _Load(users, busy_ms * share / MS_PER_S, local_per_s).until(seconds[after].active_users)
        is_waited, *are_last = (waited_s >= _stall_least_s(load, empty_s) for load in loads)
        if not is_waited and any(are_last):
            continue
        is_unusual = empty_s > usual_s and length_s >= max(GAP_LEAST_S, _USUAL_RATIO * usual_s + 1)
        if not is_unusual and not (is_waited and length_s >= _USUAL_RATIO * response_s + 1):
            continue
        if users is None or users >= _USERS_LEAST:
            gaps.append(Gap(before + 1, after, round(length_s, 1), is_waited, users))
    return tuple(gaps)


class _Load(NamedTuple):
    """The active users, None when unknown; how many samples usually wait at once; and how many end per second."""

    user_count: int | None
    waiting_count: float
    rate_per_s: float

    def until(self, user_count: int | None) -> list[_Load]:
        """Return this load, and that of the users who are left if some leave meanwhile."""
        if not self.user_count or not user_count or user_count >= self.user_count:
            return [self]
        share = user_count / self.user_count
        return [self, _Load(user_count, share * self.waiting_count, share * self.rate_per_s)]


def _stall_least_s(load: _Load, length_s: int) -> float:
    """Return the seconds of waiting, of all samples together, from which on a gap of whole seconds is a stall."""
    usual = load.waiting_count if load.user_count is None else min(load.waiting_count, load.user_count)
    response_s = usual / load.rate_per_s
    missing_s = usual * response_s * -math.expm1(-length_s / response_s) if response_s else 0.0
    if load.user_count is None:
        return missing_s + _STALL_RATIO * (usual * length_s - missing_s)
    pausing = load.user_count - usual
    pauses_per_s = load.rate_per_s / pausing if pausing else 0.0
    # The sum of pausing · exp(-v·t) over the seconds.
    still = math.expm1(-pauses_per_s * length_s) / math.expm1(-pauses_per_s) if pauses_per_s else length_s
    idle_s = pausing * still
    stall_s = load.user_count * length_s - idle_s
    tolerance_s = max(1.0, _IDLE_RATIO * load.user_count * length_s)
    if pausing:
        tolerance_s += _IDLE_DEVIATIONS * math.sqrt(pausing) / pauses_per_s
    return max(missing_s + _STALL_RATIO * (stall_s - missing_s), stall_s - tolerance_s)


def _empty_parts(seconds: Sequence[SecondFigures], before: int, after: int, rate_per_s: float) -> float:
    """Return how much of the two neighbouring seconds belongs to a gap, estimated from their low sample counts."""
    if rate_per_s < _RATE_FOR_PARTS:
        return 0.0
    return sum(max(0.0, 1 - seconds[second].sample_count / rate_per_s) for second in (before, after))
