"""Judge each nightly value of a metric against the earlier ones.

The rules and their reasons are in docs/methodology.md, "Tonight against history".
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

import numpy as np

from harness.history.change_points import ChangePoint, change_points
from harness.metrics.metric import CLOCK_STEP_MS, Metric

OK, WARNED, REGRESSED, IMPROVED, LEARNING = "OK", "WARNED", "REGRESSED", "IMPROVED", "LEARNING"

# The baseline is the median of at most this many earlier nightly values.
BASELINE_VALUES_MOST = 20
# The spread is estimated from at most this many values.
_SPREAD_VALUES_MOST = 60
# Fewer values are not judged.
VALUES_LEAST = 6
# An improvement that lasts this long becomes the baseline from its first value on. A shorter time would report the end
# of a lucky streak as a regression; after a longer time the median follows by itself.
_BETTER_VALUES_LEAST = BASELINE_VALUES_MOST // 2
# The limit in standard deviations (make bench BENCH=gate).
_DEVIATIONS = 3.1
# Avoids the logarithm of 0; a run without samples is never valid.
_RATE_LEAST_PER_S = 1e-9
# The variance of a median is 1.57 (pi/2) times that of a mean.
_MEDIAN_VARIANCE = 1.57
# A change for the worse that no single value shows is judged by their median, once it covers more than a week.
LASTING_VALUES_LEAST = 8
_LASTING_DEVIATIONS = 2.5
# Fewer baseline values may all be lucky ones, and would never be replaced.
_LASTING_BASELINE_LEAST = 15
# The variance of a mean of values whose neighbours correlate by 0.2: (1 + 0.2) / (1 - 0.2).
_NEIGHBOURS_VARIANCE = 1.5
# With few values the estimated spread is often far too small. These factors come from simulation: at most one in a
# thousand unchanged nightly values fails, even with outliers and correlated neighbours.
_FEW_VALUES = {
    **{6: 2.3, 7: 2.2, 8: 1.6, 9: 1.6, 10: 1.4, 11: 1.4, 12: 1.25, 13: 1.25},
    **{14: 1.15, 15: 1.15, 16: 1.1, 17: 1.05, 18: 1.05},
}
# Scales the distance to the standard deviation of normal values: 1 / (sqrt 2 * their 5/8 quantile).
_DEVIATION_PER_DISTANCE = 2.2219
# Scales the median absolute deviation to the standard deviation of normal values.
_DEVIATION_PER_MAD = 1.4826
_OF_FEW = {2: 0.399, 3: 0.994, 4: 0.512, 5: 0.844, 6: 0.611, 7: 0.857, 8: 0.669, 9: 0.872}


@dataclass(frozen=True)
class Gauge:
    """The scale that a metric is judged on: its threshold (a ratio; for errors a difference) and samples per run.

    Higher levels are worse. Levels are logarithms; for errors they are ratios.
    """

    metric: Metric
    threshold: float
    sample_count: int = 0

    def level(self, value: float) -> float:
        """Return the level of a value (ms, 1/s or a ratio)."""
        if self.metric.is_share:
            return value
        # 0 ms means below half of the clock resolution.
        least = _RATE_LEAST_PER_S if self.metric.more_is_better else CLOCK_STEP_MS / 2
        return self._sign * math.log(max(value, least))

    def value(self, level: float) -> float:
        """Return the value (ms, 1/s or a ratio) of a level."""
        return level if self.metric.is_share else math.exp(self._sign * level)

    def change_ratio(self, distance: float) -> float:
        """Return a distance of levels as (value - baseline) / baseline, for errors as a difference."""
        return distance if self.metric.is_share else math.expm1(self._sign * distance)

    @property
    def least(self) -> float:
        """The threshold as a distance of levels."""
        return self.threshold if self.metric.is_share else self._sign * math.log1p(self._sign * self.threshold)

    @property
    def _sign(self) -> int:
        return -1 if self.metric.more_is_better else 1

    def least_deviation(self, baseline: float) -> float:
        """Return the standard deviation of an error ratio that comes from counting alone; 0 for other metrics."""
        if not self.metric.is_share or not self.sample_count:
            return 0.0
        ratio = max(baseline, 1 / self.sample_count)
        return math.sqrt(max(0.0, ratio * (1 - ratio)) / self.sample_count)

    def is_step(self, level: float, baseline: float) -> bool:
        """Return whether two times differ by at most the clock resolution, so that the difference may be rounding."""
        if self.metric.percentile is None:
            return False
        return abs(math.exp(level) - math.exp(baseline)) <= CLOCK_STEP_MS * (1 + 1e-9)


@dataclass(frozen=True)
class Position:
    """The position of a nightly value against its baseline, in levels; None while there are too few values.

    `since` is the index of the first value of a change that is WARNED or REGRESSED, else None. `baseline_indexes` are
    the values of the baseline. `is_worse_interval` is True when the interval between change points around the value is
    worse than the baseline by more than the threshold. `is_usual` is True for a value beyond the limit that is usual on
    its weekday.
    """

    state: str
    baseline: float | None = None
    distance: float | None = None
    limit: float | None = None
    since: int | None = None
    baseline_indexes: tuple[int, ...] = ()
    is_worse_interval: bool = False
    is_usual: bool = False


def changes_of(values: Sequence[float], gauge: Gauge) -> tuple[ChangePoint, ...]:
    """Return the relevant change points of a metric; for errors the threshold is a difference."""
    changes = change_points(values)
    if not gauge.metric.is_share:
        return changes
    return tuple(change for change in changes if abs(change.after - change.before) > gauge.threshold)


@dataclass(frozen=True)
class TrendSeries:
    """The valid values of a metric, oldest first, with their weekdays (0 to 6; None when dates are not known).

    `changes` are the change points of the values, `accepted` the indexes at which an intended change begins.
    """

    values: Sequence[float]
    weekdays: Sequence[int] | None = None
    changes: Sequence[ChangePoint] = ()
    accepted: Collection[int] = ()


def positions(series: TrendSeries, gauge: Gauge) -> list[Position]:
    """Return the position of each nightly value of a metric."""
    values, changes, accepted = series.values, series.changes, series.accepted
    weekdays = series.weekdays or (None,) * len(values)
    levels = [gauge.level(value) for value in values]
    ends = [0, *(change.index for change in changes), len(levels)]
    baseline = _Baseline(gauge)
    positions = []
    for start, end in pairwise(ends):
        if start < end:
            interval = _Interval(start, median(levels[start:end]), end - start)
            may_begin = end - start >= _BETTER_VALUES_LEAST
            for index in range(start, end):
                is_better = index == start and may_begin and baseline.is_better(interval.median)
                if is_better or index in accepted:
                    baseline.begin()
                value = _Value(index, levels[index], weekdays[index])
                positions.append(baseline.take(value, interval, index in accepted))
    return positions


@dataclass(frozen=True)
class _Interval:
    """The interval between two change points: its first index, the median of its levels, and their number."""

    start: int
    median: float
    count: int


@dataclass(frozen=True)
class _Value:
    index: int
    level: float
    weekday: int | None


class _Baseline:
    """The baseline so far, and the values of a regression in progress."""

    def __init__(self, gauge: Gauge) -> None:
        self._gauge = gauge
        self._normal: list[_Value] = []
        self._worse: list[_Value] = []
        # The deviation before the last restart, used until there are enough values since then.
        self._deviation_before: float | None = None

    def begin(self) -> None:
        """Restart the baseline, but keep the known deviation."""
        self._deviation_before = self._deviation()
        self._normal, self._worse = [], []

    def take(self, value: _Value, interval: _Interval, is_accepted: bool) -> Position:
        """Judge a nightly value and add it; `interval` is the one between change points that contains it."""
        normal, deviation = self._normal[-BASELINE_VALUES_MOST:], self._deviation()
        if not normal or deviation is None:
            self._normal.append(value)
            return Position(OK if is_accepted and deviation is not None else LEARNING)
        baseline = median(known.level for known in normal)
        distance = value.level - baseline
        limit = self._limit(baseline, deviation, len(normal))
        is_worse_interval = interval.median - baseline > self._gauge.least
        is_beyond = abs(distance) > limit and not self._gauge.is_step(value.level, baseline)
        is_usual = is_beyond and self._is_usual(value, distance)
        if self._is_lasting(interval, baseline, deviation, len(normal)):
            self._worse.append(value)
            state = REGRESSED
        elif (is_beyond and distance > 0 and not is_usual) or self._stays(distance, baseline):
            self._worse.append(value)
            state = WARNED if len(self._worse) == 1 else REGRESSED
        else:
            state = IMPROVED if is_beyond and not is_usual else OK
            if len(self._worse) == 1:  # a single outlier, not a change
                self._normal += self._worse
            self._worse = []
            # A regression that is not accepted never becomes the baseline, however small its steps are.
            if is_usual or not is_worse_interval:
                self._normal.append(value)
        since = self._worse[0].index if self._worse else None
        indexes = tuple(known.index for known in normal)
        return Position(state, baseline, distance, limit, since, indexes, is_worse_interval, is_usual)

    def _is_lasting(self, interval: _Interval, baseline: float, deviation: float, count: int) -> bool:
        """Return whether an interval after a change is long enough, and its median is beyond the limit of one."""
        if not interval.start or interval.count < LASTING_VALUES_LEAST or count < _LASTING_BASELINE_LEAST:
            return False
        deviation = max(deviation, self._gauge.least_deviation(baseline))
        variance = _NEIGHBOURS_VARIANCE * _MEDIAN_VARIANCE * (1 / interval.count + 1 / count)
        limit = max(self._gauge.least, _LASTING_DEVIATIONS * deviation * math.sqrt(variance))
        return interval.median - baseline > limit

    def _is_usual(self, value: _Value, distance: float) -> bool:
        """Return whether earlier values of the same weekday are nearer to a value than half of its distance."""
        recent = self._normal[-_SPREAD_VALUES_MOST:]
        alike = [known.level for known in recent if known.weekday is not None and known.weekday == value.weekday]
        return bool(alike) and abs(value.level - median(alike)) < abs(distance) / 2

    def is_better(self, interval_level: float) -> bool:
        """Return whether an interval is better than the baseline by more than the threshold."""
        normal = [known.level for known in self._normal[-BASELINE_VALUES_MOST:]]
        return bool(normal) and interval_level - median(normal) < -self._gauge.least

    def _stays(self, distance: float, baseline: float) -> bool:
        """Return whether a value is closer to the regressed values than to the baseline."""
        return len(self._worse) > 1 and distance > (median(known.level for known in self._worse) - baseline) / 2

    def _deviation(self) -> float | None:
        """Return the standard deviation between nightly values; None while there are too few."""
        normal = [known.level for known in self._normal[-_SPREAD_VALUES_MOST:]]
        if len(normal) < VALUES_LEAST:
            return self._deviation_before
        deviation, factor = spread(normal), _FEW_VALUES.get(len(normal), 1.0)
        if factor > 1 and self._deviation_before is not None:
            return max(deviation, self._deviation_before)  # too few values since the restart to trust alone
        return deviation * factor

    def _limit(self, baseline: float, deviation: float, count: int) -> float:
        """Return the limit: the larger of the threshold and the usual differences between nightly values."""
        deviation = max(deviation, self._gauge.least_deviation(baseline))
        return max(self._gauge.least, usual_distance(deviation, count))


def usual_distance(deviation: float, count: int = BASELINE_VALUES_MOST) -> float:
    """Return the distance from the median of `count` values within which a value is usual; both in levels."""
    return _DEVIATIONS * deviation * math.sqrt(1 + _MEDIAN_VARIANCE / count)


def spread(values: Sequence[float]) -> float:
    """Return the standard deviation of at least two values, in their unit; half of them may be outliers.

    It is Qn, the quarter quantile of the distances between all pairs: P. J. Rousseeuw and C. Croux, Alternatives to the
    median absolute deviation, JASA 88 (1993); the factors for few values are from their paper of 1992. When values
    repeat, such as whole ms, a quarter of the distances can be 0: then the median absolute deviation is used.
    """
    count = len(values)
    half = count // 2 + 1
    rank = half * (half - 1) // 2
    array = np.asarray(values, dtype=float)
    first, second = np.triu_indices(count, 1)
    distances = np.abs(array[first] - array[second])
    factor = _OF_FEW.get(count) or count / (count + (1.4 if count % 2 else 3.8))
    distance = float(np.partition(distances, rank - 1)[rank - 1])
    if distance:
        return _DEVIATION_PER_DISTANCE * factor * distance
    middle = median(values)
    return _DEVIATION_PER_MAD * median(abs(value - middle) for value in values)
