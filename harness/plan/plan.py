"""Reads a named plan: plans/<name>.toml selects the JMX, the system, the default load and the goal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from harness.base import units
from harness.base.config import check_keys, did_you_mean, load_toml, within
from harness.base.errors import UsageError
from harness.base.install.plugin_list import PluginList, is_file_name
from harness.base.project import SHIPPED, folder_with
from harness.base.secrecy import is_secret_name, secret_values
from harness.base.tables import read_table, toml_key
from harness.plan.checks.advice import parse_silenced
from harness.plan.checks.allowances import Allowances, parse_allowances
from harness.plan.goal import Goal
from harness.plan.goal_input import read_goal
from harness.plan.jmx.headers import checked_headers
from harness.plan.jmx.thread_groups import (
    load_groups,
    paced_groups,
    schedule,
    think_default_s,
    think_times,
    with_loads,
    with_open_model,
)
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
    "loops": "--loops",
    "think_time_ms": "[load] think_time_s",
    "scheme": "--target",
    "host": "--target",
    "port": "--target",
    "base_path": "--target",
    "run_id": "the run's name",
    "generator": "PART",
    "dump_dir": "the run directory",
}

# The property of JMeter with which redirects and embedded resources have no rows of their own.
SUB_RESULTS = "jmeter.save.saveservice.subresults"


_DUMP_KEYS = "give label, file and path"


@dataclass(frozen=True)
class Dump:
    """A fact for the report: the value at `path` in the JSON `file` that the plan saves in the run directory."""

    label: str = toml_key(missing=_DUMP_KEYS)
    file: str = toml_key(missing=_DUMP_KEYS)
    path: tuple[str, ...] = toml_key(missing=_DUMP_KEYS)


@dataclass(frozen=True)
class _LoadTable:
    users: int = 0
    ramp_per_user_s: float = toml_key(0.0, least=0, most=DURATION_MAX_S)
    ramp_single_user_s: float | None = toml_key(None, least=0, most=DURATION_MAX_S)
    duration_s: float | None = toml_key(None, least=1, most=DURATION_MAX_S)
    loops: int | None = toml_key(None, least=1, most=LOOPS_MAX)
    requests: int | None = toml_key(None, least=1, most=REQUESTS_MAX)
    auto_most_s: float | None = toml_key(None, least=AUTO_LEAST_S, most=DURATION_MAX_S)
    think_time_s: float | None = toml_key(None, least=0, most=DURATION_MAX_S)
    think_time_per: str = REQUEST


@dataclass(frozen=True)
class _LabelsTable:
    once: tuple[str, ...] = ()


@dataclass(frozen=True)
class _EmbeddedTable:
    settings: Mapping[str, Any] = field(default_factory=dict)
    properties: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    secrets: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class _JMeterTable:
    plugins: tuple[str, ...] = ()


@dataclass(frozen=True)
class _CheckTable:
    silence: tuple[str, ...] = ()


_COMPLETE = "plans/README.md shows a complete plan"


@dataclass(frozen=True)
class _PlanFile:
    """The keys of plans/<name>.toml; what is a Mapping or a list is read by the module of its own."""

    is_file: ClassVar[bool] = True

    format_version: int
    title: str = toml_key(missing=_COMPLETE)
    shape: str = toml_key(missing=_COMPLETE)
    load: Mapping[str, Any] | list[Any] = toml_key(missing=_COMPLETE)
    system: str = ""
    job: list[Any] = field(default_factory=list)
    goal: Mapping[str, Any] | list[Any] = field(default_factory=dict)
    stop: Mapping[str, Any] = field(default_factory=dict)
    compare: Mapping[str, Any] = field(default_factory=dict)
    properties: Mapping[str, Any] = field(default_factory=dict)
    labels: _LabelsTable = _LabelsTable()
    dumps: tuple[Dump, ...] = toml_key((), each=_DUMP_KEYS)
    embedded: _EmbeddedTable = _EmbeddedTable()
    secrets: tuple[str, ...] = ()
    headers: Mapping[str, Any] = field(default_factory=dict)
    allow: Mapping[str, Any] = field(default_factory=dict)
    check: _CheckTable = _CheckTable()
    jmeter: _JMeterTable = _JMeterTable()


@dataclass(frozen=True)
class Plan:
    """plans/<name>.toml, validated against its JMX; the embedded parts apply only to a system started here.

    `secrets` are names of environment variables that JMeter reads; the embedded ones are the stand-in's own values.
    `secret_properties` are the names in `properties` whose values no run stores; `hidden` are values that no run
    stores. `headers` are those of all its requests; they may read environment variables. `allow` is what its JMX may do
    besides requests to the target. `stop` has the conditions that end a run early. `given` are the properties of the
    command line; `plugins` are Maven coordinates, files and addresses. `silenced` are the codes of the advice that
    `lth check` does not give. `jobs` run beside the load. `path` is that of the TOML.
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
    path: Path | None = field(default=None, compare=False)

    @property
    def own_files(self) -> tuple[str, ...]:
        """The files beside the plan that loads and jobs name and its JMX does not: data of tenants, bodies of jobs."""
        values = (value for load in self.load.loads for value in load.properties.values())
        relative = (value for value in values if not Path(value).is_absolute())
        data = (value for value in relative if (self.jmx_path.parent / value).is_file())
        return (*data, *(job.body_file for job in self.jobs if job.body_file))

    @property
    def plugin_list(self) -> PluginList:
        """The plugins, with the place of their lock file."""
        return PluginList(self.plugins, self.jmx_path.parent / f"{self.name}.toml")

    @property
    def plugin_files(self) -> tuple[str, ...]:
        """The jars beside the plan that it lists, and the lock file of the others."""
        lock = self.plugin_list.lock
        return (*filter(is_file_name, self.plugins), *([lock.name] if self.plugins and lock.is_file() else []))

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
            f"--plan={name}: {where}.jmx exists, but {where}.toml is missing",
            f"lth init --plan={bare} --fix writes it",
        )
    data = load_toml(plans_dir / f"{name}.toml", "--plan", name, SHIPPED / "plans")
    where = f"{plans_dir.name}/{name}.toml"
    file = read_table(_PlanFile, _changed(data, changes) if changes else data, where)
    embedded = file.embedded
    check_keys(embedded.secrets, dict.fromkeys(file.secrets, str), f"{where} [embedded.secrets]")
    jmx_path = _jmx_path(plans_dir, file.shape, where)
    known = read_properties(jmx_path)
    PluginList(file.jmeter.plugins, plans_dir / f"{name}.toml").check()
    properties = _properties(file.properties, known, f"{where} [properties]", file.shape)
    for dump in file.dumps:
        if Path(dump.file).is_absolute() or ".." in Path(dump.file).parts:
            what = f"{where} [[dumps]]: {dump.file!r} is not in the folder of the run"
            raise UsageError(what, "name a file that the plan saves there")
    jobs = parse_jobs(file.job, f"{where} [[job]]", plans_dir)
    private = {name: value for name, value in properties.items() if value != known.get(name)}
    return Plan(
        name=name,
        title=file.title,
        jmx_path=jmx_path,
        system=file.system,
        load=_load(file.load, where, jmx_path),
        goal=read_goal(file.goal, where),
        load_goals=parse_load_goals(file.load, f"{where} [[load]]") if isinstance(file.load, list) else {},
        stop=read_stop(file.stop, f"{where} [stop]"),
        thresholds=Thresholds().with_table(file.compare, f"{where} [compare]"),
        properties=properties,
        once_labels=file.labels.once,
        dumps=file.dumps,
        embedded_settings=embedded.settings,
        embedded_properties=_properties(embedded.properties, known, f"{where} [embedded.properties]", file.shape),
        embedded_note=embedded.note,
        secrets=file.secrets,
        embedded_secrets=embedded.secrets,
        secret_properties=tuple(name for name in private if is_secret_name(name)),
        hidden=secret_values(private.items()) + fixed_secrets(jmx_path) + secrets_of_jobs(jobs),
        allow=parse_allowances(file.allow, f"{where} [allow]"),
        plugins=file.jmeter.plugins,
        silenced=parse_silenced(file.check.silence, f"{where} [check] silence"),
        headers=checked_headers(file.headers, f"{where} [headers]"),
        jobs=jobs,
        path=plans_dir / f"{name}.toml",
    )


