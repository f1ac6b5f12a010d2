"""The Universal Scalability Law: known parameters come back, and a peak is reported only if there is one."""

import math
import random

import pytest

from harness.sweep.usl import fit, throughput
from tests.support.sweeps import DIRECT, THRUZERO

USERS = (1, 5, 10, 25, 50, 75, 100)
GAMMA, ALPHA, BETA = 20.0, 0.03, 0.0005
PEAK = math.sqrt((1 - ALPHA) / BETA)  # 44.05 users


def noisy(alpha, beta, ratio, seed, repeat=1):
    """Return points about the law; the noise is normal, `ratio` of the greatest throughput."""
    rng = random.Random(seed)
    top = max(throughput(GAMMA, alpha, beta, users) for users in USERS)
    return [
        (users, throughput(GAMMA, alpha, beta, users) + ratio * top * rng.gauss(0, 1))
        for _ in range(repeat)
        for users in USERS
    ]


def test_the_parameters_are_recovered_exactly_without_noise():
    found = fit(noisy(ALPHA, BETA, 0.0, 1))
    values = (found.gamma_per_s.value, found.alpha.value, found.beta.value, found.peak_users.value)
    assert values == pytest.approx((GAMMA, ALPHA, BETA, PEAK), rel=1e-5)
    assert found.r_squared == pytest.approx(1.0)
    assert found.follows


def test_one_user_has_the_throughput_gamma():
    assert throughput(GAMMA, ALPHA, BETA, 1) == GAMMA


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_with_noise_the_intervals_contain_the_true_parameters(seed):
    found = fit(noisy(ALPHA, BETA, 0.02, seed, repeat=3))
    estimates = (found.gamma_per_s, found.alpha, found.beta, found.peak_users)
    for estimate, true in zip(estimates, (GAMMA, ALPHA, BETA, PEAK), strict=True):
        assert estimate.low <= true <= estimate.high


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_linear_growth_has_no_peak_in_range(seed):
    points = [(users, 20.0 * users) for users in USERS] if seed is None else noisy(0.0, 0.0, 0.01, seed)
    found = fit(points)
    assert found.peak_users is None
    assert (found.alpha.low, found.beta.low) == (0, 0)
    assert found.follows


def test_a_curve_that_levels_off_has_a_limit_and_no_peak():
    found = fit(noisy(0.05, 0.0, 0.0, 1))
    assert found.peak_users is None
    assert found.limit_per_s == pytest.approx(GAMMA / 0.05)


def test_a_peak_beyond_the_last_level_is_not_reported():
    assert math.sqrt(0.98 / 0.00002) > USERS[-1]
    assert fit(noisy(0.02, 0.00002, 0.0, 1)).peak_users is None


def test_the_law_cannot_follow_a_cliff_and_reports_it():
    found = fit(list(THRUZERO.items()))
    assert not found.follows
    assert found.worst_users == 100


def test_nearly_constant_throughput_is_fitted_although_r_squared_is_low():
    found = fit(list(DIRECT.items()))
    assert found.follows
    assert found.r_squared < 0.8
    # The last two of thirteen single runs are 10 % lower: less than noise of 3 % makes of a curve that never falls.
    assert found.peak_users is None


def test_constant_throughput_has_no_r_squared():
    found = fit([(users, 10.0) for users in USERS])
    assert found.r_squared is None
    assert found.peak_users is None


def test_the_fit_needs_six_levels_above_zero():
    assert fit([(users, 10.0) for users in (1, 2, 3, 4, 5, 5, 5)]) is None
    assert fit([(1, 0.0), *((users, 10.0) for users in (2, 3, 4, 5, 6))]) is None


@pytest.mark.real
def test_nineteen_of_twenty_intervals_contain_the_truth():
    covered, known = [0, 0, 0, 0], [0, 0, 0, 0]
    for seed in range(200):
        found = fit(noisy(ALPHA, BETA, 0.03, seed))
        estimates = (found.gamma_per_s, found.alpha, found.beta, found.peak_users)
        for index, (estimate, true) in enumerate(zip(estimates, (GAMMA, ALPHA, BETA, PEAK), strict=True)):
            known[index] += estimate is not None
            covered[index] += estimate is not None and estimate.low <= true <= estimate.high
    assert known[:3] == [200, 200, 200]
    assert known[3] >= 80  # a fall of 18 % at the last of seven single runs is often, not always, more than noise
    assert all(count >= 0.9 * total for count, total in zip(covered, known, strict=True))


@pytest.mark.real
def test_false_peaks_are_rare():
    known = sum(fit(noisy(0.05, 0.0, 0.03, seed)).peak_users is not None for seed in range(200))
    assert known <= 2
