"""The rule of an A/B test on differences whose intervals are worked out with tables of Student's t."""

import math

import pytest

from harness.compare.comparison import CANNOT_TELL, IMPROVED, OK, REGRESSED
from harness.kinds.ab.rule import LOOKS, PairSeries, adjusted_p_values, is_sure, judge, level_of, verdict_of, worst_of
from harness.metrics.metric import AVERAGE, ERRORS, THROUGHPUT, metric_of
from harness.plan.thresholds import Thresholds

P90 = metric_of("p90")


def series(metric, *differences, **changes):
    return PairSeries(metric, differences, 100.0, 100.0, **changes)


def one(metric, *differences, **changes):
    """Return the comparison of a metric that is judged alone."""
    return judge([series(metric, *differences, **changes)], Thresholds())[0]


def test_the_interval_is_that_of_students_t_at_the_level_of_the_look():
    # Mean 0.02 and standard error 0.02 / 2 of four differences; t with 3 degrees of freedom at 0.0071 is 6.60.
    found = one(AVERAGE, 0.0, 0.0, 0.04, 0.04)
    error = math.sqrt(4 * 0.02**2 / 3 / 4)
    assert found.delta_ratio == pytest.approx(math.exp(0.02) - 1)
    assert found.high_ratio == pytest.approx(math.exp(0.02 + 6.60 * error) - 1, rel=0.005)
    assert found.low_ratio == pytest.approx(math.exp(0.02 - 6.60 * error) - 1, rel=0.05)


@pytest.mark.real
def test_the_p_value_is_that_of_the_paired_t_test_of_scipy():
    from scipy.stats import ttest_1samp

    differences = (0.031, 0.012, 0.044, 0.009, 0.027, 0.018)
    assert one(AVERAGE, *differences).p_value == pytest.approx(ttest_1samp(differences, 0.0).pvalue)


@pytest.mark.parametrize(
    ("metric", "differences", "verdict", "reason"),
    [
        (AVERAGE, (0.100, 0.105, 0.095, 0.100, 0.104, 0.096), REGRESSED, ""),
        # Certain, but smaller than three quarters of the threshold of 5 %: it does not matter.
        (AVERAGE, (0.0300, 0.0301, 0.0299, 0.0300), OK, ""),
        (AVERAGE, (-0.100, -0.105, -0.095, -0.100, -0.104, -0.096), OK, IMPROVED),
        (AVERAGE, (0.002, -0.002, 0.001, -0.001), OK, ""),
        (AVERAGE, (0.10, -0.05, 0.08, -0.02), CANNOT_TELL, "the interval extends beyond the threshold"),
        # A lower throughput is worse.
        (THROUGHPUT, (-0.100, -0.105, -0.095, -0.100, -0.104, -0.096), REGRESSED, ""),
        (THROUGHPUT, (0.100, 0.105, 0.095, 0.100, 0.104, 0.096), OK, IMPROVED),
        # Of errors it is the difference of the shares: half a point matters.
        (ERRORS, (0.010, 0.011, 0.009, 0.010, 0.011, 0.009), REGRESSED, ""),
        (ERRORS, (0.0, 0.0, 0.0, 0.0), OK, ""),
        (ERRORS, (0.0001, 0.0, 0.0, 0.0), OK, ""),
    ],
)
def test_a_metric_is_judged_by_its_interval_and_its_threshold(metric, differences, verdict, reason):
    found = one(metric, *differences)
    assert (found.verdict, found.reason) == (verdict, reason)


def test_four_pairs_in_random_order_show_no_change_because_a_disturbance_matches_one_order_in_16():
    change = (0.100, 0.105, 0.095, 0.100)
    found = judge([series(AVERAGE, *change)], Thresholds())
    assert found[0].verdict == CANNOT_TELL
    assert found[0].reason.startswith("a disturbance in step with the order of the runs could cause this change")
    better = judge([series(AVERAGE, *(-one for one in change))], Thresholds())
    # It is certain that B is not worse, and not yet that it is better.
    assert (better[0].verdict, is_sure(better)) == (OK, False)
    # An A/B test of an older version keeps its verdict: its order was fixed.
    assert judge([series(AVERAGE, *change)], Thresholds(), is_random=False)[0].verdict == REGRESSED


