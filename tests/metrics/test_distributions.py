"""Our probabilities are SciPy's, which only the tests need."""

import math

import pytest

from harness.metrics import distributions as ours

FREEDOMS = (0.7, 1, 2, 3.5, 9, 30, 123.4, 5000)


@pytest.fixture(scope="module")
def special():
    """SciPy's functions; imported here, because each worker that collects the tests would load them."""
    from scipy import special

    return special


@pytest.mark.parametrize("freedom", FREEDOMS)
def test_probabilities_of_students_t_are_those_of_scipy(special, freedom):
    for t in (-40, -5, -2.1, -1, -1e-6, 0, 0.3, 1, 2.5, 12):
        assert ours.student_t_below(freedom, t) == pytest.approx(special.stdtr(freedom, t), rel=1e-10, abs=1e-300)


@pytest.mark.parametrize("freedom", FREEDOMS)
def test_quantiles_of_students_t_are_those_of_scipy(special, freedom):
    for probability in (1e-9, 0.001, 0.025, 0.2, 0.4999, 0.5, 0.6, 0.8, 0.9, 0.975, 0.995, 0.9999):
        wanted = special.stdtrit(freedom, probability)
        assert ours.student_t_quantile(freedom, probability) == pytest.approx(wanted, rel=1e-9, abs=1e-12)


def test_quantiles_of_a_printed_table_are_met():
    # W. S. Gosset's table, as in any textbook: two-sided 95 %.
    table = {1: 12.706, 2: 4.303, 5: 2.571, 10: 2.228, 30: 2.042, 120: 1.980}
    found = {freedom: round(ours.student_t_quantile(freedom, 0.975), 3) for freedom in table}
    assert found == table


def test_probabilities_of_chi_squared_are_those_of_scipy(special):
    for freedom in (1, 2, 5, 17.5, 200):
        for value in (0, 0.01, 1, 4, 20, 150, 400):
            wanted = special.chdtrc(freedom, value)
            assert ours.chi_squared_above(freedom, value) == pytest.approx(wanted, rel=1e-9, abs=1e-300)


def test_probabilities_of_f_are_those_of_scipy(special):
    for pair in ((1, 4), (3, 12), (7, 2.5), (20, 300)):
        for value in (0, 0.05, 0.9, 1.4, 8, 90):
            wanted = special.fdtrc(*pair, value)
            assert ours.f_above(*pair, value) == pytest.approx(wanted, rel=1e-9, abs=1e-300)


def test_probabilities_of_binomials_are_those_of_scipy(special):
    for count, ratio in ((1, 0.5), (30, 0.9), (1000, 0.99), (200_000, 0.95)):
        mean = int(count * ratio)
        for successes in {0, mean // 2, max(0, mean - 30), mean, min(count, mean + 20), count}:
            wanted = special.bdtr(successes, count, ratio)
            assert ours.binomial_at_most(successes, count, ratio) == pytest.approx(wanted, rel=1e-7, abs=1e-300)


def test_what_has_no_answer_is_not_a_number():
    for found in (
        ours.student_t_below(0, 1), ours.student_t_below(5, math.nan), ours.student_t_quantile(-1, 0.9),
        ours.student_t_quantile(3, 1.0),
    ):  # fmt: skip
        assert math.isnan(found)
