"""Finds the greatest number of users within a goal: decides from the runs so far which level to measure next.

The search doubles the users until a level misses. It then halves the bracket until it is as narrow as
`PRECISION_RATIO`, and repeats both its ends, because a single run may be an outlier. When two runs of a level disagree,
a third run decides. An undecided level runs up to `UNSURE_RUNS` times; then the search continues below it. It ends when
a second level stays undecided after that and none is decidedly within the goal: fewer users decide nothing then.

Few users make few samples, so the first levels are often undecided. While no level is decided and each run met the
goal, the search doubles: a level that is decidedly within the goal decides those below it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

# The final width of the bracket as a share of its lower end; runs of one level differ by more.
PRECISION_RATIO = 0.05
CONFIRMING_RUNS = 2
# Maximum runs of a level that stays undecided.
UNSURE_RUNS = 3
# So many undecided levels after all their runs, and none within the goal, end the search.
_HOPELESS_LEVELS = 2
MOST_RUNS = 40


@dataclass(frozen=True)
class Probe:
    """One run of the search: its users, and whether it was within the goal."""

    users: int
    within: bool


@dataclass(frozen=True)
class Capacity:
    """The result so far: the greatest level within the goal, and the least level above it that missed.

    Each is None when no level qualifies. `is_unsure` when the level `missed_users` is undecided.
    """

    users: int | None
    missed_users: int | None
    is_unsure: bool = False


def next_users(
    probes: Sequence[Probe], first: int, most: int, unsure: Collection[int] = (), least: int = 1
) -> int | None:
    """Return the number of users to measure next, from `least` to `most`; None at the end of the search.

    `unsure` are the undecided levels.
    """
    return _next(_Levels(probes, unsure), first, most, least) if len(probes) < MOST_RUNS else None


def capacity(probes: Sequence[Probe], unsure: Collection[int] = ()) -> Capacity:
    """Return the result so far; `unsure` are the undecided levels."""
    levels = _Levels(probes, unsure)
    bracket = levels.bracket()
    return Capacity(bracket.within_users or None, bracket.missed_users, bracket.missed_users in levels.unsure)


class _Bracket(NamedTuple):
    """The greatest level within the goal (0 without one), and the lowest that missed it (None without one)."""

    within_users: int
    missed_users: int | None


class _Levels:
    """The results of all runs by number of users."""

    def __init__(self, probes: Sequence[Probe], unsure: Collection[int]) -> None:
        self.unsure = frozenset(unsure)
        self._outcomes: dict[int, list[bool]] = {}
        for probe in probes:
            self._outcomes.setdefault(probe.users, []).append(probe.within)

    def run_count(self, users: int | None) -> int:
        return len(self._outcomes.get(users or 0, ()))

    def within_count(self, users: int | None) -> int:
        return sum(self._outcomes.get(users or 0, ()))

    def all_unsure_but_good(self) -> int | None:
        """Return the greatest level when each level is undecided and each run met the goal, else None."""
        is_so = all(users in self.unsure and self._lead(users) == len(runs) for users, runs in self._outcomes.items())
        return max(self._outcomes, default=None) if is_so else None

    def undecided(self) -> int | None:
        """Return the least level that another run may decide, or None.

        When no level is decidedly within the goal it is the greatest that may be: it decides those below it.
        """
        within = self.bracket().within_users
        found = [users for users in self._outcomes if users > within and self._is_undecided(users)]
        good = [users for users in found if self._lead(users) > 0]
        return max(good) if good and not within else min(found, default=None)

    def is_hopeless(self) -> bool:
        """Return whether several levels stayed undecided after all their runs, and none is within the goal."""
        tried = [users for users in self.unsure if self.run_count(users) >= UNSURE_RUNS]
        return not self.bracket().within_users and len(tried) >= _HOPELESS_LEVELS

    def _is_undecided(self, users: int) -> bool:
        if users in self.unsure:
            return self.run_count(users) < UNSURE_RUNS
        return self._lead(users) == 0

    def bracket(self) -> _Bracket:
        """Return the levels between which the limit is.

        An undecided level counts as missed, unless a level above it is within the goal. A recovery above the lowest
        miss is ignored as noise.
        """
        missed = min((users for users in self._outcomes if self._lead(users) < 0), default=None)
        below = [users for users in self._outcomes if missed is None or users < missed]
        within = max((users for users in below if self._lead(users) > 0 and users not in self.unsure), default=0)
        unsure = [users for users in below if users in self.unsure and users > within]
        return _Bracket(within, min(unsure, default=missed))

    def _lead(self, users: int) -> int:
        return 2 * self.within_count(users) - self.run_count(users)


def _next(levels: _Levels, first: int, most: int, least: int) -> int | None:
    if levels.is_hopeless():
        return None
    tried = levels.all_unsure_but_good()
    if tried is not None and tried < most:
        return min(2 * tried, most)
    undecided = levels.undecided()
    if undecided is not None:
        return undecided
    bracket = levels.bracket()
    within, missed = bracket.within_users, bracket.missed_users
    if missed is None:
        if within < most:
            return min(max(first, 2 * within), most)
    else:
        below = within or least - 1  # fewer users than `least` count as within the goal
        if missed - below > max(1, below * PRECISION_RATIO):
            return (below + missed) // 2
    for users in (within, missed):
        if users and levels.run_count(users) < CONFIRMING_RUNS:
            return users
    return None
