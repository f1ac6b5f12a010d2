"""Verdicts on two runs and on groups of runs, from literal figures."""

import json
from random import Random

import pytest

from harness.base.records import to_plain
from harness.compare.comparison import (
    BETTER,
    CANNOT_TELL,
    IMPROVED,
    INVALID,
    OK,
    REGRESSED,
)
from harness.compare.decision import compare
from harness.judge.verdict import Verdict
from harness.metrics.histogram import Histogram
from harness.metrics.metric import AVERAGE, ERRORS, THROUGHPUT, metric_of
from harness.plan.goal import Goal
from harness.plan.thresholds import Thresholds
from tests.support.comparisons import LIMITS, QUIET, average, metric, runs, total
from tests.support.factories import record
from tests.support.results import batched, label_result, run_result


def test_five_runs_that_are_all_slower_by_a_fifth_have_regressed():
    found = compare(runs("A", QUIET), runs("B", [ms * 1.2 for ms in QUIET]), LIMITS)
    assert found.verdict == REGRESSED
    one = average(found)
    assert (one.baseline, one.contender, one.baseline_n, one.contender_n, one.unit) == (
        100.0,
        pytest.approx(120.0),
        5,
        5,
        "runs",
    )
    assert one.delta_ratio == pytest.approx(0.2)
    assert one.p_value == one.adjusted_p_value == pytest.approx(2 / 252)
    # The third from each end of 25 ratios: after 99 / 101 and 99 / 100.5 comes 99.5 / 101, before 101 / 99 and
    # 100.5 / 99 is 101 / 99.5.
    assert one.low_ratio == pytest.approx(1.2 * 99.5 / 101 - 1)
    assert one.high_ratio == pytest.approx(1.2 * 101 / 99.5 - 1)
    assert found.reasons[0].startswith("TOTAL: average +20.0 %, p50 +20 %")


def test_five_runs_that_vary_less_than_the_threshold_are_ok():
    found = compare(runs("A", QUIET), runs("B", QUIET), LIMITS)
    assert (found.verdict, found.reasons, found.further_runs) == (OK, (), None)
    assert average(found).p_value == 1.0


def test_five_faster_runs_have_improved():
    found = compare(runs("A", QUIET), runs("B", [ms * 0.8 for ms in QUIET]), LIMITS)
    assert (found.verdict, average(found).verdict, average(found).reason) == (BETTER, OK, IMPROVED)
    assert found.reasons[0].startswith("TOTAL: average -20.0 %")


def test_a_certain_change_that_may_be_below_the_threshold_is_undecided():
    one = average(compare(runs("A", QUIET), runs("B", [ms * 1.05 for ms in QUIET]), LIMITS))
    assert one.adjusted_p_value is not None and one.adjusted_p_value < 0.05
    assert (one.verdict, one.reason) == (
        CANNOT_TELL,
        "the change is too close to the threshold: even 100 runs a side could not tell",
    )
    one = average(compare(runs("A", QUIET), runs("B", [ms * 1.04 for ms in QUIET]), LIMITS))
    assert (one.verdict, one.reason) == (CANNOT_TELL, "not by chance, but possibly within the threshold")


def test_an_undecided_metric_states_how_many_more_runs_are_needed():
    noisy = (90.0, 95.0, 100.0, 105.0, 110.0)
    found = compare(runs("A", noisy), runs("B", noisy), LIMITS)
    one = average(found)
    # The logarithms scatter by 0.0793, and the threshold is 0.05 away: (t + t) * 0.0793 * sqrt(2 pi / 3 n) is 0.0502 at
    # n = 42 (1.9893 + 0.8462) and 0.0496 at n = 43, 38 more than there are.
    assert (one.verdict, one.further_runs, found.further_runs) == (CANNOT_TELL, 38, 38)
    # (t(8; 0.975) + t(8; 0.8)) * 0.0793 * sqrt(2 pi / 15): exp(3.195 * 0.0793 * 0.6472) - 1.
    assert one.least_ratio == pytest.approx(0.178, abs=0.001)


