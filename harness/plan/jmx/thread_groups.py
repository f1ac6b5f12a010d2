"""Writes the loads of a run into the thread groups of a test plan."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree  # builds and writes XML; jmx.parse reads files

from harness.base import units
from harness.base.errors import UsageError
from harness.plan.jmx.arrival_rows import ArrivalRow, arrival_rows
from harness.plan.jmx.shaping import ShapingRow, shaping_rows
from harness.plan.jmx.think_time import NAME, reads_think_time, set_think_time, think_variables
from harness.plan.jmx.tree import (
    LOAD_GROUP,
    SIDE_GROUPS,
    Node,
    is_own_enabled,
    parse,
    plan_tree,
    read_properties,
    tree_of,
)
from harness.plan.jmx_writer import (
    Expression,
    add_bool,
    add_string,
    add_variables,
    anywhere,
    child,
    insert_first,
    joined,
    of_jmx,
    renew,
    set_attribute,
    set_text,
    written,
    xml_element,
)
from harness.plan.load.groups import GroupLoad, Stage

LOOPS, LOOPS_ENDLESS = "LoopController.loops", "-1"
# After the last arrival JMeter waits exactly this long, then aborts the requests still in progress.
DRAIN_S = 10
# The Open Model Thread Group schedules arrivals from the start of the test, and JMeter starts it after setUp: arrivals
# that fall due meanwhile would come at once (https://github.com/apache/jmeter/issues/6352). JMeter evaluates this when
# it starts the group.
AFTER_SETUP = Expression("pause(${__jexl3(${__time(,)} - ${__P(TESTSTART.MS,${__time(,)})})} ms)")
# The property of the Ultimate Thread Group with its rows.
ROWS = "ultimatethreadgroupdata"
_ULTIMATE = "kg.apc.jmeter.threads.UltimateThreadGroup"
_CONCURRENCY = "com.blazemeter.jmeter.threads.concurrency.ConcurrencyThreadGroup"
_ARRIVALS = "com.blazemeter.jmeter.threads.arrivals.FreeFormArrivalsThreadGroup"
# Its users, if they do not end sooner.
_ARRIVING_MOST = "1000000"
_SHAPING_TIMER = "kg.apc.jmeter.timers.VariableThroughputTimer"
_SAME_USER = "ThreadGroup.same_user_on_next_iteration"
_PRESERVED = ("TestPlan.comments", "ThreadGroup.on_sample_error", _SAME_USER)
_READ = r"\$\{{__P\({}(?:,[^(){{}}]*)?\)\}}"
# Timers that pause users so that together they have a rate: only the run knows how long.
_PACING = ("ConstantThroughputTimer", "PreciseThroughputTimer", "VariableThroughputTimer")


class ScheduleRow(NamedTuple):
    """Users of the Ultimate Thread Group: they start one by one, stay, and end one by one in the order of their start.

    Times are whole seconds. The last user has started `ramp_s` after `delay_s`; the first ends `hold_s` after that.
    """

    users: int
    delay_s: int
    ramp_s: int
    hold_s: int
    end_s: int


class _Users(NamedTuple):
    """Users who have started between two instants and have not ended yet."""

    user_count: int
    from_s: int
    to_s: int


def load_groups(jmx: Path) -> tuple[str, ...]:
    """Return the names of the plan's enabled thread groups, without setUp and tearDown."""
    return tuple(group.element.get("testname", "") for group in _groups(parse(jmx)))


def paced_groups(jmx: Path) -> frozenset[str]:
    """Return the names of the thread groups whose users a throughput timer of the plan pauses."""
    timers = (node for node in plan_tree(jmx).walk() if node.kind.rpartition(".")[2] in _PACING)
    owners = [node.thread_group for node in timers]
    return frozenset(load_groups(jmx) if None in owners else (owner.name for owner in owners if owner))


def think_default_s(jmx: Path) -> float:
    """Return the think time, in s, that a plan has when nobody gives one; 0 when it reads none, or no number."""
    default = (read_properties(jmx).get(NAME) or "").strip()
    return int(default) / units.MS_PER_S if default.isascii() and default.isdecimal() else 0.0


def think_times(jmx: Path) -> Mapping[str, float]:
    """Return the default think time, in s, of each thread group that reads it."""
    default_s, tree = think_default_s(jmx), parse(jmx)
    variables = think_variables(tree.getroot())
    groups = ((group.element, group.children) for group in _groups(tree))
    return {
        element.get("testname", ""): default_s
        for element, children in groups
        if children is not None and reads_think_time(children, variables)
    }


