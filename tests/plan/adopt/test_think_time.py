"""The pauses of a JMX after `make init`: its own timer is changed or left, and no second one is added."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from harness.base.errors import UsageError
from harness.plan.adopt.adopt import adopt
from harness.plan.adopt.files import write_adopted
from harness.plan.jmx.tree import Node, plan_tree
from harness.plan.load.groups import GroupLoad, Stage
from harness.plan.load.model import SeveralLoads
from harness.plan.plan import Plan, effective_jmx, load_plan
from tests.support.off_host import element, jmx, request, text
from tests.support.off_host import variables as user_variables
from tests.support.several import group, sampler, several_jmx


def timer(kind: str = "ConstantTimer", delay: str = "200", below: str = "") -> str:
    return element(kind, "Own", text("ConstantTimer.delay", delay), text("RandomTimer.range", "100"), below=below)


def action(kind: str = "1") -> str:
    return element("TestAction", "Own", text("ActionProcessor.action", kind), text("ActionProcessor.duration", "300"))


ITEM = request(name="Item")
SCRIPT = element("JSR223Timer", "Own", text("script", "return 200"))
PACING = element("ConstantThroughputTimer", "Own", text("throughput", "60"))
THINK = "${__P(think_time_ms,200)}"


def adopted(tmp_path: Path, jmx_text: str) -> tuple[list[Node], Plan, str]:
    """The elements that pause in the fixed JMX, its plan, and the text of its TOML."""
    (tmp_path / "foreign.jmx").write_text(jmx_text)
    plans = tmp_path / "plans"
    write_adopted(plans, "own", adopt(tmp_path / "foreign.jmx", "own", plans), "foreign.jmx")
    nodes = [node for node in plan_tree(plans / "own.jmx").walk() if node.kind.endswith(("Timer", "TestAction"))]
    return nodes, load_plan(plans, "own"), (plans / "own.toml").read_text()


@pytest.mark.parametrize(
    "delay", ["200", " 200 ", THINK, "${pause}", "${__P(think_time_ms, 200)}", "${__property(think_time_ms,,200)}"]
)
@pytest.mark.parametrize("where", ["group", "plan"])
def test_a_constant_pause_before_each_request_becomes_the_think_time_of_the_plan(
    tmp_path: Path, delay: str, where: str
) -> None:
    own, pause = timer(delay=delay), user_variables(pause="200")
    text = jmx(ITEM + own, pause) if where == "group" else jmx(ITEM, pause + own)
    (only,), plan, toml = adopted(tmp_path, text)
    values = [node.element for node in plan_tree(tmp_path / "plans" / "own.jmx").walk_all()]
    assert any("think_time_ms" in (part.text or "") for value in values for part in value.iter())
    assert "think_time_s = 0.2\n" in toml
    assert plan.load.think_time_s == 0.2
    assert only.name == "Own"
    assert "think_time_ms,0)" not in (tmp_path / "plans" / "own.jmx").read_text()


LEFT = {
    "random": ITEM + timer("UniformRandomTimer"),
    "gaussian": ITEM + timer("GaussianRandomTimer"),
    "poisson": ITEM + timer("PoissonRandomTimer"),
    "script": ITEM + SCRIPT,
    "pacing": ITEM + PACING,
    "action": ITEM + action(),
    "below one request": request(name="Item", below=timer()) + ITEM,
    "in a controller": element("GenericController", "Some", below=ITEM + timer()) + ITEM,
    "two": ITEM + timer() + timer(delay="100"),
    "constant and random": ITEM + timer() + timer("UniformRandomTimer"),
    "own property": ITEM + timer(delay="${__P(pause,200)}"),
    "random function": ITEM + timer(delay="${__Random(100,300)}"),
    "a variable of the run": ITEM + timer(delay="${from_file}"),
    "a fraction": ITEM + timer(delay="0.5"),
}


@pytest.mark.parametrize("form", LEFT)
def test_other_pauses_of_its_own_are_left_and_none_is_added(tmp_path: Path, form: str) -> None:
    before = ElementTree.fromstring(f"<all>{LEFT[form]}</all>")
    own = [one for one in before.iter() if one.get("testname") == "Own"]
    nodes, plan, toml = adopted(tmp_path, jmx(LEFT[form]))
    assert [(node.kind, [part.text for part in node.element]) for node in nodes] == [
        (one.tag, [part.text for part in one]) for one in own
    ]
    assert plan.load.think_time_s == 0
    assert "think_time_s" not in [line.split(" =")[0] for line in toml.splitlines()]
    assert "# its own timers pause its users" in toml


@pytest.mark.parametrize("beside", ["", action("0")])
def test_a_plan_without_pauses_gets_a_timer_of_0_ms(tmp_path: Path, beside: str) -> None:
    nodes, plan, toml = adopted(tmp_path, jmx(ITEM + beside))
    added = [node for node in nodes if node.kind == "ConstantTimer"]
    assert [node.value("ConstantTimer.delay") for node in added] == ["${__P(think_time_ms,0)}"]
    assert plan.load.think_time_s == 0
    assert "own timers" not in toml


def test_a_disabled_timer_is_no_pause(tmp_path: Path) -> None:
    disabled = timer().replace("<ConstantTimer ", '<ConstantTimer enabled="false" ')
    nodes, plan, _ = adopted(tmp_path, jmx(ITEM + disabled))
    assert [node.value("ConstantTimer.delay") for node in nodes] == ["${__P(think_time_ms,0)}"]
    assert plan.load.think_time_s == 0


def test_a_timer_in_setup_is_no_pause_of_the_load(tmp_path: Path) -> None:
    setup = element("SetupThreadGroup", "setUp", below=ITEM + timer())
    nodes, _, _ = adopted(tmp_path, jmx(ITEM, setup))
    assert sorted(node.value("ConstantTimer.delay") for node in nodes) == ["${__P(think_time_ms,0)}", "200"]


def test_groups_of_several_loads_have_the_pauses_that_they_had(tmp_path: Path) -> None:
    own = (timer(delay="100"), timer(delay=THINK), "")
    groups = (group(name, sampler(name, 1) + one) for name, one in zip(("A", "B", "C"), own, strict=True))
    nodes, plan, _ = adopted(tmp_path, several_jmx(*groups))
    assert [node.value("ConstantTimer.delay") for node in nodes] == ["100", THINK]
    loads = plan.load.loads
    assert [(load.group, load.think_time_s) for load in loads] == [("A", 0.0), ("B", 0.2), ("C", 0.0)]
    effective = ElementTree.fromstring(effective_jmx(plan.jmx_path, SeveralLoads(loads)))
    assert [one.text for one in effective.iter() if one.get("name") == "ConstantTimer.delay"] == ["100", "200"]


@pytest.mark.parametrize("read", [THINK, "${think}"])
def test_without_a_think_time_in_its_toml_a_plan_has_that_of_its_jmx(tmp_path: Path, read: str) -> None:
    beside = user_variables(think=THINK)
    (tmp_path / "own.jmx").write_text(jmx(ITEM + timer(delay=read), beside))
    toml = 'format_version = 1\ntitle = "own"\nshape = "own.jmx"\n[load]\nusers = 1\nduration_s = 10\n'
    (tmp_path / "own.toml").write_text(toml)
    assert load_plan(tmp_path, "own").load.think_time_s == 0.2
    for given, used in (("0.5", 0.5), ("0", 0.0)):
        (tmp_path / "own.toml").write_text(f"{toml}think_time_s = {given}\n")
        assert load_plan(tmp_path, "own").load.think_time_s == used
    groups = (
        'format_version = 1\ntitle = "own"\nshape = "own.jmx"\n[[load]]\ngroup = "Users"\nusers = 1\nduration_s = 10\n'
    )
    (tmp_path / "own.toml").write_text(groups)
    assert load_plan(tmp_path, "own").load.loads[0].think_time_s == 0.2
    (tmp_path / "own.toml").write_text(f"{groups}think_time_s = 0\n")
    assert load_plan(tmp_path, "own").load.loads[0].think_time_s == 0


@pytest.mark.parametrize("own", ["ConstantTimer", "UniformRandomTimer", "GaussianRandomTimer", "PoissonRandomTimer"])
def test_a_think_time_is_not_added_to_a_group_that_pauses_by_itself(tmp_path: Path, own: str) -> None:
    (tmp_path / "own.jmx").write_text(jmx(ITEM + timer(own)))
    load = GroupLoad("Users", (Stage(1, None, 0, 10),), 0.5)
    with pytest.raises(UsageError, match="the load Users has a think time, and its timer Own pauses its users, too"):
        effective_jmx(tmp_path / "own.jmx", SeveralLoads((load,)))