def test_an_unreachable_number_of_runs_is_not_suggested():
    wild = (10.0, 40.0, 100.0, 300.0, 900.0)
    found = compare(runs("A", wild), runs("B", [ms * 2.19 for ms in wild]), LIMITS)
    one = average(found)
    assert (found.verdict, one.least_ratio) == (CANNOT_TELL, None)
    # The logarithms scatter by 1.745, the threshold is 1.14 away: (1.9908 + 0.8464) * 1.745 * sqrt(2 pi / 3 n) is 1.147
    # at n = 39 and 1.133 at n = 40, 35 more than there are.
    assert one.further_runs == 35
    assert found.reasons[0].startswith("TOTAL: average, p50")
    one = average(compare(runs("A", wild), runs("B", wild), LIMITS))
    assert (one.least_ratio, one.further_runs) == (None, None)
    assert one.reason == "runs differ too much from each other: even 100 runs a side could not tell"


def test_three_runs_a_side_can_detect_nothing():
    found = compare(runs("A", QUIET[:3]), runs("B", [200.0, 201.0, 202.0]), LIMITS)
    one = average(found)
    assert (found.verdict, one.verdict, one.p_value, one.low_ratio) == (
        CANNOT_TELL,
        CANNOT_TELL,
        pytest.approx(0.1),
        None,
    )
    assert (one.reason, one.further_runs) == ("too few runs for an interval", 2)
    assert "no test can find a change. Make 2 more runs a side" in found.warnings[0]


def test_less_throughput_is_worse():
    base = [run_result(f"A_{i}", total=total(rate_per_s=rate)) for i, rate in enumerate(QUIET)]
    slower = [run_result(f"B_{i}", total=total(rate_per_s=rate * 0.8)) for i, rate in enumerate(QUIET)]
    assert metric(compare(base, slower, LIMITS).total, THROUGHPUT).verdict == REGRESSED
    found = metric(compare(slower, base, LIMITS).total, THROUGHPUT)
    assert (found.verdict, found.reason) == (OK, IMPROVED)


@pytest.mark.parametrize("goal", [Goal(), Goal().with_default_errors()], ids=["no goal", "the default goal"])
def test_errors_are_judged_by_difference_and_not_by_ratio(goal):
    def with_errors(prefix, ratios):
        return [
            run_result(
                f"{prefix}_{index}",
                total=total(error_ratio=ratio),
                run=record(
                    name=prefix,
                    goal=goal,
                    started_at=f"2026-01-0{1 + (prefix == 'B')}T00:00:0{index}Z",
                ),
            )
            for index, ratio in enumerate(ratios)
        ]

    none = [0.0] * 5
    assert metric(compare(with_errors("A", none), with_errors("B", none), LIMITS).total, ERRORS).verdict == OK
    few = [0.001, 0.002, 0.001, 0.002, 0.001]
    found = metric(compare(with_errors("A", none), with_errors("B", few), LIMITS).total, ERRORS)
    assert (found.verdict, found.delta_ratio) == (OK, None)  # 0.1 to 0.2 points are below half a point
    many = [0.02, 0.03, 0.02, 0.03, 0.02]
    found_all = compare(with_errors("A", none), with_errors("B", many), LIMITS)
    found = metric(found_all.total, ERRORS)
    assert (found.verdict, found.low_ratio, found.high_ratio) == (REGRESSED, 0.02, 0.03)
    assert "errors +2.00 points" in found_all.reasons[0]


def test_a_side_with_too_many_errors_is_invalid_and_its_speed_is_not_judged():
    fast_errors = runs("B", [ms * 0.2 for ms in QUIET], error_ratio=0.02)  # the goal is 1 %
    found = compare(runs("A", QUIET), fast_errors, LIMITS)
    assert found.verdict == INVALID
    assert found.reasons[0] == "B_0 has 2.00 % errors, more than 1.00 %: errors make response times meaningless"
    one = average(found)
    assert (one.verdict, one.p_value, one.low_ratio) == (CANNOT_TELL, None, None)
    assert one.delta_ratio == pytest.approx(-0.8)
    assert metric(found.total, ERRORS).verdict == REGRESSED


def test_an_invalid_run_makes_the_comparison_invalid():
    broken = run_result("B", total=total(), verdict=Verdict("INVALID", ("JMeter ended with code 1",), (), ()))
    found = compare([run_result("A", total=total())], [broken], LIMITS)
    assert (found.verdict, found.reasons) == (INVALID, ("B is INVALID: JMeter ended with code 1",))


