"""How the nights of one figure stand against those before them: each night's state, from the first one on.

The rules and the reasons for them are in docs/methodology.md, Tonight against history.
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

# The median of so many nights before tonight is what is normal.
NIGHTS_MOST = 20
# How far nights are apart is learnt from so many.
_SPREAD_NIGHTS_MOST = 60
# Fewer say nothing of it.
NIGHTS_LEAST = 6
# A change for the better that has lasted for so many is what is normal from its first night on: sooner its end would be
# a change for the worse, and later the median follows by itself.
_BETTER_NIGHTS_LEAST = NIGHTS_MOST // 2
# Standard deviations that a night may be off (make bench BENCH=gate).
_DEVIATIONS = 3.1
# A run without any sample is not valid: only so that there is a logarithm.
_RATE_LEAST_PER_S = 1e-9
# The variance of a median is 1.57 (pi/2) times that of a mean.
_MEDIAN_VARIANCE = 1.57
# Of few nights the spread is often much too small by chance. Found by simulation: with these factors no more than one
# in a thousand nights fails, though nights have outliers and resemble their neighbours.
_FEW_NIGHTS = {
    **{6: 2.3, 7: 2.2, 8: 1.6, 9: 1.6, 10: 1.4, 11: 1.4, 12: 1.25, 13: 1.25},
    **{14: 1.15, 15: 1.15, 16: 1.1, 17: 1.05, 18: 1.05},
}


@dataclass(frozen=True)
class Gauge:
    """How a metric is judged: the least change that matters (a ratio; of errors a difference), and samples per run.

    On its scale more is worse, and differences are those of logarithms; of errors they are differences of ratios.
    """

    metric: Metric
    threshold: float
    sample_count: int = 0

    def level(self, value: float) -> float:
        """Return where a value (ms, 1/s or a ratio) stands on the scale."""
        if self.metric.is_share:
            return value
        if self.metric.more_is_better:
            return -math.log(max(value, _RATE_LEAST_PER_S))
        # A time of 0 ms is one below half a step of the clock.
        return math.log(max(value, CLOCK_STEP_MS / 2))

    def value(self, level: float) -> float:
        """Return the value (ms, 1/s or a ratio) that stands there."""
        if self.metric.is_share:
            return level
        return math.exp(-level if self.metric.more_is_better else level)

    def change_ratio(self, distance: float) -> float:
        """Return a distance on the scale as (value - baseline) / baseline, of errors as a difference."""
        if self.metric.is_share:
            return distance
        return math.expm1(-distance if self.metric.more_is_better else distance)

    @property
    def least(self) -> float:
        """The least distance on the scale that matters."""
        if self.metric.is_share:
            return self.threshold
        return -math.log1p(-self.threshold) if self.metric.more_is_better else math.log1p(self.threshold)

    def least_deviation(self, baseline: float) -> float:
        """Return what nights must differ by if only counting errors makes them: one error more or less is no news."""
        if not self.metric.is_share or not self.sample_count:
            return 0.0
        ratio = max(baseline, 1 / self.sample_count)
        return math.sqrt(max(0.0, ratio * (1 - ratio)) / self.sample_count)

    def is_step(self, level: float, baseline: float) -> bool:
        """Return whether two times are no more than one step of the clock apart: that may be a hair's breadth."""
        if self.metric.percentile is None:
            return False
        return abs(math.exp(level) - math.exp(baseline)) <= CLOCK_STEP_MS * (1 + 1e-9)


@dataclass(frozen=True)
class Standing:
    """A night: its state, and what it was held against, on the gauge's scale; None while that is being learnt.

    `since` is the place of the first night of a change that is WARNED or REGRESSED, else None; `baseline_places` are
    those of the nights that say what is normal. `is_worse_stretch` says that the night is in a stretch between two
    changes that is worse by more than what matters.
    """

    state: str
    baseline: float | None = None
    distance: float | None = None
    limit: float | None = None
    since: int | None = None
    baseline_places: tuple[int, ...] = ()
    is_worse_stretch: bool = False


def changes_of(values: Sequence[float], gauge: Gauge) -> tuple[ChangePoint, ...]:
    """Return the change points of a figure that matter; errors change by a difference and not by a ratio."""
    found = change_points(values)
    if not gauge.metric.is_share:
        return found
    return tuple(change for change in found if abs(change.after - change.before) > gauge.threshold)


