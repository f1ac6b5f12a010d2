"""Plans in TOML: what is taken over, what is refused, and the load that is set into the JMX."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.base.errors import UsageError
from harness.plan.jmx.thread_groups import AFTER_SETUP, DRAIN_S
from harness.plan.load.model import ClosedLoad, OpenLoad, PlanLoad
from harness.plan.plan import Dump, Goal, effective_jmx, load_plan
from tests.support.paths import ROOT

SHAPE = """<?xml version="1.0" encoding="UTF-8"?>
<jmeterTestPlan version="1.2" properties="5.0" jmeter="5.6.3"><hashTree>
  <TestPlan testname="${__P(host,h)} ${__P(method.plugin,x)} ${__P(amount,1)} ${__P(config,)}"/>
  <hashTree><ThreadGroup testname="Users"/><hashTree/></hashTree>
</hashTree></jmeterTestPlan>
"""
PLAN = """format_version = 1
title = "Shop"
shape = "shop.jmx"
system = "shop"
[load]
users = 50
duration_s = 100
"""


@pytest.fixture
def plans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the plan shop.toml, its JMX, and another plan; the tool has none of its own."""
    monkeypatch.setattr("harness.plan.plan.SHIPPED", tmp_path)
    folder = tmp_path / "plans"
    folder.mkdir()
    (folder / "shop.jmx").write_text(SHAPE, encoding="utf-8")
    (folder / "shop.toml").write_text(PLAN, encoding="utf-8")
    (folder / "bank.toml").write_text(PLAN, encoding="utf-8")
    return folder


def add(plans: Path, text: str) -> Path:
    """Append to shop.toml."""
    (plans / "shop.toml").write_text(PLAN + text, encoding="utf-8")
    return plans


def test_a_minimal_plan_is_complete(plans: Path) -> None:
    plan = load_plan(plans, "shop")
    assert (plan.name, plan.title, plan.system) == ("shop", "Shop", "shop")
    assert plan.jmx_path == plans / "shop.jmx"
    assert plan.load == PlanLoad(users=50, ramp_per_user_s=0.0, duration_s=100.0, think_time_s=0.0)
    assert plan.goal == Goal()
    assert (plan.properties, plan.once_labels, plan.dumps) == ({}, (), ())
    assert (plan.embedded_properties, plan.embedded_note) == ({}, "")


def test_a_plan_has_optional_settings(plans: Path) -> None:
    text = """ramp_per_user_s = 0.5
think_time_s = 2
[goal]
p90_ms = 2000
error_ratio = 0.01
[properties]
"method.plugin" = "stripe"
amount = 10
[labels]
once = ["Log In"]
[[dumps]]
label = "threads"
file = "metrics.json"
path = ["gauges", "threads.count"]
[embedded]
settings = { cache = true }
properties = { config = "key=1" }
note = "A stand-in."
"""
    plan = load_plan(add(plans, text), "shop")
    assert plan.load == PlanLoad(users=50, ramp_per_user_s=0.5, duration_s=100.0, think_time_s=2.0)
    assert plan.goal == Goal(p90_ms=2000, error_ratio=0.01)
    assert plan.properties == {"method.plugin": "stripe", "amount": "10"}
    assert plan.once_labels == ("Log In",)
    assert plan.dumps == (Dump("threads", "metrics.json", ("gauges", "threads.count")),)
    assert plan.embedded_settings == {"cache": True}
    assert plan.embedded_properties == {"config": "key=1"}
    assert plan.embedded_note == "A stand-in."


def test_an_unknown_plan_names_its_neighbour_and_the_others(plans: Path) -> None:
    with pytest.raises(UsageError) as error:
        load_plan(plans, "shopp")
    assert str(error.value) == "--plan=shopp: unknown; did you mean shop? there are: bank, shop"


