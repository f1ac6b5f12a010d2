"""Which runs of an A/B test count, and what the differences of a pair are."""

import math
from dataclasses import replace

import pytest

from harness.experiment.counting import problem_of
from harness.judge.verdict import DOUBTFUL, INTERRUPTED, INVALID, Verdict
from harness.judge.warnings import RunWarning
from harness.kinds.ab.pairs import series_of
from harness.metrics.metric import AVERAGE, ERRORS, THROUGHPUT, metric_of
from harness.plan.thresholds import Thresholds
from tests.support.results import label_result, run_result


def found(*pairs):
    return {series.metric: series for series in series_of(pairs, Thresholds())}


def run(state=None, *codes, **changes):
    verdict = {"verdict": Verdict(state, ("why",), (), ())} if state else {}
    warnings = tuple(RunWarning(str(code), f"Why {code}. What to do.") for code in codes)
    return run_result("tiny/run-01_1", label_result(), total=label_result(), warnings=warnings, **verdict, **changes)


def test_a_difference_is_that_of_logarithms_and_of_errors_that_of_shares():
    a = label_result(average_ms=100.0, error_ratio=0.01)
    b = label_result(average_ms=110.0, error_ratio=0.03, rate_per_s=90.0)
    series = found((a, b), (a, a))
    assert series[AVERAGE].differences == pytest.approx((math.log(1.1), 0.0))
    assert series[THROUGHPUT].differences == pytest.approx((math.log(0.9), 0.0))
    assert series[ERRORS].differences == pytest.approx((0.02, 0.0))
    # The change of the printed means is the printed change: geometric means of times, arithmetic ones of shares.
    assert series[AVERAGE].new == pytest.approx(math.sqrt(110.0 * 100.0))
    assert series[ERRORS].new == pytest.approx(0.02)


def test_a_percentile_with_too_few_samples_is_not_judged_and_does_not_decide():
    few = label_result(sample_count=600)
    series = found((few, few), (few, few))  # 1,200 a side
    assert series[metric_of("p95")].reason == ""
    assert series[metric_of("p99")].reason == "fewer than 5,000 samples a side"
    assert not series[metric_of("p99")].decides
    few = label_result(sample_count=20)
    assert found((few, few))[AVERAGE].reason == "fewer than 100 samples a side"
    assert found((few, few))[AVERAGE].decides


def test_a_percentile_near_the_resolution_of_the_clock_does_not_decide():
    quick = label_result(average_ms=5.0)  # p90 is 8 ms: one step is 12.5 %
    assert not found((quick, quick))[metric_of("p90")].decides
    slow = label_result(average_ms=50.0)
    assert found((slow, slow))[metric_of("p90")].decides


def test_a_value_of_zero_has_no_relative_change():
    zero = replace(label_result(), percentiles_ms={**label_result().percentiles_ms, "50": 0})
    series = found((zero, label_result()))[metric_of("p50")]
    assert (series.differences, series.decides) == ((), False)
    assert series.reason == "a value is 0, so its relative change is undefined"


@pytest.mark.parametrize("code", ["other-cpu", "stolen-cpu", "one-state", "too-short", "generator-delay"])
def test_a_run_that_is_doubtful_for_its_machine_counts(code):
    assert problem_of(run(DOUBTFUL, code), "") == ("", False)


@pytest.mark.parametrize("code", ["generator-cpu", "users-time", "clock-step"])
def test_a_run_that_did_not_measure_the_system_does_not_count(code):
    assert problem_of(run(DOUBTFUL, code, "other-cpu"), "") == (f"DOUBTFUL: Why {code}", False)


def test_a_run_without_usable_numbers_does_not_count():
    early = replace(run().run, stopped_early="errors above 50 % for 10 s")
    assert problem_of(run(), "") == ("", False)
    assert problem_of(run(INVALID), "") == ("INVALID: why", True)
    assert problem_of(run(INTERRUPTED), "") == ("INTERRUPTED: why", True)
    assert problem_of(run(DOUBTFUL, run=early), "") == ("stopped early: errors above 50 % for 10 s", True)
    assert problem_of(None, "") == ("it has no numbers", True)
    assert problem_of(run(), "stopped after 5 s: it hung") == ("stopped after 5 s: it hung", True)
