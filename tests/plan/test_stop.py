"""Stop conditions: a plan's [stop] and STOP."""

import pytest

from harness.base.errors import UsageError
from harness.plan.stop import StopRule, parse_stop, read_stop


def test_conditions_are_a_metric_its_limit_and_how_long():
    assert parse_stop("errors>50% for 10s, P99.9 > 5s for 2m, throughput<10/s for 30") == (
        StopRule("error_ratio", 0.5, 10.0),
        StopRule("p99.9_ms", 5000, 120.0),
        StopRule("rate_per_s", 10, 30.0),
    )
    assert [rule.text for rule in parse_stop("errors>0.5% for 10s, throughput<2.5 for 1m")] == [
        "errors above 0.5 % for 10 s",
        "throughput below 2.5 req/s for 1 min",
    ]


def test_none_lifts_the_plans_conditions():
    assert parse_stop("none") == ()


def test_a_plans_table_has_a_condition_for_each_metric():
    table = {"errors": ">50% for 10s", "p90_ms": "> 5s for 1m"}
    assert read_stop(table, "plans/x.toml [stop]") == parse_stop("errors>50% for 10s, p90>5s for 1m")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("error>5% for 3s", "--stop=error>5% for 3s: error: no such metric; did you mean errors? there are: "),
        ("errors<5% for 3s", "--stop=errors<5% for 3s: errors<5% for 3s has the wrong sign; write errors>…"),
        (
            "throughput>5 for 3s",
            "--stop=throughput>5 for 3s: throughput>5 for 3s has the wrong sign; write throughput<…",
        ),
        (
            "p90>5s",
            "--stop=p90>5s: p90>5s is no condition; write errors>50% for 10s, p90>5s for 30s or throughput<10/s",
        ),
        ("p90>5s for ever", "--stop=p90>5s for ever: for=ever: not a duration; give seconds or 90s, 2m, 1h30m"),
        ("p90>5s for 0", "--stop=p90>5s for 0: for = 0; give a number from 1 to 86400"),
        ("errors>5 for 3s", "--stop=errors>5 for 3s: errors 5: has no % sign"),
        ("", "--stop=: an empty text is no condition"),
    ],
)
def test_a_wrong_condition_is_named_with_what_to_write(text, message):
    with pytest.raises(UsageError) as error:
        parse_stop(text)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"error": ">5% for 3s"}, "[stop] error: no such metric; did you mean errors?"),
        ({"errors": 5}, '[stop]: errors = 5; give a text, such as errors = ">50% for 10s"'),
        ({"errors": "5% for 3s"}, "[stop]: errors 5% for 3s is no condition"),
    ],
)
def test_a_wrong_table_is_refused(table, message):
    with pytest.raises(UsageError) as error:
        read_stop(table, "[stop]")
    assert str(error.value).startswith(message)
