"""The buckets of response times for monitoring systems."""

from itertools import pairwise

from harness.metrics.histogram import Histogram
from harness.metrics.instruments import BOUNDS_MS, cumulative_counts


def test_a_bound_belongs_to_its_bucket_and_the_last_count_is_that_of_all_values():
    counts = cumulative_counts(Histogram.of([0, 1, 2, 9, 10, 11, 63_000, 63_001]))
    at = dict(zip(BOUNDS_MS, counts, strict=False))
    # Up to 1 ms: 0 and 1. 9 and 10 are in (8, 10], 11 in (10, 12].
    assert (at[1], at[2], at[8], at[10], at[12], at[63_000]) == (2, 3, 3, 5, 6, 7)
    assert counts[-1] == 8
    assert len(counts) == len(BOUNDS_MS) + 1 == 47


def test_buckets_are_whole_milliseconds_that_rise_by_a_third_at_most():
    assert all(isinstance(bound_ms, int) for bound_ms in BOUNDS_MS)
    assert (BOUNDS_MS[0], BOUNDS_MS[-1]) == (1, 63_000)
    assert all(low < high for low, high in pairwise(BOUNDS_MS))
    assert max(high / low for low, high in pairwise(BOUNDS_MS) if low >= 5) < 1.34
    assert max(high / low for low, high in pairwise(BOUNDS_MS) if low >= 16) <= 1.28


def test_no_value_has_no_counts():
    assert set(cumulative_counts(Histogram())) == {0}