@pytest.mark.parametrize("name", ["mine", "plans/mine.jmx", "mine.jmx", "plans/mine.toml"])
def test_the_error_for_a_jmx_without_its_toml_names_the_command_that_writes_it(plans: Path, name: str) -> None:
    (plans / "mine.jmx").write_bytes((plans / "shop.jmx").read_bytes())
    with pytest.raises(UsageError) as error:
        load_plan(plans, name)
    assert str(error.value) == (
        f"--plan={name}: plans/mine.jmx exists, but plans/mine.toml is missing; lth init --plan=mine --fix writes it"
    )


@pytest.mark.parametrize("name", ["plans/shop.jmx", "shop.toml", "plans/shop.toml"])
def test_a_file_name_is_not_a_plan_name(plans: Path, name: str) -> None:
    with pytest.raises(UsageError) as error:
        load_plan(plans, name)
    assert str(error.value) == f"--plan={name}: this is a file name; give the name only: --plan=shop"


def test_an_unknown_name_with_a_folder_lists_the_plans(plans: Path) -> None:
    with pytest.raises(UsageError, match=r"^--plan=plans/shopp: unknown; .*there are: bank, shop$"):
        load_plan(plans, "plans/shopp")


def test_broken_toml_names_file_and_line(plans: Path) -> None:
    with pytest.raises(UsageError, match=r"^plans/shop\.toml: .*line 8"):
        load_plan(add(plans, "[goal\n"), "shop")


def test_a_missing_jmx_is_named(plans: Path) -> None:
    (plans / "shop.jmx").unlink()
    with pytest.raises(UsageError, match=r"^plans/shop\.jmx: there is no such file"):
        load_plan(plans, "shop")


@pytest.mark.parametrize("key", ["title", "shape", "[load]"])
def test_a_missing_key_of_a_plan_is_an_error(plans: Path, key: str) -> None:
    lines = PLAN.split("[load]")[0] if key == "[load]" else "\n".join(x for x in PLAN.split("\n") if key not in x)
    (plans / "shop.toml").write_text(lines, encoding="utf-8")
    with pytest.raises(UsageError, match=rf"plans/shop\.toml: {key.strip('[]')} is missing"):
        load_plan(plans, "shop")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("user = 5", "plans/shop.toml [load]: unknown key user"),
        ('think_time_per = "page"', 'plans/shop.toml [load]: think_time_per = "page"; give "request" or "transaction"'),
        ("think_time_s = -1", "plans/shop.toml [load]: think_time_s = -1; give a number from 0 to 604800"),
        ("ramp_per_user_s = nan", "plans/shop.toml [load]: ramp_per_user_s = nan"),
        ('ramp_per_user_s = "1s"', "plans/shop.toml [load]: ramp_per_user_s = '1s'; give a number"),
        ("[goals]", "plans/shop.toml: unknown key goals"),
        (
            "[goal]\np93_ms = 5",
            "plans/shop.toml [goal]: unknown key p93_ms; did you mean p90_ms, p95_ms or p99_ms? there are: average_ms",
        ),
        ("[goal]\nerror_ratio = 1.5", "plans/shop.toml [goal]: error_ratio = 1.5; give a number from 0 to 1"),
        ("[goal]\np90_ms = 0", "plans/shop.toml [goal]: p90_ms = 0; give a number from 1 to 1000000000"),
        (
            "[properties]\namout = 1",
            "plans/shop.toml [properties]: shop.jmx does not read the property amout; "
            "did you mean amount? it reads: amount, config, method.plugin",
        ),
        ("[properties]\namount = true", "plans/shop.toml [properties]: amount = True"),
        (
            '[properties]\n"user.classpath" = "lib/own.jar"',
            "plans/shop.toml [properties]: user.classpath is no property of a plan; use [jmeter] plugins",
        ),
        ("[properties]\nmethod.plugin = 1", "plans/shop.toml [properties]: shop.jmx does not read the property method"),
        ('[properties]\nhost = "a"', "plans/shop.toml [properties]: host is set by the run; use --target instead"),
        ("[embedded]\nproperties = { x = 1 }", "plans/shop.toml [embedded.properties]: shop.jmx does not read"),
        ("[embedded]\nnotes = 1", "plans/shop.toml [embedded]: unknown key notes"),
        ("[labels]\nonce = [1]", "plans/shop.toml [labels] once: 1; give texts"),
        ("[[dumps]]\nlabel = 'a'", "plans/shop.toml [[dumps]]: file is missing"),
        ("[labels]\n[dumps]\nlabel = 'a'", "plans/shop.toml: dumps = {'label': 'a'}"),
    ],
)
def test_an_invalid_plan_is_refused(plans: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        load_plan(add(plans, text), "shop")
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(("line", "key"), [("users = 0", "users"), ("duration_s = 0.5", "duration_s")])
def test_a_load_value_out_of_range_is_refused(plans: Path, line: str, key: str) -> None:
    text = "\n".join(line if x.startswith(key) else x for x in PLAN.split("\n"))
    (plans / "shop.toml").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=rf"\[load\]: {key} = "):
        load_plan(plans, "shop")


