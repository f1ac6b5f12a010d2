"""Reads a named plan: plans/<name>.toml selects the JMX, the system, the default load and the goal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from harness.base import units
from harness.base.config import NUMBER, check_keys, did_you_mean, load_toml, texts, within
from harness.base.errors import UsageError
from harness.base.project import SHIPPED, folder_with
from harness.base.secrecy import is_secret_name, secret_values
from harness.plan.checks.advice import parse_silenced
from harness.plan.checks.allowances import Allowances, parse_allowances
from harness.plan.goal import Goal
from harness.plan.goal_input import read_goal
from harness.plan.jmx.headers import checked_headers
from harness.plan.jmx.thread_groups import load_groups, paced_groups, schedule, with_loads, with_open_model
from harness.plan.jmx.tree import fixed_secrets, read_properties
from harness.plan.job import Job, parse_jobs, secrets_of_jobs
from harness.plan.load.groups import REQUEST, SeveralLoads, Stage, total_users
from harness.plan.load.model import (
    AUTO_LEAST_S,
    DURATION_MAX_S,
    LOOPS_MAX,
    REQUESTS_MAX,
    USERS_MAX,
    Load,
    OpenLoad,
    PlanLoad,
)
from harness.plan.load.tables import parse_load_goals, parse_loads, think_time_per
from harness.plan.stop import StopRule, read_stop
from harness.plan.thresholds import Thresholds

# Every run sets these from the load, the target and the run's name; it would override a plan's value.
SET_BY_THE_RUN = {
    "users": "[load] users",
    "ramp_s": "[load] ramp_per_user_s",
    "duration_s": "[load] duration_s",
    "loops": "LOOPS",
    "think_time_ms": "[load] think_time_s",
    "scheme": "TARGET",
    "host": "TARGET",
    "port": "TARGET",
    "base_path": "TARGET",
    "run_id": "the run's name",
    "generator": "PART",
    "dump_dir": "the run directory",
}

_LOAD_KEYS: Mapping[str, type | tuple[type, ...]] = {
    "users": int,
    "ramp_per_user_s": NUMBER,
    "ramp_single_user_s": NUMBER,
    "duration_s": NUMBER,
    "loops": int,
    "requests": int,
    "auto_most_s": NUMBER,
    "think_time_s": NUMBER,
    "think_time_per": str,
}
_KEYS: Mapping[str, type | tuple[type, ...]] = {
    "format_version": int,
    "title": str,
    "shape": str,
    "system": str,
    "load": (dict, list),
    "job": list,
    "goal": (dict, list),
    "stop": dict,
    "compare": dict,
    "properties": dict,
    "labels": dict,
    "dumps": list,
    "embedded": dict,
    "secrets": list,
    "headers": dict,
    "allow": dict,
    "check": dict,
    "jmeter": dict,
}
# The property of JMeter with which redirects and embedded resources have no rows of their own.
SUB_RESULTS = "jmeter.save.saveservice.subresults"
_PLUGIN = re.compile(r"[\w.-]+:[\w.-]+:[\w.-]+")


@dataclass(frozen=True)
class Dump:
    """A fact for the report: the value at `path` in the JSON `file` that the plan saves in the run directory."""

    label: str
    file: str
    path: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """plans/<name>.toml, validated against its JMX; the embedded parts apply only to a system started here.

    `secrets` are names of environment variables that JMeter reads; the embedded ones are the stand-in's own values.
    `secret_properties` are the names in `properties` whose values no run stores; `hidden` are values that no run
    stores. `headers` are those of all its requests; they may read environment variables. `allow` is what its JMX may do
    besides requests to the target. `stop` has the conditions that end a run early. `given` are the properties of the
    command line; `plugins` are Maven coordinates, group:artifact:version. `silenced` are the codes of the advice that
    `lth check` does not give. `jobs` run beside the load.
    """

    name: str
    title: str
    jmx_path: Path
    system: str
    load: PlanLoad
    goal: Goal
    thresholds: Thresholds
    properties: Mapping[str, str]
    once_labels: tuple[str, ...]
    dumps: tuple[Dump, ...]
    embedded_settings: Mapping[str, Any]
    embedded_properties: Mapping[str, str]
    embedded_note: str
    secrets: tuple[str, ...]
    embedded_secrets: Mapping[str, str]
    secret_properties: tuple[str, ...]
    hidden: tuple[str, ...] = field(repr=False)
    allow: Allowances = field(default_factory=Allowances)
    load_goals: Mapping[str, Goal] = field(default_factory=dict)
    stop: tuple[StopRule, ...] = ()
    given: Mapping[str, str] = field(default_factory=dict, repr=False)
    plugins: tuple[str, ...] = ()
    silenced: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    jobs: tuple[Job, ...] = ()

    @property
    def own_files(self) -> tuple[str, ...]:
        """The files beside the plan that loads and jobs name and its JMX does not: data of tenants, bodies of jobs."""
        values = (value for load in self.load.loads for value in load.properties.values())
        relative = (value for value in values if not Path(value).is_absolute())
        data = (value for value in relative if (self.jmx_path.parent / value).is_file())
        return (*data, *(job.body_file for job in self.jobs if job.body_file))

    def own_properties(self, *, is_embedded: bool) -> dict[str, str]:
        """Return the -J properties of the plan and of the command line, which overrides the plan."""
        return {**self.properties, **(self.embedded_properties if is_embedded else {}), **self.given}


def is_jmx_path(plan: str, plans: Path) -> bool:
    """Return whether PLAN is the path of a JMX, and not the file of a plan that exists."""
    path = Path(plan)
    is_planned = path.resolve().parent == plans.resolve() and path.with_suffix(".toml").is_file()
    return path.suffix == ".jmx" and ("/" in plan or path.is_file()) and not is_planned


def is_address(plan: str) -> bool:
    """Return whether PLAN is an address of which a plan is made."""
    return plan.lower().startswith(("http://", "https://"))


def thresholds_of(home: Path, names: Iterable[str]) -> Thresholds:
    """Return the thresholds of the first of these plans that a project or the tool has, else the default ones."""
    plans = ((folder_with(home, "plans", name), name) for name in names)
    found = next((plan for plan in plans if (plan[0] / f"{plan[1]}.toml").is_file()), None)
    return load_plan(*found).thresholds if found else Thresholds()


def load_plan(plans_dir: Path, name: str, changes: Mapping[str, Any] | None = None) -> Plan:
    """Return plans/<name>.toml. The UsageError lists the available plans, or names the wrong key.

    `changes` come from a profile: keys of [load], and a table of `properties`.
    """
    bare = Path(name).stem if Path(name).suffix in (".jmx", ".toml") else name
    if (plans_dir / f"{bare}.jmx").is_file() and not (plans_dir / f"{bare}.toml").is_file():
        where = f"{plans_dir.name}/{bare}"
        raise UsageError(
            f"PLAN={name}: {where}.jmx exists, but {where}.toml is missing",
            f"make init PLAN={bare} FIX=1 writes it",
        )
    data = load_toml(plans_dir / f"{name}.toml", "PLAN", name, SHIPPED / "plans")
    where = f"{plans_dir.name}/{name}.toml"
    check_keys(data, _KEYS, where)
    if changes:
        data = _changed(data, changes)
    for key in ("title", "shape", "load"):
        if key not in data:
            raise UsageError(f"{where}: {key} is missing", "plans/README.md shows a complete plan")
    labels, embedded = data.get("labels", {}), data.get("embedded", {})
    check_keys(labels, {"once": list}, f"{where} [labels]")
    check_keys(embedded, {"settings": dict, "properties": dict, "note": str, "secrets": dict}, f"{where} [embedded]")
    secrets = texts(data.get("secrets", []), f"{where} secrets")
    check_keys(embedded.get("secrets", {}), dict.fromkeys(secrets, str), f"{where} [embedded.secrets]")
    jmx_path = _jmx_path(plans_dir, data["shape"], where)
    known = read_properties(jmx_path)
    plugins = _plugins(data.get("jmeter", {}), f"{where} [jmeter]")
    properties = _properties(data.get("properties", {}), known, f"{where} [properties]", data["shape"])
    jobs = parse_jobs(data.get("job", []), f"{where} [[job]]", plans_dir)
    private = {name: value for name, value in properties.items() if value != known.get(name)}
    return Plan(
        name=name,
        title=data["title"],
        jmx_path=jmx_path,
        system=data.get("system", ""),
        load=_load(data["load"], where, jmx_path),
        goal=read_goal(data.get("goal", {}), where),
        load_goals=parse_load_goals(data["load"], f"{where} [[load]]") if isinstance(data["load"], list) else {},
        stop=read_stop(data.get("stop", {}), f"{where} [stop]"),
        thresholds=Thresholds().with_table(data.get("compare", {}), f"{where} [compare]"),
        properties=properties,
        once_labels=texts(labels.get("once", []), f"{where} [labels] once"),
        dumps=tuple(_dump(dump, f"{where} [[dumps]]") for dump in data.get("dumps", [])),
        embedded_settings=embedded.get("settings", {}),
        embedded_properties=_properties(
            embedded.get("properties", {}), known, f"{where} [embedded.properties]", data["shape"]
        ),
        embedded_note=embedded.get("note", ""),
        secrets=secrets,
        embedded_secrets=embedded.get("secrets", {}),
        secret_properties=tuple(name for name in private if is_secret_name(name)),
        hidden=secret_values(private.items()) + fixed_secrets(jmx_path) + secrets_of_jobs(jobs),
        allow=parse_allowances(data.get("allow", {}), f"{where} [allow]"),
        plugins=plugins,
        silenced=_silenced(data.get("check", {}), f"{where} [check]"),
        headers=checked_headers(data.get("headers", {}), f"{where} [headers]"),
        jobs=jobs,
    )


def _jmx_path(plans_dir: Path, shape: str, where: str) -> Path:
    if "\0" in shape:
        raise UsageError(f"{where}: shape contains a NUL character", "name a .jmx file beside the plan")
    return plans_dir / shape


def _changed(data: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a plan's tables with a profile's changes; of duration_s and loops, a change replaces either.

    Of a plan with several loads a profile changes properties only.
    """
    if isinstance(data.get("load"), list):
        if keys := sorted(changes.keys() - {"properties"}):
            what = f"the profile changes {', '.join(keys)} of a plan with several loads"
            raise UsageError(what, "give USERS, RATE or DURATION instead: they scale all loads")
        return {**data, "properties": {**data.get("properties", {}), **changes.get("properties", {})}}
    load = {**data.get("load", {}), **{key: value for key, value in changes.items() if key != "properties"}}
    for given, other in (("duration_s", "loops"), ("loops", "duration_s")):
        if given in changes and other not in changes:
            load.pop(other, None)
    return {**data, "load": load, "properties": {**data.get("properties", {}), **changes.get("properties", {})}}


