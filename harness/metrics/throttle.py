"""Finds throttling: the throughput of steady users falls at one time, and stays at a constant fraction of what it was.

A virtual machine without CPU credits, a process that reaches its CPU quota and a disk without burst balance look like
this. The samples per second of the full load are combined into at most 150 bins. A fall is throttling when

- it goes down in one step or a few: the greatest is a clear part of it, and all are within 7 % of the load; in a load
  of 18 min and more within 10 min, but at most 28 % of it (CPU credits are counted every 5 min);
- 19 of 20 bins before it are clearly faster than 19 of 20 after it: noise, a slow drift and a stall that ends are not;
- steps fit the rate around it significantly better than every drift over a fifth of the load;
- before and after it there is no other lasting step down (stairs), and the rate after it is constant until the end;
- the average rate after it is at most 0.7 × the one before;
- users are steady on both sides, and on neither side most samples fail.

Of all such times the one with the greatest step is chosen. Each step is at the second at which two Poisson rates fit
best. `make bench BENCH=throttle` prints how often this finds a fall, and how often it is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from harness.metrics.interval import Interval
from harness.metrics.load_seconds import each, sum_of
from harness.metrics.rate_steps import Fall, RateLevels, is_sudden
from harness.metrics.timeline import SecondFigures, total

_BINS_MOST = 150
_BINS_LEAST = 20
# As many as there are, and no fewer than these.
_SAMPLES_PER_BIN, _SAMPLES_PER_BIN_LEAST = 150, 30
# The share of bins on each side that may be on the wrong side of the limit.
_STRAY_RATIO = 0.05
# Throughput after ÷ throughput before: of the fastest bin after and the slowest before, without strays.
_APART_RATIO = 0.80
# Of the bins next to the greatest step.
_STEEP_RATIO = 0.75
# Of both sides.
_FALL_RATIO = 0.70
# A system with less has not been throttled: it does not answer.
_ALIVE_RATIO = 0.02
_NEIGHBOURS = 3
# Each side lasts at least so long; in a short run this share of it.
_BEFORE_LEAST_S, _AFTER_LEAST_S, _SIDE_RATIO = 240, 300, 0.20
_AFTER_LEAST_SAMPLES = 50
# How long the fall may last: this share of the load; or these seconds, but at most that share of the load, where that
# is the 5 min between two counts of CPU credits or more. Three equal stairs last a third of the load.
_FALL_LASTS_RATIO, _FALL_LASTS_S, _FALL_LASTS_MOST_RATIO, _CREDITS_PERIOD_S = 0.07, 600, 0.28, 300
# A bin next to the greatest step is partly on its other side when it is slower than those before by this factor, or
# faster than those after. A smaller step belongs to the fall when it is at least this share of it.
_BEGUN_RATIO, _ENDED_RATIO, _PART_OF_FALL_RATIO = 0.90, 1.10, 0.10
# The greatest step is at least this share of the fall from the fast quarter of the bins before.
_WHOLE_FALL_RATIO = 0.40
# Another lasting step before or after the fall is a stair: at least this share of the fall, or to this share of the
# rate, a fifth of the side away from its ends. A fifth of the smoothed bins may be on the wrong side of its middle;
# with more the rate goes up and down.
_STAIR_RATIO, _STAIR_STEP_RATIO, _STAIR_LASTS_RATIO, _STAIR_STRAY_RATIO = 0.20, 0.70, 0.20, 0.20
# A fall over this share of the load is a drift. How much of each side is looked at, as a share of the load.
_DRIFT_LASTS_RATIO, _AROUND_RATIO = 0.20, 0.20
# The error probability with which a fall is no drift. In few bins a drift looks more like a fall.
_ERROR_RATIO, _SHORT_ERROR_RATIO, _LONG_S = 0.005, 0.0002, 600
# The parts of the constant interval differ from its average by at most this share, and by chance.
_PARTS, _PART_RATIO, _CHANCE = 5, 0.25, 3.0
_STEADY_USERS_RATIO, _STEADY_SECONDS_RATIO = 0.05, 0.95
# A throttled system answers late, so some requests time out. Where most fail, throughput says nothing about work.
_ERRORS_MOST_RATIO = 0.60
# Requests in flight (rate × time) scatter by less than this. Failures may be quick ones.
_IN_FLIGHT_RATIO, _ERRORS_FEW_RATIO = 0.90, 0.01


@dataclass(frozen=True)
class Throttle:
    """A fall of the throughput that began at `began_s`, to a rate that is constant from `constant_s` on.

    Its greatest step was at `at_s`; the three are equal for a fall in one step. These are seconds after the load
    began. Rates are samples per second, times average response times: of the full load before the fall, and of the
    constant interval. `user_count` is None when users are not driven.
    """

    at_s: int
    began_s: int
    constant_s: int
    before_per_s: float
    after_per_s: float
    before_ms: float
    after_ms: float
    after_error_ratio: float
    user_count: int | None

    @property
    def ratio(self) -> float:
        """The throughput after the fall ÷ the one before."""
        return self.after_per_s / self.before_per_s

    @property
    def is_of_users(self) -> bool:
        """Whether steady users sent less: fewer requests were in flight, where those of a slower system are more."""
        fewer = self.after_per_s * self.after_ms < _IN_FLIGHT_RATIO * self.before_per_s * self.before_ms
        return self.user_count is not None and fewer and self.after_error_ratio < _ERRORS_FEW_RATIO


@dataclass(frozen=True)
class _Side:
    sample_count: int
    error_ratio: float
    per_s: float
    average_ms: float


def find_throttle(
    seconds: Sequence[SecondFigures], full_load_s: Interval, users_are_driven: bool = True
) -> Throttle | None:
    """Return the fall of a run's throughput to a constant fraction; None without one.

    `seconds` has one entry per second since the first start of the load, `full_load_s` is the interval of full load.
    Without `users_are_driven` (an open load) the number of users is not looked at.
    """
    from_s, to_s = full_load_s.from_s, full_load_s.to_s
    counts = each(seconds[from_s:to_s], lambda second: second.sample_count)
    if (width_s := _bin_width_s(counts)) is None:
        return None
    rates = _rates(counts, len(counts) % width_s, len(counts), width_s)
    fall = _greatest_fall(rates, width_s)
    if fall is None or not _is_fall_to_constant(rates, fall, width_s):
        return None
    fall_s = _refined(counts, rates, fall, width_s)
    if not _is_sudden(counts, fall_s, width_s):
        return None
    began_s, at_s, constant_s = (from_s + second for second in fall_s)
    sides = seconds[from_s:began_s], seconds[constant_s:to_s]
    user_count = _steady_users(sides) if users_are_driven else None
    if users_are_driven and user_count is None:
        return None
    before, after = map(_side, sides)
    if not _is_throttled(before, after):
        return None
    return Throttle(
        at_s=at_s,
        began_s=began_s,
        constant_s=constant_s,
        before_per_s=before.per_s,
        after_per_s=after.per_s,
        before_ms=before.average_ms,
        after_ms=after.average_ms,
        after_error_ratio=after.error_ratio,
        user_count=user_count,
    )


def _bin_width_s(counts: Sequence[int]) -> int | None:
    """Return the width of the bins in seconds; None with too few seconds or samples."""
    count = sum_of(counts)
    width_s = math.ceil(len(counts) / min(_BINS_MOST, max(_BINS_LEAST, count // _SAMPLES_PER_BIN)))
    is_enough = len(counts) >= _BINS_LEAST and count >= _SAMPLES_PER_BIN_LEAST * len(counts) / width_s
    return width_s if is_enough else None


def _rates(counts: Sequence[int], begin_s: int, end_s: int, width_s: int) -> list[float]:
    """Return the samples per second of the complete bins from `begin_s` on."""
    starts = range(begin_s, end_s - width_s + 1, width_s)
    return [sum_of(counts[start : start + width_s]) / width_s for start in starts]


def _greatest_fall(rates: Sequence[float], width_s: int) -> Fall | None:
    """Return the fall with the greatest step of those that divide the bins into fast and slow ones."""
    length_s, levels = len(rates) * width_s, RateLevels(rates)
    before_least, after_least = (
        max(bins_least, math.ceil(min(least_s, _SIDE_RATIO * length_s) / width_s))
        for bins_least, least_s in ((_NEIGHBOURS, _BEFORE_LEAST_S), (_PARTS, _AFTER_LEAST_S))
    )
    candidates = range(before_least, len(rates) - after_least + 1)
    best, greatest = None, 0.0
    for step in candidates:
        before, after = levels.mean(step - _NEIGHBOURS, step), levels.mean(step, step + _NEIGHBOURS)
        if after > _STEEP_RATIO * before or before - after <= greatest:
            continue
        fall = _whole_fall(levels, step, candidates, _lasts_most(len(rates), width_s))
        if _are_apart(rates[: fall.begin], rates[fall.end :]):
            best, greatest = fall, before - after
    return best


def _lasts_most(count: int, width_s: int) -> int:
    """Return over how many of the bins a fall may last."""
    length_s = count * width_s
    long_s = min(_FALL_LASTS_S, _FALL_LASTS_MOST_RATIO * length_s)
    if long_s < max(_CREDITS_PERIOD_S, _FALL_LASTS_RATIO * length_s):
        return max(2, int(_FALL_LASTS_RATIO * count))
    return int(long_s / width_s) + 1


def _whole_fall(levels: RateLevels, step: int, candidates: range, most: int) -> Fall:
    """Return the fall around its greatest step: with the best step before it and after it, if they are near enough.

    Steps are searched twice as far: a farther one is not part of the fall. A bin next to the greatest step may be
    partly on either side of it, and is no step.
    """
    mean, end = levels.mean, levels.count
    is_begun = step > candidates[0] and mean(step - 1, step) <= _BEGUN_RATIO * mean(step - 4, step - 1)
    is_falling = step < candidates[-1] and mean(step, step + 1) >= _ENDED_RATIO * mean(step + 1, step + 4)
    first, last = step - is_begun, step + is_falling
    begun = levels.split(0, range(max(candidates[0], step - 2 * most), first + 1), first)
    ended = levels.split(last, range(last, min(candidates[-1], step + 2 * most) + 1), end)
    least = _PART_OF_FALL_RATIO * (mean(0, begun) - mean(ended, end))
    if step - begun > most or mean(0, begun) - mean(begun, first) < least:
        begun = first
    if ended - step > most or mean(last, ended) - mean(ended, end) < least:
        ended = last
    if ended - begun > most:
        begun, ended = (first, ended) if levels.gain(0, begun, first) < levels.gain(last, ended, end) else (begun, last)
    return Fall(begun, step, ended)


def _are_apart(before: Sequence[float], after: Sequence[float]) -> bool:
    """Return whether nearly all bins before are clearly faster than nearly all after."""
    slowest = sorted(before)[int(_STRAY_RATIO * len(before))]
    fastest = sorted(after)[-1 - int(_STRAY_RATIO * len(after))]
    return fastest <= _APART_RATIO * slowest


def _is_fall_to_constant(rates: Sequence[float], fall: Fall, width_s: int) -> bool:
    """Return whether one step is a clear part of the fall, neither side has stairs, and the rate is constant after."""
    before, left, right, after = _four_levels(rates, fall)
    fast = sorted(rates[: fall.begin])[3 * fall.begin // 4]
    return (
        left - right >= _WHOLE_FALL_RATIO * (fast - after)
        and _is_constant(rates[fall.end :], width_s)
        and not any(_has_stair(side, before - after) for side in (rates[: fall.begin], rates[fall.end :]))
    )


def _four_levels(rates: Sequence[float], fall: Fall) -> list[float]:
    """Return the rates before the fall, on both sides of its greatest step, and after it."""
    before, after = _mean(rates[: fall.begin]), _mean(rates[fall.end :])
    left = _mean(rates[fall.begin : fall.step]) if fall.step - fall.begin > 1 else before
    right = _mean(rates[fall.step : fall.end]) if fall.end - fall.step > 1 else after
    return [before, left, right, after]


def _has_stair(rates: Sequence[float], fall: float) -> bool:
    """Return whether the rate goes down clearly within a side of a fall, and stays there."""
    count, levels = len(rates), RateLevels(rates)
    least = max(_NEIGHBOURS, int(_STAIR_LASTS_RATIO * count))
    if count < 2 * least:
        return False
    edge = levels.split(0, range(least, count - least + 1), count)
    early, late = levels.mean(0, edge), levels.mean(edge, count)
    if early - late < _STAIR_RATIO * fall and late > _STAIR_STEP_RATIO * early:
        return False
    middle = (early + late) / 2
    starts = range(edge - _NEIGHBOURS + 1), range(edge, count - _NEIGHBOURS + 1)
    smooth = [[levels.mean(start, start + _NEIGHBOURS) for start in part] for part in starts]
    strays = sum(rate < middle for rate in smooth[0]), sum(rate > middle for rate in smooth[1])
    return all(stray <= _STAIR_STRAY_RATIO * len(part) for stray, part in zip(strays, smooth, strict=True))


def _is_constant(rates: Sequence[float], width_s: int) -> bool:
    usual = _mean(rates)
    edges = [len(rates) * part // _PARTS for part in range(_PARTS + 1)]
    for begin, end in pairwise(edges):
        by_chance = _CHANCE / math.sqrt(max(1.0, usual * (end - begin) * width_s))
        if abs(_mean(rates[begin:end]) - usual) > (_PART_RATIO + by_chance) * usual:
            return False
    return True


def _refined(counts: Sequence[int], rates: Sequence[float], fall: Fall, width_s: int) -> Fall:
    """Return the seconds of a fall's steps; a bin next to the greatest step belongs to that."""
    before, left, right, after = _four_levels(rates, fall)
    edges_s = [len(counts) % width_s + edge * width_s for edge in fall]
    step_s = _refined_s(counts, edges_s[1], width_s, left, right)
    begin_s = _refined_s(counts, edges_s[0], width_s, before, left) if fall.step - fall.begin > 1 else step_s
    end_s = _refined_s(counts, edges_s[2], width_s, right, after) if fall.end - fall.step > 1 else step_s
    return Fall(min(begin_s, step_s), step_s, max(step_s, end_s))


