"""The goals of a run against its samples: limits of TOTAL and of labels, of the window and of the whole run."""

import json

import jsonschema
import pytest

from harness.base.records import build, to_plain
from harness.jtl.sample import TRANSACTION_MESSAGE
from harness.judge.goals import GoalResult
from harness.judge.summarise import SummaryOptions, summarise
from harness.judge.summary import RunSummary
from harness.metrics.window import Window
from harness.plan.goal import Goal, GoalRule
from harness.report.goal_tables import goal_table
from tests.support.factories import closed_load, failed, record, sample, tally_of

ONE_USER = closed_load(users=1)
TRANSACTION = f"{TRANSACTION_MESSAGE} 2, number of failing samples : 0"
# Over 100 s: 100 of Find, 50 of each Check, the rows of a transaction, and a log-in outside of the load.
SAMPLES = [
    *(sample("Find", elapsed_ms=100, start_ms=1_000_000 + 1000 * second) for second in range(100)),
    *(sample("Check In", elapsed_ms=200, start_ms=1_000_000 + 2000 * number) for number in range(50)),
    *(sample("Check Out", elapsed_ms=300, start_ms=1_000_000 + 2000 * number) for number in range(45)),
    *(failed("Check Out", elapsed_ms=300, start_ms=1_090_000 + 2000 * number) for number in range(5)),
    *(
        sample("Visit", elapsed_ms=900, start_ms=1_000_000 + 10_000 * number, message=TRANSACTION)
        for number in range(10)
    ),
    sample("Log In", elapsed_ms=50, thread_name="setUp 1-1", start_ms=999_000),
]  # fmt: skip


def summary_of(*rules: GoalRule, samples=SAMPLES, options=None, **limits) -> RunSummary:
    run = record(goal=Goal(*rules, **limits), load=ONE_USER)
    in_order = sorted(samples, key=lambda one: one.end_ms)
    return summarise(tally_of(in_order), "tiny/run-01_1", run, options=options)


def result_of(rule: GoalRule) -> GoalResult:
    (result,) = summary_of(rule).verdict.goals
    return result


@pytest.mark.parametrize(
    ("rule", "is_met", "text", "measured"),
    [
        (GoalRule("p99_ms", "Check Out", max=300), True, "Check Out: p99 300 ms, goal 300 ms", "300 ms"),
        (GoalRule("p99_ms", "Check Out", max=299), False, "Check Out: p99 300 ms, goal 299 ms", "300 ms"),
        (
            GoalRule("p99_ms", "Check.*", max=250),
            False,
            "Check.*: p99 300 ms in Check Out (1 of 2 labels missed), goal 250 ms",
            "300 ms (Check Out, 1 of 2 labels missed)",
        ),
        (GoalRule("error_ratio", "Check Out", max=0.1), True, "Check Out: errors 10.00 %, goal 10.00 %", "10.00 %"),
        (GoalRule("error_ratio", "Check Out", max=0.09), False, "Check Out: errors 10.00 %, goal 9.00 %", "10.00 %"),
        (GoalRule("average_ms", "Visit", max=900), True, "Visit: average 900 ms, goal 900 ms", "900 ms"),
        (GoalRule("average_ms", "Log In", max=49), False, "Log In: average 50 ms, goal 49 ms", "50 ms"),
        (
            GoalRule("p90_ms", "Pay", max=5),
            False,
            "Pay: no sample has this label, goal p90 5 ms",
            "no sample has this label",
        ),
        # 200 requests from the first start to the last end, 99.1 s later.
        (GoalRule("rate_per_s", min=2), True, "throughput 2.02 req/s, goal at least 2 req/s", "2.02 req/s"),
        (GoalRule("rate_per_s", min=2.5), False, "throughput 2.02 req/s, goal at least 2.5 req/s", "2.02 req/s"),
    ],
)
def test_a_goal_is_met_or_missed_by_what_was_measured(rule, is_met, text, measured):
    result = result_of(rule)
    assert (result.is_met, result.text, result.measured_text) == (is_met, text, measured)
    assert result.rule == rule
    verdict = summary_of(rule).verdict
    assert (verdict.goals_met, verdict.goals_missed) == (((text,), ()) if is_met else ((), (text,)))
    assert verdict.exit_code == (0 if is_met else 1)


def test_an_expression_for_all_labels_leaves_setup_out():
    assert result_of(GoalRule("average_ms", ".*", max=1)).label_count == 4


def test_the_worst_label_of_a_least_value_is_the_lowest():
    result = result_of(GoalRule("rate_per_s", "Find|Check In", min=0.7))
    assert (result.measured_label, result.missed_count, result.is_met) == ("Check In", 1, False)


