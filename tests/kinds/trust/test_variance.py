"""The parts of a metric's variance, worked out by hand."""

import math

import pytest

from harness.kinds.trust import variance
from harness.kinds.trust.variance import (
    MeanSquare,
    VariancePart,
    between_days,
    difference,
    outlier,
    parts_of,
    within_runs,
)
from harness.metrics.batch_means import Estimate
from tests.support.late import Late

stats = Late("scipy.stats")

# Two runs of three starts. Starts have the means 1, 2, 6; the second runs are 2 higher on average.
LEVELS = [[0.0, 2.0], [0.0, 4.0], [6.0, 6.0]]


def test_the_mean_squares_of_a_table_are_split_into_parts():
    parts = parts_of(LEVELS, MeanSquare(1.0, 100.0))
    # MS of starts: 2 · var(1, 2, 6) = 14. Residuals: ±0, ±1, ±1, so their squares sum to 4 with 2 degrees of freedom.
    assert parts.start.variance == pytest.approx((14 - 2) / 2)
    assert parts.run is not None
    assert parts.run.variance == pytest.approx(2 - 1)
    assert parts.total.variance == pytest.approx(14 / 2 + 2 / 2)
    assert parts.between == pytest.approx(8 - 1)
    assert parts.shrinking == pytest.approx(1)
    # The standard error of the difference of two means of three runs: √(2 · 2 / 3); t with 2 degrees of freedom.
    reach = stats.t.ppf(0.975, 2) * math.sqrt(4 / 3)
    assert parts.later == pytest.approx((2.0, 2.0 - reach, 2.0 + reach))


def test_without_batches_the_part_within_a_run_is_unknown_and_longer_runs_promise_nothing():
    parts = parts_of(LEVELS, None)
    assert (parts.within, parts.run, parts.shrinking) == (None, None, 0.0)
    assert parts.between == pytest.approx(8)


def test_a_part_cannot_be_larger_than_the_whole():
    parts = parts_of(LEVELS, MeanSquare(20.0, 100.0))
    assert parts.run is not None
    assert (parts.run.ratio, parts.between) == (0.0, 0.0)


@pytest.mark.parametrize("freedoms", [(5, 5), (2, 80.5), (11, 11)])
def test_the_quantiles_are_those_of_scipy(freedoms):
    one, other = freedoms
    for above in (0.025, 0.975):
        assert variance._f(one, other, above) == pytest.approx(stats.f.isf(above, one, other), rel=1e-9)
        assert variance._chi(one, above) == pytest.approx(stats.chi2.isf(above, one) / one, rel=1e-9)


def test_the_interval_of_a_difference_is_that_of_its_first_mean_square_when_the_other_is_0():
    part = difference(MeanSquare(4.0, 5.0), MeanSquare(0.0, 5.0))
    ends = [4.0 * 5 / stats.chi2.ppf(probability, 5) for probability in (0.975, 0.025)]
    assert (part.low_ratio**2, part.high_ratio**2) == pytest.approx(ends)


def test_the_batches_of_all_runs_have_one_autocorrelation():
    # 20 batches a run; r = -0.05 and 0.05 are 0 on average, plus 1/20 for the bias.
    runs = [Estimate(100.0, 2.0, 19.0, 20, -0.05), Estimate(100.0, 2.0, 19.0, 20, 0.05)]
    factor = (1 + 0.05) / (1 - 0.05)
    scatters = [0.02**2 * 20, 0.02**2 * 20 * (1 - 0.10) / (1 + 0.10)]
    found = within_runs(runs)
    assert found is not None
    assert found.value == pytest.approx(sum(scatters) / 2 / 20 * factor)
    assert found.freedom == pytest.approx(40 / (1 + 2 / (1 - 0.05**2)))
    assert within_runs([]) is None
    assert within_runs([Estimate(0.0, 2.0, 19.0, 20)]) is None


def test_the_days_of_a_history_need_three_and_leave_out_the_scatter_of_their_runs():
    parts = parts_of(LEVELS, None)
    assert between_days([[1.0], [2.0]], parts) is None
    # The means 0, 6, 12 have the variance 36; runs explain 8 · (1/2 + 1 + 1) / 3 of it.
    days = between_days([[-1.0, 1.0], [6.0], [12.0]], parts)
    assert days is not None
    assert days.variance == pytest.approx(36 - 8 * 2.5 / 3)
    assert VariancePart.of(-1.0, -2.0, 4.0) == VariancePart(0.0, 0.0, 2.0)


def test_grubbs_test_names_the_value_that_does_not_belong_to_the_others():
    # Grubbs' limit for six values, two-sided 1 %: 1.973.
    assert outlier([0.0, 0.1, -0.1, 0.05, -0.05, 1.0]) == 5
    assert outlier([0.0, 0.1, -0.1, 0.05, -0.05, 0.2]) is None
    assert outlier([1.0, 1.0, 1.0]) is None
    assert outlier([1.0, 2.0]) is None
