"""Straight lines through values over time: worked by hand, and honest when neighbours resemble each other."""

from itertools import pairwise
from random import Random

import pytest

from harness.metrics.slope import correlation_of, slope


def numbered(*values):
    return [(float(number), float(value)) for number, value in enumerate(values)]


def test_independent_values_are_fitted_by_least_squares():
    # About their means x is -1.5, -0.5, 0.5, 1.5; slope (1.5 * 30 + 0.5 * 6) / 5 = 9.6; squares of the rests 7.2.
    line = slope([numbered(100, 112, 118, 130)])
    assert line.value == pytest.approx(9.6)
    assert (line.error, line.freedom) == (pytest.approx((7.2 / 2 / 5) ** 0.5), 2)
    assert line.reach == pytest.approx(4.302653 * 0.848528, rel=1e-5)


def test_groups_have_an_intercept_each():
    # 50 more in the second group is no slope; 10 per unit in both is one.
    line = slope([[(0.0, 100.0), (2.0, 120.0)], [(1.0, 160.0), (3.0, 180.0)]])
    assert (line.value, line.error, line.freedom) == (pytest.approx(10), pytest.approx(0, abs=1e-9), 1)


def test_the_slope_of_a_random_walk_is_the_mean_of_its_steps():
    # Steps 4, 0, 2: mean 2, standard deviation 2, error 2 / sqrt(3), two degrees of freedom.
    line = slope([numbered(10, 14, 14, 16)], correlation=1.0)
    assert (line.value, line.error, line.freedom) == (pytest.approx(2), pytest.approx(2 / 3**0.5), 2)


def test_half_correlated_values_are_fitted_to_the_transformed_ones():
    # Prais and Winsten with 0.5: the first row has the weight sqrt(0.75).
    line = slope([numbered(1, 3, 4, 8)], correlation=0.5)
    ones, xs, ys = transformed(1, 1, 1, 1), transformed(0, 1, 2, 3), transformed(1, 3, 4, 8)
    # The normal equations of two unknowns.
    aa, ab, bb = (sum(a * b for a, b in zip(*pair, strict=True)) for pair in ((ones, ones), (ones, xs), (xs, xs)))
    ay, by = (sum(a * b for a, b in zip(*pair, strict=True)) for pair in ((ones, ys), (xs, ys)))
    assert line.value == pytest.approx((by * aa - ay * ab) / (aa * bb - ab * ab))


def transformed(*values):
    return [0.75**0.5 * values[0], *(after - before / 2 for before, after in pairwise(values))]


@pytest.mark.parametrize(
    "points", [[], numbered(1), numbered(1, 2), [(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)]], ids=["none", "1", "2", "same x"]
)
def test_without_a_degree_of_freedom_or_differing_times_there_is_no_slope(points):
    assert slope([points]) is None


def test_a_rise_is_as_probable_as_students_t_says():
    line = slope([numbered(100, 112, 118, 130)])
    assert line.rise_p_value == pytest.approx(0.00387, abs=2e-5)  # scipy.stats.t.sf(9.6 / 0.848528, 2)
    assert slope([numbered(3, 3, 3, 3)]).rise_p_value == 1.0


def test_the_correlation_of_noise_is_small_and_that_of_a_walk_is_one():
    rng = Random(1)
    noise = [correlation_of(numbered(*(rng.gauss(0, 1) for _ in range(60)))) for _ in range(100)]
    assert sum(noise) / 100 < 0.3
    walks = []
    for _ in range(100):
        level, values = 0.0, []
        for _ in range(60):
            level += rng.gauss(0, 1)
            values.append(level)
        walks.append(correlation_of(numbered(*values)))
    assert sum(walk == 1.0 for walk in walks) >= 85
    assert correlation_of(numbered(1, 2, 3)) == 1.0
    assert correlation_of(numbered(*range(20))) == 0.0
