"""Finds throttling: the throughput of steady users falls at one time, and stays at a constant fraction of what it was.

A virtual machine without CPU credits, a process that reaches its CPU quota and a disk without burst balance look like
this. The samples per second of the full load are combined into at most 150 bins. A fall is throttling when

- 19 of 20 bins before it are clearly faster than 19 of 20 after it: noise, a slow drift and a stall that ends are not;
- the rate falls clearly within a few bins, the line that fits best goes down within 7 % of the load and fits clearly
  better than every drift over a fifth of the load, and the rate is constant until the end of the load;
- the average rate after it is at most 0.7 × the one before;
- users are steady on both sides, and on neither side most samples fail.

Of all such times the one with the greatest fall is chosen, and then the second at which two Poisson rates fit best.
`make bench BENCH=throttle` prints how often this finds a fall, and how often it is wrong.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from harness.metrics.interval import Interval
from harness.metrics.window import SecondFigures

_BINS_MOST = 150
_BINS_LEAST = 20
# As many as there are, and no fewer than these.
_SAMPLES_PER_BIN, _SAMPLES_PER_BIN_LEAST = 150, 30
# The share of bins on each side that may be on the wrong side of the limit.
_STRAY_RATIO = 0.05
# Throughput after ÷ throughput before: of the fastest bin after and the slowest before, without strays.
_APART_RATIO = 0.80
# Of the bins next to the fall.
_STEEP_RATIO = 0.75
# Of both sides.
_FALL_RATIO = 0.70
# A system with less has not been throttled: it does not answer.
_ALIVE_RATIO = 0.02
_NEIGHBOURS = 3
# Each side lasts at least so long; in a short run this share of it.
_BEFORE_LEAST_S, _AFTER_LEAST_S, _SIDE_RATIO = 240, 300, 0.20
_AFTER_LEAST_SAMPLES = 50
# How long the fall may last, and how much of each side shows it, as shares of the load.
_FALL_LASTS_RATIO, _AROUND_RATIO = 0.07, 0.20
# A fall over this share of the load is a drift. The best short fall fits better than every drift, by a multiple of the
# variance of a bin: this over the root of its width in seconds, since neighbouring seconds are alike. With less, drifts
# and stairs of short runs are called throttled.
_DRIFT_LASTS_RATIO, _LEAD_VARIANCES = 0.20, 36.0
_CONSTANT_RATIO = 1.15
# The parts of the constant interval differ from its average by at most this share, and by chance.
_PARTS, _PART_RATIO, _CHANCE = 5, 0.25, 3.0
_STEADY_USERS_RATIO, _STEADY_SECONDS_RATIO = 0.05, 0.95
# A throttled system answers late, so some requests time out. Where most fail, throughput says nothing about work.
_ERRORS_MOST_RATIO = 0.60
# The fall is at least this share of that from the fast quarter of the bins before.
_WHOLE_FALL_RATIO = 0.40
# Bins just before the fall that have less than this share of the usual rate are its beginning.
_BEGUN_RATIO = 0.90


@dataclass(frozen=True)
class Throttle:
    """A fall of the throughput at `at_s`, to a rate that is constant from `constant_s` on; it began at `began_s`.

    These are seconds after the load began. Rates are samples per second, times average response times: of the full load
    before the fall, and of the constant interval. `user_count` is None when users are not driven.
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
    counts = [second.sample_count for second in seconds[from_s:to_s]]
    width_s = _bin_width_s(counts)
    if width_s is None:
        return None
    skipped_s = len(counts) % width_s
    rates = [sum(counts[start : start + width_s]) / width_s for start in range(skipped_s, len(counts), width_s)]
    fall = _greatest_fall(rates, width_s)
    constant = None if fall is None else _constant_from(rates, fall)
    if fall is None or constant is None or not _is_constant(rates[constant:], width_s):
        return None
    if not _is_sudden(counts, skipped_s + fall * width_s, sorted(rates[:fall])[3 * fall // 4]):
        return None
    begun = _begun(rates, fall)
    at_s = from_s + _refined_s(counts, rates, fall, skipped_s, width_s)
    constant_s = at_s if constant <= fall + 1 else from_s + skipped_s + constant * width_s
    began_s = at_s if begun >= fall - 1 else from_s + skipped_s + begun * width_s
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
    bin_count = min(_BINS_MOST, max(_BINS_LEAST, sum(counts) // _SAMPLES_PER_BIN))
    width_s = math.ceil(len(counts) / bin_count)
    if len(counts) < _BINS_LEAST or sum(counts) < _SAMPLES_PER_BIN_LEAST * len(counts) / width_s:
        return None
    return width_s


def _greatest_fall(rates: Sequence[float], width_s: int) -> int | None:
    """Return the index of the first bin after the greatest fall that divides the bins into fast and slow ones."""
    length_s = len(rates) * width_s
    before_least, after_least = (
        max(_NEIGHBOURS, math.ceil(min(least_s, _SIDE_RATIO * length_s) / width_s))
        for least_s in (_BEFORE_LEAST_S, _AFTER_LEAST_S)
    )
    earlier, later = sorted(rates[: before_least - 1]), sorted(rates[before_least - 1 :])
    best, greatest = None, 0.0
    for index in range(before_least, len(rates) - after_least + 1):
        insort(earlier, rates[index - 1])
        del later[bisect_left(later, rates[index - 1])]
        slowest = earlier[int(_STRAY_RATIO * len(earlier))]
        fastest = later[-1 - int(_STRAY_RATIO * len(later))]
        before, after = _mean(rates[index - _NEIGHBOURS : index]), _mean(rates[index : index + _NEIGHBOURS])
        if fastest <= _APART_RATIO * slowest and after <= _STEEP_RATIO * before and before - after > greatest:
            best, greatest = index, before - after
    return best


def _begun(rates: Sequence[float], fall: int) -> int:
    """Return the index of the first of the slow bins that lead to the fall."""
    most = _BEGUN_RATIO * _median(rates[:fall])
    index = fall
    while index > 0 and rates[index - 1] <= most:
        index -= 1
    return index


def _constant_from(rates: Sequence[float], fall: int) -> int | None:
    """Return the index of the bin from which on the rate is constant; None when the fall lasts too long."""
    most = _CONSTANT_RATIO * _median(rates[fall:])
    for index in range(fall, min(len(rates) - _PARTS, fall + _lasts_most(rates)) + 1):
        if _mean(rates[index : index + _NEIGHBOURS]) <= most:
            return index
    return None


def _is_constant(rates: Sequence[float], width_s: int) -> bool:
    usual = _mean(rates)
    edges = [len(rates) * part // _PARTS for part in range(_PARTS + 1)]
    for begin, end in pairwise(edges):
        by_chance = _CHANCE / math.sqrt(max(1.0, usual * (end - begin) * width_s))
        if abs(_mean(rates[begin:end]) - usual) > (_PART_RATIO + by_chance) * usual:
            return False
    return True


def _is_sudden(counts: Sequence[int], fall_s: int, fast: float) -> bool:
    """Return whether the rate around a fall goes down at once, and as far as from the rate `fast` of long before.

    The line that fits the seconds around it best by least squares is level, goes down, and is level again. It fits
    clearly better than each line that goes down as slowly as a drift.
    """
    width_s = math.ceil(len(counts) / _BINS_MOST)
    around_s = int(_AROUND_RATIO * len(counts))
    begin_s, end_s = max(fall_s % width_s, fall_s - around_s), min(len(counts), fall_s + around_s)
    begin_s += (fall_s - begin_s) % width_s
    rates = [sum(counts[start : start + width_s]) / width_s for start in range(begin_s, end_s - width_s + 1, width_s)]
    fall = (fall_s - begin_s) // width_s
    before, after = _mean(rates[: (fall + 1) // 2]), _mean(rates[-((len(rates) - fall + 1) // 2) :])
    if before - after < _WHOLE_FALL_RATIO * (fast - after):
        return False
    misfits = {
        (begin, end): _misfit(rates, before, after, begin, end)
        for begin in range(len(rates))
        for end in range(begin, len(rates))
    }
    begin, end = min(misfits, key=misfits.__getitem__)
    if end - begin > max(1, int(_FALL_LASTS_RATIO * len(counts) / width_s)):
        return False
    least, drift_lasts = misfits[begin, end], math.ceil(_DRIFT_LASTS_RATIO * len(counts) / width_s)
    lead = min(misfit for (begin, end), misfit in misfits.items() if end - begin >= drift_lasts) - least
    return lead * len(rates) >= _LEAD_VARIANCES / math.sqrt(width_s) * least


def _misfit(rates: Sequence[float], before: float, after: float, begin: int, end: int) -> float:
    """Return the squared differences from a rate that goes from `before` to `after` between two bins."""
    squares = 0.0
    for index, rate in enumerate(rates):
        share = 0.0 if index < begin else 1.0 if index >= end else (index - begin + 1) / (end - begin + 1)
        squares += (rate - before - share * (after - before)) ** 2
    return squares


def _lasts_most(rates: Sequence[float]) -> int:
    """Return over how many bins a fall may last."""
    return max(2, int(_FALL_LASTS_RATIO * len(rates)))


def _refined_s(counts: Sequence[int], rates: Sequence[float], fall: int, skipped_s: int, width_s: int) -> int:
    """Return the second of the fall: the end of the earlier rate that is most likely near the bins' edge."""
    edge_s = skipped_s + fall * width_s
    before = _mean(rates[max(0, fall - _NEIGHBOURS - 1) : fall - 1])
    after = _mean(rates[fall + 1 : fall + _NEIGHBOURS + 1])
    if not 0 < after < before:
        return edge_s
    begin_s, end_s = edge_s - width_s, min(len(counts), edge_s + width_s)
    gain = math.log(before / after)
    likelihoods = list(accumulate((count * gain - (before - after) for count in counts[begin_s:end_s]), initial=0.0))
    return begin_s + likelihoods.index(max(likelihoods))


# The module statistics does the same, but every table would wait until it is loaded.
def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _median(values: Iterable[float]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def _steady_users(sides: Sequence[Sequence[SecondFigures]]) -> int | None:
    """Return the usual number of users where it is the same on both sides; None where it changes or is not known."""
    known = [[second.active_users for second in side if second.active_users is not None] for side in sides]
    if not all(known):
        return None
    usual = _median(users for side in known for users in side)
    most = _STEADY_USERS_RATIO * usual
    for side in known:
        if sum(abs(users - usual) <= most for users in side) < _STEADY_SECONDS_RATIO * len(side):
            return None
    return round(usual)


def _side(seconds: Sequence[SecondFigures]) -> _Side:
    sample_count = sum(second.sample_count for second in seconds)
    error_count = sum(second.error_count for second in seconds)
    elapsed_sum_ms = sum(second.elapsed_sum_ms for second in seconds)
    samples = max(1, sample_count)
    return _Side(sample_count, error_count / samples, sample_count / max(1, len(seconds)), elapsed_sum_ms / samples)


def _is_throttled(before: _Side, after: _Side) -> bool:
    return (
        after.sample_count >= _AFTER_LEAST_SAMPLES
        and _ALIVE_RATIO * before.per_s <= after.per_s <= _FALL_RATIO * before.per_s
        and max(before.error_ratio, after.error_ratio) <= _ERRORS_MOST_RATIO
    )