def _refined_s(counts: Sequence[int], edge_s: int, width_s: int, before: float, after: float) -> int:
    """Return the second of a step: the end of the earlier rate that is most likely near the bins' edge."""
    if not 0 < after < before:
        return edge_s
    begin_s, end_s = max(0, edge_s - width_s), min(len(counts), edge_s + width_s)
    gain = math.log(before / after)
    likelihoods = list(accumulate((count * gain - (before - after) for count in counts[begin_s:end_s]), initial=0.0))
    return begin_s + likelihoods.index(max(likelihoods))


def _is_sudden(counts: Sequence[int], fall_s: Fall, width_s: int) -> bool:
    """Return whether steps fit the rate around a fall significantly better than every drift."""
    around_s = int(_AROUND_RATIO * len(counts))
    begin_s, end_s = max(fall_s.step % width_s, fall_s.begin - around_s), min(len(counts), fall_s.end + around_s)
    begin_s += (fall_s.step - begin_s) % width_s
    rates = _rates(counts, begin_s, end_s, width_s)
    fall = Fall(*(max(0, min(len(rates), round((edge_s - begin_s) / width_s))) for edge_s in fall_s))
    error_ratio = _ERROR_RATIO if len(counts) >= _LONG_S else _SHORT_ERROR_RATIO
    return is_sudden(rates, fall, math.ceil(_DRIFT_LASTS_RATIO * len(counts) / width_s), error_ratio)


