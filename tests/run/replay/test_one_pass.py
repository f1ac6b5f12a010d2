"""A plan whose users do everything once."""

from pathlib import Path

import pytest
from defusedxml.ElementTree import fromstring

from harness.run.replay.one_pass import one_pass
from tests.support.several import BROWSE, BUY, several_jmx


def single(tmp_path: Path, elements: str):
    """Return the children of the Test Plan in the plan of one pass."""
    jmx = tmp_path / "shop.jmx"
    jmx.write_text(
        f'<jmeterTestPlan><hashTree><TestPlan testname="t"/><hashTree>{elements}</hashTree></hashTree></jmeterTestPlan>'
    )
    return fromstring(one_pass(jmx).jmx).find("hashTree/hashTree")


def texts(element) -> dict[str, str]:
    return {prop.get("name"): prop.text for prop in element.iter() if prop.text and prop.text.strip()}


@pytest.mark.parametrize(
    "kind",
    ["ThreadGroup", "com.blazemeter.jmeter.threads.concurrency.ConcurrencyThreadGroup", "OpenModelThreadGroup"],
)
def test_a_thread_group_of_any_kind_becomes_one_user_with_one_iteration(tmp_path, kind):
    group = f"""<{kind} testname="Buyers" enabled="true">
      <stringProp name="ThreadGroup.on_sample_error">stoptest</stringProp>
      <stringProp name="ThreadGroup.num_threads">50</stringProp>
      <boolProp name="ThreadGroup.scheduler">true</boolProp>
    </{kind}><hashTree/>"""
    found = single(tmp_path, group)[0]
    assert (found.tag, found.get("testclass"), found.get("testname")) == ("ThreadGroup", "ThreadGroup", "Buyers")
    assert texts(found) == {
        "ThreadGroup.on_sample_error": "stoptest",
        "ThreadGroup.num_threads": "1",
        "ThreadGroup.ramp_time": "1",
        "LoopController.continue_forever": "false",
        "LoopController.loops": "1",
    }


def test_a_disabled_thread_group_stays_disabled(tmp_path):
    found = single(tmp_path, '<ThreadGroup testname="Off" enabled="false"/><hashTree/>')[0]
    assert found.get("enabled") == "false"


def test_a_thread_group_without_users_is_left_out(tmp_path):
    jmx = tmp_path / "plan.jmx"
    jmx.write_text(several_jmx(BROWSE, BUY))
    groups = fromstring(one_pass(jmx, ["Buy"]).jmx).iter("ThreadGroup")
    assert [(group.get("testname"), group.get("enabled")) for group in groups] == [("Browse", None), ("Buy", "false")]


def test_set_up_stays_as_it_is(tmp_path):
    group = '<SetupThreadGroup testname="setUp"><stringProp name="ThreadGroup.num_threads">3</stringProp>'
    found = single(tmp_path, f"{group}</SetupThreadGroup><hashTree/>")[0]
    assert (found.tag, texts(found)) == ("SetupThreadGroup", {"ThreadGroup.num_threads": "3"})


@pytest.mark.parametrize(("loops", "once"), [("-1", "1"), ("3", "3"), ("${__P(loops,-1)}", "${__P(loops,-1)}")])
def test_only_an_endless_loop_is_cut(tmp_path, loops, once):
    loop = f'<LoopController><stringProp name="LoopController.loops">{loops}</stringProp></LoopController><hashTree/>'
    assert texts(single(tmp_path, loop)[0]) == {"LoopController.loops": once}


def test_timers_that_need_other_users_are_disabled(tmp_path):
    found = single(tmp_path, "<SyncTimer/><hashTree/><ConstantTimer/><hashTree/>")
    assert [element.get("enabled") for element in found] == ["false", None, None, None]


@pytest.mark.parametrize(
    ("action", "pause_ms", "shorter_ms"),
    [("1", "600000", "1000"), ("1", "500", "500"), ("1", "${pause}", "${pause}"), ("0", "600000", "600000")],
    ids=["long", "short", "a-variable", "an-action-that-stops"],
)
def test_a_long_pause_is_cut(tmp_path, action, pause_ms, shorter_ms):
    pause = f"""<TestAction testname="Wait"><intProp name="ActionProcessor.action">{action}</intProp>
      <stringProp name="ActionProcessor.duration">{pause_ms}</stringProp></TestAction><hashTree/>"""
    assert texts(single(tmp_path, pause)[0])["ActionProcessor.duration"] == shorter_ms


def changes(tmp_path: Path, elements: str) -> tuple[str, ...]:
    jmx = tmp_path / "shop.jmx"
    jmx.write_text(f"<jmeterTestPlan><hashTree><TestPlan/><hashTree>{elements}</hashTree></hashTree></jmeterTestPlan>")
    return one_pass(jmx).changes


def pause(name: str, pause_ms: int, enabled: str = "true") -> str:
    return f"""<TestAction testname="{name}" enabled="{enabled}"><intProp name="ActionProcessor.action">1</intProp>
      <stringProp name="ActionProcessor.duration">{pause_ms}</stringProp></TestAction><hashTree/>"""


def test_what_a_pass_does_unlike_a_run_is_reported(tmp_path):
    pauses = pause("Export", 600_000) + pause("Blink", 500) + pause("Import", 2_500) + pause("Off", 9_000, "false")
    timers = '<SyncTimer testname="Together"/><hashTree/><SyncTimer testname="Idle" enabled="false"/><hashTree/>'
    assert changes(tmp_path, pauses + timers) == (
        "pauses of Flow Control Actions last 1 s here, and up to 600 s in a run: Export, Import; what they wait for "
        "may not be done",
        "timers that need other users are off here: Together",
    )


def test_of_many_pauses_three_are_named(tmp_path):
    (line,) = changes(tmp_path, "".join(pause(f"Wait {number}", 2_000) for number in range(5)))
    assert ": Wait 0, Wait 1, Wait 2 and 2 more elements; " in line


def test_a_plan_that_a_pass_runs_as_it_is_has_no_such_line(tmp_path):
    assert changes(tmp_path, pause("Blink", 1_000)) == ()