def test_times_are_of_the_window_and_errors_of_the_whole_run():
    window = Window("given", 0, 50, 50, 100)
    counted = tally_of(one for one in SAMPLES if one.end_ms < 1_050_000)
    rules = (GoalRule("error_ratio", "Check Out", max=0.05), GoalRule("rate_per_s", "Check Out", min=0.4))
    options = SummaryOptions(window, counted)
    errors, rate = summary_of(*rules, options=options).verdict.goals
    assert (errors.measured, errors.is_met) == (0.1, False)
    assert (rate.measured, rate.is_met) == (pytest.approx(25 / 50), True)


def test_thirty_percent_of_errors_miss_the_default_goal_which_is_named():
    samples = [sample(start_ms=1_000_000 + 100 * n) if n % 10 > 2 else failed(start_ms=1_000_000 + 100 * n)
               for n in range(1000)]  # fmt: skip
    run = record(goal=Goal().with_default_errors(), load=ONE_USER)
    verdict = summarise(tally_of(samples), "x", run).verdict
    assert verdict.goals_missed == ("errors 30.00 %, goal 1.00 % (the default)",)
    assert verdict.exit_code == 1
    lifted = record(goal=Goal(error_ratio=1.0).with_default_errors(), load=ONE_USER)
    assert summarise(tally_of(samples), "x", lifted).verdict.exit_code == 0


def test_the_table_has_a_row_for_each_goal_in_their_order():
    rules = (GoalRule("p99_ms", "Check.*|Pay", max=250), GoalRule("rate_per_s", min=2))
    summary = summary_of(*rules, p90_ms=400, each_average_ms=1000, error_ratio=0.01)
    assert goal_table(summary.verdict).splitlines() == [
        "| goal | measured | result |",
        "| --- | --- | --- |",
        "| p90 ≤ 400 ms | 300 ms | met |",
        "| each label: average ≤ 1000 ms | 900 ms (Visit, 0 of 4 labels missed) | met |",
        "| errors ≤ 1 % | 2.50 % | **missed** |",
        r"| Check.\*\|Pay: p99 ≤ 250 ms | 300 ms (Check Out, 1 of 2 labels missed) | **missed** |",
        "| throughput ≥ 2 req/s | 2.02 req/s | met |",
    ]


def test_the_json_has_the_results_keeps_to_the_schema_and_is_read_back():
    from harness.report.schema.generate import SCHEMA

    summary = summary_of(GoalRule("p99_ms", "Check.*", max=250), p95_ms=500)
    plain = json.loads(json.dumps(to_plain(summary)))
    jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text())).validate(plain)
    assert plain["verdict"]["goals"][1] == {
        "label": "Check.*", "metric": "p99_ms", "max": 250, "min": None, "measured": 300,
        "measured_label": "Check Out", "label_count": 2, "missed_count": 1, "is_met": False,
        "text": "Check.*: p99 300 ms in Check Out (1 of 2 labels missed), goal 250 ms", "reason": "",
        "is_default": False, "load": "", "job": "",
    }  # fmt: skip
    assert build(RunSummary, plain).verdict == summary.verdict


def test_a_file_of_an_earlier_version_has_no_results_and_is_read():
    plain = json.loads(json.dumps(to_plain(summary_of(p90_ms=400))))
    del plain["verdict"]["goals"], plain["run"]["stopped_early"]
    verdict = build(RunSummary, plain).verdict
    assert verdict.goals == ()
    assert "| p90 300 ms, goal 400 ms |  | met |" in goal_table(verdict)


def test_a_run_that_a_stop_condition_ended_is_doubtful_missed_a_goal_and_ends_with_1():
    samples = [failed(start_ms=1_000_000 + 100 * n) for n in range(200)]
    run = record(
        goal=Goal(error_ratio=0.01), load=closed_load(users=50), stopped_early="errors above 50 % for 10 s; why"
    )
    verdict = summarise(tally_of(samples), "x", run).verdict
    assert (verdict.state, verdict.exit_code) == ("DOUBTFUL", 1)
    assert verdict.reasons[0] == "Stopped early: errors above 50 % for 10 s; why"
    assert verdict.goals_missed == ("stopped early: errors above 50 % for 10 s; why", "errors 100.00 %, goal 1.00 %")
    assert goal_table(verdict).splitlines()[2:] == [
        "| stopped early: errors above 50 % for 10 s; why |  | **missed** |",
        "| errors ≤ 1 % | 100.00 % | **missed** |",
    ]