def test_p_values_are_adjusted_over_the_labels_and_not_over_total():
    def side(prefix, factor):
        return [
            run_result(
                f"{prefix}_{index}",
                label_result("Pay", ms * factor),
                *(label_result(name, ms) for name in ("Void", "Refund", "Capture")),
                total=total(ms * factor),
            )
            for index, ms in enumerate(QUIET)
        ]

    found = compare(side("A", 1.0), side("B", 1.3), LIMITS)
    assert average(found).adjusted_p_value == pytest.approx(2 / 252)
    by_name = {label.label: metric(label, AVERAGE) for label in found.labels}
    assert by_name["Pay"].adjusted_p_value == pytest.approx(4 * 2 / 252)
    assert (by_name["Pay"].verdict, by_name["Void"].verdict) == (REGRESSED, OK)


def test_more_labels_than_five_runs_can_support_need_a_sixth():
    def side(prefix, factor):
        return [
            run_result(
                f"{prefix}_{index}",
                label_result("Pay", ms * factor),
                *(label_result(f"L{number}", ms) for number in range(9)),
                total=total(ms),
            )
            for index, ms in enumerate(QUIET)
        ]

    pay = compare(side("A", 1.0), side("B", 1.3), LIMITS).labels[0]
    # 10 * 2 / 252 = 0.079 is no proof; 10 * 2 / 924 with six runs is.
    assert metric(pay, AVERAGE).adjusted_p_value == pytest.approx(20 / 252)
    assert (metric(pay, AVERAGE).verdict, metric(pay, AVERAGE).further_runs) == (CANNOT_TELL, 1)


def test_labels_that_exist_on_one_side_only_are_listed():
    base = [run_result("A", label_result("Pay"), label_result("Old"), total=total())]
    new = [run_result("B", label_result("New"), label_result("Pay"), total=total())]
    found = compare(base, new, LIMITS)
    assert (found.only_baseline, found.only_contender, [label.label for label in found.labels]) == (
        ("Old",),
        ("New",),
        ["Pay"],
    )


def test_a_label_with_few_samples_does_not_prevent_ok():
    def side(prefix, count):
        return [
            run_result(
                f"{prefix}_{index}", label_result("Rare", 50.0 + 40 * (index % 2), sample_count=count), total=total(ms)
            )
            for index, ms in enumerate(QUIET)
        ]

    found = compare(side("A", 150), side("B", 150), LIMITS)
    assert (found.verdict, found.labels[0].verdict) == (OK, CANNOT_TELL)
    found = compare(side("A", 5_000), side("B", 5_000), LIMITS)
    assert (found.verdict, found.reasons[0].split(":")[0]) == (CANNOT_TELL, "Rare")


def test_percentiles_of_too_few_samples_are_shown_and_not_judged():
    found = compare(runs("A", QUIET, sample_count=900), runs("B", [ms * 2 for ms in QUIET], sample_count=900), LIMITS)
    assert metric(found.total, metric_of("p95")).verdict == REGRESSED  # 4,500 samples a side
    one = metric(found.total, metric_of("p99"))
    assert (one.verdict, one.reason, one.adjusted_p_value) == (CANNOT_TELL, "fewer than 5,000 samples a side", None)
    assert (one.delta_ratio, one.decides) == (pytest.approx(1.0), False)


def test_percentiles_are_whole_milliseconds_and_one_clock_step_is_not_a_change():
    base = [run_result(f"A_{i}", total=total(10.4, percentiles_ms={"50": 3})) for i in range(5)]
    new = [run_result(f"B_{i}", total=total(10.4, percentiles_ms={"50": 4})) for i in range(5)]
    found = compare(base, new, LIMITS)
    one = metric(found.total, metric_of("p50"))
    # From 3 to 4 is +33 %, and a third either way for the step.
    assert (one.p_value, one.low_ratio, one.high_ratio) == (
        pytest.approx(2 / 252),
        pytest.approx(0.0),
        pytest.approx(2 / 3),
    )
    assert (one.verdict, one.decides, found.verdict) == (CANNOT_TELL, False, OK)
    far = [run_result(f"C_{i}", total=total(10.4, percentiles_ms={"50": 9})) for i in range(5)]
    assert metric(compare(base, far, LIMITS).total, metric_of("p50")).verdict == REGRESSED


