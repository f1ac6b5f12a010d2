"""How often designed experiments report a false effect and find a true one, on simulated systems with fixed seeds."""

import pytest

from bench.tune import Scene, simulated


@pytest.mark.real
@pytest.mark.parametrize("drift", [0.0, 0.02])
def test_of_experiments_without_an_effect_one_in_twenty_reports_one(drift):
    found = simulated(Scene((2, 2, 2), drift=drift), 200, seed=1)
    # Of 200 more than 20 have a probability of 0.2 % when the rate is 5 %.
    assert found.false <= 20 / 200


@pytest.mark.real
def test_two_rounds_of_eight_combinations_find_an_effect_of_10_percent():
    found = simulated(Scene((2, 2, 2), main=-0.10), 100, seed=1)
    assert found.main >= 0.90
    assert found.right is not None
    assert found.right >= 0.95
