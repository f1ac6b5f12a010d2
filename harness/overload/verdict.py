"""Decides whether an overload makes a system collapse: goodput at the highest level against its peak.

The rule: the kept share is the goodput at the highest level divided by that of the best level. Its 95 % interval comes
from batch means of one second in both levels (Welch's degrees of freedom; the error of the ratio by its linear
approximation). Congestion collapse: the whole interval is below 80 %. Graceful: the whole interval is above 80 %. In
all other cases, and when the test was no overload or the load generator fell behind: CANNOT TELL.

Sources: V. Jacobson, "Congestion Avoidance and Control", SIGCOMM 1988, and S. Floyd, K. Fall, "Promoting the Use of
End-to-End Congestion Control in the Internet", IEEE/ACM Trans. Networking 7(4), 1999 (congestion collapse: more offered
load, less goodput).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from harness.base import units
from harness.compare.outcome import CANNOT_TELL
from harness.metrics.batch_means import Estimate
from harness.metrics.distributions import student_t_quantile
from harness.metrics.shift import CONFIDENCE
from harness.overload.levels import REST_GOOD_LEAST_RATIO
from harness.overload.result import LevelResult

COLLAPSE, GRACEFUL = "CONGESTION COLLAPSE", "GRACEFUL"
# The share of its peak goodput that a graceful system keeps at the highest level.
KEPT_LEAST_RATIO = 0.8
# Only so much more offered than was served well is an overload.
OVERLOAD_LEAST_RATIO = 1.25
# More missing users than this share of a level's, and two more, mean that the load generator fell behind.
MISSING_MOST_RATIO = 0.02
_MISSING_ALWAYS = 2


@dataclass(frozen=True)
class Verdict:
    """The verdict and why. The kept share (0-1) has a 95 % interval; `peak` is the level with the greatest goodput.

    They are None when no goodput was measured.
    """

    state: str
    reason: str
    kept_ratio: float | None = None
    low_ratio: float | None = None
    high_ratio: float | None = None
    peak: LevelResult | None = None


def judge(levels: Sequence[LevelResult]) -> Verdict:
    """Return the verdict on the levels of a variant, in the order of what was offered."""
    behind = _behind(levels)
    if behind:
        return Verdict(CANNOT_TELL, behind)
    peak, last = max(levels, key=lambda level: level.goodput.value), levels[-1]
    if not peak.goodput.value:
        return Verdict(CANNOT_TELL, "no request was answered within the goal at any level")
    rest = levels[0]
    if rest.good_count < REST_GOOD_LEAST_RATIO * rest.sample_count:
        share = _percent(rest.good_count / rest.sample_count)
        what = f"overloaded at {_percent(rest.offered_ratio)} % already: only {share} % of the requests were good"
        return Verdict(CANNOT_TELL, f"{what}; the capacity is lower than assumed: give a smaller RATE")
    kept, low, high = ratio_interval(last.goodput, peak.goodput)
    text = (
        f"at {_percent(last.offered_ratio)} % load the goodput is {_percent(kept)} % of its peak of "
        f"{units.rate_text(peak.goodput.value)}/s at {_percent(peak.offered_ratio)} % "
        f"(95 % interval {_percent(low)} % to {_percent(high)} %)"
    )
    state = COLLAPSE if high < KEPT_LEAST_RATIO else GRACEFUL if low > KEPT_LEAST_RATIO else CANNOT_TELL
    if state == GRACEFUL and last.started_per_s < OVERLOAD_LEAST_RATIO * peak.goodput.value:
        started = units.rate_text(last.started_per_s)
        state = CANNOT_TELL
        text = f"too little overload: at {_percent(last.offered_ratio)} % only {started} requests/s started, "
        text += f"and {units.rate_text(peak.goodput.value)}/s were answered within the goal: give a greater RATE"
    elif state == CANNOT_TELL:
        text += f", which includes {_percent(KEPT_LEAST_RATIO)} %; measure longer levels"
    return Verdict(state, text, kept, low, high, peak)


def _behind(levels: Sequence[LevelResult]) -> str:
    """Return which level the load generator did not offer; an empty text when it offered all."""
    for level in levels:
        if level.missing_user_count > MISSING_MOST_RATIO * level.scheduled_user_count + _MISSING_ALWAYS:
            return (
                f"the load generator fell behind at {_percent(level.offered_ratio)} %: a second after the level "
                f"{units.plural(level.missing_user_count, 'user')} of the schedule had not started"
            )
    return ""


def ratio_interval(part: Estimate, whole: Estimate) -> tuple[float, float, float]:
    """Return part ÷ whole with the low and high end of its 95 % interval; the low end is at least 0.

    The intervals of a level with itself, and of values without scatter, have no width.
    """
    ratio = part.value / whole.value
    if part is whole:
        return ratio, ratio, ratio
    squares = (part.error**2, (ratio * whole.error) ** 2)
    if not sum(squares):
        return ratio, ratio, ratio
    freedom = sum(squares) ** 2 / sum(
        square**2 / side.freedom for square, side in zip(squares, (part, whole), strict=True)
    )
    reach = student_t_quantile(freedom, (1 + CONFIDENCE) / 2) * math.sqrt(sum(squares)) / whole.value
    return ratio, max(0.0, ratio - reach), ratio + reach


def _percent(ratio: float) -> str:
    return units.percent_text(ratio, 0)
