"""PROPERTIES of a command line: what is passed to JMeter, what is refused, and what no file may contain."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.base.errors import UsageError
from harness.plan.plan import Plan, load_plan
from harness.plan.properties import properties_text, with_properties

JMX = """<?xml version="1.0" encoding="UTF-8"?>
<jmeterTestPlan version="1.2" properties="5.0" jmeter="5.6.3"><hashTree>
  <TestPlan testname="${__P(amount,1)} ${__P(currency,USD)} ${__P(api_key,public)} ${__P(users,1)}"/>
  <hashTree><ThreadGroup testname="Users"/><hashTree/></hashTree>
</hashTree></jmeterTestPlan>
"""
PLAN = """format_version = 1
title = "Shop"
shape = "shop.jmx"
[load]
users = 5
duration_s = 10
[properties]
amount = 10
[embedded]
properties = { currency = "EUR" }
"""


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    (tmp_path / "shop.jmx").write_text(JMX, encoding="utf-8")
    (tmp_path / "shop.toml").write_text(PLAN, encoding="utf-8")
    return load_plan(tmp_path, "shop")


def test_a_command_line_overrides_the_plan_and_reaches_jmeter(plan: Plan) -> None:
    given = with_properties(plan, "amount=25 currency=CHF httpclient4.retrycount=1")
    assert given.own_properties(is_embedded=True) == {
        "amount": "25", "currency": "CHF", "httpclient4.retrycount": "1",
    }  # fmt: skip
    assert plan.own_properties(is_embedded=True) == {"amount": "10", "currency": "EUR"}
    assert plan.own_properties(is_embedded=False) == {"amount": "10"}


def test_a_value_may_have_blanks_equals_signs_or_nothing(plan: Plan) -> None:
    given = with_properties(plan, "currency='two words' jmeter.note=a=b amount=").given
    assert given == {"currency": "two words", "jmeter.note": "a=b", "amount": ""}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("amount", "--properties: amount is not name=value; give --properties="),
        ("=25", "--properties:  is not name=value"),
        ("currency='two", "--properties: no closing quotation; give --properties="),
        ("amount=1 amount=2", "--properties: amount occurs twice; give each property once"),
        ("users=5", "--properties: users is set by the run; use --users instead"),
        ("host=example.org", "--properties: host is set by the run; use --target instead"),
        (
            "amout=5",
            "--properties: shop.jmx does not read amout; did you mean amount? it reads: amount, api_key",
        ),
        ("jmeter.save.saveservice.output_format=xml", "--properties: jmeter.save.saveservice.output_format is set by"),
        ("jmeterengine.nongui.port=1", "--properties: jmeterengine.nongui.port is set by the harness"),
        ("search_paths=/x", "--properties: search_paths is set by the harness: the harness names the plan's plugins"),
    ],
)
def test_a_wrong_property_is_refused_in_one_line(plan: Plan, text: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        with_properties(plan, text)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_values_of_secrets_are_hidden_and_the_public_default_is_not(plan: Plan) -> None:
    given = with_properties(plan, "api_key=hunter2hunter2 db_password=tr0ub4dor")
    assert given.secret_properties == ("api_key", "db_password")
    assert {"hunter2hunter2", "tr0ub4dor"} <= set(given.hidden)
    assert with_properties(plan, "api_key=public").secret_properties == ()
    assert properties_text(given) == "api_key=••• db_password=•••"


def test_the_command_of_the_run_repeats_the_properties(plan: Plan) -> None:
    assert properties_text(with_properties(plan, "amount=25")) == "amount=25"
    assert properties_text(with_properties(plan, "amount=25 jmeter.x=1")) == "amount=25 jmeter.x=1"
    assert properties_text(with_properties(plan, "currency='two words'")) == "'currency=two words'"
