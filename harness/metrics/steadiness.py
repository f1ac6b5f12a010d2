"""Decides whether a time series of a run (response times, throughput) changes: slowly, abruptly, or at its end.

Change within the window: the means of two parts of a third differ by more than a limit, and the logarithms of the
series by more than its own noise, `noise_fit`. Single outliers (garbage collections) are replaced by their neighbours'
median before (Hampel filter).

Change at the end: the median of the last 5 s, 10 s and tenth of the window is compared with the medians of the earlier
intervals of the same length. A system that fails at the end is only a small part of the thirds above. Requests that
arrive whatever the system does (an open load) build up queues by chance, so their end must be clearer.

Short series of batches are judged by the likelihoods of slow change, a step and an interval.

`make bench BENCH=window` prints how often this finds changes and how often it is wrong.

Source: F. R. Hampel, "The influence curve and its role in robust estimation", JASA 69, 1974.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from statistics import fmean, median, stdev

from harness.metrics.distributions import binomial_at_most
from harness.metrics.extremes import Extremes, extremes
from harness.metrics.interval import Interval
from harness.metrics.noise_fit import FoundLevel, FoundWave, NoiseFit

# Averages that differ by less than this are considered equal, as between two runs.
PRACTICAL_RATIO = 1.05
# The end must be slower or faster than the rest by this ratio, if the load is open or not.
_END_RATIO = {False: 1.33, True: 4.0}
# And further from the median than any earlier interval of that length, by this factor.
_END_BEYOND = 2.0
# Half of its values are beyond the middle between both by chance in at most this share of cases.
_END_CHANCE = 0.01
_BINS_MOST, _BINS_LEAST, _BINS_FEW, _SAMPLES_PER_BIN = 120, 20, 12, 5.0
# Chance exceeds these likelihood ratios, of slow changes, a step and one to three levels, in one of 200 runs. Counts
# also vary because a few users wait for long.
_SLOW_LIMIT = {False: 7.0, True: 14.0}
# Queues of an open load make steps by chance.
_STEP_LIMIT, _LEVEL_LIMITS = {False: 14.5, True: 17.0}, (30.0, 49.0, 60.0)
_COUNTS_FACTOR = 1.2
# Thirds that differ by less than this ratio must do so more clearly, by this factor: no number is off by much.
_SMALL_RATIO, _SMALL_FACTOR = 1.10, 1.5
# Averages of thirds must differ by PRACTICAL_RATIO, counts by this: they also vary by chance.
_COUNTS_RATIO = 1.10
# Regular waves are the state of a system while their thirds differ by less than this ratio.
_WAVE_LIMIT, _WAVE_RATIO = 25.0, 1.10
# Thirds of a short series must differ by this ratio, and a step of percentiles be clearer; it has so many values.
_LEVEL_RATIO, _SHORT_STEP_LIMIT, _LEVEL_VALUES_LEAST = 1.1, {True: 15.0, False: 20.0}, 10
_SHORT_SLOW_LIMIT = 15.0
_NEIGHBOURS = 3
_OUTLIER, _OUTLIERS_MOST_RATIO = 4.0, 0.045
_MAD_TO_DEVIATION = 1.4826
_END_BLOCKS_LEAST = 4
_END_SECONDS = (5, 10)
# Smaller values are raised to this share of the median: the logarithm of an empty second would be infinite.
_LEAST_SHARE = 0.05
# Student's t by degrees of freedom: the |t| that is exceeded in 0.05 % of cases.
T_VALUES = {
    3: 16.326, 4: 10.306, 5: 7.976, 6: 6.788, 8: 5.617, 10: 5.049, 15: 4.417, 20: 4.146, 30: 3.902, 60: 3.681,
    math.inf: 3.481,
}  # fmt: skip


@dataclass(frozen=True)
class WindowChange:
    """The values before and after a change that begins `at_s` seconds after the start of the series.

    With `until_s` the change ends there: `after` is the average until then, `before` that of the rest. With `parts` the
    series changes all the time; the values are then those of these two parts, in order of time, which differ most.
    """

    at_s: int
    before: float
    after: float
    until_s: int | None = None
    parts: tuple[Interval, Interval] | None = None

    @classmethod
    def of(cls, found: Extremes) -> WindowChange:
        """Return the change between the parts that differ most."""
        least, greatest = (found.least_in, found.least), (found.greatest_in, found.greatest)
        (first, before), (last, after) = sorted((least, greatest))
        return cls(first.from_s, before, after, parts=(first, last))


def find_change(
    values: Sequence[float | None],
    per_second: float,
    are_counts: bool = False,
    is_open: bool = False,
    memory_s: float = 0.0,
    least: float = 0.0,
) -> WindowChange | None:
    """Return the clearest change of a series with one value per second, by more than `least`; None when there is none.

    `per_second` is the average number of samples per value; with few samples, seconds are combined. Counts
    (`are_counts`) also vary by chance, which hides their correlation. `is_open`: requests do not wait for answers.
    Requests that wait for each other resemble each other for `memory_s`.
    """
    resembling_s = min(memory_s / 2, len(values) / _BINS_FEW)
    width_s = max(1.0, len(values) / _BINS_MOST, _SAMPLES_PER_BIN / max(per_second, 0.01), resembling_s)
    count = int(len(values) / width_s)
    edges = [round(index * len(values) / count) for index in range(count + 1)] if count else [0]
    bins = [(begin, _known_mean(values[begin:end])) for begin, end in pairwise(edges)]
    known = [(begin, value) for begin, value in bins if value is not None]
    usual = median(value for _, value in known) if known else 0.0
    if usual <= 0:
        return None
    if len(known) < _BINS_LEAST:
        return _change_of_few(known, len(values), are_counts, least)
    logs = [math.log(max(value, _LEAST_SHARE * usual)) for _, value in known]
    if (ended := _change_at_end(logs, width_s, is_open)) is not None:
        raw = [value for _, value in known]
        before, after = fmean(raw[:ended]), fmean(raw[ended:])
        return WindowChange(known[ended][0], before, after) if abs(after - before) > least else None
    parts = extremes([value or 0.0 for value in values], [0.0 if value is None else 1.0 for value in values])
    least_ratio = _COUNTS_RATIO if are_counts else PRACTICAL_RATIO
    if parts is None or not 0 < parts.least * least_ratio < parts.greatest or parts.greatest - parts.least <= least:
        return None
    fit, is_small = NoiseFit(_without_outliers(logs)), parts.greatest < _SMALL_RATIO * parts.least
    clearer = _SMALL_FACTOR if is_small else 1.0
    factor = clearer * (_COUNTS_FACTOR if are_counts else 1.0)
    slow_ratio, levels = fit.slow_ratio(), fit.levels()
    limits = [factor * limit for limit in _LEVEL_LIMITS]
    are_levels = any(level.ratio > limit for level, limit in zip(levels, limits, strict=False))
    is_other = are_levels or slow_ratio > clearer * _SLOW_LIMIT[are_counts]
    # Of a few users one may wait for long: then a step of the throughput is none of the system.
    step_limit = factor * _STEP_LIMIT[is_open]
    if not is_other and (are_counts or not (fit.step_ratio() > step_limit or _is_uneven(fit.wave()))):
        return None
    if levels and levels[0].ratio >= slow_ratio:
        begins = [*(begin for begin, _ in known), len(values)]
        return _of_level(values, begins, levels[0])
    return WindowChange.of(parts)


def _change_of_few(
    known: Sequence[tuple[int, float]], length_s: int, are_counts: bool, least: float
) -> WindowChange | None:
    """Return the clearest change of few bins, each with its first second; None when there is none."""
    change = find_level([value for _, value in known], are_means=not are_counts, least=least)
    if change is None:
        return None
    seconds, parts = [*(begin for begin, _ in known), length_s], None
    if change.parts:
        first, last = (Interval(seconds[part.from_s], seconds[part.to_s]) for part in change.parts)
        parts = first, last
    until_s = None if change.until_s is None else seconds[change.until_s]
    return WindowChange(seconds[change.at_s], change.before, change.after, until_s, parts)


def _is_uneven(wave: FoundWave) -> bool:
    """Return whether a wave is clear, and its thirds differ."""
    if wave.ratio <= _WAVE_LIMIT:
        return False
    parts = extremes(list(map(math.exp, wave.values)), [1.0] * len(wave.values))
    return parts is not None and parts.greatest > _WAVE_RATIO * parts.least


def find_level(
    values: Sequence[float], series_count: int = 1, are_means: bool = False, memory: float = 0.0, least: float = 0.0
) -> WindowChange | None:
    """Return the clearest step, other level, or slow change of a short series without gaps; None without one.

    Thirds differ by more than `least`.

    The values are means of many samples (`are_means`), or percentiles. A level must be clear, the more so the more
    series are looked at, and differ as much as averages of two runs may. Values that resemble each other for `memory`
    values are combined.
    """
    width = max(1, math.ceil(memory / 2))
    combined = [fmean(values[begin : begin + width]) for begin in range(0, len(values), width)]
    # Where most values are 0, as of answers that become empty, the others are the usual ones.
    usual = median(combined) or fmean(combined)
    if len(combined) < _LEVEL_VALUES_LEAST or usual <= 0:
        return None
    fit = NoiseFit([math.log(max(value, _LEAST_SHARE * usual)) for value in combined])
    more = 2 * math.log(series_count)
    levels, step_limit, slow_ratio = fit.levels(), _SHORT_STEP_LIMIT[are_means] + more, fit.slow_ratio()
    is_step = bool(levels) and (levels[0].ratio > _LEVEL_LIMITS[0] + more or fit.step_ratio() > step_limit)
    if not is_step and slow_ratio <= _SHORT_SLOW_LIMIT + more:
        return None
    parts = extremes(values, [1.0] * len(values))
    if parts is None or parts.greatest < _LEVEL_RATIO * parts.least or parts.greatest - parts.least <= least:
        return None
    if not is_step or levels[0].ratio < slow_ratio:
        return WindowChange.of(parts)
    begin, end = (min(width * edge, len(values)) for edge in (levels[0].begin, levels[0].end))
    inside, outside = fmean(values[begin:end]), fmean([*values[:begin], *values[end:]])
    if begin == 0:
        return WindowChange(end, inside, outside)
    return WindowChange(begin, outside, inside, until_s=end if end < len(values) else None)


def _of_level(values: Sequence[float | None], begins: Sequence[int], level: FoundLevel) -> WindowChange:
    """Return the change at the edges of a level, by second: `begins` are those of the bins."""
    amounts = list(accumulate((value or 0.0 for value in values), initial=0.0))
    counts = list(accumulate((value is not None for value in values), initial=0))

    def gain(from_s: int, to_s: int) -> float:
        amount, share = amounts[to_s] - amounts[from_s], (counts[to_s] - counts[from_s]) / counts[-1]
        return (amount - share * amounts[-1]) ** 2 / (share * (1 - share)) if 0 < share < 1 else 0.0

    at_s, until_s = begins[level.begin], begins[level.end]
    if level.begin:
        near = range(begins[level.begin - 1] + 1, min(begins[level.begin + 1], until_s))
        at_s = max(near, key=lambda second: (gain(second, until_s), -abs(second - at_s)))
    if level.end < len(begins) - 1:
        near = range(max(begins[level.end - 1], at_s) + 1, begins[level.end + 1])
        until_s = max(near, key=lambda second: (gain(at_s, second), -abs(second - until_s)))
    amount, count = amounts[until_s] - amounts[at_s], counts[until_s] - counts[at_s]
    inside, outside = amount / count, (amounts[-1] - amount) / (counts[-1] - count)
    if at_s == 0:
        return WindowChange(until_s, inside, outside)
    return WindowChange(at_s, outside, inside, until_s=until_s if level.end < len(begins) - 1 else None)


def _known_mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def t_value(freedom: float) -> float:
    """Return Student's t for any degrees of freedom, interpolated in T_VALUES."""
    freedom = max(freedom, min(T_VALUES))
    for low, high in pairwise(T_VALUES):
        if freedom <= high:
            share = (1 / low - 1 / freedom) / (1 / low - 1 / high)
            return T_VALUES[low] + share * (T_VALUES[high] - T_VALUES[low])
    return T_VALUES[math.inf]