@pytest.mark.parametrize(
    ("differences", "verdict"),
    [
        # Of the 64 orders of six pairs this one alone has so large a mean.
        ((0.10, 0.12, 0.08, 0.11, 0.09, 0.10), REGRESSED),
        # A pair without a difference is the same in both orders: two of 64.
        ((0.20, 0.22, 0.18, 0.21, 0.19, 0.0), CANNOT_TELL),
        # After eight pairs two of 256 are few enough.
        ((0.20, 0.22, 0.18, 0.21, 0.19, 0.20, 0.20, 0.0), REGRESSED),
    ],
)
def test_a_change_is_one_that_few_of_the_orders_would_show(differences, verdict):
    assert one(AVERAGE, *differences).verdict == verdict


def test_a_step_of_the_clock_is_no_change():
    # 40 ms in every run of A, 41 ms in every run of B: as much as whole milliseconds can hide.
    step = math.log(41 / 40)
    found = one(P90, step, step, step, step, step=1 / 40)
    assert (found.verdict, found.p_value) == (OK, 1.0)
    assert found.high_ratio == pytest.approx(math.exp(step + 1 / 40) - 1)
    assert one(P90, *[4 * step] * 6, step=1 / 40).verdict == REGRESSED


def test_p_values_are_adjusted_as_holm_does():
    # Sorted: 0.005 * 4, 0.01 * 3, 0.03 * 2, 0.04 * 1; none is below the one before it.
    assert adjusted_p_values([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert adjusted_p_values([]) == []


def test_with_more_metrics_a_change_of_one_of_them_must_be_clearer():
    change = (0.100, 0.140, 0.060, 0.100, 0.130, 0.070)  # p = 0.0006: enough alone, and not one of 28
    assert one(AVERAGE, *change).verdict == REGRESSED
    others = [series(P90, 0.01, -0.01, 0.01, -0.009, 0.01, -0.01)] * 27
    assert judge([series(AVERAGE, *change), *others], Thresholds())[0].verdict == CANNOT_TELL


def test_a_metric_that_never_differs_is_no_test():
    change = (0.100, 0.140, 0.060, 0.100, 0.130, 0.070)
    others = [series(ERRORS, *[0.0] * 6)] * 27
    found = judge([series(AVERAGE, *change), *others], Thresholds())
    assert found[0].verdict == REGRESSED
    assert found[0].adjusted_p_value == found[0].p_value
    assert {metric.verdict for metric in found[1:]} == {OK}


def test_a_metric_with_a_reason_is_shown_and_not_judged():
    found = one(P90, 0.3, 0.3, 0.31, 0.29, reason="fewer than 500 samples a side")
    assert (found.verdict, found.reason) == (CANNOT_TELL, "fewer than 500 samples a side")
    assert found.delta_ratio is not None
    assert found.adjusted_p_value is None


def test_the_verdict_of_b_is_that_of_its_worst_metric_that_decides():
    fine = series(AVERAGE, 0.001, -0.001, 0.001, -0.002, 0.001, -0.001)
    better = series(AVERAGE, -0.2, -0.201, -0.199, -0.2, -0.202, -0.2)
    worse = series(P90, 0.3, 0.3, 0.31, 0.29, 0.3, 0.31)
    unknown = series(P90, 0.2, -0.2, 0.2, -0.1)
    verdicts = [
        verdict_of(judge(metrics, Thresholds()))
        for metrics in (
            [fine],
            [better],
            [better, worse],
            [fine, unknown],
            [fine, series(P90, 0.2, -0.2, 0.2, -0.1, decides=False)],
            [],
        )
    ]
    assert verdicts == [OK, "IMPROVED", REGRESSED, CANNOT_TELL, OK, CANNOT_TELL]


def test_a_single_pair_has_no_interval():
    found = one(AVERAGE, 0.5)
    assert (found.verdict, found.reason, found.low_ratio) == (CANNOT_TELL, "fewer than two pairs", None)
    assert worst_of(found) is None


def test_the_level_between_two_looks_is_that_of_the_look_before():
    assert [level_of(pairs) for pairs in (0, 3, 4, 5, 6, 10)] == [LOOKS[look] for look in (4, 4, 4, 4, 6, 10)]


def test_a_smaller_alpha_of_the_plan_needs_clearer_changes():
    change = [series(AVERAGE, 0.100, 0.140, 0.060, 0.100, 0.130, 0.070)]
    assert judge(change, Thresholds())[0].verdict == REGRESSED
    assert judge(change, Thresholds().changed({"alpha": 0.0005}))[0].verdict == CANNOT_TELL
