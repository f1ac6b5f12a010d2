"""Parses the [[load]] tables of a plan: the loads of several thread groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from harness.base import units
from harness.base.config import did_you_mean, within
from harness.base.errors import UsageError
from harness.base.secrecy import is_secret_name
from harness.base.tables import read_table, read_tables, toml_key
from harness.jtl.sample import JOB_MARK
from harness.plan.goal import Goal
from harness.plan.goal_input import parse_goal, read_goal
from harness.plan.load.groups import REQUEST, TENANT, TRANSACTION, GroupLoad, Stage
from harness.plan.load.model import DURATION_MAX_S, RATE_MAX_PER_S, USERS_MAX
from harness.plan.load.scaling import REQUESTS_LEAST_PER_S

_SIZES = ("users", "rate_per_s", "stages")
_STAGE_SIZES = ("users", "rate_per_s", "requests_per_s")
_EXAMPLE = 'stages = [{users = 10, for = "1m"}, {users = 50, over = "30s", for = "2m"}]'
_SHAPED_EXAMPLE = 'users = 50 and stages = [{requests_per_s = 10, for = "1m"}, {requests_per_s = 90, over = "30s"}]'
# JMeter names threads after their group, and these texts in a name mark the threads of setUp and tearDown.
_SIDE_MARKS = ("setUp", "tearDown", JOB_MARK)


@dataclass(frozen=True)
class _LoadTable:
    """The keys of a [[load]]; without `stages` it is one itself."""

    named_by: ClassVar[tuple[str, ...]] = ("group", "tenant")

    group: str = toml_key(missing="name the thread group of the JMX that this load drives")
    users: int | None = toml_key(None, least=0, most=USERS_MAX)
    rate_per_s: float | None = toml_key(None, least=0, most=RATE_MAX_PER_S)
    stages: list[Any] | None = None
    ramp_s: float | None = toml_key(None, least=0, most=DURATION_MAX_S)
    duration_s: float | None = toml_key(None, least=1, most=DURATION_MAX_S)
    think_time_s: float | None = toml_key(None, least=0, most=DURATION_MAX_S)
    think_time_per: str | None = None
    users_return: bool | None = None
    tenant: str | None = None
    goal: str | Mapping[str, Any] | None = None
    properties: Mapping[str, float | str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the load: its thread group, with its tenant."""
        return self.group if self.tenant is None else f"{self.group} ({self.tenant})"

    def given(self, *keys: str) -> list[str]:
        """Return those of the keys that have a value."""
        return [key for key in keys if getattr(self, key) is not None]


@dataclass(frozen=True)
class _StageTable:
    json_keys: ClassVar[Mapping[str, str]] = {"stays": "for"}

    users: int | None = toml_key(None, least=0, most=USERS_MAX)
    rate_per_s: float | None = toml_key(None, least=0, most=RATE_MAX_PER_S)
    requests_per_s: float | None = toml_key(None, least=REQUESTS_LEAST_PER_S, most=RATE_MAX_PER_S)
    over: float | str = 0.0
    stays: float | str = 0.0


def parse_loads(
    tables: Sequence[Any], where: str, groups: Sequence[str], jmx: str, own_s: Mapping[str, float]
) -> tuple[GroupLoad, ...]:
    """Return the loads of [[load]] tables; UsageError unless each thread group of the JMX has one, or one per tenant.

    `groups` are the names of the enabled thread groups in the file `jmx`, without setUp and tearDown. `own_s` are think
    times of the JMX by thread group, which apply where a table has none.
    """
    given = _read(tables, where)
    longest_s = _longest_s(given, where)
    loads = tuple(_of_tenant(_load(table, f"{where} {table.name}", longest_s, own_s), table, where) for table in given)
    _check_groups(loads, where, groups, jmx)
    if not any(load.level for load in loads):
        raise UsageError(f"{where}: the loads have 0 users in all", "give one of them users or a rate")
    return loads


def parse_load_goals(tables: Sequence[Any], where: str) -> Mapping[str, Goal]:
    """Return the goals of [[load]] tables by thread group: a table as [goal], or a text as GOAL."""
    goals = {}
    for table in _read(tables, where):
        if table.goal is not None:
            at = f"{where} {table.name} goal"
            goals[table.name] = parse_goal(table.goal, at) if isinstance(table.goal, str) else read_goal(table.goal, at)
    return goals


def _read(tables: Sequence[Any], where: str) -> tuple[_LoadTable, ...]:
    return read_tables(_LoadTable, tables, where, each='give tables: [[load]] with group = "…"')


def _of_tenant(load: GroupLoad, table: _LoadTable, where: str) -> GroupLoad:
    """Return a load with its tenant and its values of properties."""
    properties, named = table.properties, f"{where} {table.name}"
    if secret := next(filter(is_secret_name, properties), ""):
        todo = "the plan's JMX may read it from an environment variable"
        raise UsageError(f"{named} properties: {secret} is a secret", todo)
    if name := next((name for name, value in properties.items() if "${" in str(value)), ""):
        raise UsageError(f"{named} properties: {name} is an expression", "give a value")
    if table.tenant is not None and not TENANT.fullmatch(table.tenant):
        raise UsageError(f"{named}: not a tenant", "use letters, digits, . _ and -")
    values = {name: value if isinstance(value, str) else units.number_text(value) for name, value in properties.items()}
    return replace(load, group=table.name, tenant=table.tenant, properties=values)


