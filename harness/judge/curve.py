"""Compares the delivered users, or requests, of a load with stages with the requested ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, ClassVar

from harness.base import units
from harness.metrics.downsampling import chunks
from harness.metrics.tally import SampleTally
from harness.plan.jmx.shaping import second_rates

if TYPE_CHECKING:
    from harness.plan.load.groups import GroupLoad

# A chart has at most this many points.
_POINTS_MOST = 600
# An interval has so many requests on average: one at its border, which ends later than it began, is 1 % of it or less.
_REQUESTS_LEAST = 100
# With a larger deviation the load is not the requested one.
_CLOSE_RATIO = 0.05
_JUST_BEFORE_S = 0.001
_ROUNDING = 1e-6


@dataclass(frozen=True)
class UserCurve:
    """The most users in each `bucket_s` seconds from `start_s` (s since 1970) on: requested, and delivered.

    `deviation_ratio` is the mean difference of both per second, divided by the mean of the requested users.
    """

    json_keys: ClassVar = {"requested": "asked"}
    start_s: int
    bucket_s: int
    requested: tuple[int, ...]
    delivered: tuple[int | None, ...]
    deviation_ratio: float

    def text(self) -> str:
        """Return one line for the report."""
        percent = units.percent_text(self.deviation_ratio)
        return f"Users: {percent} % from the curve of its stages (mean difference per second ÷ mean of the curve)."


@dataclass(frozen=True)
class RequestCurve:
    """The requests per second in each `bucket_s` seconds from `start_s` (s since 1970) on: requested, and delivered.

    `deviation_ratio` is the mean difference of both per interval, divided by the mean of the requested rate.
    """

    json_keys: ClassVar = {"requested": "asked"}
    start_s: int
    bucket_s: int
    requested: tuple[float, ...]
    delivered: tuple[float, ...]
    deviation_ratio: float

    def text(self) -> str:
        """Return one line for the report."""
        percent, each = units.percent_text(self.deviation_ratio), f"{self.bucket_s} s"
        text = f"Requests: {percent} % from the curve of its stages (mean difference per {each} ÷ mean of the curve)."
        if self.deviation_ratio <= _CLOSE_RATIO:
            return text
        return f"{text} The users were too few for the curve, or the responses too slow: give more users."


def request_curve(load: GroupLoad, tally: SampleTally) -> RequestCurve | None:
    """Return the curve of a load whose stages are requests per second; None for other loads, and without samples.

    The timer begins its schedule with the second of the first request. Each request counts in the second of its end, so
    the requested curve is shifted by one mean response time.
    """
    span_ms = tally.span_ms()
    if not load.is_shaped or span_ms is None or tally.second_series.span_s is None:
        return None
    rates, start_s = second_rates(load.stages), span_ms.from_ms // units.MS_PER_S
    seconds = tally.second_series.by_second(start_s, start_s + len(rates) - 1)
    delivered = [second.sample_count for second in seconds]
    elapsed_s = sum(second.elapsed_sum_ms for second in seconds) / units.MS_PER_S / max(1, sum(delivered))
    requested = _later(rates, elapsed_s)
    bucket_least_s = math.ceil(_REQUESTS_LEAST * len(requested) / sum(requested))
    bucket_s = max(bucket_least_s, math.ceil(len(requested) / _POINTS_MOST))
    pairs = list(zip(chunks(requested, bucket_s), chunks(delivered, bucket_s), strict=True))
    differences = [abs(sum(wanted) - sum(real)) for wanted, real in pairs]
    return RequestCurve(
        start_s=start_s,
        bucket_s=bucket_s,
        requested=tuple(round(sum(wanted) / len(wanted), 3) for wanted, _ in pairs),
        delivered=tuple(round(sum(real) / len(real), 3) for _, real in pairs),
        deviation_ratio=round(sum(differences) / sum(requested), 5),
    )


def _later(rates: Sequence[float], by_s: float) -> list[float]:
    """Return rates per second as they are so many seconds later; 0 before the first one."""
    whole_s = math.floor(by_s)
    part = by_s - whole_s
    padded = [0.0] * (whole_s + 1) + list(rates)
    return [part * before + (1 - part) * rate for before, rate in pairwise(padded)][: len(rates)]


def user_curve(load: GroupLoad, tally: SampleTally) -> UserCurve | None:
    """Return the curve of a closed load with stages of users; None for other loads, and without users in the samples.

    Where users pause before a request, a load begins one think time before its first sample; where they pause after
    it, with it. The samples do not show which, so the begin is the one from which the users deviate less.
    """
    if load.is_open or load.is_shaped or not load.is_staged:
        return None
    if tally.span_ms() is None or tally.second_series.span_s is None or not tally.second_series.users:
        return None
    pauses_s = dict.fromkeys((0.0, 0.0 if load.think_time_per else load.think_time_s))
    return min((_curve(load, tally, pause_s) for pause_s in pauses_s), key=lambda curve: curve.deviation_ratio)


def _curve(load: GroupLoad, tally: SampleTally, pause_s: float) -> UserCurve:
    """Return the curve of a load whose users pause so long before their first sample."""
    span_ms = tally.span_ms()
    assert span_ms is not None
    origin_s = span_ms.from_ms / units.MS_PER_S - _lead_s(load) - pause_s
    first_s, last_s = int(origin_s), int(origin_s + load.duration_s)
    seconds = range(first_s, last_s + 1)
    requested = [_most_requested(load, second - origin_s, second + 1 - origin_s) for second in seconds]
    delivered = tally.second_series.active_users(first_s, last_s)
    # Nobody sees users who pause before their first sample. Else a load has no users before it, nor after the last one.
    unseen = next((at for at, users in enumerate(delivered) if users is not None), 0) if pause_s else 0
    pairs = list(zip(requested, delivered, strict=True))[unseen:]
    differences = [abs(wanted - (real or 0)) for wanted, real in pairs]
    bucket_s = 1
    while len(seconds) / bucket_s > _POINTS_MOST:
        bucket_s *= 2
    return UserCurve(
        start_s=first_s,
        bucket_s=bucket_s,
        requested=tuple(max(part) for part in chunks(requested, bucket_s)),
        delivered=tuple(
            max((users for users in part if users is not None), default=None) for part in chunks(delivered, bucket_s)
        ),
        deviation_ratio=round(sum(differences) / sum(wanted for wanted, _ in pairs), 5),
    )


def _lead_s(load: GroupLoad) -> float:
    """Return how long after the start of a load its first user begins: JMeter divides a ramp equally."""
    first = next((stage for stage in load.stages if stage.users), load.stages[0])
    before_s = sum(stage.over_s + stage.for_s for stage in load.stages[: load.stages.index(first)])
    return before_s + first.over_s / (first.users or 1)


def _most_requested(load: GroupLoad, from_s: float, to_s: float) -> int:
    """Return the most users between two instants, s after the start of the load."""
    ends = accumulate(part_s for stage in load.stages for part_s in (stage.over_s, stage.for_s))
    times = [from_s, to_s - _JUST_BEFORE_S, *(end_s for end_s in ends if from_s < end_s < to_s)]
    times += [time_s - _JUST_BEFORE_S for time_s in times[2:]]
    return max(_running(load, time_s) for time_s in times)


def _running(load: GroupLoad, at_s: float) -> int:
    """Return the whole users at an instant: in a ramp JMeter starts and ends them one by one."""
    level = load.level_at(at_s)
    is_rising = load.level_at(at_s + _JUST_BEFORE_S) > level
    return math.floor(level + _ROUNDING) if is_rising else math.ceil(level - _ROUNDING)
