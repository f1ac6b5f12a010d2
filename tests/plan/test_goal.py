"""Goals as a plan's tables and as a text of the command line: what is read, what is refused, which labels match."""

import json

import pytest

from harness.base.errors import UsageError
from harness.base.records import to_plain
from harness.plan.goal import Goal, GoalRule
from harness.plan.goal_input import parse_goal, read_goal, resolve_goal


def test_a_text_has_conditions_for_total_and_for_labels():
    goal = parse_goal("p95<1500, errors<1%, Check-Out: p99<3s, throughput>100/s", "GOAL")
    assert goal == Goal(
        GoalRule("p99_ms", "Check-Out", max=3000), GoalRule("rate_per_s", min=100), p95_ms=1500, error_ratio=0.01
    )


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Pay: median <= 1.5s", GoalRule("p50_ms", "Pay", max=1500)),
        ("http://x: home: p90<2ms", GoalRule("p90_ms", "http://x: home", max=2)),
        ('"Pay, again": average<0.5', GoalRule("average_ms", "Pay, again", max=0.5)),
        ('"a{2,3}" : error_ratio<0.1%', GoalRule("error_ratio", "a{2,3}", max=0.001)),
        ("Pay: rate>=2.5 req/s", GoalRule("rate_per_s", "Pay", min=2.5)),
        ("P99.9>1m", GoalRule("p99.9_ms", min=60_000)),
    ],
)
def test_a_condition_has_a_label_a_metric_a_sign_and_a_limit(text, rule):
    assert parse_goal(text, "--goal").rules == (rule,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("p96<5", "--goal=p96<5: p96: no such metric; did you mean p90, p95 or p99? there are: average, p50, "),
        ("errorrs<1%", "--goal=errorrs<1%: errorrs: no such metric; did you mean errors? "),
        (
            "p95=5",
            "--goal=p95=5: p95=5 is no condition; write conditions such as p95<1500, errors<1%, Check-Out: p99<3s",
        ),
        ("Pay p95<5", "--goal=Pay p95<5: Pay p95<5 is no condition; write"),
        ("errors<1", "--goal=errors<1: errors 1: has no % sign; write 1% for one in a hundred"),
        ("p95<1500%", "--goal=p95<1500%: p95 1500%: not a time; give one such as 1500, 1500ms or 1.5s"),
        ("throughput>5ms", "--goal=throughput>5ms: throughput 5ms: not a rate; give one such as 100 or 100/s"),
        ("p95<5, p95<6", "--goal=p95<5, p95<6: p95 of TOTAL has two limits; give one"),
        (" , ", "--goal= , : has no condition"),
    ],
)
def test_a_wrong_condition_is_named_with_what_to_write(text, message):
    with pytest.raises(UsageError) as error:
        parse_goal(text, "--goal")
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("pattern", "label", "matches"),
    [
        ("Check.*", "Check-Out", True),
        ("Check", "Check-Out", False),  # whole labels, as in JMeter's Backend Listener
        ("GET /a?b (1)", "GET /a?b (1)", True),  # a label that is no expression of itself
        ("Pay (", "Pay (", True),
        ("Pay (", "Pay", False),
        ("A|B", "B", True),
    ],
)
def test_a_rule_applies_to_its_label_or_to_whole_labels_that_its_expression_matches(pattern, label, matches):
    assert GoalRule("p90_ms", pattern, max=1).matches(label) is matches


def test_tables_of_a_plan_may_be_of_total_of_a_label_or_of_a_metric():
    tables = [
        {"p95_ms": 1500, "each_average_ms": 900},
        {"label": "Check-Out", "p99_ms": 3000, "error_ratio": 0.001},
        {"metric": "throughput", "min": 100},
        {"label": "Pay.*", "metric": "p90_ms", "max": "2s"},
        {"metric": "errors", "max": "5%"},
    ]
    assert read_goal(tables, "plans/x.toml") == Goal(
        GoalRule("p99_ms", "Check-Out", max=3000),
        GoalRule("error_ratio", "Check-Out", max=0.001),
        GoalRule("rate_per_s", min=100),
        GoalRule("p90_ms", "Pay.*", max=2000),
        p95_ms=1500,
        each_average_ms=900,
        error_ratio=0.05,
    )


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"metric": "p95"}, "plans/x.toml [[goal]] p95: neither max nor min; give one of them"),
        ({"metric": "p95", "max": 1, "min": 1}, "plans/x.toml [[goal]] p95: both max and min; give one of them"),
        ({"metric": "p9", "max": 1}, "plans/x.toml [[goal]] metric p9: no such metric; did you mean p9"),
        ({"metric": "errors", "max": 5}, "plans/x.toml [[goal]] errors: max = 5; give a number from 0 to 1"),
        ({"metric": "p95", "maximum": 1}, "plans/x.toml [[goal]]: unknown key maximum; did you mean max"),
        ({"label": "Pay"}, "plans/x.toml [[goal]] Pay: has no limit; add one, such as p95_ms = 1500"),
        ({"label": "Pay", "p9_ms": 1}, "plans/x.toml [[goal]] Pay: unknown key p9_ms; did you mean p9"),
        ({"label": " ", "p90_ms": 1}, "plans/x.toml [[goal]]: label = ' '; give a label or a regular expression"),
        ({"label": "Pay", "each_average_ms": 1}, "plans/x.toml [[goal]] Pay: each_average_ms is for all labels"),
        (5, "plans/x.toml goal: 5; write each goal as [[goal]] with its keys below"),
    ],
)
def test_a_wrong_table_is_refused(table, message):
    with pytest.raises(UsageError) as error:
        read_goal([table], "plans/x.toml")
    assert str(error.value).startswith(message)