def _jmx_path(plans_dir: Path, shape: str, where: str) -> Path:
    todo = "name a .jmx file beside the plan"
    if "\0" in shape:
        raise UsageError(f"{where}: shape contains a NUL character", todo)
    if Path(shape).is_absolute() or ".." in Path(shape).parts:
        raise UsageError(f"{where}: shape {shape!r} is in another folder", todo)
    return plans_dir / shape


def _changed(data: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a plan's tables with a profile's changes; of duration_s and loops, a change replaces either.

    Of a plan with several loads a profile changes properties only.
    """
    if not all(isinstance(data.get(key, {}), dict | list) for key in ("load", "properties")):
        return dict(data)  # its reader says what is wrong
    if isinstance(data.get("load"), list):
        if keys := sorted(changes.keys() - {"properties"}):
            what = f"the profile changes {', '.join(keys)} of a plan with several loads"
            raise UsageError(what, "give --users, --rate or --duration instead: they scale all loads")
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


def _load(given: Mapping[str, Any] | list[Any], plan: str, jmx_path: Path) -> PlanLoad:
    """Return the load of [load], or those of several [[load]]."""
    paced = paced_groups(jmx_path)
    if isinstance(given, list):
        jmx = f"{jmx_path.parent.name}/{jmx_path.name}"
        loads = parse_loads(given, f"{plan} [[load]]", load_groups(jmx_path), jmx, think_times(jmx_path))
        loads = tuple(replace(load, is_paced=load.is_paced or load.thread_group in paced or None) for load in loads)
        duration_s = SeveralLoads(loads).duration_s
        # The think times are written into the thread groups.
        is_paced = bool(paced) or any(load.is_shaped for load in loads)
        return PlanLoad(total_users(loads) or 0, 0.0, duration_s, think_time_s=0.0, loads=loads, is_paced=is_paced)
    where = f"{plan} [load]"
    table = read_table(_LoadTable, given, where)
    if ("duration_s" in given) == ("loops" in given):
        raise UsageError(f"{where}: needs either duration_s or loops", "give the one that ends the load")
    within(table.users, 1, USERS_MAX, where, "users")
    return PlanLoad(
        users=table.users,
        ramp_per_user_s=float(table.ramp_per_user_s),
        duration_s=None if table.duration_s is None else float(table.duration_s),
        think_time_s=think_default_s(jmx_path) if table.think_time_s is None else float(table.think_time_s),
        loops=table.loops,
        requests=table.requests,
        ramp_single_user_s=table.ramp_single_user_s,
        auto_most_s=None if table.auto_most_s is None else float(table.auto_most_s),
        think_time_per=think_time_per(table.think_time_per, where) or REQUEST,
        is_paced=bool(paced),
    )


def _properties(table: Mapping[str, Any], known: Mapping[str, str | None], where: str, jmx_name: str) -> dict[str, str]:
    """Return -J properties as texts. UsageError for one that the JMX does not read: JMeter would ignore it silently."""
    for name in table:
        if name in SET_BY_THE_RUN:
            raise UsageError(f"{where}: {name} is set by the run", f"use {SET_BY_THE_RUN[name]} instead")
        if name == "user.classpath" and name not in known:
            raise UsageError(f"{where}: {name} is no property of a plan", 'use [jmeter] plugins = ["lib/NAME.jar"]')
        if name not in known and name != SUB_RESULTS:
            meant = did_you_mean(name, known)
            there = ", ".join(sorted(known.keys() - SET_BY_THE_RUN)) or "none"
            raise UsageError(f"{where}: {jmx_name} does not read the property {name}", f"{meant}it reads: {there}")
    check_keys(table, dict.fromkeys(table, (str, int, float)), where)
    return {name: value if isinstance(value, str) else units.number_text(value) for name, value in table.items()}
