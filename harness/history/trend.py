"""Judge each nightly value of a metric against the earlier ones.

The rules and their reasons are in docs/methodology.md, "Tonight against history".
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from harness.compare.findings import CLOCK_STEP_MS
from harness.history.change_points import ChangePoint, change_points
from harness.history.spread import spread
from harness.metrics.metric import Metric

OK, WARNED, REGRESSED, IMPROVED, LEARNING = "OK", "WARNED", "REGRESSED", "IMPROVED", "LEARNING"

# The baseline is the median of at most this many earlier nightly values.
NIGHTS_MOST = 20
# The spread is estimated from at most this many values.
_SPREAD_NIGHTS_MOST = 60
# Fewer values are not judged.
NIGHTS_LEAST = 6
# An improvement that lasts this long becomes the baseline from its first value on. A shorter time would report the end
# of a lucky streak as a regression; after a longer time the median follows by itself.
_BETTER_NIGHTS_LEAST = NIGHTS_MOST // 2
# The limit in standard deviations (make bench BENCH=gate).
_DEVIATIONS = 3.1
# Avoids the logarithm of 0; a run without samples is never valid.
_RATE_LEAST_PER_S = 1e-9
# The variance of a median is 1.57 (pi/2) times that of a mean.
_MEDIAN_VARIANCE = 1.57
# With few values the estimated spread is often far too small. These factors come from simulation: at most one in a
# thousand unchanged nightly values fails, even with outliers and correlated neighbours.
_FEW_NIGHTS = {
    **{6: 2.3, 7: 2.2, 8: 1.6, 9: 1.6, 10: 1.4, 11: 1.4, 12: 1.25, 13: 1.25},
    **{14: 1.15, 15: 1.15, 16: 1.1, 17: 1.05, 18: 1.05},
}


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
        if self.metric.more_is_better:
            return -math.log(max(value, _RATE_LEAST_PER_S))
        # 0 ms means below half of the clock resolution.
        return math.log(max(value, CLOCK_STEP_MS / 2))

    def value(self, level: float) -> float:
        """Return the value (ms, 1/s or a ratio) of a level."""
        if self.metric.is_share:
            return level
        return math.exp(-level if self.metric.more_is_better else level)

    def change_ratio(self, distance: float) -> float:
        """Return a distance of levels as (value - baseline) / baseline, for errors as a difference."""
        if self.metric.is_share:
            return distance
        return math.expm1(-distance if self.metric.more_is_better else distance)

    @property
    def least(self) -> float:
        """The threshold as a distance of levels."""
        if self.metric.is_share:
            return self.threshold
        return -math.log1p(-self.threshold) if self.metric.more_is_better else math.log1p(self.threshold)

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
    worse than the baseline by more than the threshold.
    """

    state: str
    baseline: float | None = None
    distance: float | None = None
    limit: float | None = None
    since: int | None = None
    baseline_indexes: tuple[int, ...] = ()
    is_worse_interval: bool = False


def changes_of(values: Sequence[float], gauge: Gauge) -> tuple[ChangePoint, ...]:
    """Return the relevant change points of a metric; for errors the threshold is a difference."""
    found = change_points(values)
    if not gauge.metric.is_share:
        return found
    return tuple(change for change in found if abs(change.after - change.before) > gauge.threshold)


def positions(
    values: Sequence[float], gauge: Gauge, changes: Sequence[ChangePoint], accepted: Collection[int] = ()
) -> list[Position]:
    """Return the position of each nightly value of a metric; `values` are the valid ones, oldest first.

    `changes` are the change points of the values, `accepted` the indexes at which an intended change begins.
    """
    levels = [gauge.level(value) for value in values]
    ends = [0, *(change.index for change in changes), len(levels)]
    baseline = _Baseline(gauge)
    found = []
    for start, end in pairwise(ends):
        if start < end:
            interval_level = median(levels[start:end])
            may_begin = end - start >= _BETTER_NIGHTS_LEAST
            for index in range(start, end):
                is_better = index == start and may_begin and baseline.is_better(interval_level)
                if is_better or index in accepted:
                    baseline.begin()
                found.append(baseline.take(index, levels[index], interval_level, index in accepted))
    return found


class _Baseline:
    """The baseline so far, and the values of a regression in progress."""

    def __init__(self, gauge: Gauge) -> None:
        self._gauge = gauge
        self._normal: list[tuple[int, float]] = []
        self._worse: list[tuple[int, float]] = []
        # The deviation before the last restart, used until there are enough values since then.
        self._deviation_before: float | None = None

    def begin(self) -> None:
        """Restart the baseline, but keep the known deviation."""
        self._deviation_before = self._deviation()
        self._normal, self._worse = [], []

    def take(self, index: int, level: float, interval_level: float, is_accepted: bool) -> Position:
        """Judge a nightly value and add it; `interval_level` is the median of its interval between change points."""
        normal, deviation = self._normal[-NIGHTS_MOST:], self._deviation()
        if not normal or deviation is None:
            self._normal.append((index, level))
            return Position(OK if is_accepted and deviation is not None else LEARNING)
        baseline = median(known for _, known in normal)
        distance = level - baseline
        limit = self._limit(baseline, deviation, len(normal))
        is_worse_interval = interval_level - baseline > self._gauge.least
        is_beyond = abs(distance) > limit and not self._gauge.is_step(level, baseline)
        if (is_beyond and distance > 0) or self._stays(distance, baseline):
            self._worse.append((index, level))
            state = WARNED if len(self._worse) == 1 else REGRESSED
        else:
            state = IMPROVED if is_beyond else OK
            if len(self._worse) == 1:  # a single outlier, not a change
                self._normal += self._worse
            self._worse = []
            # A regression that is not accepted never becomes the baseline, however small its steps are.
            if not is_worse_interval:
                self._normal.append((index, level))
        since = self._worse[0][0] if self._worse else None
        indexes = tuple(known for known, _ in normal)
        return Position(state, baseline, distance, limit, since, indexes, is_worse_interval)

    def is_better(self, interval_level: float) -> bool:
        """Return whether an interval is better than the baseline by more than the threshold."""
        normal = [known for _, known in self._normal[-NIGHTS_MOST:]]
        return bool(normal) and interval_level - median(normal) < -self._gauge.least

    def _stays(self, distance: float, baseline: float) -> bool:
        """Return whether a value is closer to the regressed values than to the baseline."""
        return len(self._worse) > 1 and distance > (median(known for _, known in self._worse) - baseline) / 2

    def _deviation(self) -> float | None:
        """Return the standard deviation between nightly values; None while there are too few."""
        normal = [known for _, known in self._normal[-_SPREAD_NIGHTS_MOST:]]
        if len(normal) < NIGHTS_LEAST:
            return self._deviation_before
        found, factor = spread(normal), _FEW_NIGHTS.get(len(normal), 1.0)
        if factor > 1 and self._deviation_before is not None:
            return max(found, self._deviation_before)  # too few values since the restart to trust alone
        return found * factor

    def _limit(self, baseline: float, deviation: float, count: int) -> float:
        """Return the limit: the larger of the threshold and the usual differences between nightly values."""
        deviation = max(deviation, self._gauge.least_deviation(baseline))
        return max(self._gauge.least, _DEVIATIONS * deviation * math.sqrt(1 + _MEDIAN_VARIANCE / count))
