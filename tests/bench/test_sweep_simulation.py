"""Simulated sweeps: no peak and no cliff of queues whose throughput never falls; the peak where there is one."""

from itertools import pairwise

import pytest

from bench.statistics.simulated_sweeps import (
    CLIFFS,
    GRADUAL,
    LAWS,
    QUEUES,
    SEVEN,
    THIRTEEN,
    TWENTY,
    Queue,
    of_fall,
    of_law,
    of_queue,
)
from harness.sweep.monotone import fall_p_value, never_falling


def test_mean_value_analysis_of_one_server_is_that_worked_out_by_hand():
    # One user: 1 / (0.05 + 0.95). Two: the second finds 0.05 users waiting, R = 0.0525 s, 2 / 1.0025.
    assert Queue(0.05, 0.95).rates_per_s(2) == pytest.approx([1.0, 2 / 1.0025])


def test_with_a_server_per_user_nobody_waits():
    assert Queue(0.2, 0.3, 8).rates_per_s(8) == pytest.approx([users / 0.5 for users in range(1, 9)])


@pytest.mark.parametrize("queue", QUEUES.values(), ids=QUEUES)
def test_the_throughput_of_a_closed_queue_never_falls_and_ends_at_its_servers(queue):
    rates = queue.rates_per_s(200)
    assert all(after >= before - 1e-9 for before, after in pairwise(rates))
    assert rates[-1] == pytest.approx(queue.server_count / queue.service_s, rel=0.01)


def test_values_that_fall_are_pooled():
    assert never_falling([1, 3, 2, 4], [1, 1, 1, 1]) == [1, 2.5, 2.5, 4]
    assert never_falling([1, 3, 2], [1, 1, 3]) == [1, 2.25, 2.25]


def test_the_p_value_of_two_values_is_half_of_the_chi_squares():
    # Two values: the curve is flat in half of the cases, and then (difference)² / 2 is chi-square of 1.
    assert fall_p_value([1.0, 0.0], [1, 1], 0.5 / 3.841459) == pytest.approx(0.025, abs=1e-6)
    assert fall_p_value([0.0, 1.0], [1, 1], 0.1) == 1.0


@pytest.mark.counterpart
@pytest.mark.real
@pytest.mark.parametrize("users", [THIRTEEN, SEVEN], ids=["13 levels", "7 levels"])
@pytest.mark.parametrize("queue", QUEUES.values(), ids=QUEUES)
def test_at_most_1_of_100_sweeps_over_a_queue_reports_a_peak_or_cliff(queue, users):
    found = of_queue(queue, users, 0.03, 200, seed=2)
    assert max(found.peak, found.cliff) <= 0.01
    assert found.knee >= 0.9
    assert found.knee_covered >= 0.9


@pytest.mark.real
@pytest.mark.parametrize("users", [THIRTEEN, SEVEN], ids=["13 levels", "7 levels"])
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_an_existing_peak_is_found_and_its_interval_contains_it(law, users):
    found = of_law(law, users, 0.03, 20, seed=1)
    assert found.peak >= 0.9
    assert found.peak_covered >= 0.9


@pytest.mark.counterpart
@pytest.mark.real
@pytest.mark.parametrize("users", [THIRTEEN, SEVEN, TWENTY], ids=["13 levels", "7 levels", "20 levels"])
@pytest.mark.parametrize("system", GRADUAL.values(), ids=GRADUAL)
def test_a_gradual_fall_is_not_called_a_cliff(system, users):
    # One step alone called up to 54 % of them a cliff. Of 40 more than 4 have a probability of 0.7 % at 3 %, and of
    # 92 % at 20 %.
    assert of_fall(system, users, 0.03, 40, seed=2).cliff <= 4 / 40


@pytest.mark.counterpart
@pytest.mark.real
@pytest.mark.parametrize("users", [THIRTEEN, SEVEN, TWENTY], ids=["13 levels", "7 levels", "20 levels"])
@pytest.mark.parametrize("name", [name for name, cliff in CLIFFS.items() if cliff.ratio == 0.20])
def test_a_cliff_of_20_percent_is_found_as_cliff_or_as_fall_between_its_users(name, users):
    found = of_fall(CLIFFS[name], users, 0.03, 60, seed=2)
    # Of 60 fewer than 53 have a probability of 0.7 % at 95 %.
    assert (found.cliff + found.gradual) * found.right >= 53 / 60