def standings(
    values: Sequence[float], gauge: Gauge, changes: Sequence[ChangePoint], accepted: Collection[int] = ()
) -> list[Standing]:
    """Return how each night of a figure stands; `values` are those of its valid nights, oldest first.

    `changes` are the change points of the values, `accepted` the places of nights from which on a change is intended.
    """
    levels = [gauge.level(value) for value in values]
    ends = [0, *(change.index for change in changes), len(levels)]
    course = _Course(gauge)
    found = []
    for start, end in pairwise(ends):
        if start < end:
            stretch_level = median(levels[start:end])
            may_begin = end - start >= _BETTER_NIGHTS_LEAST
            for place in range(start, end):
                is_better = place == start and may_begin and course.is_better(stretch_level)
                if is_better or place in accepted:
                    course.begin()
                found.append(course.take(place, levels[place], stretch_level, place in accepted))
    return found


class _Course:
    """The nights that say what is normal so far, and those of a change for the worse that is under way."""

    def __init__(self, gauge: Gauge) -> None:
        self._gauge = gauge
        self._normal: list[tuple[int, float]] = []
        self._worse: list[tuple[int, float]] = []
        # That of the nights before the last new beginning, until there are enough since then.
        self._deviation_before: float | None = None

    def begin(self) -> None:
        """Begin anew: what is normal is no longer so; how far nights are apart still is."""
        self._deviation_before = self._deviation()
        self._normal, self._worse = [], []

    def take(self, place: int, level: float, stretch_level: float, is_accepted: bool) -> Standing:
        """Return how a night stands, and keep it; `stretch_level` is that of the stretch that it is in."""
        normal, deviation = self._normal[-NIGHTS_MOST:], self._deviation()
        if not normal or deviation is None:
            self._normal.append((place, level))
            return Standing(OK if is_accepted and deviation is not None else LEARNING)
        baseline = median(known for _, known in normal)
        distance = level - baseline
        limit = self._limit(baseline, deviation, len(normal))
        is_worse_stretch = stretch_level - baseline > self._gauge.least
        is_beyond = abs(distance) > limit and not self._gauge.is_step(level, baseline)
        if (is_beyond and distance > 0) or self._stays(distance, baseline):
            self._worse.append((place, level))
            state = WARNED if len(self._worse) == 1 else REGRESSED
        else:
            state = IMPROVED if is_beyond else OK
            if len(self._worse) == 1:  # it was a night, and no change
                self._normal += self._worse
            self._worse = []
            # A change for the worse that nobody has accepted does not become what is normal, however small its steps.
            if not is_worse_stretch:
                self._normal.append((place, level))
        since = self._worse[0][0] if self._worse else None
        places = tuple(known for known, _ in normal)
        return Standing(state, baseline, distance, limit, since, places, is_worse_stretch)

    def is_better(self, stretch_level: float) -> bool:
        """Return whether a stretch is better than what is normal by so much that it becomes that itself."""
        normal = [known for _, known in self._normal[-NIGHTS_MOST:]]
        return bool(normal) and stretch_level - median(normal) < -self._gauge.least

    def _stays(self, distance: float, baseline: float) -> bool:
        """Return whether a night is nearer to those that regressed than to what is normal."""
        return len(self._worse) > 1 and distance > (median(known for _, known in self._worse) - baseline) / 2

    def _deviation(self) -> float | None:
        """Return the standard deviation of nights; None while there are too few."""
        normal = [known for _, known in self._normal[-_SPREAD_NIGHTS_MOST:]]
        if len(normal) < NIGHTS_LEAST:
            return self._deviation_before
        found, factor = spread(normal), _FEW_NIGHTS.get(len(normal), 1.0)
        if factor > 1 and self._deviation_before is not None:
            return max(found, self._deviation_before)  # those before say more than so few alone
        return found * factor

    def _limit(self, baseline: float, deviation: float, count: int) -> float:
        """Return the distance that is beyond what matters and beyond what nights are apart."""
        deviation = max(deviation, self._gauge.least_deviation(baseline))
        return max(self._gauge.least, _DEVIATIONS * deviation * math.sqrt(1 + _MEDIAN_VARIANCE / count))
