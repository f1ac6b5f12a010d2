"""The spread of values, by hand and against what is known of normal ones."""

import numpy as np
import pytest

from harness.history.trend import spread


def test_for_six_values_the_sixth_smallest_distance_counts() -> None:
    # 1 to 6 have five pairs at a distance of 1, so the sixth is 2; 0.611 is the paper's factor of six values.
    assert spread([3, 1, 6, 2, 5, 4]) == pytest.approx(2.2219 * 0.611 * 2)


def test_half_of_the_values_may_be_outliers() -> None:
    assert spread([1, 2, 3, 4, 5, 6, 1e9, -1e9, 1e12]) < 10


def test_for_few_distinct_values_it_is_their_median_deviation() -> None:
    assert spread([98, 102] * 10) == pytest.approx(1.4826 * 2)  # 90 of 190 distances are 0


def test_equal_values_have_no_spread() -> None:
    assert spread([7.0] * 12) == 0


def test_for_normal_values_it_is_their_standard_deviation() -> None:
    random = np.random.default_rng(1)
    found = [spread(random.normal(5, 3, count)) for count in (20, 21) for _ in range(500)]
    assert np.mean(found) == pytest.approx(3, rel=0.02)