def with_open_model(jmx: Path, schedule: str) -> bytes:
    """Return the plan with JMeter's Open Model Thread Group instead of the load's thread group.

    Each arrival of the schedule is a new user who runs the thread group once.
    """
    tree = parse(jmx)
    groups = [group for group in tree.getroot().iter("ThreadGroup") if group.get("testname") == LOAD_GROUP]
    if len(groups) != 1:
        what = f"{jmx.parent.name}/{jmx.name}: {len(groups)} Thread Groups are named {LOAD_GROUP}"
        raise UsageError(what, f"--rate needs exactly one: name the thread group of the load {LOAD_GROUP}")
    _drive_open(groups[0], schedule)
    return written(tree)


def with_loads(jmx: Path, loads: Sequence[GroupLoad]) -> bytes:
    """Return the plan whose thread groups have these loads, as `tree_with_loads`."""
    return written(tree_with_loads(jmx, loads))


def tree_with_loads(jmx: Path, loads: Sequence[GroupLoad]) -> ElementTree.ElementTree[ElementTree.Element]:
    """Return the tree of the plan whose thread groups have these loads.

    A closed load becomes a Thread Group, or with stages the Ultimate Thread Group of jmeter-plugins, and with stages of
    requests per second its Concurrency Thread Group with a Throughput Shaping Timer; an open load becomes the Open
    Model Thread Group, or where its users return the Free-Form Arrivals Thread Group of jmeter-plugins. A load of 0
    users disables its group. Elements in a group that read the property think_time_ms have the load's think time; if
    there is none, a Constant Timer is added.
    """
    tree = parse(jmx)
    copy_for_tenants(tree, loads)
    for prop in tree.getroot().iterfind("hashTree/TestPlan/boolProp[@name='TestPlan.serialize_threadgroups']"):
        set_text(prop, "false")  # the loads run side by side
    by_group = {load.group: load for load in loads}
    variables = think_variables(tree.getroot())
    nodes = list(tree_of(tree.getroot(), {}).walk())
    for group in _groups(tree):
        load = by_group[group.element.get("testname", "")]
        if not load.level:
            set_attribute(group.element, "enabled", "false")
            continue
        if load.users_return:
            _drive_returning(group.element, load.stages)
        elif load.is_open:
            _drive_open(group.element, schedule(load.stages))
        elif load.is_shaped:
            _drive_shaped(group.element, load)
        elif load.is_staged:
            _drive_staged(group.element, load.stages)
        else:
            _drive_closed(group.element, load)
        if group.children is not None:
            owners = ((node, node.thread_group) for node in nodes)
            in_scope = (node for node, owner in owners if owner is None or owner.element is group.element)
            set_think_time(group.children, load, variables, in_scope)
            if load.is_shaped:
                _add_shaping_timer(group.children, load.stages)
    return tree


def copy_for_tenants(tree: ElementTree.ElementTree[ElementTree.Element], loads: Sequence[GroupLoad]) -> None:
    """Give each load with a tenant a copy of its thread group, in which the variable `tenant` is that tenant.

    The copy reads the properties of its load instead of those of the plan.
    """
    plan = tree.getroot().find("hashTree/hashTree")
    for group in list(_groups(tree)):
        own = [load for load in loads if load.thread_group == group.element.get("testname", "")]
        copies = [group, *(_Group(deepcopy(group.element), deepcopy(group.children)) for _ in own[1:])]
        for load, (element, children) in zip(own, copies, strict=False):
            more = load.group.removeprefix(load.thread_group)
            set_attribute(element, "testname", joined(of_jmx(load.thread_group), more) if more else of_jmx(load.group))
            if plan is not None and element is not group.element:
                plan.extend(part for part in (element, children) if part is not None)
            if children is not None:
                _set_properties(children, load)
                if load.tenant is not None:
                    add_variables(children, {"tenant": load.tenant})


def tree_with_tenants(jmx: Path, loads: Sequence[GroupLoad]) -> Node:
    """Return the Test Plan element in which each load with a tenant has its thread group."""
    tree = parse(jmx)
    copy_for_tenants(tree, loads)
    return tree_of(tree.getroot(), {})