def test_single_runs_are_judged_by_batches_and_the_report_states_the_limits_of_that():
    quick = batched([[90] * 50 + [110] * 50, [92] * 50 + [112] * 50] * 10)
    slow = batched([[135] * 50 + [165] * 50, [138] * 50 + [168] * 50] * 10)
    found = compare([run_result("A", total=quick)], [run_result("B", total=slow)], LIMITS)
    one = average(found)
    assert (one.verdict, one.unit, one.baseline_n, one.delta_ratio) == (
        REGRESSED,
        "batches",
        20,
        pytest.approx(151.5 / 101 - 1),
    )
    assert found.warnings[0].startswith("One run against one: runs are assumed to scatter by 5 %. Make 4 more runs")
    found = compare([run_result("A", total=quick)], [run_result("B", total=quick)], LIMITS)
    assert (average(found).verdict, average(found).p_value, found.further_runs) == (CANNOT_TELL, 1.0, 4)
    # Of a system whose runs do not scatter the noise within them would be enough.
    found = compare([run_result("A", total=quick)], [run_result("B", total=quick)], LIMITS, scatter=None)
    assert (average(found).verdict, average(found).p_value) == (OK, 1.0)


def test_runs_without_batches_are_undecided():
    short = total(histogram=Histogram.of([100]))
    found = compare([run_result("A", total=short)], [run_result("B", total=total(500.0))], LIMITS)
    one = average(found)
    assert (found.verdict, one.unit, one.p_value, one.delta_ratio) == (CANNOT_TELL, "", None, 4.0)
    assert one.reason.startswith("baseline: the run has no batches")
    assert found.further_runs == 4  # five a side can tell
    found = compare([run_result("A", total=total())], [run_result("B", total=total(500.0))], LIMITS)
    assert average(found).reason == "baseline: a report has only totals, not the variation within the run"


def test_an_interval_of_errors_stays_within_0_and_100_percent():
    # All errors of each side are in half of its batches, which resemble their neighbours: 50 % of 100, or none.
    rising = batched([[10] * 10] * 20, errors=[0] * 10 + [10] * 10)
    found = compare([run_result("A", total=rising)], [run_result("B", total=rising)], LIMITS)
    one = metric(found.total, ERRORS)
    assert (one.low_ratio, one.high_ratio, one.least_ratio) == (-1.0, 1.0, None)


def test_a_time_falls_by_at_most_100_percent():
    base = [run_result(f"A_{i}", total=total(percentiles_ms={"50": 3})) for i in range(5)]
    new = [run_result(f"B_{i}", total=total(percentiles_ms={"50": 0.1})) for i in range(5)]
    # -97 %, and a third of it for the step of the clock.
    assert metric(compare(base, new, LIMITS).total, metric_of("p50")).low_ratio == -1.0


def test_without_a_total_the_labels_decide():
    base = [run_result(f"A_{index}", label_result("Pay", ms)) for index, ms in enumerate(QUIET)]
    new = [run_result(f"B_{index}", label_result("Pay", ms)) for index, ms in enumerate(QUIET)]
    found = compare(base, new, LIMITS)
    assert (found.total, found.verdict) == (None, OK)
    unlike = [run_result(f"B_{index}", label_result("Void", ms)) for index, ms in enumerate(QUIET)]
    found = compare(base, unlike, LIMITS)
    assert (found.verdict, found.reasons) == (CANNOT_TELL, ("Pay: 50,000 samples → none, and 1 more label",))


@pytest.mark.real
def test_any_metrics_give_a_finite_result_and_a_reason():
    random = Random(1)
    for number in range(40):
        sides = []
        for _ in range(2):
            most_ms = random.choice([0, 1, 3, 100_000])
            batches = [[random.randint(0, most_ms) for _ in range(random.randint(8, 60))] for _ in range(10)]
            errors = [random.randint(0, 8) if random.random() < 0.3 else 0 for _ in batches]
            sides.append(batched(batches, errors=errors))
        one, other = (
            [run_result(f"{name}{index}", total=side, run=None) for index in range(1 + number % 2 * 4)]
            for name, side in zip("AB", sides, strict=True)
        )
        found = compare(one, other, Thresholds().changed({"throughput": 1.0}))
        json.dumps(to_plain(found), allow_nan=False)
        assert found.total is not None
        for judged in found.total.metrics:
            assert judged.reason or judged.verdict != CANNOT_TELL
            assert judged.low_ratio is None or judged.low_ratio <= (judged.high_ratio or 0.0)
