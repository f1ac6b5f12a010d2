"""Says which users of a closed load left before they were to, when, and why."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from harness.base import units
from harness.base.plain_text import one_line
from harness.judge.evidence import Evidence
from harness.judge.offered import LAST_REQUESTS
from harness.judge.users_counted import groups_of, users_by_second

if TYPE_CHECKING:
    from harness.run.group_counts import EarlyEnd, GroupCounts

# What begins or ends a load lasts about so long.
EDGE_S = 2.0
# Users who left within this time did so at once.
_AT_ONCE_S = 5.0
_CAUSES_NAMED = 3


class UsersThere(NamedTuple):
    """How many seconds of users were asked for and were there, who left, and the seconds of the first and the last."""

    asked_s: float
    there_s: float
    left_count: int
    from_s: int
    to_s: int

    @property
    def missing_ratio(self) -> float:
        """The share (0-1) of the seconds of users that were asked for and were not there."""
        return max(0.0, 1 - self.there_s / self.asked_s)


class Until(NamedTuple):
    """When a load was to end, s after its begin: at the requested time, or earlier, when it had what it was to have."""

    at_s: float
    is_requested: bool

    def no_later(self, duration_s: float) -> Until:
        """Return the end of a load that lasts no longer than `duration_s`."""
        return self if self.at_s < duration_s else Until(duration_s, is_requested=True)

    def text(self) -> str:
        """Return the time of which a part is missing."""
        whose = "the requested" if self.is_requested else "the load's"
        return f"{whose} {units.duration_text(self.at_s)}"


def until_of(evidence: Evidence) -> Until | None:
    """Return until when users are to be there; None for a load that only its loops end.

    The harness ends a load of so many requests, or of the length `auto`, when it has enough.
    """
    run = evidence.run
    assert run is not None
    load, auto, enough_s = run.load, run.auto_end, math.inf
    if load.is_auto and auto and auto.is_met:
        enough_s = auto.after_s
    if load.requests:
        # Requests of setUp, and of steps once per user, count, too. When they came does not matter.
        missing = load.requests - request_count(evidence) + sum(second.sample_count for second in evidence.seconds)
        counts = accumulate(second.sample_count for second in evidence.seconds)
        enough_s = next((at + 1.0 for at, count in enumerate(counts) if count >= missing), math.inf)
    duration_s = load.duration_s or math.inf
    if min(enough_s, duration_s) == math.inf:
        return None
    return Until(min(enough_s, duration_s), is_requested=duration_s <= enough_s)


def request_count(evidence: Evidence) -> int:
    """Return the rows that are no transactions."""
    return evidence.row_count - sum(code.sample_count for code in evidence.codes if code.is_transaction)


def ended_before_loops(groups: Iterable[GroupCounts]) -> int:
    """Return how many users ended before they had done their loops."""
    return sum(end.count for group in groups for end in group.ended_early if not end.is_done)


def ended_count(groups: Iterable[GroupCounts]) -> int:
    """Return how many users ended by themselves.

    All users of a load that only its loops end do: the first may have done theirs before the last one begins.
    """
    return sum(end.count for group in groups for end in group.ended_early)


def before_loops_text(ended: int, asked: int, loops: int) -> str:
    who = "All" if ended >= asked else f"{ended} of"
    return f"{who} {units.plural(asked, 'user')} ended before their {units.plural(loops, 'loop')}"


def users_over_time(
    known: Sequence[int], each_s: float, asked: int, ramp_s: float, duration_s: float
) -> UsersThere | None:
    """Return the users between the ramp-up and the requested end; None where nothing is left between them.

    `known` are the users of each second, `each_s` is a user's usual time from request to request.
    """
    edge_s = math.ceil(EDGE_S + LAST_REQUESTS * each_s)
    from_s, to_s = math.ceil(ramp_s) + edge_s, math.floor(duration_s) - edge_s
    if to_s <= from_s:
        return None
    there = [*known, *[0] * max(0, to_s - len(known))]
    # Whoever left within the edge is gone after it, too: only the seconds that are named begin with the first full one.
    full_s = next((at for at, users in enumerate(there[:from_s]) if users >= asked), from_s)
    first_s = next((at for at in range(full_s, to_s) if there[at] < asked), to_s)
    there = there[from_s:to_s]
    missing = [max(0, asked - users) for users in there]
    last_s = next((at for at, users in enumerate(there, from_s) if asked - users == max(missing)), to_s)
    return UsersThere(asked * len(there), asked * len(there) - sum(missing), max(missing), first_s, last_s)


def users_there(evidence: Evidence) -> list[int]:
    """Return the users of each second, as the agent counted them, else as the samples show them."""
    if groups := groups_of(evidence.run):
        return users_by_second(groups)
    return [second.active_users or 0 for second in evidence.seconds]


def stayed(evidence: Evidence, load: str = "") -> bool:
    """Return whether it is known that nobody left: also of a load that is too short to look at its users over time."""
    groups = groups_of(evidence.run, load)
    return bool(groups) and not any(group.ended_early for group in groups)


def left_text(evidence: Evidence, users: UsersThere, asked: int, until: Until, load: str = "") -> str:
    """Return who left and when; those who left in the last seconds are known if the agent counted them."""
    ended = sum(end.count for group in groups_of(evidence.run, load) for end in group.ended_early)
    if users.left_count < ended <= asked:
        users = users._replace(left_count=ended, to_s=min(len(evidence.seconds), int(until.at_s)))
    who = "All" if users.left_count == asked else f"{users.left_count} of"
    when = (
        f"at {users.from_s} s" if users.to_s - users.from_s < _AT_ONCE_S else f"from {users.from_s} s to {users.to_s} s"
    )
    return f"{who} {units.plural(asked, 'user')} ended {when} of {until.text()}"


def why_left(evidence: Evidence, left_count: int) -> str:
    """Return what ended users, as far as it is known; failures may have if there are as many as users who left."""
    if causes := known_causes(evidence):
        return causes
    if groups_of(evidence.run):
        return "JMeter ends a user whose next pause is longer than the rest of the load: look at the plan's timers."
    failed = evidence.whole.error_count if evidence.whole else 0
    if failed and failed >= left_count:
        how = f"{units.plural(failed, 'request')} failed: the thread group may stop a user on an error"
        return f"{how}. Or a data file ended that stops its users. Look in jmeter.log for threads that ended."
    return "A data file may have ended that stops its users. Look in jmeter.log for threads that ended."


def stopped_in_setup(evidence: Evidence) -> str:
    """Return the step of setUp that stopped the test before the load, in brackets; empty if none did."""
    run = evidence.run
    if run is None or groups_of(run) or (evidence.whole and evidence.whole.sample_count):
        return ""
    ends = (end for group in run.groups for end in group.ended_early)
    return next((_detail(end) or " (a step)" for end in ends if end.stops_test), "")


def known_causes(evidence: Evidence) -> str:
    """Return what ended users, as the agent saw it; empty if it saw none."""
    loops = evidence.run.load.loops if evidence.run else None
    ends = (end for group in groups_of(evidence.run) for end in group.ended_early)
    causes = [end for end in ends if end.words and not (loops and end.is_done)]
    if not causes:
        return ""
    counted = (f"{units.plural(end.count, 'user')} {end.words}{_detail(end)}" for end in causes)
    return f"{'; '.join(list(counted)[:_CAUSES_NAMED])}. Look in jmeter.log for threads that ended."


def _detail(end: EarlyEnd) -> str:
    return f" ({one_line(end.detail)})" if end.detail else ""
