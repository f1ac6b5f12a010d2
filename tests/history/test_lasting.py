"""Lasting changes: a drift of correlated nightly runs is none, a step that stays is one."""

from __future__ import annotations

import numpy as np
import pytest

from bench.statistics.simulated_histories import Noise, history
from harness.history.lasting import lasting_changes
from harness.history.trend import Gauge, changes_of
from harness.metrics.metric import AVERAGE, ERRORS
from tests.support.weekly import often

GAUGE = Gauge(AVERAGE, 0.05)


def lasting(values, gauge=GAUGE):
    return lasting_changes(values, changes_of(values, gauge), gauge)


@pytest.mark.real
@pytest.mark.parametrize("rho", often(2, [0.0, 0.3, 0.6, 0.8]))
@pytest.mark.parametrize("is_heavy", [False, True])
@pytest.mark.parametrize("count", often(2, [25, 60, 120]))
def test_at_most_one_in_twenty_unchanged_series_has_a_lasting_change(rho, is_heavy, count):
    random = np.random.default_rng(1000)
    found = [bool(lasting(history(random, Noise(0.05, is_heavy, rho), count))) for _ in range(100)]
    assert sum(found) <= 6, "at most 5 %, and one more by chance of 100 series"


@pytest.mark.parametrize(("rho", "least"), [(0.0, 0.98), (0.3, 0.9)])
def test_a_step_of_20_percent_that_stays_is_found_at_its_place(rho, least):
    random, hits = np.random.default_rng(5), 0
    for _ in range(30):
        values = history(random, Noise(0.03, rho=rho), 40)
        values[25:] = [value * 1.2 for value in values[25:]]
        hits += any(abs(change.index - 25) <= 2 for change in lasting(values))
    assert hits / 30 >= least


def test_a_change_has_the_means_between_it_and_its_neighbours():
    values = [100.0, 101, 99, 100, 100, 101, 99, 100, 120, 121, 119, 120, 120, 121, 119, 120]
    (change,) = lasting(values)
    assert (change.index, change.before, change.after) == (8, 100.0, 120.0)


def test_four_slow_runs_are_not_lasting_and_one_outlier_neither():
    quiet = [100.0, 101, 99, 100] * 6
    assert lasting([*quiet, 150.0, 151, 149, 150]) == ()
    assert lasting([*quiet[:12], 180.0, *quiet[12:]]) == ()


def test_a_series_without_noise_has_its_step_and_errors_that_begin_are_one():
    assert [change.index for change in lasting([100.0] * 10 + [107.0] * 10)] == [10]
    errors = [0.0] * 10 + [0.02, 0.021, 0.02, 0.019, 0.02, 0.021, 0.02]
    assert [change.index for change in lasting(errors, Gauge(ERRORS, 0.005))] == [10]


def test_two_values_and_none_have_no_change():
    assert lasting([1.0, 2.0]) == lasting([]) == ()