def _set_properties(children: ElementTree.Element, load: GroupLoad) -> None:
    """Write the values of a load where the elements of its group read the properties; UsageError if none does."""
    for name, value in load.properties.items():
        read, written_value, has_found = re.compile(_READ.format(re.escape(name))), anywhere(value), False
        for element in children.iter():
            if element.text and read.search(element.text):
                set_text(element, of_jmx(read.sub(written_value, element.text)))
                has_found = True
        if not has_found:
            what = f"the load {load.group} has the property {name}, which its thread group does not read"
            raise UsageError(what, f"read ${{__P({name},…)}} in an element of the group")


def schedule(stages: Sequence[Stage]) -> Expression:
    """Return the stages of an open load as a schedule of the Open Model Thread Group.

    Without the final pause, JMeter would abort every request in progress when the last user has arrived, and count it
    as failed.
    """
    parts, current, level, is_ramp = list[str](), None, 0.0, False
    for stage in stages:
        for begin, length_s in ((level, stage.over_s), (stage.level, stage.for_s)):
            if not length_s:
                continue
            if begin != current:
                parts.append(_rate(begin))
            kind = "random_arrivals" if begin or stage.level else "pause"
            parts.append(f"{kind}({units.number_text(round(length_s, 3))} sec)")
            parts.append(_rate(stage.level))  # ends the interval: else the rate would move towards the next one
            current, is_ramp = stage.level, begin != stage.level
        level = stage.level
    rest = [*(parts if is_ramp else parts[:-1]), f"pause({DRAIN_S} sec)"]
    return joined(AFTER_SETUP, f" {' '.join(rest)}")


def _rate(rate_per_s: float) -> str:
    return f"rate({units.number_text(rate_per_s)}/sec)"


def ultimate_rows(stages: Sequence[Stage]) -> tuple[ScheduleRow, ...]:
    """Return the rows of the Ultimate Thread Group for stages of users at whole seconds.

    When users become fewer, those who started last end first, so that the users of a lower stage run through a spike.
    """
    rows: list[ScheduleRow] = []
    running: list[_Users] = []
    users, now_s = 0, 0
    for stage in stages:
        change, full_s = (stage.users or 0) - users, now_s + round(stage.over_s)
        if change > 0:
            running.append(_Users(change, now_s, full_s))
        else:
            rows += _ended(running, -change, now_s, full_s)
        users, now_s = stage.users or 0, full_s + round(stage.for_s)
    rows += _ended(running, users, now_s, now_s)
    return tuple(sorted(rows, key=lambda row: (row.delay_s, row.ramp_s)))


def _ended(running: list[_Users], count: int, from_s: int, to_s: int) -> Iterator[ScheduleRow]:
    """Yield the rows of `count` users who end between two instants, and take them out of the running ones."""
    left = count
    while left:
        last = running.pop()
        ending = min(left, last.user_count)
        begun_s = last.from_s + round((last.to_s - last.from_s) * (last.user_count - ending) / last.user_count)
        if ending < last.user_count:
            running.append(_Users(last.user_count - ending, last.from_s, begun_s))
        ends = [from_s + round((to_s - from_s) * done / count) for done in (count - left, count - left + ending)]
        ramp_s = last.to_s - begun_s
        yield ScheduleRow(ending, begun_s, ramp_s, ends[0] - begun_s - ramp_s, ends[1] - ends[0])
        left -= ending


class _Group(NamedTuple):
    """A thread group of a plan, and the hashTree of its children; None when the file has none."""

    element: ElementTree.Element
    children: ElementTree.Element | None


def _groups(tree: ElementTree.ElementTree[ElementTree.Element]) -> Iterator[_Group]:
    """Yield each enabled thread group of the load."""
    plan = tree.getroot().find("hashTree/hashTree")
    elements = [] if plan is None else list(plan)
    for element, following in zip(elements, [*elements[1:], None], strict=True):
        is_enabled = is_own_enabled(element)
        if element.tag.endswith("ThreadGroup") and element.tag not in SIDE_GROUPS and is_enabled:
            yield _Group(element, following if following is not None and following.tag == "hashTree" else None)


def _drive_closed(group: ElementTree.Element, load: GroupLoad) -> None:
    _renew(group, "ThreadGroup", "ThreadGroupGui")
    add_loop(group, LOOPS_ENDLESS if load.loops is None else str(load.loops))
    add_string(group, "ThreadGroup.num_threads", str(load.users))
    add_string(group, "ThreadGroup.ramp_time", str(round(load.ramp_s)))
    add_bool(group, "ThreadGroup.scheduler", load.loops is None)
    if load.loops is None:
        add_string(group, "ThreadGroup.duration", str(round(load.duration_s)))


