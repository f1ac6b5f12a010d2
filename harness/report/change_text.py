"""Texts of changes: no direction without a verdict, and no more digits than a difference has.

With CANNOT TELL the direction of a change is not known. So its text is empty, and its interval becomes "within ±12":
the largest change either way.
"""

from __future__ import annotations

import math

from harness.base import units
from harness.judge.stored_comparisons import CANNOT_TELL
from harness.metrics.metric import CLOCK_STEP_MS, Metric

# From this half of an interval, or this resolution of its values, a change is in whole percent, else in tenths.
_WHOLE_FROM_HALF, _WHOLE_FROM_STEP = 0.1, 0.01
# The decimals of points, the differences of shares.
_POINT_DECIMALS = 2
# Ends of intervals beyond this ratio are printed as >.
_MOST_RATIO = 10.0


def decimals_of(low: float | None, high: float | None, step_ratio: float = 0.0) -> int:
    """Return how many decimals a change in percent has, 0 or 1: two digits of half of its interval.

    `step_ratio` is the resolution of the values as a ratio of the baseline: a change has one digit of it.
    """
    is_wide = low is not None and high is not None and (high - low) / 2 >= _WHOLE_FROM_HALF
    return 0 if is_wide or step_ratio >= _WHOLE_FROM_STEP else 1


def decimals_of_metric(metric: Metric, baseline: float | None, low: float | None, high: float | None) -> int:
    """Return the decimals of a metric's change; percentiles are whole milliseconds, shares have points."""
    if metric.is_share:
        return _POINT_DECIMALS
    return decimals_of(low, high, CLOCK_STEP_MS / baseline if metric.is_percentile and baseline else 0.0)


def signed_text(ratio: float | None, word: str, decimals: int) -> str:
    """Return a change as the number before a % sign, with its sign; empty when unknown, and for CANNOT TELL."""
    return "" if word == CANNOT_TELL else units.signed_percent(ratio, decimals)


def interval_text(low: float | None, high: float | None, word: str, decimals: int) -> str:
    """Return an interval of ratios in %: +1.2 to +5.0, of CANNOT TELL within ±5.0; empty when an end is unknown."""
    if low is None or high is None:
        return ""
    if word == CANNOT_TELL:
        return within_text(max(abs(low), abs(high)), decimals)
    is_open = math.isinf(high) or low <= _MOST_RATIO < high
    end = f">{max(low, _MOST_RATIO) * 100:+.0f}" if is_open else units.signed_percent(high, decimals)
    return f"{units.signed_percent(low, decimals)} to {end}"


def within_text(most: float, decimals: int) -> str:
    """Return the largest change (ratio) either way: within ±5.0; empty when it says nothing."""
    return "" if most > _MOST_RATIO else f"within ±{units.percent_text(most, decimals)}"
