"""One run against one run: errors of figures out of their batches, by hand and against SciPy."""

import math
from dataclasses import replace

import pytest

from harness.metrics.batch_means import Estimate, change, estimate, log_change
from harness.metrics.metric import AVERAGE, ERRORS, THROUGHPUT, metric_of
from tests.support.results import batched

_QUICK, _SLOW = [90] * 10, [110] * 10


def estimate_of(label, metric):
    """Return the estimate of a metric of a label."""
    return estimate(label.batches, label.histogram, metric)


def test_the_error_of_an_average_comes_from_the_batch_means():
    # Residuals of 10 ms and -10 ms in turn: variance 1000 / 9, over ten batches; neighbours are unlike each other.
    found = estimate_of(batched([_QUICK, _SLOW] * 5), AVERAGE)
    assert found == Estimate(100.0, pytest.approx(math.sqrt(1000 / 9 / 10)), 9.0, 10)


def test_correlated_batches_count_as_fewer():
    # -10 five times, 10 five times: products 4 - 1 + 4 of 10, so r = 0.7, and 0.1 for its bias: 10 * 0.2 / 1.8 = 1.1
    # batches, of which at least 2 are assumed.
    found = estimate_of(batched([_QUICK] * 5 + [_SLOW] * 5), AVERAGE)
    assert found == Estimate(100.0, pytest.approx(math.sqrt(1000 / 9 / 2)), pytest.approx(1.0), 10)
    # Two quick, two slow, two quick, three slow, one quick: products 5 - 4 of 10, r = 0.1 + 0.1, and 10 * 0.8 / 1.2.
    found = estimate_of(batched([_QUICK] * 2 + [_SLOW] * 2 + [_QUICK] * 2 + [_SLOW] * 3 + [_QUICK]), AVERAGE)
    assert found == Estimate(100.0, pytest.approx(math.sqrt(1000 / 9 * 0.15)), pytest.approx(20 / 3 - 1), 10)


def test_a_batch_is_weighted_by_its_samples():
    # Average (10 * 90 + 30 * 110) / 40 = 105: the ten samples are 150 ms short together, the thirty 150 ms over; per
    # batch of 20 samples that is 7.5 ms each way.
    found = estimate_of(batched([[90] * 10, [110] * 30] * 5), AVERAGE)
    assert found == Estimate(105.0, pytest.approx(math.sqrt(10 * 7.5**2 / 9 / 10)), 9.0, 10)


def test_the_error_of_throughput_comes_from_the_batch_counts():
    # 10 and 30 samples in 10 s in turn: 1/s and 3/s.
    found = estimate_of(batched([[90] * 10, [110] * 30] * 5, length_s=10.0), THROUGHPUT)
    assert found == Estimate(2.0, pytest.approx(math.sqrt(10 * 1.0 / 9 / 10)), 9.0, 10)


def test_few_samples_without_errors_do_not_prove_zero_errors():
    # 1 of 102 is assumed failed: sqrt(1/102 * 101/102 / 102).
    found = estimate_of(batched([_QUICK] * 10), ERRORS)
    assert found == Estimate(0.0, pytest.approx(0.0097561, abs=1e-6), 9, 10)
    # All of the errors in every other batch: 0.2 and 0 of its samples, a scatter of 0.1 about 0.1.
    found = estimate_of(batched([_QUICK] * 10, errors=[2, 0] * 5), ERRORS)
    assert found == Estimate(0.1, pytest.approx(math.sqrt(10 * 0.01 / 9 / 10)), 9.0, 10)


def test_the_error_of_a_percentile_comes_from_the_share_of_slower_samples():
    # Of 1,000 samples 500 take 10 ms: the median. In turn 40 and 60 of 100 are slower, the share's error is
    # sqrt(0.1 / 9 / 10) = 0.033; the lines at 46.7 % and 53.3 % are 10 and 20 ms.
    first, second = [10] * 60 + [20] * 40, [10] * 40 + [20] * 60
    assert estimate_of(batched([first, second] * 5), metric_of("p50")) == Estimate(10, 10, 9.0, 10)


def test_a_percentile_determined_by_one_slow_moment_is_not_estimated():
    spike = [[10] * 100] * 9 + [[10] * 40 + list(range(500, 560))]  # the 95 % line is 509 ms
    assert estimate_of(batched(spike), metric_of("p95")) == "a few slow moments of the run determine it"
    assert estimate_of(batched([[10] * 100] * 10), metric_of("p95")) == "no sample is slower than this percentile"


def test_without_enough_batches_nothing_is_estimated():
    assert "fewer than 10" in str(estimate_of(batched([[10] * 100] * 9), AVERAGE))
    assert "fewer than 10" in str(estimate_of(batched([[10] * 100] * 9 + [[]] * 11), AVERAGE))
    assert "no batches" in str(estimate_of(replace(batched([_QUICK] * 10), batches=None), AVERAGE))


@pytest.mark.real
def test_the_change_agrees_with_welchs_test_of_scipy():
    from scipy.stats import ttest_ind_from_stats

    base, new = Estimate(100.0, 2.0, 9.0, 10), Estimate(108.0, 3.0, 19.0, 20)
    expected = ttest_ind_from_stats(100, 2 * math.sqrt(10), 10, 108, 3 * math.sqrt(20), 20, equal_var=False)
    found = change(base, new)
    assert found.p_value == pytest.approx(expected.pvalue)
    # Degrees of freedom 13² / (4² / 9 + 9² / 19) = 28; t = 2.048: 8 ± 2.048 * sqrt(13).
    assert (found.low, found.high) == (pytest.approx(0.61, abs=0.01), pytest.approx(15.39, abs=0.01))
    assert found.least == pytest.approx((2.048 + 0.855) * math.sqrt(13), abs=0.01)


def test_a_relative_change_is_a_difference_of_logarithms():
    found = log_change(Estimate(100.0, 0.0, 9.0, 10), Estimate(200.0, 0.0, 9.0, 10)).as_ratio()
    assert (found.estimate, found.low, found.high, found.p_value) == (1.0, 1.0, 1.0, 0.0)
    # 2 % on each side: ln 1.1 ± t(18; 0.975) * 0.02 * sqrt(2) = 0.0953 ± 2.101 * 0.0283.
    found = log_change(Estimate(100.0, 2.0, 9.0, 10), Estimate(110.0, 2.2, 9.0, 10)).as_ratio()
    assert (found.low, found.high) == (pytest.approx(0.0366, abs=2e-4), pytest.approx(0.1673, abs=2e-4))


def test_a_huge_error_of_a_ratio_gives_a_finite_interval():
    # Errors of many times the figure, as a percentile has that is before a wide gap.
    found = log_change(Estimate(10.0, 30_000.0, 2.0, 10), Estimate(10.0, 30_000.0, 2.0, 10)).as_ratio()
    assert (found.low, found.high) == (pytest.approx(-1.0), pytest.approx(math.exp(20.0), rel=1e-6))
