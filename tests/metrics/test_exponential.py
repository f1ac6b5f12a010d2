"""Exponential buckets: every value is between the bounds of its bucket, and none is lost."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.live.otlp.messages import SCALE, bucket_index, exponential_buckets
from harness.metrics.histogram import Histogram

VALUES = st.integers(1, 604_800_000)  # up to a week


@given(VALUES)
def test_a_value_is_above_the_lower_bound_of_its_bucket_and_at_most_the_upper_one(value_ms):
    index = bucket_index(value_ms)
    # 2 ** (i / 32) < v / 1000 is 2 ** i < (v / 1000) ** 32, which is computed without rounding.
    power = Fraction(value_ms, 1000) ** 2**SCALE
    assert Fraction(2) ** index < power <= Fraction(2) ** (index + 1)


@pytest.mark.parametrize(("value_ms", "index"), [(1000, -1), (2000, 31), (1001, 0), (125, -97), (500, -33)])
def test_a_power_of_two_is_the_upper_bound_of_its_bucket(value_ms, index):
    assert bucket_index(value_ms) == index


@given(st.lists(st.integers(0, 100_000), max_size=50))
def test_the_counts_are_those_of_all_values(values_ms):
    buckets = exponential_buckets(Histogram.of(values_ms))
    assert buckets.zero_count == values_ms.count(0)
    assert buckets.zero_count + sum(buckets.counts) == len(values_ms)
    for index, count in enumerate(buckets.counts):
        assert count == sum(value > 0 and bucket_index(value) == buckets.offset + index for value in values_ms)


def test_without_values_there_are_no_buckets():
    buckets = exponential_buckets(Histogram())
    assert (buckets.zero_count, buckets.counts) == (0, ())


def test_below_46_ms_each_millisecond_has_a_bucket_of_its_own():
    assert len({bucket_index(value_ms) for value_ms in range(1, 46)}) == 45
    assert math.isclose(2 ** (1 / 2**SCALE), 1.0219, rel_tol=1e-4)
