"""The search for the greatest number of users within a goal: from the runs so far, what to measure next.

Doubling until a level misses, then halving the bracket until it is as narrow as `PRECISION_RATIO`, then both its ends
again: one run may be a fluke. Where two runs of a level disagree a third decides, and the search goes on from there.
A level whose runs cannot tell is measured up to `UNSURE_RUNS` times; then the search goes on below it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

# A bracket of 5 % of its lower end, or of one user, is narrow enough: runs of one level differ by more.
PRECISION_RATIO = 0.05
CONFIRMING_RUNS = 2
# Runs of a level that together cannot tell: so many are made at most.
UNSURE_RUNS = 3
MOST_RUNS = 40


@dataclass(frozen=True)
class Probe:
    """One run: how many users, and whether it was within the goal."""

    users: int
    within: bool


@dataclass(frozen=True)
class Capacity:
    """What the runs so far say: the greatest level within the goal (None: not even the least), the least above it that
    missed (None: none did), and how many runs of each were within and in all.

    `is_settled` when both are confirmed and close enough to each other. `is_unsure` when the runs at `missed_users`
    cannot tell whether they missed.
    """

    users: int | None
    missed_users: int | None
    runs_within: int
    run_count: int
    missed_runs_within: int
    missed_run_count: int
    is_settled: bool
    is_unsure: bool = False


def next_users(probes: Sequence[Probe], first: int, most: int, unsure: Collection[int] = ()) -> int | None:
    """Return the number of users to measure next, from 1 to `most`; None when the search is at its end.

    `unsure` are the levels whose runs so far cannot tell.
    """
    return _next(_Levels(probes, unsure), first, most) if len(probes) < MOST_RUNS else None


def capacity(probes: Sequence[Probe], first: int, most: int, unsure: Collection[int] = ()) -> Capacity:
    """Return what is known so far."""
    levels = _Levels(probes, unsure)
    low, high = levels.bracket()
    return Capacity(
        users=low or None,
        missed_users=high,
        runs_within=levels.within_count(low),
        run_count=levels.run_count(low),
        missed_runs_within=levels.within_count(high),
        missed_run_count=levels.run_count(high),
        is_settled=_next(levels, first, most) is None,
        is_unsure=high in levels.unsure,
    )


class _Levels:
    """How often each number of users was within the goal, and how often it missed."""

    def __init__(self, probes: Sequence[Probe], unsure: Collection[int]) -> None:
        self.unsure = frozenset(unsure)
        self._outcomes: dict[int, list[bool]] = {}
        for probe in probes:
            self._outcomes.setdefault(probe.users, []).append(probe.within)

    def run_count(self, users: int | None) -> int:
        return len(self._outcomes.get(users or 0, ()))

    def within_count(self, users: int | None) -> int:
        return sum(self._outcomes.get(users or 0, ()))

    def undecided(self) -> int | None:
        """Return the least level that another run may decide; None when there is none."""
        return min((users for users in self._outcomes if self._is_undecided(users)), default=None)

    def _is_undecided(self, users: int) -> bool:
        if users in self.unsure:
            return self.run_count(users) < UNSURE_RUNS
        return self._lead(users) == 0

    def bracket(self) -> tuple[int, int | None]:
        """Return the greatest level within (0 for none) below the least that missed, and that one (None for none).

        A level that cannot be told counts as one that missed. What was within above a level that missed counts for
        nothing: a system that recovers at more users is noise.
        """
        high = min((users for users in self._outcomes if self._lead(users) < 0 or users in self.unsure), default=None)
        within = (users for users in self._outcomes if self._lead(users) > 0 and (high is None or users < high))
        return max(within, default=0), high

    def _lead(self, users: int) -> int:
        return 2 * self.within_count(users) - self.run_count(users)


def _next(levels: _Levels, first: int, most: int) -> int | None:
    undecided = levels.undecided()
    if undecided is not None:
        return undecided
    low, high = levels.bracket()
    if high is None:
        if low < most:
            return min(max(first, 2 * low), most)
    elif high - low > max(1, low * PRECISION_RATIO):
        return (low + high) // 2
    for users in (low, high):
        if users and levels.run_count(users) < CONFIRMING_RUNS:
            return users
    return None
