"""How often designed experiments report a false effect and find a true one, on simulated systems with fixed seeds."""

import pytest

from bench.statistics.tune import Scene, simulated


@pytest.mark.counterpart
@pytest.mark.parametrize("drift", [0.0, 0.02])
def test_of_experiments_without_an_effect_one_in_twenty_reports_one(drift):
    found = simulated(Scene((2, 2, 2), drift=drift), 200, seed=1)
    # Of 200 more than 20 have a probability of 0.2 % when the rate is 5 %.
    assert found.false <= 20 / 200


@pytest.mark.counterpart
@pytest.mark.parametrize("sizes", [(2,), (3,), (2, 2), (3, 2), (2, 2, 2)])
def test_a_value_that_scatters_four_times_as_much_is_no_effect(sizes):
    found = simulated(Scene(sizes, uneven=4.0, repeat=3), 300, seed=1)
    # With one variance for all runs it is 7 to 23 %. Of 300 more than 29 have a probability of 0.3 % when it is 6 %.
    assert found.false <= 29 / 300


@pytest.mark.real
@pytest.mark.counterpart
def test_two_rounds_of_eight_combinations_find_an_effect_of_10_percent():
    found = simulated(Scene((2, 2, 2), main=-0.10), 100, seed=1)
    assert found.main >= 0.90
    assert found.right is not None
    assert found.right >= 0.95