def _longest_s(tables: Sequence[_LoadTable], where: str) -> float:
    """Return the length of the longest load that has a length; a load without one lasts as long."""
    known = []
    for table in tables:
        if table.stages is not None:
            known.append(sum(stage.over_s + stage.for_s for stage in _stages(table.stages, f"{where} {table.name}")))
        elif table.duration_s is not None:
            known.append(table.duration_s)
    if not known:
        raise UsageError(f"{where}: no load has a length", "give one of them duration_s or stages")
    return float(max(known))


def _load(table: _LoadTable, where: str, longest_s: float, own_s: Mapping[str, float]) -> GroupLoad:
    if any(isinstance(stage, dict) and "requests_per_s" in stage for stage in table.stages or ()):
        return _shaped_load(table, where)
    returns = table.users_return or None
    rates = (stage for stage in table.stages or () if isinstance(stage, dict) and "rate_per_s" in stage)
    if returns and table.rate_per_s is None and not any(rates):
        raise UsageError(f"{where}: users_return needs rate_per_s", "leave it out: the users of a closed load repeat")
    if len(table.given(*_SIZES)) != 1:
        raise UsageError(f"{where}: needs one of {', '.join(_SIZES)}", "give users, or rate_per_s for an open load")
    per = think_time_per(table.think_time_per or REQUEST, where)
    pause_s = float(own_s.get(table.group, 0) if table.think_time_s is None else table.think_time_s)
    per = per if pause_s else None
    if table.stages is not None:
        if wrong := table.given("ramp_s", "duration_s"):
            raise UsageError(f"{where}: has stages and {' and '.join(wrong)}", f"leave it out: {_EXAMPLE}")
        return GroupLoad(table.group, _stages(table.stages, where), pause_s, per, users_return=returns)
    duration_s = longest_s if table.duration_s is None else float(table.duration_s)
    ramp_s = float(table.ramp_s or 0)
    if ramp_s >= duration_s:
        what = f"{where}: ramp_s = {ramp_s:.12g} is not shorter than the load ({duration_s:.12g} s)"
        raise UsageError(what, "the ramp is part of the duration: give a longer duration_s or a shorter ramp_s")
    stage = Stage(table.users, _float(table.rate_per_s), ramp_s, duration_s - ramp_s)
    return GroupLoad(table.group, (stage,), pause_s, per, users_return=returns)


def _shaped_load(table: _LoadTable, where: str) -> GroupLoad:
    """Return a load whose stages are requests per second, which its users send."""
    if wrong := table.given("duration_s", "ramp_s", "rate_per_s", "think_time_per", "think_time_s", "users_return"):
        what = f"{where}: has stages of requests_per_s and {' and '.join(wrong)}"
        raise UsageError(what, f"leave it out, a timer sets the pauses: {_SHAPED_EXAMPLE}")
    if table.users is None:
        raise UsageError(f"{where}: stages of requests_per_s need users, who send them", f"write {_SHAPED_EXAMPLE}")
    within(table.users, 1, USERS_MAX, where, "users")
    stages = tuple(replace(stage, users=table.users) for stage in _stages(table.stages or [], where))
    return GroupLoad(table.group, stages, is_paced=True)


def think_time_per(text: str, where: str) -> str | None:
    """Return what a pause of [load] or [[load]] belongs to: `transaction`, or None for a request."""
    if text not in (REQUEST, TRANSACTION):
        raise UsageError(f'{where}: think_time_per = "{text}"', f'give "{REQUEST}" or "{TRANSACTION}"')
    return TRANSACTION if text == TRANSACTION else None


def _float(value: float | None) -> float | None:
    return None if value is None else float(value)


def _stages(tables: Sequence[Any], where: str) -> tuple[Stage, ...]:
    """Return the stages of a load; UsageError unless all have users, or all have rates, and they take some time."""
    stages = []
    for number, table in enumerate(tables, 1):
        at = f"{where} stage {number}"
        if not isinstance(table, dict):
            raise UsageError(f"{at}: {table!r}", f"write {_EXAMPLE}")
        given = read_table(_StageTable, table, at)
        if sum(getattr(given, key) is not None for key in _STAGE_SIZES) != 1:
            raise UsageError(f"{at}: needs one of {', '.join(_STAGE_SIZES)}", f"write {_EXAMPLE}")
        over_s, for_s = _seconds(given.over, f"{at}: over"), _seconds(given.stays, f"{at}: for")
        if not over_s + for_s:
            raise UsageError(f"{at}: takes no time", f"write {_EXAMPLE}")
        rates = _float(given.rate_per_s), _float(given.requests_per_s)
        stages.append(Stage(given.users, rates[0], over_s, for_s, rates[1]))
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
