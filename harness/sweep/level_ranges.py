"""The bars of a sweep's charts: the range of repeats, or the 95 % interval within the single run of each level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from harness.metrics.batch_means import estimate
from harness.metrics.distributions import student_t_quantile
from harness.metrics.metric import AVERAGE, THROUGHPUT, metric_of
from harness.metrics.shift import CONFIDENCE
from harness.sweep.goal_intervals import average_interval, percentile_interval
from harness.sweep.levels import Level, Range

RATE, ERRORS = "success_rate_per_s", "error_ratio"
OF_REPEATS, WITHIN_RUNS = "least to greatest of the repeats", "95 % interval within the run"


class LevelRanges(NamedTuple):
    """What the bars are, and the bar of each level; None where it is unknown."""

    text: str
    ranges: Sequence[Range | None]


def level_ranges(levels: Sequence[Level], figure: str) -> LevelRanges:
    """Return the bars of a figure: intervals within runs when no level has repeats, as far as batches are known."""
    if any(len(level.counted) > 1 for level in levels):
        ranges = [Range.of(one.success_rates_per_s()) if figure == RATE else one.range_of(figure) for one in levels]
        return LevelRanges(OF_REPEATS, ranges)
    return LevelRanges(WITHIN_RUNS, [_interval(level, figure) for level in levels])


def _interval(level: Level, figure: str) -> Range | None:
    total = level.counted[0].total if level.counted else None
    if total is None or total.batches is None or figure == ERRORS:
        return None
    if figure == RATE:
        found, rate_per_s = estimate(total.batches, total.histogram, THROUGHPUT), level.figures.success_rate_per_s
        if isinstance(found, str) or not rate_per_s or not found.value:
            return None
        reach = rate_per_s * student_t_quantile(found.freedom, (1 + CONFIDENCE) / 2) * found.error / found.value
        return Range(max(0.0, rate_per_s - reach), rate_per_s + reach)
    metric = metric_of(figure)
    interval = average_interval([total]) if metric == AVERAGE else percentile_interval([total], metric)
    return Range(interval.low_ms, interval.high_ms) if interval and interval.high_ms is not None else None