def _drive_staged(group: ElementTree.Element, stages: Sequence[Stage]) -> None:
    _renew(group, _ULTIMATE, f"{_ULTIMATE}Gui")
    add_loop(group, LOOPS_ENDLESS)
    table = child(group, "collectionProp", name=ROWS)
    for row in ultimate_rows(stages):
        add_row(table, row)


def add_row(table: ElementTree.Element, row: ArrivalRow | ScheduleRow | ShapingRow) -> None:
    """Add a row to the table of a group of jmeter-plugins, or of a Throughput Shaping Timer."""
    line = child(table, "collectionProp", name=f"row {len(table)}")
    for name, value in row._asdict().items():
        add_string(line, name, units.number_text(value))


def _drive_shaped(group: ElementTree.Element, load: GroupLoad) -> None:
    _renew(group, _CONCURRENCY, f"{_CONCURRENCY}Gui")
    _add_controller(group, "com.blazemeter.jmeter.control.VirtualUserController")
    values = {"TargetLevel": load.users, "RampUp": 0, "Steps": "", "Hold": round(load.duration_s)}
    for name, value in {**values, "LogFilename": "", "Iterations": "", "Unit": "S"}.items():
        add_string(group, name, str(value))


def _add_shaping_timer(children: ElementTree.Element, stages: Sequence[Stage]) -> None:
    """Add the timer that delays the requests of a group, so that they have the rate of its stages."""
    timer = xml_element(
        _SHAPING_TIMER, guiclass=f"{_SHAPING_TIMER}Gui", testclass=_SHAPING_TIMER, testname="Requests per second"
    )
    table = child(timer, "collectionProp", name="load_profile")
    for row in shaping_rows(stages):
        add_row(table, row)
    insert_first(children, timer)


def _drive_open(group: ElementTree.Element, text: str) -> None:
    _renew(group, "OpenModelThreadGroup", "OpenModelThreadGroupGui")
    _add_controller(group, "OpenModelThreadGroupController")
    add_string(group, "OpenModelThreadGroup.schedule", text)
    add_string(group, "OpenModelThreadGroup.random_seed", "")


def _drive_returning(group: ElementTree.Element, stages: Sequence[Stage]) -> None:
    _renew(group, _ARRIVALS, f"{_ARRIVALS}Gui")
    _add_controller(group, "com.blazemeter.jmeter.control.VirtualUserController")
    table = child(group, "collectionProp", name="Schedule")
    for row in arrival_rows(stages):
        add_row(table, row)
    for name, text in (("ConcurrencyLimit", _ARRIVING_MOST), ("LogFilename", ""), ("Iterations", ""), ("Unit", "S")):
        add_string(group, name, text)


def _renew(group: ElementTree.Element, kind: str, gui: str) -> None:
    """Turn a thread group into another kind; its name, comment and reaction to errors stay."""
    name = group.get("testname", "")
    preserved = [prop for prop in group if prop.get("name") in _PRESERVED]
    # Those of jmeter-plugins start each iteration as a new user, whatever the property says (casutg 2.10).
    is_always_new = "." in group.tag and kind == "ThreadGroup"
    preserved = [prop for prop in preserved if not (is_always_new and prop.get("name") == _SAME_USER)]
    renew(group, kind, gui, testname=name)
    group.extend(preserved)
    if is_always_new:
        add_bool(group, _SAME_USER, False)
    if not any(prop.get("name") == "ThreadGroup.on_sample_error" for prop in preserved):
        add_string(group, "ThreadGroup.on_sample_error", "continue")


def add_loop(group: ElementTree.Element, loops: str) -> None:
    """Add the Loop Controller of a thread group; `loops` is a number, or LOOPS_ENDLESS."""
    loop = _add_controller(group, "LoopController", guiclass="LoopControlPanel", testclass="LoopController")
    add_bool(loop, "LoopController.continue_forever", False)
    add_string(loop, LOOPS, loops)


def _add_controller(group: ElementTree.Element, kind: str, **attributes: str) -> ElementTree.Element:
    return child(group, "elementProp", name="ThreadGroup.main_controller", elementType=kind, **attributes)
