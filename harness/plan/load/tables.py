"""Parses the [[load]] tables of a plan: the loads of several thread groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness.base import units
from harness.base.config import NUMBER, check_keys, did_you_mean, within
from harness.base.errors import UsageError
from harness.base.secrecy import is_secret_name
from harness.jtl.sample import JOB_MARK
from harness.plan.goal import Goal
from harness.plan.goal_input import parse_goal, read_goal
from harness.plan.load.groups import REQUEST, TENANT, TRANSACTION, GroupLoad, Stage
from harness.plan.load.model import DURATION_MAX_S, RATE_MAX_PER_S, USERS_MAX
from harness.plan.load.scaling import REQUESTS_LEAST_PER_S

_KEYS: Mapping[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("group", "think_time_per", "tenant"), str),
    **dict.fromkeys(("rate_per_s", "ramp_s", "duration_s", "think_time_s"), NUMBER),
    "users": int,
    "stages": list,
    "goal": (dict, str),
    "properties": dict,
}
_TIME = (int, float, str)
_STAGE_KEYS: Mapping[str, type | tuple[type, ...]] = {
    "users": int,
    "rate_per_s": NUMBER,
    "requests_per_s": NUMBER,
    "over": _TIME,
    "for": _TIME,
}
_SIZES = ("users", "rate_per_s", "stages")
_STAGE_SIZES = ("users", "rate_per_s", "requests_per_s")
_EXAMPLE = 'stages = [{users = 10, for = "1m"}, {users = 50, over = "30s", for = "2m"}]'
_SHAPED_EXAMPLE = 'users = 50 and stages = [{requests_per_s = 10, for = "1m"}, {requests_per_s = 90, over = "30s"}]'
# JMeter names threads after their group, and these texts in a name mark the threads of setUp and tearDown.
_SIDE_MARKS = ("setUp", "tearDown", JOB_MARK)


def parse_loads(
    tables: Sequence[Any], where: str, groups: Sequence[str], jmx: str, own_s: Mapping[str, float]
) -> tuple[GroupLoad, ...]:
    """Return the loads of [[load]] tables; UsageError unless each thread group of the JMX has one, or one per tenant.

    `groups` are the names of the enabled thread groups in the file `jmx`, without setUp and tearDown. `own_s` are think
    times of the JMX by thread group, which apply where a table has none.
    """
    longest_s = _longest_s(tables, where)
    loads = tuple(_of_tenant(_load(table, _named(table, where), longest_s, own_s), table, where) for table in tables)
    _check_groups(loads, where, groups, jmx)
    if not any(load.level for load in loads):
        raise UsageError(f"{where}: the loads have 0 users in all", "give one of them users or a rate")
    return loads


def parse_load_goals(tables: Sequence[Any], where: str) -> Mapping[str, Goal]:
    """Return the goals of [[load]] tables by thread group: a table as [goal], or a text as GOAL."""
    goals = {}
    for table in tables:
        if "goal" in table:
            read = parse_goal if isinstance(table["goal"], str) else read_goal
            goals[_name(table)] = read(table["goal"], f"{_named(table, where)} goal")
    return goals


def _named(table: Any, where: str) -> str:
    """Return how messages name a table: by its group."""
    if not isinstance(table, dict):
        raise UsageError(f"{where}: {table!r}", 'give tables: [[load]] with group = "…"')
    check_keys(table, _KEYS, where)
    if "group" not in table:
        raise UsageError(f"{where}: group is missing", "name the thread group of the JMX that this load drives")
    return f"{where} {_name(table)}"


def _name(table: Mapping[str, Any]) -> str:
    """Return the name of a load: its thread group, with its tenant."""
    return f"{table['group']} ({table['tenant']})" if "tenant" in table else str(table["group"])


def _of_tenant(load: GroupLoad, table: Mapping[str, Any], where: str) -> GroupLoad:
    """Return a load with its tenant and its values of properties."""
    properties, tenant = table.get("properties", {}), table.get("tenant")
    check_keys(properties, dict.fromkeys(properties, (str, int, float)), f"{_named(table, where)} properties")
    if secret := next(filter(is_secret_name, properties), ""):
        todo = "the plan's JMX may read it from an environment variable"
        raise UsageError(f"{_named(table, where)} properties: {secret} is a secret", todo)
    if name := next((name for name, value in properties.items() if "${" in str(value)), ""):
        raise UsageError(f"{_named(table, where)} properties: {name} is an expression", "give a value")
    if tenant is not None and not TENANT.fullmatch(tenant):
        raise UsageError(f"{_named(table, where)}: not a tenant", "use letters, digits, . _ and -")
    values = {name: value if isinstance(value, str) else units.number_text(value) for name, value in properties.items()}
    return replace(load, group=_name(table), tenant=tenant, properties=values)


def _longest_s(tables: Sequence[Any], where: str) -> float:
    """Return the length of the longest load that has a length; a load without one lasts as long."""
    known = []
    for table in tables:
        named = _named(table, where)
        if "stages" in table:
            known.append(sum(stage.over_s + stage.for_s for stage in _stages(table["stages"], named)))
        elif "duration_s" in table:
            known.append(table["duration_s"])
    if not known:
        raise UsageError(f"{where}: no load has a length", "give one of them duration_s or stages")
    return float(max(known))


def _load(table: Mapping[str, Any], where: str, longest_s: float, own_s: Mapping[str, float]) -> GroupLoad:
    stages = table.get("stages", ())
    if any(isinstance(stage, dict) and "requests_per_s" in stage for stage in stages):
        return _shaped_load(table, where)
    if sum(key in table for key in _SIZES) != 1:
        raise UsageError(f"{where}: needs one of {', '.join(_SIZES)}", "give users, or rate_per_s for an open load")
    think_time_s, per = table.get("think_time_s", own_s.get(table["group"], 0)), think_time_per(table, where)
    within(think_time_s, 0, DURATION_MAX_S, where, "think_time_s")
    think_time_s = float(think_time_s)
    per = per if think_time_s else None
    if "stages" in table:
        if wrong := [key for key in ("ramp_s", "duration_s") if key in table]:
            raise UsageError(f"{where}: has stages and {' and '.join(wrong)}", f"leave it out: {_EXAMPLE}")
        return GroupLoad(table["group"], _stages(table["stages"], where), think_time_s, per)
    duration_s, ramp_s = float(table.get("duration_s", longest_s)), float(table.get("ramp_s", 0))
    within(duration_s, 1, DURATION_MAX_S, where, "duration_s")
    within(ramp_s, 0, DURATION_MAX_S, where, "ramp_s")
    if ramp_s >= duration_s:
        what = f"{where}: ramp_s = {ramp_s:.12g} is not shorter than the load ({duration_s:.12g} s)"
        raise UsageError(what, "the ramp is part of the duration: give a longer duration_s or a shorter ramp_s")
    return GroupLoad(table["group"], (_stage(table, ramp_s, duration_s - ramp_s, where),), think_time_s, per)


def _shaped_load(table: Mapping[str, Any], where: str) -> GroupLoad:
    """Return a load whose stages are requests per second, which its users send."""
    if wrong := sorted(table.keys() - {"group", "users", "stages", "goal", "tenant", "properties"}):
        what = f"{where}: has stages of requests_per_s and {' and '.join(wrong)}"
        raise UsageError(what, f"leave it out, a timer sets the pauses: {_SHAPED_EXAMPLE}")
    if "users" not in table:
        raise UsageError(f"{where}: stages of requests_per_s need users, who send them", f"write {_SHAPED_EXAMPLE}")
    within(table["users"], 1, USERS_MAX, where, "users")
    stages = tuple(replace(stage, users=table["users"]) for stage in _stages(table["stages"], where))
    return GroupLoad(table["group"], stages, is_paced=True)


def think_time_per(table: Mapping[str, Any], where: str) -> str | None:
    """Return what a pause of [load] or [[load]] belongs to: `transaction`, or None for a request."""
    per = table.get("think_time_per", REQUEST)
    if per not in (REQUEST, TRANSACTION):
        raise UsageError(f'{where}: think_time_per = "{per}"', f'give "{REQUEST}" or "{TRANSACTION}"')
    return TRANSACTION if per == TRANSACTION else None


def _stage(table: Mapping[str, Any], over_s: float, for_s: float, where: str) -> Stage:
    key = next(key for key in _STAGE_SIZES if key in table)
    least = REQUESTS_LEAST_PER_S if key == "requests_per_s" else 0
    within(table[key], least, USERS_MAX if key == "users" else RATE_MAX_PER_S, where, key)
    level: dict[str, Any] = {key: table[key] if key == "users" else float(table[key])}
    return replace(Stage(None, None, over_s, for_s), **level)


def _stages(tables: Sequence[Any], where: str) -> tuple[Stage, ...]:
    """Return the stages of a load; UsageError unless all have users, or all have rates, and they take some time."""
    stages = []
    for number, table in enumerate(tables, 1):
        at = f"{where} stage {number}"
        if not isinstance(table, dict):
            raise UsageError(f"{at}: {table!r}", f"write {_EXAMPLE}")
        check_keys(table, _STAGE_KEYS, at)
        if sum(key in table for key in _STAGE_SIZES) != 1:
            raise UsageError(f"{at}: needs one of {', '.join(_STAGE_SIZES)}", f"write {_EXAMPLE}")
        over_s, for_s = (_seconds(table.get(key, 0), f"{at}: {key}") for key in ("over", "for"))
        if not over_s + for_s:
            raise UsageError(f"{at}: takes no time", f"write {_EXAMPLE}")
        stages.append(_stage(table, over_s, for_s, at))
    if not stages:
        raise UsageError(f"{where}: stages is empty", f"write {_EXAMPLE}")
    if len({(stage.users is None, stage.rate_per_s is None) for stage in stages}) > 1:
        todo = f"give all of them the same one of {', '.join(_STAGE_SIZES)}"
        raise UsageError(f"{where}: some stages have users, some a rate", todo)
    within(sum(stage.over_s + stage.for_s for stage in stages), 1, DURATION_MAX_S, where, "length of the stages")
    return tuple(stages)


def _seconds(value: float | str, where: str) -> float:
    seconds = units.parse_duration_s(value, where) if isinstance(value, str) else float(value)
    within(seconds, 0, DURATION_MAX_S, *where.rsplit(": ", 1))
    return seconds


def _check_groups(loads: Sequence[GroupLoad], where: str, groups: Sequence[str], jmx: str) -> None:
    """Raise a UsageError unless the loads name each thread group of the JMX once, or once per tenant."""
    there, names = ", ".join(groups) or "none", [load.group for load in loads]
    named = [load.thread_group for load in loads]
    for group, name in zip(named, names, strict=True):
        if side := next((mark for mark in _SIDE_MARKS if mark in name), ""):
            what = f"{where} {group}: JMeter counts threads with {side} in their name as those of {side}"
            raise UsageError(what, "give the thread group another name in the JMX and here")
        without = [load for load in loads if load.thread_group == group and load.tenant is None]
        if names.count(name) > 1 or (without and named.count(group) > 1):
            todo = "give it one load, or each load its own tenant"
            raise UsageError(f"{where} {name}: {named.count(group)} loads drive this thread group", todo)
        if group not in groups:
            todo = f"{did_you_mean(group, groups)}there are: {there}"
            raise UsageError(f"{where} {group}: {jmx} has no enabled thread group of this name", todo)
        if groups.count(group) > 1:
            what = f"{where} {group}: {groups.count(group)} thread groups of {jmx} have this name"
            raise UsageError(what, "give each a name of its own, by which the report distinguishes their samples")
    if missing := [group for group in groups if group not in named]:
        what = f"{where}: {', '.join(missing)}: no load drives this thread group of {jmx}"
        raise UsageError(what, f'add [[load]] with group = "{missing[0]}" (users = 0 leaves it out), or disable it')
