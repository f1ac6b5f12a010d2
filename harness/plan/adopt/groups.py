"""Fixes the thread groups of a JMX: setUp groups get their name, and the load's numbers become those of the run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from harness.base import units
from harness.base.units import MS_PER_S
from harness.plan.adopt.draft import Fix
from harness.plan.adopt.schedules import (
    CONCURRENCY,
    arrives_evenly,
    feedback_users,
    rate_per_s,
    seconds,
    simple_kind,
    stages_of,
)
from harness.plan.adopt.think_time import fix_think_time, pauses_of
from harness.plan.adopt.variables import Variables
from harness.plan.checks.finding import Finding, Rule
from harness.plan.jmx.modules import found_by, path_of
from harness.plan.jmx.tree import LOAD_GROUP, Node, load_groups
from harness.plan.load.groups import Stage

_USERS, _RAMP = "ThreadGroup.num_threads", "ThreadGroup.ramp_time"
_DURATION, _SCHEDULER, _DELAY = "ThreadGroup.duration", "ThreadGroup.scheduler", "ThreadGroup.delay"
_LOOPS, _FOREVER = "LoopController.loops", "LoopController.continue_forever"
_SERIAL = "TestPlan.serialize_threadgroups"
_DEFAULT_DURATION_S = 60
# Users who may be there at once in a group whose users arrive. More than those of so many seconds are hardly a limit.
_LIMIT, _LIMIT_S = "ConcurrencyLimit", 10
# Of a Flow Control Action: its target is its user, and it stops that one, or at once. Of a Result Status Action.
_USER, _STOPS, _STOP_USER = ("", "0"), ("", "0", "2"), "1"


@dataclass(frozen=True)
class GroupSize:
    """What a thread group does on its own: users, ramp-up in s, duration in s or loops (the other is None).

    `think_time_s` is the pause that the plan's think time sets; None when it has `own_pauses`, which stay, or none. A
    group of jmeter-plugins may have `stages`, or `rate_per_s` new users instead. With `is_fed_back` a Throughput
    Shaping Timer sets how many of its users run. `delay_s` is how long its users wait for their start. `is_even` says
    that some of its arrivals have equal distances. With `loops_before` its users end after so many loops, if the
    duration is not over.
    """

    name: str
    kind: str
    users: int
    ramp_s: int
    duration_s: int | None
    loops: int | None
    stages: tuple[Stage, ...] = ()
    rate_per_s: float | None = None
    is_fed_back: bool = False
    think_time_s: float | None = None
    own_pauses: bool = False
    delay_s: int = 0
    is_even: bool = False
    loops_before: int | None = None


def size_of(mapping: Variables, group: Node) -> GroupSize:
    """Return the size of a thread group, with 1 for each number that only the run knows."""
    loops = mapping.number(group.value(_LOOPS), -1)
    ramp_s, hold_s = (seconds(mapping, group, name) for name in ("RampUp", "Hold"))
    pauses = pauses_of(mapping, group)
    stages, fed_back = stages_of(mapping, group), feedback_users(mapping, group)
    is_timed = _is_timed(mapping, group)
    is_endless = loops < 0 or group.value(_FOREVER) == "true"
    duration_s = None
    if stages:
        duration_s = round(sum(stage.over_s + stage.for_s for stage in stages))
    elif hold_s:
        duration_s = ramp_s + hold_s
    elif is_timed or is_endless or not group.value(_LOOPS):
        duration_s = max(1, mapping.number(group.value(_DURATION), _DEFAULT_DURATION_S) or _DEFAULT_DURATION_S)
    # A loop takes a millisecond at least.
    is_looped = is_timed and not is_endless and group.kind == "ThreadGroup" and 0 < loops < (duration_s or 0) * MS_PER_S
    users = fed_back or mapping.number(group.value("TargetLevel") or group.value(_USERS), 1)
    if stages:
        users = max(stage.users or 0 for stage in stages)
    return GroupSize(
        name=group.name,
        kind=group.kind,
        users=max(1, users),
        ramp_s=max(0, ramp_s or mapping.number(group.value(_RAMP), 1)),
        duration_s=duration_s,
        loops=max(1, loops) if duration_s is None else None,
        stages=stages,
        rate_per_s=rate_per_s(mapping, group),
        is_fed_back=fed_back is not None,
        think_time_s=pauses.think_time_s,
        own_pauses=pauses.are_own,
        delay_s=max(0, mapping.number(group.value(_DELAY), 0)) if is_timed and group.kind == "ThreadGroup" else 0,
        is_even=arrives_evenly(mapping, group),
        loops_before=loops if is_looped else None,
    )


def _is_timed(mapping: Variables, group: Node) -> bool:
    """Return whether JMeter heeds the duration and the start delay of a thread group."""
    return (mapping.known(group.value(_SCHEDULER)) or "").lower() == "true"


def preparing(mapping: Variables, groups: Sequence[Node]) -> list[Node]:
    """Return the groups that end after some loops, before an endless one begins: they prepare its data."""
    sizes = [size_of(mapping, group) for group in groups]
    endless = next((index for index, size in enumerate(sizes) if size.duration_s), 0)
    is_serialized = mapping.nodes[0].value(_SERIAL) == "true"
    return [group for group in groups[:endless] if is_serialized and group.kind == "ThreadGroup"]


def fix_groups(mapping: Variables, defaults: dict[str, str]) -> Iterator[Finding]:
    """Change kinds, names and numbers of the thread groups; yield those that cannot be mapped."""
    draft = mapping.draft
    for group in preparing(mapping, load_groups(mapping.nodes)):
        draft.set_kind(group, "SetupThreadGroup", "SetupThreadGroupGui", Fix.GROUPS)
    for group in mapping.nodes:
        if group.kind == "SetupThreadGroup" and "setUp" not in group.name:
            name = re.sub(r"(?i)\bset[ _-]?up\b", "setUp", group.name)
            rename(mapping, group, name if "setUp" in name else f"setUp {group.name}")
    groups = load_groups(mapping.nodes)
    sizes = [size_of(mapping, group) for group in groups]
    if not groups:
        what = "has no enabled thread group besides setUp and tearDown"
        yield Finding.at(mapping.nodes[0], Rule.LOAD_GROUPS, what, f"add a thread group named {LOAD_GROUP}")
    _set_defaults(sizes, defaults)
    if needs_tables(sizes):
        # [[load]] tables in the plan's TOML have their numbers, and each run writes them into the groups.
        for group, name in zip(groups, load_names(mapping, groups), strict=True):
            rename(mapping, group, name)
        for group, size in zip(groups, sizes, strict=True):
            yield from _replaced_users(mapping, group)
            yield from _lost_limits(mapping, group, size, size.loops)
        if mapping.nodes[0].value(_SERIAL) == "true":
            what = "runs its thread groups one after the other"
            what += "; a run with several loads starts them together, setUp first"
            todo = "put groups that need the ones before them into one group"
            yield Finding.at(mapping.nodes[0], Rule.LOAD_GROUPS, what, todo, _SERIAL)
        return
    for group, size in zip(groups, sizes, strict=True):
        yield from _lost_limits(mapping, group, size, None)
        rename(mapping, group, LOAD_GROUP)
        _map_numbers(mapping, group, defaults)
        fix_think_time(mapping, group, defaults["think_time_ms"])


def _replaced_users(mapping: Variables, group: Node) -> Iterator[Finding]:
    """Yield that a Concurrency Thread Group replaces its users who end; those of a run are not replaced."""
    if simple_kind(group) != CONCURRENCY:
        return
    ends = [node.name for node in mapping.nodes if node.thread_group in (None, group) and _ends_user(node)]
    if group.value("Iterations").strip():
        ends.append(f"Iterations = {group.value('Iterations').strip()}")
    if ends:
        what = f"replaces users who end ({', '.join(ends)}) by new ones; in a run each one repeats, or ends for good"
        todo = "let its users continue, or start the next iteration"
        yield Finding.at(group, Rule.ENDED_USERS, what, todo)


def _lost_limits(mapping: Variables, group: Node, size: GroupSize, lost_loops: int | None) -> Iterator[Finding]:
    """Yield what ends or limits the requests of a group in the JMX, and does not in a run; so do `lost_loops`."""
    loops = size.loops_before or lost_loops
    if loops and size.rate_per_s is None:
        before = f", even before its {size.duration_s} s are over" if size.loops_before else ""
        what = f"ends after {units.plural(loops, 'loop')}{before}; in a run it repeats them until its end"
        yield Finding.at(group, Rule.LOAD_GROUPS, what, "shorten its duration_s, or give a run --loops", _LOOPS)
    limit = mapping.number(group.value(_LIMIT), 0)
    if size.rate_per_s and 0 < limit < _LIMIT_S * size.rate_per_s:
        what = f"makes no arrival while {units.plural(limit, 'user')} are there; a run makes each one"
        yield Finding.at(group, Rule.LOAD_GROUPS, what, "expect more requests when answers are slow", _LIMIT)


def _ends_user(node: Node) -> bool:
    """Return whether an element may end its user before the load ends."""
    if node.is_thread_group:
        return node.value("ThreadGroup.on_sample_error") == "stopthread"
    if node.kind == "TestAction":
        return node.value("ActionProcessor.target") in _USER and node.value("ActionProcessor.action") in _STOPS
    if node.kind == "CSVDataSet":
        return node.value("stopThread") == "true" and node.value("recycle") == "false"
    return node.kind == "ResultAction" and node.value("OnError.action") == _STOP_USER


def needs_tables(sizes: Sequence[GroupSize]) -> bool:
    """Return whether the load needs [[load]] tables: it has several groups, or one with a schedule of a plugin."""
    return len(sizes) > 1 or any(size.kind != "ThreadGroup" for size in sizes)


def load_names(mapping: Variables, groups: Sequence[Node]) -> list[str]:
    """Return a name for each group of a [[load]] table: all differ, and none marks threads as setUp or tearDown."""
    names: list[str] = []
    for group in groups:
        name = mapping.known(group.name) or re.sub(r"\$\{([^{}]*)\}", r"\1", group.name)
        name = re.sub("setUp|tearDown", lambda match: match[0].lower(), name)
        base = name.strip() or "Users"
        numbered = (base if number == 1 else f"{base} ({number})" for number in count(1))
        names.append(next(name for name in numbered if name not in names))
    return names


def rename(mapping: Variables, group: Node, name: str) -> None:
    """Rename a thread group, also in the paths of Module Controllers: JMeter resolves those of disabled ones, too.

    The variable with the number of its iteration has its name, too.
    """
    if group.name == name:
        return
    old, new = f"__jm__{group.name}__idx", f"__jm__{name}__idx"
    is_only = sum(one.is_thread_group and one.name == group.name for one in mapping.nodes) == 1
    for node in mapping.nodes:
        if node.thread_group is group or (is_only and node.thread_group is None):
            for prop in (one for one in node.element.iter() if old in (one.text or "")):
                mapping.draft.set_text(prop, (prop.text or "").replace(old, new), Fix.GROUPS)
            mapping.draft.set_attribute(node, "testname", node.name.replace(old, new), Fix.GROUPS)
    for controller in mapping.draft.root.iter("ModuleController"):
        path = path_of(controller)
        if len(path) > 2 and path[2].text == group.name:
            mapping.draft.set_text(path[2], name, Fix.GROUPS)
    mapping.draft.set_attribute(group, "testname", name, Fix.GROUPS)


def fix_modules(mapping: Variables) -> None:
    """Correct the paths of Module Controllers that still have an earlier name of the Test Plan."""
    plan = mapping.nodes[0]
    for controller in mapping.draft.root.iter("ModuleController"):
        path = path_of(controller)
        if found_by(plan, path):
            mapping.draft.set_text(path[1], plan.name, Fix.MODULES)


def _set_defaults(sizes: Sequence[GroupSize], defaults: dict[str, str]) -> None:
    """Add the texts that plain JMeter uses: the numbers that the plan has now."""
    timed = [size.duration_s for size in sizes if size.duration_s]
    defaults.setdefault("users", str(sum(size.users for size in sizes) or 1))
    defaults.setdefault("ramp_s", str(max((size.ramp_s for size in sizes), default=1)))
    defaults.setdefault("duration_s", str(max(timed, default=0)))
    defaults.setdefault("loops", "-1" if timed else str(max((size.loops or 1 for size in sizes), default=1)))
    pause_s = sizes[0].think_time_s if sizes and not needs_tables(sizes) else None
    defaults.setdefault("think_time_ms", str(round((pause_s or 0) * MS_PER_S)))


def _map_numbers(mapping: Variables, group: Node, defaults: dict[str, str]) -> None:
    read = {name: f"${{__P({name},{text})}}" for name, text in defaults.items()}
    for name, reads in ((_USERS, "users"), (_RAMP, "ramp_s"), (_DURATION, "duration_s"), (_LOOPS, "loops")):
        mapping.map(group, name, read[reads], reads=reads, fix=Fix.LOAD)
    if group.value(_DELAY) and not _is_timed(mapping, group):
        mapping.draft.set_value(group, _DELAY, "0", Fix.LOAD)  # with the scheduler JMeter would heed it
    # JMeter takes an expression in a boolProp for false.
    mapping.draft.set_value(group, _SCHEDULER, f"${{__jexl3({read['duration_s']} > 0)}}", Fix.LOAD, tag="stringProp")
    mapping.draft.set_value(group, _FOREVER, "false", Fix.LOAD, tag="boolProp")
