import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.metrics.histogram import Histogram

values = st.lists(st.integers(min_value=-5, max_value=60_000), min_size=1, max_size=300)


def test_the_p90_of_10_to_100_is_that_of_jmeter():
    histogram = Histogram.of(range(10, 101, 10))
    # JMeter's rule gives 90 here; R-6 gives 99 and R-7 gives 91.
    assert (histogram.quantile_ms(0.9), histogram.quantile_ms(0.5)) == (90, 50)


def test_the_p90_of_fifteen_samples_uses_jmeters_single_precision():
    # 15 x 0.9 + 0.5 is 14 exactly, but JMeter's 0.9 is 0.8999999761581421: rank 13.
    assert Histogram.of(range(1, 16)).quantile_ms(0.9) == 13


@pytest.mark.parametrize(("count", "rank"), [(5, 4), (35, 31), (36, 32), (45, 40)])
def test_at_an_exact_half_single_precision_decides_as_in_jmeter(count, rank):
    assert Histogram.of(range(1, count + 1)).quantile_ms(0.9) == rank


def test_one_sample_is_its_own_average_and_percentile():
    histogram = Histogram.of([42])
    assert (histogram.mean_ms, histogram.quantile_ms(0.5), histogram.quantile_ms(0.999), histogram.stddev_ms) == (
        42.0,
        42,
        42,
        0.0,
    )


def test_an_empty_histogram_has_no_metrics():
    histogram = Histogram()
    assert (histogram.mean_ms, histogram.quantile_ms(0.9), histogram.min_ms, histogram.max_ms) == (None,) * 4


@given(values)
def test_every_metric_equals_that_of_the_sorted_samples(samples):
    histogram, ordered = Histogram.of(samples), sorted(samples)
    assert histogram.count == len(samples)
    assert (histogram.min_ms, histogram.max_ms) == (ordered[0], ordered[-1])
    assert histogram.mean_ms == sum(samples) / len(samples)
    assert abs(histogram.stddev_ms - statistics.pstdev(samples)) < 1e-6
    for ratio in (0.5, 0.75):  # exact in single precision
        assert histogram.quantile_ms(ratio) == ordered[max(1, int(len(samples) * ratio + 0.5)) - 1]


@given(values, values)
def test_merging_two_histograms_is_the_histogram_of_all_samples(left, right):
    merged = Histogram.of(left)
    merged.merge(Histogram.of(right).counts)
    assert merged == Histogram.of([*left, *right])


def test_the_deviation_does_not_depend_on_the_order_of_the_counts():
    # Added up one by one, the squares differ in the last digit after the counts were read from JSON in rising order.
    histogram = Histogram({2422: 7, 1301: 2, 92: 2, 2661: 35, 38: 25, 2812: 14})
    again = Histogram.from_plain(histogram.to_plain(), "x")
    assert (again, again.stddev_ms) == (histogram, histogram.stddev_ms)
