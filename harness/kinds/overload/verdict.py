"""Decides whether an overload makes a system collapse: goodput at the highest level against its peak.

The rule: the kept share is the goodput at the highest level divided by that of the best level. Its 95 % interval comes
from batch means of one second in both levels (Welch's degrees of freedom; the error of the ratio by its linear
approximation). Congestion collapse: the whole interval is below 80 %. Graceful: the whole interval is above 80 %. In
all other cases, and when the test was no overload or the load generator fell behind: CANNOT TELL. A queue that still
grows answers in time for a while, so GRACEFUL also needs response times that no longer rise.

Sources: V. Jacobson, "Congestion Avoidance and Control", SIGCOMM 1988, and S. Floyd, K. Fall, "Promoting the Use of
End-to-End Congestion Control in the Internet", IEEE/ACM Trans. Networking 7(4), 1999 (congestion collapse: more offered
load, less goodput).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from harness.base import units
from harness.compare.comparison import CANNOT_TELL
from harness.kinds.overload.levels import OVERLOAD_LEVELS, REST_GOOD_LEAST_RATIO
from harness.kinds.overload.result import LevelResult
from harness.metrics.batch_means import Estimate
from harness.metrics.distributions import student_t_quantile
from harness.metrics.shift import CONFIDENCE

COLLAPSE, GRACEFUL = "CONGESTION COLLAPSE", "GRACEFUL"
# The share of its peak goodput that a graceful system keeps at the highest level.
KEPT_LEAST_RATIO = 0.8
# Only so much more offered than was served well is an overload.
OVERLOAD_LEAST_RATIO = 1.25
# More missing users than this share of a level's, and two more, mean that the load generator fell behind.
MISSING_MOST_RATIO = 0.02
_MISSING_ALWAYS = 2
# What is measured next to decide is so many times as long or as much.
_NEXT = 2


class KeptShare(NamedTuple):
    """The goodput at the highest level ÷ the peak goodput, with its 95 % interval."""

    ratio: float
    low_ratio: float
    high_ratio: float


@dataclass(frozen=True)
class OverloadVerdict:
    """The verdict and why in short, and the numbers of that reason; `peak` is the level with the greatest goodput.

    `kept` and `peak` are None when no goodput was measured. What is measured next to decide has so many times the rate,
    or levels of so many seconds; 0 without either.
    """

    state: str
    reason: str
    detail: str = ""
    kept: KeptShare | None = None
    peak: LevelResult | None = None
    next_rate_ratio: float = 0.0
    next_level_s: int = 0


def judge(levels: Sequence[LevelResult], limit_ms: float) -> OverloadVerdict:
    """Return the verdict on the levels of a variant, in the order of what was offered.

    `limit_ms` is the longest response time within the goal.
    """
    if behind := _behind(levels):
        return behind
    peak, last, rest = max(levels, key=lambda level: level.goodput.value), levels[-1], levels[0]
    if not peak.goodput.value:
        reason = "no request was answered within the goal at any level"
        return OverloadVerdict(CANNOT_TELL, reason, next_rate_ratio=1 / _NEXT)
    if rest.good_count < REST_GOOD_LEAST_RATIO * rest.sample_count:
        detail = f"only {percent(rest.good_count / rest.sample_count)} % of the requests were good there"
        reason = f"overloaded at {percent(rest.offered_ratio)} % load already"
        return OverloadVerdict(CANNOT_TELL, reason, detail, next_rate_ratio=1 / _NEXT)
    kept = kept_share(last.goodput, peak.goodput)
    load, rate = f"{percent(last.offered_ratio)} % load", units.rate_text(peak.goodput.value)
    reason = f"{percent(kept.ratio)} % of the peak goodput is left at {load}"
    detail = f"95 % interval {percent(kept.low_ratio)} % to {percent(kept.high_ratio)} % of {rate}/s, "
    detail += f"the peak at {percent(peak.offered_ratio)} % load"
    if kept.high_ratio < KEPT_LEAST_RATIO:
        return OverloadVerdict(COLLAPSE, reason, detail, kept, peak)
    if kept.low_ratio <= KEPT_LEAST_RATIO:
        reason = f"the goodput at {load} may be more or less than {percent(KEPT_LEAST_RATIO)} % of its peak"
        return OverloadVerdict(CANNOT_TELL, reason, detail, kept, peak, next_level_s=_NEXT * last.length_s)
    if last.started_per_s < OVERLOAD_LEAST_RATIO * peak.goodput.value:
        detail = f"only {units.rate_text(last.started_per_s)} requests/s started, and {rate}/s were answered in time"
        return OverloadVerdict(CANNOT_TELL, f"too little overload at {load}", detail, kept, peak, next_rate_ratio=_NEXT)
    limit_s = limit_ms / units.MS_PER_S
    least_s = math.ceil(limit_s / OVERLOAD_LEVELS)
    if last.length_s < least_s:
        waits, goal = (units.number_text(round(seconds, 1)) for seconds in (OVERLOAD_LEVELS * last.length_s, limit_s))
        detail = f"even without any bound a queue would reach {waits} s in them, and answers up to {goal} s are good"
        return OverloadVerdict(
            CANNOT_TELL, "the levels are too short for the goal", detail, kept, peak, next_level_s=least_s
        )
    if last.is_rising:
        reason = f"the response time still rises at the end of {load}"
        longer_s = _NEXT * last.length_s
        return OverloadVerdict(CANNOT_TELL, reason, "its queue is not full yet", kept, peak, next_level_s=longer_s)
    return OverloadVerdict(GRACEFUL, reason, detail, kept, peak)


def _behind(levels: Sequence[LevelResult]) -> OverloadVerdict | None:
    """Return the verdict when the load generator did not offer a level; None when it offered all."""
    for level in levels:
        if level.missing_user_count > MISSING_MOST_RATIO * level.scheduled_user_count + _MISSING_ALWAYS:
            users = units.plural(level.missing_user_count, "user")
            reason = f"the load generator fell behind at {percent(level.offered_ratio)} % load"
            detail = f"a second after the level {users} of the schedule had not started"
            return OverloadVerdict(CANNOT_TELL, reason, detail, next_rate_ratio=1 / _NEXT)
    return None


def kept_share(last: Estimate, peak: Estimate) -> KeptShare:
    """Return the share of the peak goodput that is left at the last level; the low end of its interval is at least 0.

    The intervals of a level with itself, and of values without scatter, have no width.
    """
    ratio = last.value / peak.value
    last_square, peak_square = last.error**2, (ratio * peak.error) ** 2
    total = last_square + peak_square
    if last is peak or not total:
        return KeptShare(ratio, ratio, ratio)
    freedom = total**2 / (last_square**2 / last.freedom + peak_square**2 / peak.freedom)
    reach = student_t_quantile(freedom, (1 + CONFIDENCE) / 2) * math.sqrt(total) / peak.value
    return KeptShare(ratio, max(0.0, ratio - reach), ratio + reach)


def percent(ratio: float) -> str:
    """Return a ratio as whole percent, without the sign."""
    return units.percent_text(ratio, 0)