def effective_jmx(jmx_path: Path, load: Load) -> bytes:
    """Return the JMX to run: the file itself for a closed load, with other thread groups for an open one or several."""
    if isinstance(load, SeveralLoads):
        return with_loads(jmx_path, load.loads)
    if not isinstance(load, OpenLoad):
        return jmx_path.read_bytes()
    stage = Stage(None, load.rate_per_s, load.ramp_s, load.duration_s - load.ramp_s)
    return with_open_model(jmx_path, schedule([stage]))


def _load(given: dict[str, Any] | list[Any], plan: str, jmx_path: Path) -> PlanLoad:
    """Return the load of [load], or those of several [[load]]."""
    paced = paced_groups(jmx_path)
    if isinstance(given, list):
        jmx = f"{jmx_path.parent.name}/{jmx_path.name}"
        loads = parse_loads(given, f"{plan} [[load]]", load_groups(jmx_path), jmx)
        loads = tuple(replace(load, is_paced=load.is_paced or load.thread_group in paced or None) for load in loads)
        duration_s = SeveralLoads(loads).duration_s
        # The think times are written into the thread groups.
        is_paced = bool(paced) or any(load.is_shaped for load in loads)
        return PlanLoad(total_users(loads) or 0, 0.0, duration_s, think_time_s=0.0, loads=loads, is_paced=is_paced)
    table, where = given, f"{plan} [load]"
    check_keys(table, _LOAD_KEYS, where)
    if ("duration_s" in table) == ("loops" in table):
        raise UsageError(f"{where}: needs either duration_s or loops", "give the one that ends the load")
    within(table.get("users", 0), 1, USERS_MAX, where, "users")
    for key, most in (("duration_s", DURATION_MAX_S), ("loops", LOOPS_MAX), ("requests", REQUESTS_MAX)):
        within(table.get(key, 1), 1, most, where, key)
    within(table.get("auto_most_s", AUTO_LEAST_S), AUTO_LEAST_S, DURATION_MAX_S, where, "auto_most_s")
    for key in ("ramp_per_user_s", "ramp_single_user_s", "think_time_s"):
        within(table.get(key, 0), 0, DURATION_MAX_S, where, key)
    return PlanLoad(
        users=table["users"],
        ramp_per_user_s=float(table.get("ramp_per_user_s", 0)),
        duration_s=float(table["duration_s"]) if "duration_s" in table else None,
        think_time_s=float(table.get("think_time_s", 0)),
        loops=table.get("loops"),
        requests=table.get("requests"),
        ramp_single_user_s=table.get("ramp_single_user_s"),
        auto_most_s=float(table["auto_most_s"]) if "auto_most_s" in table else None,
        think_time_per=think_time_per(table, where) or REQUEST,
        is_paced=bool(paced),
    )


