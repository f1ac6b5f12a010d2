"""Says which ramp-up or tail of a bare file is too large to be left out: what was asked of a file is not known.

A ramp is short, or its users begin or leave one by one. If another number of users is active for a large part of the
time, such as after half of them have left, that part is another load.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from harness.base import units
from harness.judge.evidence import Evidence
from harness.metrics.timeline import SecondFigures, seconds_by_users, total
from harness.metrics.window import STEADY, STEADY_LEAST_S

# A part with fewer users may be so long, in shares of the file: with one number of them, and a tail in all.
_RAMP_LEVEL_RATIO, _TAIL_LEVEL_RATIO, _TAIL_RATIO = 0.2, 0.15, 0.25
# One number of users: they differ by less than this share of the most.
_ALIKE_RATIO = 0.05
# Some users may prepare for long before all begin: then few samples are left out.
_FEW_RATIO = 0.1
# Of all samples at least so many are counted, or part of a warm-up.
_COUNTED_RATIO = 0.5
_ADVICE = (
    "What was asked of a file is not known. Users who should have stayed, or a load generator that is missing, made "
    "another load. Look at the failures of that time. lth table FILE counts all, with --window FROM..TO a part."
)


class LargeEdge(NamedTuple):
    """What is left out: the share of the samples, and the texts of a line of the account."""

    ratio: float
    brief: str
    advice: str


def large_edges(evidence: Evidence) -> Iterator[LargeEdge]:
    """Yield the parts of a bare file that are left out as ramp-up or tail, and are another load by their size."""
    window, seconds = evidence.window, evidence.seconds
    if evidence.run or window.kind != STEADY or (window.is_too_short and window.run_s < 2 * STEADY_LEAST_S):
        return
    count = total(seconds).sample_count
    first, last = seconds[: window.ramp_cut_s], seconds[window.to_s :]
    shares = [total(part).sample_count / max(1, count) for part in (first, last)]
    levels = [_level_s(part, evidence.users_most or 0) / window.run_s for part in (first, last)]
    if levels[1] > _TAIL_LEVEL_RATIO or max(shares[1], window.tail_cut_s / window.run_s) > _TAIL_RATIO:
        yield _edge("last", window.tail_cut_s, window.run_s, shares[1])
    if levels[0] > _RAMP_LEVEL_RATIO and shares[0] > _FEW_RATIO:
        yield _edge("first", window.ramp_cut_s, window.run_s, shares[0])
    if sum(shares) > 1 - _COUNTED_RATIO:
        length_s = window.run_s - window.ramp_cut_s - window.tail_cut_s
        brief = f"All users were there for {length_s} of {window.run_s} s: most samples are in no number"
        yield LargeEdge(sum(shares), brief, f"{_left_text(sum(shares))} {_ADVICE}")


def _edge(which: str, length_s: int, run_s: int, ratio: float) -> LargeEdge:
    brief = f"The {which} {length_s} of {run_s} s are in no number: there were fewer users"
    return LargeEdge(ratio, brief, f"{_left_text(ratio)} {_ADVICE}")


def _left_text(ratio: float) -> str:
    return f"{units.percent_text(ratio, 0)} % of the samples are left out."


def _level_s(seconds: Sequence[SecondFigures], most: int) -> int:
    """Return for how many seconds the users were about as many; all where they are not known.

    They may be known only after the first answers.
    """
    lasted = seconds_by_users(seconds)
    if not lasted:
        return len(seconds)
    numbers = range(max(lasted) + 1)
    sums, width = [0, *accumulate(lasted[users] for users in numbers)], 1 + int(_ALIKE_RATIO * most)
    return max(sums[min(len(sums) - 1, users + width)] - sums[users] for users in numbers)