# The module statistics does the same, but every table would wait until it is loaded.
def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _steady_users(sides: Sequence[Sequence[SecondFigures]]) -> int | None:
    """Return the usual number of users where it is the same on both sides; None where it changes or is not known."""
    from statistics import median  # imported late, as above: few runs have such a fall

    known = [[second.active_users for second in side if second.active_users is not None] for side in sides]
    if not all(known):
        return None
    usual = median(users for side in known for users in side)
    most = _STEADY_USERS_RATIO * usual
    are_steady = (sum(abs(one - usual) <= most for one in side) >= _STEADY_SECONDS_RATIO * len(side) for side in known)
    return round(usual) if all(are_steady) else None


def _side(seconds: Sequence[SecondFigures]) -> _Side:
    sums = total(seconds)
    samples = max(1, sums.sample_count)
    per_s = sums.sample_count / max(1, len(seconds))
    return _Side(sums.sample_count, sums.error_count / samples, per_s, sums.elapsed_sum_ms / samples)


def _is_throttled(before: _Side, after: _Side) -> bool:
    return (
        after.sample_count >= _AFTER_LEAST_SAMPLES
        and _ALIVE_RATIO * before.per_s <= after.per_s <= _FALL_RATIO * before.per_s
        and max(before.error_ratio, after.error_ratio) <= _ERRORS_MOST_RATIO
    )
