"""Decides from the probabilities whether a bisection has its answer, and which run is next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from harness.compare.comparison import CANNOT_TELL
from harness.judge.result import FOUND, NO_EFFECT
from harness.kinds.bisect.information import information
from harness.kinds.bisect.posterior import LikelyChange, Posterior

SURE = 0.95
RUNS_MOST = 60
# The bisection begins with two runs at each end.
OPENING = 4
# No step is the answer when that is this probable, and the ends differ by less than this part of the threshold.
_NONE_LEAST, _SMALL = 0.5, 0.5


@dataclass(frozen=True)
class Suspect:
    """Positions of which one may have the step, and how probable that is; only the last of them can be run.

    With `is_closed` both of its neighbours were run, so nothing can distinguish its positions.
    """

    positions: range
    probability: float
    is_closed: bool
    change: LikelyChange


@dataclass(frozen=True)
class Decision:
    """The verdict, and all suspects, the most probable first.

    `unconfirmed` are the positions with one run only on which an answer depends: it might be an outlier.
    """

    verdict: str
    suspects: tuple[Suspect, ...] = ()
    unconfirmed: tuple[int, ...] = ()

    @property
    def named(self) -> Suspect | None:
        """The suspect that is sure enough to be named; None without one."""
        best = self.suspects[0] if self.suspects else None
        return best if best and best.is_closed and best.probability >= SURE else None


def decide(found: Posterior, testable: Sequence[int], threshold_ratio: float) -> Decision:
    """Return the decision; `threshold_ratio` is the smallest change of the metric that matters."""
    decision = Decision(FOUND, _suspects(found, testable))
    if decision.named or found.several >= SURE:
        named = decision.named
        ends = [(named.positions[0] - 1, named.positions[-1])] if named else [part[:2] for part in found.parts()]
        single = {position for position, count in zip(found.tested, found.counts, strict=True) if count == 1}
        unconfirmed = tuple(sorted(single & {position for pair in ends for position in pair}))
        return Decision(CANNOT_TELL, decision.suspects, unconfirmed) if unconfirmed else decision
    whole = found.whole()
    is_small = max(abs(whole.low_ratio), abs(whole.high_ratio)) <= _SMALL * threshold_ratio
    return Decision(NO_EFFECT if is_small and found.none >= _NONE_LEAST else CANNOT_TELL, decision.suspects)


def _suspects(found: Posterior, testable: Sequence[int]) -> tuple[Suspect, ...]:
    shares, tested, suspects = found.commits, found.tested, []
    for before, after in pairwise(testable):
        positions = range(before + 1, after + 1)
        interval = max(index for index, position in enumerate(tested[:-1]) if position <= before)
        probability = sum(shares[position] for position in positions)
        is_closed = before in tested and after in tested
        suspects.append(Suspect(positions, probability, is_closed, found.change_of(interval)))
    return tuple(sorted(suspects, key=lambda one: -one.probability))


def opening(count: int, last: int) -> int:
    """Return the position of one of the first runs: both ends in the order A B B A, against drift."""
    return (0, last, last, 0)[min(count, OPENING - 1)]


def most_informative(
    found: Posterior, decision: Decision, testable: Sequence[int], before: int, cost_s: Sequence[float] | None = None
) -> int:
    """Return the position whose run is expected to show most per second; `cost_s` are the seconds of each position.

    It is never the position of the run before, so that a drift of the machine looks like no step. What an answer
    depends on is first.
    """
    wanted = [position for position in decision.unconfirmed if position != before]
    choices = wanted or [position for position in _choices(found, testable) if position != before]
    shown = information(found, choices)
    rates = [one / (cost_s[position] if cost_s else 1.0) for one, position in zip(shown, choices, strict=True)]
    return choices[max(range(len(choices)), key=rates.__getitem__)]


def _choices(found: Posterior, testable: Sequence[int]) -> list[int]:
    """Return the positions that are worth a run: those already run, and the middle of each interval between them."""
    positions = [position for position in found.tested if position in testable]
    for before, after in pairwise(found.tested):
        if between := [position for position in testable if before < position < after]:
            positions.append(min(between, key=lambda position: abs(2 * position - before - after)))
    return positions