def _properties(table: dict[str, Any], known: Mapping[str, str | None], where: str, jmx_name: str) -> dict[str, str]:
    """Return -J properties as texts. UsageError for one that the JMX does not read: JMeter would ignore it silently."""
    for name in table:
        if name in SET_BY_THE_RUN:
            raise UsageError(f"{where}: {name} is set by the run", f"use {SET_BY_THE_RUN[name]} instead")
        if name not in known and name != SUB_RESULTS:
            meant = did_you_mean(name, known)
            there = ", ".join(sorted(known.keys() - SET_BY_THE_RUN)) or "none"
            raise UsageError(f"{where}: {jmx_name} does not read the property {name}", f"{meant}it reads: {there}")
    check_keys(table, dict.fromkeys(table, (str, int, float)), where)
    return {name: value if isinstance(value, str) else units.number_text(value) for name, value in table.items()}


def _plugins(table: dict[str, Any], where: str) -> tuple[str, ...]:
    check_keys(table, {"plugins": list}, where)
    plugins = texts(table.get("plugins", []), f"{where} plugins")
    for plugin in plugins:
        if not _PLUGIN.fullmatch(plugin):
            todo = 'give group:artifact:version, such as "kg.apc:jmeter-plugins-functions:2.1"'
            raise UsageError(f"{where} plugins: {plugin!r} is no Maven coordinate", todo)
    return plugins


def _silenced(table: dict[str, Any], where: str) -> tuple[str, ...]:
    check_keys(table, {"silence": list}, where)
    return parse_silenced(texts(table.get("silence", []), f"{where} silence"), f"{where} silence")


def _dump(table: object, where: str) -> Dump:
    if not isinstance(table, dict):
        raise UsageError(f"{where}: {table!r}", "give label, file and path")
    check_keys(table, {"label": str, "file": str, "path": list}, where)
    for key in ("label", "file", "path"):
        if key not in table:
            raise UsageError(f"{where}: {key} is missing", "give label, file and path")
    return Dump(table["label"], table["file"], texts(table["path"], f"{where} path"))
