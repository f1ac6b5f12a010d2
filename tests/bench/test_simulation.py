"""How often comparisons are wrong and what they see, on simulated runs with fixed seeds; `make bench` has more."""

import math

import numpy as np
import pytest

from bench.statistics.simulated_runs import (
    SERVICE_MS,
    group_rates,
    per_request_p_value,
    per_request_rate,
    queue_rates,
    requests_of_queue,
)
from harness.metrics.metric import AVERAGE


def above_by_chance(rate: float, repetitions: int) -> float:
    """Return what a rate stays below in 999 of 1,000 cases when it is that of so many repetitions."""
    return rate + 3.1 * math.sqrt(rate * (1 - rate) / repetitions)


def test_response_times_are_those_of_the_queue():
    random = np.random.default_rng(1)
    elapsed_ms, ended_ms = zip(*(requests_of_queue(random, 0.5) for _ in range(40)), strict=True)
    # Mean and deviation of M/M/1's time in the system are both service / (1 - utilisation); 10,000 apart from each
    # other by some ten requests are worth about 1 %.
    everything = np.concatenate(elapsed_ms)
    assert everything.mean() == pytest.approx(SERVICE_MS / 0.5, rel=0.05)
    assert everything.std() == pytest.approx(SERVICE_MS / 0.5, rel=0.05)
    # Who comes later ends later: requests are served in their order.
    assert all((np.diff(ended) >= 0).all() for ended in ended_ms)


@pytest.mark.counterpart
def test_the_test_over_requests_is_that_of_scipy():
    from scipy.stats import mannwhitneyu

    random = np.random.default_rng(2)
    base, new = random.integers(1, 50, 300), random.integers(3, 55, 200)
    expected = mannwhitneyu(base, new, method="asymptotic", use_continuity=False).pvalue
    assert per_request_p_value(base, new) == pytest.approx(expected)


@pytest.mark.real
@pytest.mark.parametrize("utilisation", [0.5, 0.8, 0.9])
@pytest.mark.counterpart
def test_requests_as_observations_call_a_queue_different_from_itself(utilisation):
    assert per_request_rate(np.random.default_rng(3), utilisation, 100) > 0.30


@pytest.mark.real
@pytest.mark.parametrize("utilisation", [0.5, 0.8, 0.9])
@pytest.mark.counterpart
def test_batches_of_single_runs_rarely_call_a_queue_different_from_itself(utilisation):
    rates = queue_rates(np.random.default_rng(4), utilisation, 0.0, 1, 80)
    # 0.052 is what the average of a queue at 90 % has; nothing else comes near.
    assert all(rates.below_alpha[metric] <= above_by_chance(0.052, 80) for metric in rates.below_alpha)
    assert rates.regressed <= above_by_chance(0.02, 80)


@pytest.mark.counterpart
@pytest.mark.parametrize("runs", [5, 8, 10])
def test_groups_of_runs_call_no_more_than_one_in_twenty_different(runs):
    rates = queue_rates(np.random.default_rng(5), 0.8, 0.03, runs, 60)
    # The exact levels at 5, 8 and 10 runs are 0.032, 0.050 and 0.043.
    level = {5: 8 / 252, 8: 0.0499, 10: 0.0433}[runs]
    assert all(rates.below_alpha[metric] <= above_by_chance(level, 60) for metric in rates.below_alpha)
    assert rates.regressed <= above_by_chance(0.02, 60)


@pytest.mark.counterpart
@pytest.mark.parametrize(
    ("noise_cv", "shift_ratio", "runs", "power"),
    [(0.03, 0.05, 5, 0.52), (0.03, 0.05, 10, 0.91), (0.05, 0.10, 5, 0.69), (0.05, 0.10, 8, 0.95)],
)
def test_groups_of_runs_see_a_change_as_often_as_they_should(noise_cv, shift_ratio, runs, power):
    rates = group_rates(np.random.default_rng(6), noise_cv, shift_ratio, runs, 400)
    assert rates.below_alpha[AVERAGE] == pytest.approx(power, abs=3.1 * math.sqrt(power * (1 - power) / 400) + 0.005)


@pytest.mark.real
def test_a_change_of_a_fifth_has_regressed_and_half_the_threshold_has_not():
    assert group_rates(np.random.default_rng(7), 0.03, 0.20, 5, 200).regressed > 0.97
    assert group_rates(np.random.default_rng(7), 0.03, 0.025, 5, 200).regressed < 0.02
