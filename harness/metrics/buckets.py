"""The buckets of response times for monitoring systems: upper bounds in whole milliseconds, and the counts in them."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate

from harness.base.units import MS_PER_S
from harness.metrics.histogram import Histogram

# The numbers 1, 1.25, 1.6, 2, 2.5, 3.15, 4, 5, 6.3, 8 of the series R10 of ISO 3, from 1 ms to 63 s in whole
# milliseconds: from 5 ms on a bound is at most 1.34 times the one before it, from 16 ms on at most 1.28 times.
_R10_PER_100 = (100, 125, 160, 200, 250, 315, 400, 500, 630, 800)
BOUNDS_MS = (
    *(1, 2, 3, 4, 5, 6, 8),
    *(10, 12, 16, 20, 25, 32, 40, 50, 63, 80),
    *_R10_PER_100,
    *(10 * value for value in _R10_PER_100),
    *(100 * value for value in _R10_PER_100[:-1]),
)
# In seconds as OpenMetrics writes them, and last that of all values: 0.001, 1.0, +Inf.
BOUND_TEXTS = (*(repr(bound_ms / MS_PER_S) for bound_ms in BOUNDS_MS), "+Inf")


def cumulative_counts(histogram: Histogram) -> tuple[int, ...]:
    """Return the number of values up to each of BOUNDS_MS, that bound included, and last the number of all values."""
    counts = [0] * (len(BOUNDS_MS) + 1)
    for value_ms, count in histogram.counts.items():
        counts[bisect_left(BOUNDS_MS, value_ms)] += count
    return tuple(accumulate(counts))