def test_a_closed_load_runs_the_file_unchanged(plans: Path) -> None:
    shape = plans / "shop.jmx"
    assert effective_jmx(shape, ClosedLoad(50, 25.0, 100.0, None)) == shape.read_bytes()


def test_an_open_load_runs_its_schedule(plans: Path) -> None:
    written = effective_jmx(plans / "shop.jmx", OpenLoad(rate_per_s=20.0, ramp_s=0.0, duration_s=60.0))
    assert b"<OpenModelThreadGroup " in written
    schedule = f">{AFTER_SETUP} rate(20/sec) random_arrivals(60 sec) pause(10 sec)<"
    assert schedule.encode() in written


@pytest.mark.parametrize(
    ("load", "text"),
    [
        (OpenLoad(5.0, 0.0, 30.0), "rate(5/sec) random_arrivals(30 sec)"),
        (OpenLoad(2.5, 10.0, 100.0), "rate(0/sec) random_arrivals(10 sec) rate(2.5/sec) random_arrivals(90 sec)"),
        # 0.3 - 0.1 is 0.19999999999999998 in binary.
        (OpenLoad(5.0, 0.1, 0.3), "rate(0/sec) random_arrivals(0.1 sec) rate(5/sec) random_arrivals(0.2 sec)"),
    ],
)
def test_the_ramp_is_part_of_the_duration(plans: Path, load: OpenLoad, text: str) -> None:
    written = effective_jmx(plans / "shop.jmx", load).decode()
    assert f">{AFTER_SETUP} {text} pause({DRAIN_S} sec)<" in written


@pytest.mark.parametrize("name", sorted(path.stem for path in (ROOT / "plans").glob("*.toml")))
def test_every_included_plan_can_be_loaded_and_has_a_goal(name: str) -> None:
    assert load_plan(ROOT / "plans", name).goal != Goal()


@pytest.mark.parametrize("name", ["killbill-stripe", "killbill-litle"])
def test_the_once_labels_of_killbill_are_those_of_its_samples(name: str) -> None:
    plan = load_plan(ROOT / "plans", name)
    assert plan.once_labels == ("Create Account", "Visit Account", plan.properties["method.label"])


def test_a_profile_changes_the_load_and_the_properties_of_a_plan(plans: Path) -> None:
    add(plans, "[properties]\namount = 10\n")
    plan = load_plan(plans, "shop", {"loops": 5, "properties": {"amount": 20}})
    assert (plan.load.loops, plan.load.duration_s, plan.load.users) == (5, None, 50)
    assert plan.properties == {"amount": "20"}
    with pytest.raises(UsageError, match=r"^plans/shop\.toml \[load\]: unknown key user"):
        load_plan(plans, "shop", {"user": 5})