PLANS = Goal(GoalRule("p99_ms", "Pay", max=5), p90_ms=1000, each_average_ms=500, error_ratio=0.02)


@pytest.mark.parametrize(
    ("given", "goal"),
    [
        ({}, PLANS),
        ({"errors": "3%"}, Goal(*PLANS.rules, p90_ms=1000, each_average_ms=500, error_ratio=0.03)),
        ({"p90": "700"}, Goal(p90_ms=700, error_ratio=0.02)),
        ({"goal": "p95<9"}, Goal(p95_ms=9, error_ratio=0.02)),
        ({"goal": "errors<5%"}, Goal(error_ratio=0.05)),
        ({"goal": "p95<9", "average": "4", "errors": "1%"}, Goal(p95_ms=9, average_ms=4, error_ratio=0.01)),
    ],
)
def test_given_goals_replace_the_plans_and_its_limit_of_errors_stays_unless_one_is_given(given, goal):
    assert resolve_goal(given, PLANS) == goal


def test_a_limit_that_two_variables_give_is_refused():
    with pytest.raises(UsageError, match=r"^--goal=p90<5 and --p90 both limit p90; give one of them"):
        resolve_goal({"goal": "p90<5", "p90": "7"}, Goal())


def test_the_default_goal_for_errors_applies_unless_a_goal_limits_the_errors_of_total():
    default = Goal(GoalRule("error_ratio", "Pay", max=0.5), p90_ms=5).with_default_errors()
    assert (default.error_ratio, default.has_default_errors, default.limits["p90_ms"]) == (0.01, True, 5)
    lifted = Goal(error_ratio=1.0)
    assert lifted.with_default_errors() is lifted
    assert default.with_limits(error_ratio=0.2).has_default_errors is False


def test_the_text_of_a_goal_has_all_its_limits():
    goal = Goal(GoalRule("p99_ms", "Check Out", max=300), p90_ms=1000, error_ratio=0.01, each_average_ms=500)
    assert goal.text == "p90 ≤ 1000 ms, errors ≤ 1 %, each label: average ≤ 500 ms, Check Out: p99 ≤ 300 ms"
    assert Goal().text == ""


@pytest.mark.parametrize("goal", [Goal(), PLANS, PLANS.with_limits(error_ratio=None).with_default_errors()])
def test_a_goal_is_read_from_its_json_as_it_was_written(goal):
    plain = json.loads(json.dumps(to_plain(goal)))
    read = Goal.from_plain(plain, "goal")
    assert (read, read.has_default_errors) == (goal, goal.has_default_errors)


def test_the_json_of_a_goal_of_earlier_versions_is_read():
    plain = {"p90_ms": 1000, "error_ratio": 0.01, "average_ms": None, "each_average_ms": None}
    read = Goal.from_plain(plain, "goal")
    assert (read, read.has_default_errors) == (Goal(p90_ms=1000, error_ratio=0.01), False)
    assert {key: to_plain(read)[key] for key in plain} == plain


@pytest.mark.parametrize(
    "plain", [{"p93_ms": 1}, {"rules": [{"metric": "p93_ms", "max": 1}]}, {"rules": [{"metric": "p90_ms"}]}, 5]
)
def test_an_invalid_goal_is_refused(plain):
    with pytest.raises(ValueError, match=r"p93_ms|either max or min|not an object"):
        Goal.from_plain(plain, "goal")


def test_total_by_its_name_is_total_and_in_quotes_a_label():
    named = parse_goal("TOTAL: p95<1500, TOTAL: errors<1%, TOTAL : throughput>100/s", "goal")
    assert named == parse_goal("p95<1500, errors<1%, throughput>100/s", "goal")
    assert read_goal([{"label": "TOTAL", "p95_ms": 1500}], "x") == read_goal([{"p95_ms": 1500}], "x")
    table = {"metric": "throughput", "min": 100}
    assert read_goal([{**table, "label": "TOTAL"}], "x") == read_goal([table], "x")
    quoted = Goal(GoalRule("p95_ms", "TOTAL", max=1500))
    assert parse_goal('"TOTAL": p95<1500', "goal") == quoted
    assert parse_goal("Total: p95<1500", "goal") != named
