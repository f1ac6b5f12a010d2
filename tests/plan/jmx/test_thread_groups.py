"""The thread groups that a run writes into its plan."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.etree.ElementTree import Element

import pytest
from defusedxml.ElementTree import fromstring
from hypothesis import given
from hypothesis import strategies as st

from harness.base.errors import UsageError
from harness.plan.jmx.thread_groups import AFTER_SETUP, ScheduleRow, paced_groups, schedule, ultimate_rows, with_loads
from harness.plan.load.groups import GroupLoad, Stage
from tests.support.several import BROWSE, BUY, SPIKE, group, several_jmx


def closed(*stages: tuple[int, float, float]) -> tuple[Stage, ...]:
    """Return stages of users, time to reach them, and time there."""
    return tuple(Stage(users, None, over_s, for_s) for users, over_s, for_s in stages)


def opened(*stages: tuple[float, float, float]) -> tuple[Stage, ...]:
    """Return stages of rates."""
    return tuple(Stage(None, rate_per_s, over_s, for_s) for rate_per_s, over_s, for_s in stages)


def written(tmp_path: Path, groups: Sequence[str], *loads: GroupLoad) -> Element:
    """Return the JMX with these loads."""
    jmx = tmp_path / "tiny.jmx"
    jmx.write_text(several_jmx(*groups))
    root: Element = fromstring(with_loads(jmx, loads))
    return root


def text(root: Element, name: str) -> str:
    found = root.find(f".//*[@name='{name}']")
    assert found is not None
    return found.text or ""


def test_each_tenant_has_a_copy_of_the_group_with_its_variable_and_its_properties(tmp_path: Path) -> None:
    read = "${__P(page,1)} of ${tenant}"
    table = f'<Arguments testname="x"><stringProp name="read">{read}</stringProp></Arguments><hashTree/>'
    college = GroupLoad("Browse (college)", closed((3, 0, 9)), tenant="college", properties={"page": "7"})
    school = GroupLoad("Browse (school)", closed((2, 0, 9)), tenant="school")
    groups = [group("Browse", table), BUY]
    root = written(tmp_path, groups, college, GroupLoad("Buy", closed((1, 0, 9))), school)
    users = "stringProp[@name='ThreadGroup.num_threads']"
    found = [(one.get("testname"), one.findtext(users)) for one in root.iter("ThreadGroup")]
    assert found == [("Browse (college)", "3"), ("Buy", "1"), ("Browse (school)", "2")]
    assert [one.text for one in root.iterfind(".//*[@name='read']")] == ["7 of ${tenant}", read]
    values = root.iterfind(".//collectionProp[@name='UserParameters.thread_values']//stringProp")
    assert [one.text for one in values] == ["college", "school"]
    with pytest.raises(UsageError, match="has the property pages, which its thread group does not read"):
        written(tmp_path, [BROWSE], GroupLoad("Browse", closed((1, 0, 9)), properties={"pages": "7"}))


def test_a_value_of_a_load_is_no_part_of_an_expression(tmp_path: Path) -> None:
    """Beside a brace a dollar sign would begin a function that no check has seen."""
    table = '<Arguments testname="x"><stringProp name="read">${__P(page,1)}{__groovy(1)}</stringProp></Arguments>'
    load = GroupLoad("Browse", closed((1, 0, 9)), properties={"page": "$"})
    root = written(tmp_path, [group("Browse", f"{table}<hashTree/>")], load)
    assert text(root, "read") == "${__char(36)}{__groovy(1)}"


def test_a_closed_load_sets_users_ramp_and_duration_whatever_the_file_has(tmp_path: Path) -> None:
    root = written(tmp_path, [BROWSE], GroupLoad("Browse", closed((20, 10, 290))))
    assert text(root, "ThreadGroup.num_threads") == "20"
    assert text(root, "ThreadGroup.ramp_time") == "10"
    assert (text(root, "ThreadGroup.scheduler"), text(root, "ThreadGroup.duration")) == ("true", "300")
    assert text(root, "LoopController.loops") == "-1"
    assert text(root, "ThreadGroup.on_sample_error") == "startnextloop"
    assert root.find(".//kg.apc.jmeter.samplers.DummySampler") is not None


def test_loops_replace_the_time_of_a_load(tmp_path: Path) -> None:
    root = written(tmp_path, [BROWSE], GroupLoad("Browse", closed((20, 10, 0)), loops=3))
    assert (text(root, "LoopController.loops"), text(root, "LoopController.continue_forever")) == ("3", "false")
    assert text(root, "ThreadGroup.scheduler") == "false"  # JMeter refuses a scheduler without a duration
    assert root.find(".//*[@name='ThreadGroup.duration']") is None


def test_a_think_time_per_transaction_needs_an_element_that_reads_it(tmp_path: Path) -> None:
    load = GroupLoad("Browse", closed((1, 0, 9)), 6.0, "transaction")
    with pytest.raises(UsageError, match="the load Browse has a think time per transaction, which its thread gro"):
        written(tmp_path, [BROWSE], load)
    pause = '<TestAction testname="Pause"><stringProp name="ActionProcessor.duration">'
    pause += "${__P(think_time_ms,0)}</stringProp></TestAction><hashTree/>"
    root = written(tmp_path, [group("Browse", pause)], load)
    assert text(root, "ActionProcessor.duration") == "6000"


def test_a_throughput_timer_paces_its_thread_group_or_all(tmp_path: Path) -> None:
    timer = '<kg.apc.jmeter.timers.VariableThroughputTimer testname="Shaper"%s/><hashTree/>'
    jmx = tmp_path / "tiny.jmx"
    for groups, paced in (
        ([group("Browse", timer % ""), BUY], {"Browse"}),
        ([group("Browse", timer % ' enabled="false"'), BUY], set()),
        ([timer % "", BROWSE, BUY], {"Browse", "Buy"}),
    ):
        jmx.write_text(several_jmx(*groups))
        assert paced_groups(jmx) == paced


def test_stages_become_an_ultimate_thread_group(tmp_path: Path) -> None:
    load = GroupLoad("Night batch", closed((10, 0, 60), (50, 30, 120), (10, 10, 20)))
    root = written(tmp_path, [SPIKE], load)
    table = root.find(".//kg.apc.jmeter.threads.UltimateThreadGroup/collectionProp")
    assert table is not None
    rows = [[cell.text for cell in row] for row in table]
    assert rows == [["10", "0", "0", "240", "0"], ["40", "60", "30", "120", "10"]]


def test_stages_of_requests_become_a_concurrency_thread_group_with_a_shaping_timer(tmp_path: Path) -> None:
    stages = (Stage(30, None, 0, 60, 5.0), Stage(30, None, 10, 20, 25.0))
    root = written(tmp_path, [SPIKE], GroupLoad("Night batch", stages, is_paced=True))
    assert root.find(".//com.blazemeter.jmeter.threads.concurrency.ConcurrencyThreadGroup") is not None
    assert [text(root, name) for name in ("TargetLevel", "RampUp", "Hold", "Unit")] == ["30", "0", "90", "S"]
    table = root.find(".//kg.apc.jmeter.timers.VariableThroughputTimer/collectionProp[@name='load_profile']")
    assert table is not None
    rows = [[cell.text for cell in row] for row in table]
    # From the middle of the first second to that of the last before a change of slope; a ramp has half a request less.
    assert rows == [
        ["5", "5", "59"], ["5", "5.5", "1"], ["5.5", "23.5", "9"], ["23.5", "25", "1"], ["25", "25", "19"],
        ["25", "25", "3600"],
    ]  # fmt: skip


def test_other_kinds_of_thread_groups_are_replaced_too(tmp_path: Path) -> None:
    kind = "com.blazemeter.jmeter.threads.concurrency.ConcurrencyThreadGroup"
    concurrency = group("Browse", "", kind, '<stringProp name="TargetLevel">99</stringProp>')
    root = written(tmp_path, [concurrency], GroupLoad("Browse", closed((2, 0, 9))))
    assert root.find(f".//{kind}") is None
    assert text(root, "ThreadGroup.num_threads") == "2"


def test_thread_groups_run_side_by_side_although_the_file_has_them_one_after_the_other(tmp_path: Path) -> None:
    jmx = tmp_path / "tiny.jmx"
    serial = '<boolProp name="TestPlan.serialize_threadgroups">true</boolProp>'
    jmx.write_text(several_jmx(BROWSE).replace('testname="Several"/>', f'testname="Several">{serial}</TestPlan>'))
    root = fromstring(with_loads(jmx, [GroupLoad("Browse", closed((2, 0, 9)))]))
    assert text(root, "TestPlan.serialize_threadgroups") == "false"


def test_a_load_of_no_users_disables_its_group(tmp_path: Path) -> None:
    root = written(tmp_path, [BROWSE, BUY], GroupLoad("Browse", closed((0, 0, 9))), GroupLoad("Buy", opened((5, 0, 9))))
    assert [(one.tag, one.get("enabled")) for one in root.iter() if one.tag.endswith("ThreadGroup")] == [
        ("ThreadGroup", "false"),
        ("OpenModelThreadGroup", None),
    ]


@pytest.mark.parametrize("reads", ["${__P(think_time_ms,0)}", "${think_time_ms}", "${__P(think_time_ms)}"])
def test_a_timer_that_reads_the_think_time_gets_that_of_its_load(tmp_path: Path, reads: str) -> None:
    timer = (
        '<UniformRandomTimer testname="Pause"><stringProp name="ConstantTimer.delay">'
        f"{reads}</stringProp></UniformRandomTimer><hashTree/>"
    )
    variables = (
        '<Arguments testname="V"><collectionProp name="Arguments.arguments"><elementProp name="think_time_ms" '
        'elementType="Argument"><stringProp name="Argument.value">${__P(think_time_ms,500)}</stringProp></elementProp>'
        "</collectionProp></Arguments><hashTree/>"
    )
    groups = [variables, group("Browse", timer), group("Buy", timer)]
    loads = [GroupLoad(name, closed((1, 0, 9)), think_s) for name, think_s in (("Browse", 1.5), ("Buy", 0.02))]
    root = written(tmp_path, groups, *loads)
    assert [one.text for one in root.iterfind(".//*[@name='ConstantTimer.delay']")] == ["1500", "20"]


def test_a_load_with_a_think_time_that_nothing_reads_gets_a_timer(tmp_path: Path) -> None:
    loads = [GroupLoad(name, closed((1, 0, 9)), think_s) for name, think_s in (("Browse", 1.5), ("Buy", 0.0))]
    root = written(tmp_path, [BROWSE, BUY], *loads)
    assert [one.text for one in root.iterfind(".//ConstantTimer/stringProp")] == ["1500"]


def test_steps_of_a_rate_do_not_become_ramps() -> None:
    assert schedule(opened((5, 10, 60), (20, 0, 60))) == (
        f"{AFTER_SETUP} rate(0/sec) random_arrivals(10 sec) rate(5/sec) random_arrivals(60 sec) rate(5/sec) "
        "rate(20/sec) random_arrivals(60 sec) pause(10 sec)"
    )
    assert schedule(opened((0, 0, 5), (2, 5, 0))) == (
        f"{AFTER_SETUP} rate(0/sec) pause(5 sec) rate(0/sec) random_arrivals(5 sec) rate(2/sec) pause(10 sec)"
    )


def test_users_of_a_lower_stage_run_through_a_spike() -> None:
    rows = ultimate_rows(closed((10, 10, 60), (4, 6, 0), (20, 10, 20)))
    # Of ten users who start in 10 s the last six end again within 6 s; the first four stay to the end at 106 s.
    assert rows == (ScheduleRow(4, 0, 4, 102, 0), ScheduleRow(6, 4, 6, 60, 6), ScheduleRow(16, 76, 10, 20, 0))


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 30), st.integers(1, 30)), min_size=1, max_size=6))
def test_at_the_end_of_each_stage_its_number_of_users_runs(stages: list[tuple[int, int, int]]) -> None:
    rows, now_s = ultimate_rows(closed(*stages)), 0
    for users, over_s, for_s in stages:
        now_s += over_s + for_s
        at_s = now_s - 0.5
        begun = sum(row.users for row in rows if row.delay_s + row.ramp_s <= at_s)
        ended = sum(row.users for row in rows if row.delay_s + row.ramp_s + row.hold_s + row.end_s <= at_s)
        assert begun - ended == users
    assert all(row.users > 0 and row.hold_s >= 0 and row.end_s >= 0 for row in rows)
