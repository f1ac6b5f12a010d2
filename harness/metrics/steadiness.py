"""Decides whether a time series of a run (response times, throughput) changes: slowly, abruptly, or at its end.

Change within the window: the logarithms of the series are fitted with steps and intervals of another level, by
generalised least squares with AR(1) errors, which depend on the previous second: neighbouring seconds resemble each
other, and a test that ignores this takes noise for a change. The correlation comes from the residuals of the best fit,
corrected for the bias of short series. The largest t must stay below a multiple of the 0.05 % value of Student's t with
as many degrees of freedom as the series has independent values. Trends and waves are the slow changes of `slow_noise`.
Single outliers (garbage collections) are replaced by their neighbours' median before the fit (Hampel filter). As a
guard against remaining outliers, the plain averages of 5 s on both sides of a step must also differ by three standard
errors.

Requests that arrive whatever the system does (an open load) build up queues by chance, for as long as a slow-down
lasts. Intervals of such loads must be clearer.

Change at the end: the median of the last 5 s, 10 s and tenth of the window is compared with the medians of the earlier
intervals of the same length. A system that fails at the end is only a small part of the functions above.

`make bench BENCH=window` prints how often this finds changes and how often it is wrong.

Sources: G. W. Cochrane, G. H. Orcutt, "Application of least squares regression to relationships containing
auto-correlated error terms", JASA 44, 1949; F. H. C. Marriott, J. A. Pope, "Bias in the estimation of
autocorrelations", Biometrika 41, 1954; F. R. Hampel, "The influence curve and its role in robust estimation", JASA 69,
1974.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from operator import itemgetter
from statistics import fmean, median, stdev

from harness.metrics.change_fit import ROUNDING, FitLevel, LevelFit, dot
from harness.metrics.extremes import Extremes, extremes
from harness.metrics.interval import Interval
from harness.metrics.slow_noise import slow_ratio
from harness.metrics.timeline import BATCH_S

# Averages that differ by less than this are considered equal, as between two runs.
PRACTICAL_RATIO = 1.05
# The end must be slower or faster than the rest by this ratio, if the load is open or not.
_END_RATIO = {False: 1.33, True: 4.0}
# And further from the median than any earlier interval of that length, by this factor.
_END_BEYOND = 1.25
_BINS_MOST = 300
_SAMPLES_PER_BIN = 5.0
_BINS_LEAST = 20
_FIRST_CORRELATION = 0.3
_ITERATIONS = 3
_SAME_CORRELATION = 0.01
# By these factors the largest t of steps and of intervals exceeds Student's by chance: there are more and more of them.
# The second factor is that of an open load.
_STEP_T = {False: 1.1, True: 1.45}
_INTERVAL_T = {False: 1.2, True: 1.85}
# Several bursts must be clearer: what they leave of noise that lasts resembles itself less.
_BURSTS_T, _BURSTS_MOST = {False: 3.0, True: 4.0}, 3
# Chance exceeds this likelihood ratio of slow changes in less than one of 100 runs; of so many values at most.
_SLOW_LIMIT = {False: 9.0, True: 10.0}
_SLOW_COUNT_MOST = 120
# An interval must differ from the rest by this ratio, and by this share of all time × value.
_INTERVAL_RATIO = 1.15
# A level of a short series must differ by this ratio; it has so many values.
_LEVEL_RATIO, _LEVEL_VALUES_LEAST = 1.1, 10
_INTERVAL_EFFECT_RATIO = 0.03
# So must a step; a small one that concerns little of the window moves no average.
_PARTS_EFFECT_RATIO = 0.015
_CORRELATION_MOST = 0.95
_SHARED_LEAST = 0.25
_LATER = 5
_SIGNIFICANT = 2.5
# Counts also vary by chance, and fewer samples end in a second with a pause.
_COUNTS_RATIO = 1.10
_PLAIN_T, _COUNTS_PLAIN_T = 3.0, 4.0
_NEIGHBOURS = 3
_OUTLIER = 4.0
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


@dataclass(frozen=True)
class _Series:
    """A series without outliers: the logarithms of `known`, pairs of a second and its value.

    `values` has one value per second. `noise` is the variance of the logarithms that neighbours cannot share, `memory`
    for how many logarithms noise resembles itself.
    """

    known: Sequence[tuple[int, float]]
    logs: Sequence[float]
    values: Sequence[float | None]
    noise: float
    memory: float = 0.0


def find_change(
    values: Sequence[float | None],
    per_second: float,
    are_counts: bool = False,
    is_open: bool = False,
    memory_s: float = 0.0,
) -> WindowChange | None:
    """Return the clearest change of a series with one value per second; None when there is none.

    `per_second` is the average number of samples per value; with few samples, seconds are combined. Counts
    (`are_counts`) also vary by chance, which hides their correlation. `is_open`: requests do not wait for answers.
    Requests that wait for each other resemble each other for `memory_s`.
    """
    width_s = max(1, math.ceil(len(values) / _BINS_MOST), math.ceil(_SAMPLES_PER_BIN / max(per_second, 0.01)))
    bins = [_known_mean(values[start : start + width_s]) for start in range(0, len(values) - width_s + 1, width_s)]
    known = [(index * width_s, value) for index, value in enumerate(bins) if value is not None]
    usual = median(value for _, value in known) if known else 0.0
    if len(known) < _BINS_LEAST or usual <= 0:
        return None
    logs = [math.log(max(value, _LEAST_SHARE * usual)) for _, value in known]
    if (ended := _change_at_end(logs, width_s, is_open)) is not None:
        raw = [value for _, value in known]
        return WindowChange(known[ended][0], fmean(raw[:ended]), fmean(raw[ended:]))
    noise = 1 / (per_second * width_s) if are_counts else 0.0
    series = _Series(known, _without_outliers(logs), values, noise, memory_s / width_s)
    return _change_within(series, is_open)


def find_level(values: Sequence[float]) -> WindowChange | None:
    """Return the clearest step or interval of another level of a short series without gaps; None without one.

    The values are means of many samples. A level must be clear, and differ as much as averages of two runs may.
    """
    if len(values) < _LEVEL_VALUES_LEAST or min(values) <= 0:
        return None
    series = _Series(list(enumerate(values)), [math.log(value) for value in values], values, 0.0)
    for is_interval, limit in ((False, _STEP_T[True]), (True, _INTERVAL_T[True])):
        level = _best_level(series, is_interval=is_interval)
        if level.t > limit and abs(level.slope) > math.log(_LEVEL_RATIO):
            inside, outside = values[level.begin : level.end], [*values[: level.begin], *values[level.end :]]
            until = level.end if is_interval else None
            return WindowChange(level.begin, fmean(outside), fmean(inside), until_s=until)
    return None


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


def _change_at_end(logs: Sequence[float], width_s: int, is_open: bool) -> int | None:
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
        if is_far and abs(last - fmean(before)) > t_value(count - 1) * error:
            return begin
    return None


def _without_outliers(logs: Sequence[float]) -> list[float]:
    """Return the series with single outliers replaced by the median of their neighbours."""
    padded = [*logs[_NEIGHBOURS:0:-1], *logs, *logs[-2 : -_NEIGHBOURS - 2 : -1]]
    medians = [median(padded[index : index + 2 * _NEIGHBOURS + 1]) for index in range(len(logs))]
    most = _OUTLIER * _MAD_TO_DEVIATION * median(abs(value - usual) for value, usual in zip(logs, medians, strict=True))
    if most == 0:
        return list(logs)
    return [usual if abs(value - usual) > most else value for value, usual in zip(logs, medians, strict=True)]


def _change_within(series: _Series, is_open: bool) -> WindowChange | None:
    """Return the clearest step, trend or interval of another level of a series; None without one."""
    step, interval = (_best_level(series, is_interval=is_interval) for is_interval in (False, True))
    slow = math.sqrt(_slow_ratio(series) / _SLOW_LIMIT[is_open])
    # The clearest first; of equal ones the simplest.
    shapes: list[tuple[float, Callable[[], WindowChange | None]]] = [
        (step.t / _STEP_T[is_open], partial(_two_parts, series, step)),
        (slow, partial(_slow_change, series)),
        (interval.t / _INTERVAL_T[is_open], partial(_interval, series, interval)),
        (_bursts_t(series) / _BURSTS_T[is_open], partial(_slow_change, series)),
    ]
    changes = (change() for ratio, change in sorted(shapes, key=itemgetter(0), reverse=True) if ratio > 1)
    return next((change for change in changes if change), None)


def _two_parts(series: _Series, step: FitLevel) -> WindowChange | None:
    """Return the change at a step of a series; None when it is too small or by outliers."""
    at_s = series.known[step.begin][0]
    first, last = series.values[:at_s], series.values[at_s:]
    before, after = _known_mean(first), _known_mean(last)
    is_large = abs(step.slope) > math.log(_least_ratio(series))
    is_clear = _plain_t(first, last) > (_COUNTS_PLAIN_T if series.noise else _PLAIN_T)
    if before is None or after is None or not is_large or not is_clear:
        return None
    effect = min(len(first), len(last)) / len(series.values) * abs(after - before) / max(before, after)
    return WindowChange(at_s, before, after) if effect > _PARTS_EFFECT_RATIO else None


def _slow_change(series: _Series) -> WindowChange | None:
    """Return the change between the parts of a third that differ most; None when it is too small."""
    known = [0.0 if value is None else 1.0 for value in series.values]
    parts = extremes([value or 0.0 for value in series.values], known)
    if parts is None or parts.least <= 0 or parts.greatest / parts.least <= _least_ratio(series):
        return None
    return WindowChange.of(parts)


def _least_ratio(series: _Series) -> float:
    return _COUNTS_RATIO if series.noise else PRACTICAL_RATIO


def _slow_ratio(series: _Series) -> float:
    """Return the likelihood ratio of slow changes; 0 where the series is too short beside the memory of its noise."""
    width = max(math.ceil(len(series.logs) / _SLOW_COUNT_MOST), math.ceil(series.memory / 2))
    means = [fmean(series.logs[begin : begin + width]) for begin in range(0, len(series.logs) - width + 1, width)]
    return slow_ratio(means) if len(means) >= _BINS_LEAST else 0.0


def _interval(series: _Series, level: FitLevel) -> WindowChange | None:
    """Return the change in an interval; None when it is too small."""
    ends_s = [*(second for second, _ in series.known), len(series.values)]
    at_s, until_s = ends_s[level.begin], ends_s[level.end]
    before = _known_mean([*series.values[:at_s], *series.values[until_s:]])
    after = _known_mean(series.values[at_s:until_s])
    if before is None or after is None:
        return None
    effect = (until_s - at_s) / len(series.values) * abs(after - before) / max(before, after)
    is_large = abs(level.slope) > math.log(_INTERVAL_RATIO) and effect > _INTERVAL_EFFECT_RATIO
    return WindowChange(at_s, before, after, until_s=until_s) if is_large else None


def _best_level(series: _Series, *, is_interval: bool) -> FitLevel:
    """Return the best step or interval, its t in units of the t that chance exceeds in 0.05 %.

    The correlation is the one that is left beside it: the level itself would raise it. The best of many intervals
    explains some of it, so one standard error is added.
    """
    fit, correlation = LevelFit(series.logs), _FIRST_CORRELATION
    best = fit.best_interval if is_interval else fit.best_step
    level = best(correlation)
    for _ in range(_ITERATIONS):
        if not level.t or not math.isfinite(level.t):
            break
        before, correlation = correlation, _correlation(fit.residuals(level), series.noise)
        if is_interval:
            error = math.sqrt((1 - correlation * correlation) / len(series.logs))
            correlation = min(correlation + error, _CORRELATION_MOST)
        if abs(correlation - before) < _SAME_CORRELATION:
            break
        level = best(correlation)
    return level._replace(t=level.t / _largest_t(len(series.logs), correlation))


def _bursts_t(series: _Series) -> float:
    """Return the t of the clearest of several intervals, as `_best_level`: the noise is what all of them leave."""
    if series.memory * _BINS_LEAST > len(series.logs):
        return 0.0
    logs, correlation, best = list(series.logs), _FIRST_CORRELATION, 0.0
    for _ in range(_BURSTS_MOST):
        level = LevelFit(logs).best_interval(correlation)
        if not level.t:
            break
        inside, outside = logs[level.begin : level.end], [*logs[: level.begin], *logs[level.end :]]
        change = fmean(inside) - fmean(outside)
        if abs(change) > math.log(_INTERVAL_RATIO):
            best = max(best, abs(change) * math.sqrt(len(inside)))
        logs[level.begin : level.end] = [value - change for value in inside]
    rests = [value - fmean(logs) for value in logs]
    correlation = _correlation(rests, series.noise)
    error = math.sqrt(dot(rests, rests) / len(rests) * (1 + correlation) / (1 - correlation))
    return best / max(error, ROUNDING) / _largest_t(len(logs), correlation)


def _largest_t(count: int, correlation: float) -> float:
    """Return the t that chance exceeds in 0.05 % of series of so many correlated values."""
    return t_value(count * (1 - correlation) / (1 + correlation) - 2)


def _correlation(residuals: Sequence[float], noise: float) -> float:
    """Return the correlation of neighbours, corrected for the bias of two fitted coefficients.

    `noise` is the variance that neighbours cannot share; at most three quarters of the total is used.
    """
    square = dot(residuals, residuals)
    if square <= 0:
        return 0.0
    correlation = dot(residuals[1:], residuals[:-1]) / square
    correlation += (2 + 4 * correlation) / len(residuals)
    later = dot(residuals[_LATER:], residuals[:-_LATER]) / square
    if later > _SIGNIFICANT / math.sqrt(len(residuals)):
        correlation = max(correlation, later ** (1 / _LATER))
    correlation /= max(1 - noise * len(residuals) / square, _SHARED_LEAST)
    return min(max(correlation, 0.0), _CORRELATION_MOST)


def _plain_t(first: Sequence[float | None], second: Sequence[float | None]) -> float:
    """Return |t| of the averages of 5 s of one part against those of another."""
    before, after = _batch_logs(first), _batch_logs(second)
    if len(before) < 2 or len(after) < 2:
        return 0.0
    difference = abs(fmean(after) - fmean(before))
    squares = sum((one - fmean(part)) ** 2 for part in (before, after) for one in part)
    error = math.sqrt(squares / (len(before) + len(after) - 2) * (1 / len(before) + 1 / len(after)))
    return difference / error if error > ROUNDING else math.inf


def _batch_logs(values: Sequence[float | None]) -> list[float]:
    means = [_known_mean(values[start : start + BATCH_S]) for start in range(0, len(values) - BATCH_S + 1, BATCH_S)]
    return [math.log(mean) for mean in means if mean]
