"""The schedules of thread groups of jmeter-plugins, read as the loads of a plan."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.plan.adopt.adopt import adopt
from harness.plan.adopt.schedules import _STEPPING, ultimate_stages
from harness.plan.adopt.toml_text import plan_toml
from harness.plan.checks.finding import Rule
from harness.plan.jmx.thread_groups import ScheduleRow, ultimate_rows, with_loads
from harness.plan.jmx.tree import plan_tree
from harness.plan.load.groups import GroupLoad, Stage
from harness.plan.load.tables import parse_loads
from tests.support.off_host import collection
from tests.support.several import group, sampler, several_jmx

_CASUTG = "com.blazemeter.jmeter.threads"
_LOOP = '<stringProp name="LoopController.loops">1</stringProp>'
_TIMED = (
    '<stringProp name="ThreadGroup.scheduler">true</stringProp><stringProp name="ThreadGroup.duration">60</stringProp>'
)


def props(**values: str) -> str:
    return "".join(f'<stringProp name="{name}">{value}</stringProp>' for name, value in values.items())


def loads_of(tmp_path: Path, kind: str, **values: str) -> tuple[list[dict[str, object]], str]:
    """Return the [[load]] tables that init writes for a group of this kind, and the whole text."""
    jmx = tmp_path / "foreign.jmx"
    jmx.write_text(several_jmx(group("Größe \U0001f600", sampler("Page", 1), kind, props(**values))))
    text = plan_toml(adopt(jmx, "shop", tmp_path).contents, "shop", "foreign.jmx")
    return tomllib.loads(text)["load"], text


def test_a_concurrency_thread_group_keeps_its_target_ramp_and_hold(tmp_path: Path) -> None:
    kind = f"{_CASUTG}.concurrency.ConcurrencyThreadGroup"
    loads, text = loads_of(tmp_path, kind, TargetLevel="30", RampUp="2", Hold="5", Unit="M", Steps="")
    assert loads == [{"group": "Größe \U0001f600", "users": 30, "ramp_s": 120, "duration_s": 420}]
    assert "# the schedule of its ConcurrencyThreadGroup, which a run replaces by this one\n" in text


def test_the_steps_of_a_concurrency_thread_group_are_stages(tmp_path: Path) -> None:
    kind = f"{_CASUTG}.concurrency.ConcurrencyThreadGroup"
    loads, _ = loads_of(tmp_path, kind, TargetLevel="10", RampUp="60", Hold="30", Unit="S", Steps="3")
    stages = [{"users": 3, "for": 20}, {"users": 7, "for": 20}, {"users": 10, "for": 50}]
    assert loads == [{"group": "Größe \U0001f600", "stages": stages}]


def test_a_group_that_a_throughput_shaping_timer_feeds_has_its_most_users(tmp_path: Path) -> None:
    kind = f"{_CASUTG}.concurrency.ConcurrencyThreadGroup"
    target = "${__tstFeedback(Shaper,1,40,5)}"
    loads, text = loads_of(tmp_path, kind, TargetLevel=target, RampUp="", Hold="60", Unit="S")
    assert [load["users"] for load in loads] == [40]
    assert "# a Throughput Shaping Timer set how many of these users run; here all run" in text


def test_an_arrivals_thread_group_is_an_open_load(tmp_path: Path) -> None:
    kind = f"{_CASUTG}.arrivals.ArrivalsThreadGroup"
    loads, text = loads_of(tmp_path, kind, TargetLevel="90", RampUp="1", Hold="4", Unit="M")
    load = {"rate_per_s": 1.5, "ramp_s": 60, "duration_s": 300, "users_return": True}
    assert loads == [{"group": "Größe \U0001f600", **load}]
    assert "1.5 new users/s, ramp-up 60 s, 300 s\n" in text


@pytest.mark.parametrize(("limit", "is_named"), [("", False), ("4", True), ("14", True), ("15", False)])
def test_a_limit_of_users_who_arrive_is_named_when_it_may_matter(tmp_path: Path, limit: str, is_named: bool) -> None:
    kind = f"{_CASUTG}.arrivals.ArrivalsThreadGroup"
    values = props(TargetLevel="90", RampUp="1", Hold="4", Unit="M", ConcurrencyLimit=limit)
    (tmp_path / "foreign.jmx").write_text(several_jmx(group("Shop", sampler("Page", 1), kind, values)))
    found = [one.what for one in adopt(tmp_path / "foreign.jmx", "shop", tmp_path).left]
    assert found == [f"makes no arrival while {limit} users are there; a run makes each one"] * is_named


def test_loops_of_one_of_several_groups_are_named_as_lost(tmp_path: Path) -> None:
    endless = group("Browse", sampler("Page", 1), more=_TIMED).replace(_LOOP, _LOOP.replace("1", "-1"))
    (tmp_path / "foreign.jmx").write_text(several_jmx(endless, group("Buy", sampler("Order", 1))))
    (found,) = adopt(tmp_path / "foreign.jmx", "shop", tmp_path).left
    assert found.what == "ends after 1 loop; in a run it repeats them until its end"


@pytest.mark.parametrize("beside", [(), (group("Endless", sampler("Order", 1)).replace(">1<", ">-1<"),)])
@pytest.mark.parametrize(("loops", "is_lost"), [("1", True), ("59999", True), ("60000", False), ("-1", False)])
def test_loops_that_end_a_group_before_its_duration_are_named_as_lost(
    tmp_path: Path, loops: str, is_lost: bool, beside: tuple[str, ...]
) -> None:
    timed = group("Browse", sampler("Page", 1), more=_TIMED).replace(_LOOP, _LOOP.replace("1", loops))
    (tmp_path / "foreign.jmx").write_text(several_jmx(timed, *beside))
    adoption = adopt(tmp_path / "foreign.jmx", "shop", tmp_path)
    count = f"{loops} loop{'s' * (loops != '1')}"
    what = f"ends after {count}, even before its 60 s are over; in a run it repeats them until its end"
    assert [one.what for one in adoption.left] == [what] * is_lost
    toml = plan_toml(adoption.contents, "shop", "foreign.jmx")
    assert (f"# in the JMX it ends after {count}; here it repeats them until its end\n" in toml) is is_lost
    assert tomllib.loads(toml)["load"]


def test_the_steps_of_an_arrivals_thread_group_are_stages(tmp_path: Path) -> None:
    kind = f"{_CASUTG}.arrivals.ArrivalsThreadGroup"
    (load,), _ = loads_of(tmp_path, kind, TargetLevel="9", RampUp="30", Steps="3", Hold="60", Unit="S")
    assert load["stages"] == [{"rate_per_s": 3, "for": 10}, {"rate_per_s": 6, "for": 10}, {"rate_per_s": 9, "for": 70}]
    assert load["users_return"]


@pytest.mark.parametrize(
    ("unit", "rows", "stages"),
    [
        ("S", [(2, 2, 30)], [{"rate_per_s": 2, "for": 30}]),
        ("M", [(0, 90, 2), (90, 90, 1)], [{"rate_per_s": 1.5, "over": 120}, {"rate_per_s": 1.5, "for": 60}]),
        ("S", [(4, 8, 10)], [{"rate_per_s": 4, "for": 1}, {"rate_per_s": 8, "over": 9}]),
        ("S", [(8, 8, 5), (0.5, 0.5, 5)], [{"rate_per_s": 8, "for": 5}, {"rate_per_s": 0.5, "for": 5}]),
    ],
)
def test_the_rows_of_free_form_arrivals_are_stages(
    tmp_path: Path, unit: str, rows: list[tuple[float, ...]], stages: list[dict[str, float]]
) -> None:
    lines = "".join(collection(f"row {number}", *map(str, row)) for number, row in enumerate(rows))
    table = f'<collectionProp name="Schedule">{lines}</collectionProp>{props(Unit=unit)}'
    kind = f"{_CASUTG}.arrivals.FreeFormArrivalsThreadGroup"
    (tmp_path / "foreign.jmx").write_text(several_jmx(group("Shop", sampler("Page", 1), kind, table)))
    adoption = adopt(tmp_path / "foreign.jmx", "shop", tmp_path)
    (load,) = tomllib.loads(plan_toml(adoption.contents, "shop", "foreign.jmx"))["load"]
    assert (load["stages"], load["users_return"], adoption.left) == (stages, True, ())


@pytest.mark.parametrize(
    ("schedule", "stages"),
    [
        ("rate(5/sec) random_arrivals(10 min)", [{"rate_per_s": 5, "for": 600}]),
        # A rate that follows arrivals is the one to which they go.
        ("rate(0/s) random_arrivals(30 s) rate(90/min)\neven_arrivals(1 hour)",
         [{"rate_per_s": 1.5, "over": 30}, {"rate_per_s": 1.5, "for": 3600}]),
        ("/* night */ rate(2/s) random_arrivals(9s) pause(3 s) // wait\nrate(4/s) random_arrivals(11 s) rate(1/s)",
         [{"rate_per_s": 2, "for": 9}, {"rate_per_s": 0, "for": 3}, {"rate_per_s": 4, "for": 1},
          {"rate_per_s": 1, "over": 10}]),
        ("rate(${__P(r,6)}/min) random_arrivals(2 min)", [{"rate_per_s": 0.1, "for": 120}]),
    ],
)  # fmt: skip
def test_the_schedule_of_an_open_model_thread_group_is_stages(tmp_path: Path, schedule: str, stages: list) -> None:
    (load,), text = loads_of(tmp_path, "OpenModelThreadGroup", **{"OpenModelThreadGroup.schedule": schedule})
    assert load == {"group": load["group"], "stages": stages}  # each arrival is a new user
    assert "# the schedule of its OpenModelThreadGroup, which a run replaces by this one\n" in text
    assert f"{max(one['rate_per_s'] for one in stages):g} new users/s at most, " in text
    evenly = "# its even_arrivals come at random times in a run, at the same rate\n"
    assert (evenly in text) is ("even_arrivals" in schedule)
    (read,) = parse_loads([load], "shop.toml", [str(load["group"])], "shop.jmx", {})
    assert (read.is_open, read.duration_s) == (True, sum(one.get("over", 0) + one.get("for", 0) for one in stages))


@pytest.mark.parametrize(
    "schedule", ["", "rate(5/sec) random_arrivals(1 week)", "rate(${r}/s) pause(1 s)", "rate(5)", "rate(5/hr)"]
)
def test_a_schedule_that_is_not_known_before_the_run_is_named_as_lost(tmp_path: Path, schedule: str) -> None:
    _, text = loads_of(tmp_path, "OpenModelThreadGroup", **{"OpenModelThreadGroup.schedule": schedule})
    assert "# replaces the schedule of its OpenModelThreadGroup; stages = […] can rebuild it\n" in text


def test_returning_users_arrive_at_the_rates_of_the_stages(tmp_path: Path) -> None:
    (tmp_path / "own.jmx").write_text(several_jmx(group("Shop", sampler("Page", 1))))
    stages = (Stage(None, 2.0, 10.0, 20.0), Stage(None, 0.5, 0.0, 30.0))
    (tmp_path / "run.jmx").write_bytes(with_loads(tmp_path / "own.jmx", [GroupLoad("Shop", stages, users_return=True)]))
    (found,) = (node for node in plan_tree(tmp_path / "run.jmx").walk() if node.is_thread_group)
    assert found.kind == f"{_CASUTG}.arrivals.FreeFormArrivalsThreadGroup"
    rows = [[cell.text for cell in row] for row in found.element.iterfind("collectionProp[@name='Schedule']/*")]
    ramp = [["0", "0", "2"], ["1", "1", "3"], ["1", "2", "5"]]  # a rate from 0 would have one arrival
    assert rows == [*ramp, ["2", "2", "20"], ["0.5", "0.5", "29"], ["0", "0", "1"]]


@pytest.mark.parametrize(("delay", "is_timed"), [("20", "true"), ("0", "true"), ("20", "false")])
def test_a_single_group_keeps_its_start_delay_which_the_plan_says(tmp_path: Path, delay: str, is_timed: str) -> None:
    times = {"ThreadGroup.scheduler": is_timed, "ThreadGroup.duration": "120", "ThreadGroup.delay": delay}
    (tmp_path / "foreign.jmx").write_text(several_jmx(group("Shop", sampler("Page", 1), "ThreadGroup", props(**times))))
    adoption = adopt(tmp_path / "foreign.jmx", "shop", tmp_path)
    kept = "# its users start after 20 s, as in the JMX; --rate starts them at once\n"
    assert (kept in plan_toml(adoption.contents, "shop", "foreign.jmx")) is ((delay, is_timed) == ("20", "true"))
    (found,) = (node for node in adoption.draft.plan.walk() if node.is_thread_group)
    assert found.value("ThreadGroup.delay") == (delay if is_timed == "true" else "0")


_STOPS = "<!-- an error ends a user -->"
_ACTION = "<TestAction testname='Leave'><intProp name='ActionProcessor.action'>{}</intProp></TestAction><hashTree/>"
_RESULT = "<ResultAction testname='Stop'><intProp name='OnError.action'>{}</intProp></ResultAction><hashTree/>"


@pytest.mark.parametrize(
    ("kind", "more", "below", "names"),
    [
        ("Concurrency", _STOPS, "", "Shop"),
        ("Concurrency", "", _ACTION.format(0), "Leave"),
        ("Concurrency", "", _RESULT.format(1), "Stop"),
        ("Concurrency", props(Iterations="5"), "", "Iterations = 5"),
        ("Concurrency", "", _ACTION.format(1) + _RESULT.format(4), None),
        ("", _STOPS, _ACTION.format(0), None),
    ],
)
def test_users_whom_a_concurrency_thread_group_replaces_are_named(
    tmp_path: Path, kind: str, more: str, below: str, names: str | None
) -> None:
    of = f"{_CASUTG}.concurrency.ConcurrencyThreadGroup" if kind else "ThreadGroup"
    groups = [group("Shop", below + sampler("Page", 1), of, more), group("Other", sampler("Page", 1))]
    text = several_jmx(*groups)
    (tmp_path / "foreign.jmx").write_text(
        text.replace(">startnextloop<", ">stopthread<", 1) if more == _STOPS else text
    )
    left = [one for one in adopt(tmp_path / "foreign.jmx", "shop", tmp_path).left if one.rule is Rule.ENDED_USERS]
    assert [one.what.partition("(")[2].partition(")")[0] for one in left] == [names][: names is not None]


@pytest.mark.parametrize(("delays", "after_s"), [((0, 300), 300), ((60, 360), 300), ((60, 60), 0), (("", "0"), 0)])
def test_a_group_that_begins_later_than_the_first_one_begins_with_no_users(
    tmp_path: Path, delays: tuple[object, object], after_s: int
) -> None:
    times = {"ThreadGroup.scheduler": "true", "ThreadGroup.ramp_time": "30", "ThreadGroup.duration": "120"}
    groups = [
        group(name, sampler(name, 1), "ThreadGroup", props(**times, **{"ThreadGroup.delay": str(delay)}))
        for name, delay in zip(("Base", "Spike"), delays, strict=True)
    ]
    (tmp_path / "foreign.jmx").write_text(several_jmx(*groups))
    text = plan_toml(adopt(tmp_path / "foreign.jmx", "shop", tmp_path).contents, "shop", "foreign.jmx")
    assert ("# In the JMX the first users start after 60 s, here at once.\n" in text) is (60 in delays)
    base, spike = tomllib.loads(text)["load"]
    assert base == {"group": "Base", "users": 1, "ramp_s": 30, "duration_s": 120}
    later = {"stages": [{"users": 0, "for": after_s}, {"users": 1, "over": 30, "for": 90}]}
    assert spike == {"group": "Spike", **(later if after_s else {"users": 1, "ramp_s": 30, "duration_s": 120})}
    read = parse_loads([base, spike], "shop.toml", ["Base", "Spike"], "shop.jmx", {})
    assert [load.duration_s for load in read] == [120, 120 + after_s]


@pytest.mark.parametrize(
    ("numbers", "stages"),
    [
        # As plain JMeter runs it: 2 users, 2 more each 6 s within 1 s, 12 s with all, then 4 end at a time.
        ((8, 0, 2, 2, 6, 1, 12, 4, 2), [(2, 1, 6), (4, 1, 6), (6, 1, 6), (8, 1, 12), (4, 0, 2)]),
        # No burst is a step, and the last step has the users that are left.
        ((5, 3, 0, 2, 10, 4, 60, 0, 0), [(0, 0, 3), (2, 4, 10), (4, 4, 10), (5, 2, 60)]),
        ((10, 0, 0, 0, 0, 5, 60, 5, 1), [(10, 5, 60), (5, 0, 1)]),
    ],
)
def test_the_steps_of_a_stepping_thread_group_are_stages(
    tmp_path: Path, numbers: tuple[int, ...], stages: list[tuple[int, int, int]]
) -> None:
    values = dict(zip(_STEPPING, map(str, numbers), strict=True))
    kind, users = "kg.apc.jmeter.threads.SteppingThreadGroup", values.pop("ThreadGroup.num_threads")
    text = several_jmx(group("Shop", sampler("Page", 1), kind, props(**values)))
    old = '<stringProp name="ThreadGroup.num_threads">1<'
    assert old in text
    (tmp_path / "foreign.jmx").write_text(text.replace(old, old.replace("1<", f"{users}<")))
    (size,) = adopt(tmp_path / "foreign.jmx", "shop", tmp_path).contents.sizes
    assert size.stages == tuple(Stage(level, None, over_s, for_s) for level, over_s, for_s in stages)


def test_other_schedules_are_named_as_lost(tmp_path: Path) -> None:
    loads, text = loads_of(tmp_path, "kg.apc.jmeter.threads.SteppingThreadGroup")
    assert [load["users"] for load in loads] == [1]
    assert "# replaces the schedule of its SteppingThreadGroup; stages = […] can rebuild it\n" in text


def test_thread_groups_that_ran_one_after_the_other_are_named(tmp_path: Path) -> None:
    jmx = tmp_path / "foreign.jmx"
    text = several_jmx(group("Browse", sampler("Page", 1)), group("Buy", sampler("Order", 1)))
    serial = '<boolProp name="TestPlan.serialize_threadgroups">true</boolProp>'
    for content, count in ((text, 0), (text.replace('"Several"/>', f'"Several">{serial}</TestPlan>'), 1)):
        jmx.write_text(content)
        left = adopt(jmx, "shop", tmp_path).left
        assert sum("runs its thread groups one after the other" in finding.what for finding in left) == count


@pytest.mark.parametrize(
    ("rows", "stages"),
    [
        # Two users from 5 s on, with a ramp, a hold and a fall.
        ([ScheduleRow(2, 5, 10, 20, 4)], [(0, 0, 5), (2, 10, 20), (0, 4, 0)]),
        # A spike beside others.
        ([ScheduleRow(1, 0, 0, 50, 0), ScheduleRow(9, 20, 0, 10, 0)], [(1, 0, 20), (10, 0, 10), (1, 0, 20)]),
        # One group ends at once when another begins to grow: JMeter's groups know whole seconds.
        ([ScheduleRow(6, 0, 0, 10, 0), ScheduleRow(4, 10, 8, 10, 0)], [(6, 0, 10), (0, 0, 1), (4, 7, 10)]),
        ([], []),
    ],
)
def test_the_rows_of_an_ultimate_thread_group_become_stages(
    rows: list[ScheduleRow], stages: list[tuple[int, float, float]]
) -> None:
    assert ultimate_stages(rows) == tuple(Stage(users, None, over_s, for_s) for users, over_s, for_s in stages)


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 30), st.integers(1, 30)), min_size=1, max_size=6))
def test_the_rows_that_a_run_writes_are_read_back_with_as_many_users(stages: list[tuple[int, int, int]]) -> None:
    found = ultimate_stages(ultimate_rows([Stage(users, None, over_s, for_s) for users, over_s, for_s in stages]))
    now_s = 0.0
    for users, over_s, for_s in stages:
        now_s += over_s + for_s
        assert users_at(found, now_s - 0.5) == users


def users_at(stages: Sequence[Stage], at_s: float) -> float:
    """Return the users at an instant, s after the start."""
    before, begin_s = 0, 0.0
    for stage in stages:
        users, full_s = stage.users or 0, begin_s + stage.over_s
        if at_s < full_s:
            return before + (users - before) * (at_s - begin_s) / stage.over_s
        if at_s < full_s + stage.for_s:
            return users
        before, begin_s = users, full_s + stage.for_s
    return 0


@pytest.mark.parametrize(
    ("kind", "is_new"), [(f"{_CASUTG}.concurrency.ConcurrencyThreadGroup", True), ("ThreadGroup", False)]
)
def test_users_of_a_plugins_group_stay_new_in_each_iteration(tmp_path: Path, kind: str, is_new: bool) -> None:
    same = '<boolProp name="ThreadGroup.same_user_on_next_iteration">true</boolProp>'
    (tmp_path / "own.jmx").write_text(several_jmx(group("Shop", sampler("Page", 1), kind, same)))
    load = GroupLoad("Shop", (Stage(2, None, 0.0, 9.0),))
    (tmp_path / "run.jmx").write_bytes(with_loads(tmp_path / "own.jmx", [load]))
    (found,) = (node for node in plan_tree(tmp_path / "run.jmx").walk() if node.is_thread_group)
    assert found.value("ThreadGroup.same_user_on_next_iteration") == str(not is_new).lower()