def _change_at_end(logs: Sequence[float], width_s: float, is_open: bool) -> int | None:
    """Return the index from which the end differs from everything before; None when it does not."""
    lengths = {math.ceil(seconds / width_s) for seconds in _END_SECONDS} | {len(logs) // 10}
    for length in sorted(lengths, reverse=True):
        count = len(logs) // length - 1 if length >= _NEIGHBOURS else 0
        if count < _END_BLOCKS_LEAST:
            continue
        begin = len(logs) - length
        before = [median(logs[begin - length * index : begin - length * (index - 1)]) for index in range(1, count + 1)]
        last, usual = median(logs[begin:]), median(logs)
        error = stdev(before) * math.sqrt(1 + 1 / count)
        furthest = max(abs(one - usual) for one in before)
        is_far = abs(last - usual) > max(math.log(_END_RATIO[is_open]), _END_BEYOND * furthest)
        if is_far and abs(last - fmean(before)) > t_value(count - 1) * error and not _is_chance(logs, begin):
            return begin
    return None


def _is_chance(logs: Sequence[float], begin: int) -> bool:
    """Return whether so many values are as far before `begin` that half of the last ones may be so by chance."""
    last, usual, length = median(logs[begin:]), median(logs), len(logs) - begin
    middle = (last + usual) / 2
    share = sum((value > middle) == (last > usual) for value in logs[:begin]) / begin
    return 1 - binomial_at_most((length - 1) // 2, length, share) > _END_CHANCE


def _without_outliers(logs: Sequence[float]) -> list[float]:
    """Return the series with single outliers replaced by the median of their neighbours; many of them are its noise."""
    padded = [*logs[_NEIGHBOURS:0:-1], *logs, *logs[-2 : -_NEIGHBOURS - 2 : -1]]
    medians = [median(padded[index : index + 2 * _NEIGHBOURS + 1]) for index in range(len(logs))]
    away = [abs(value - usual) for value, usual in zip(logs, medians, strict=True)]
    most = _OUTLIER * _MAD_TO_DEVIATION * median(away)
    if most == 0 or sum(one > most for one in away) > _OUTLIERS_MOST_RATIO * len(logs):
        return list(logs)
    return [usual if one > most else value for value, usual, one in zip(logs, medians, away, strict=True)]
