"""Resolves the names on a command line to a plan, a profile, and a target or a system to start."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from harness.base import units
from harness.base.command import Command
from harness.base.errors import UsageError
from harness.base.project import FILE_NAME, Project, folder_with, read_project
from harness.base.secrecy import secret_values
from harness.base.secrets import environment_secrets, find_secrets
from harness.cloudwatch import queries
from harness.notify import settings as notify_settings
from harness.plan import spec as specs
from harness.plan.allowed_targets import check_allowed, check_hosts, check_reach
from harness.plan.goal import Goal
from harness.plan.goal_input import parse_goal
from harness.plan.http_sampler import LEAN, parse_sampler
from harness.plan.jmx.addresses import scheme_of
from harness.plan.jmx.headers import checked_headers, merged, parse_headers, secrets_of_headers, variables_in
from harness.plan.jmx.tree import enabled_nodes, plan_tree
from harness.plan.load.model import Load, Part, parse_part
from harness.plan.plan import Plan, is_address, is_jmx_path, load_plan
from harness.plan.properties import properties_text, with_properties
from harness.plan.spec import Profile, RunSpec, Target
from harness.run.arguments import run_command_of
from harness.run.consent import check_consent
from harness.run.parts.launchers import parse_places
from harness.run.parts.places import Place
from harness.run.powers import Subject
from harness.run.set_values import SetValues, sorted_values, with_settings
from harness.system.manifest import ConfiguredSystem, load_configured, system_names
from harness.system.system import Manifest, Settings


@dataclass(frozen=True)
class Request:
    """The plan, profile, and target or system of all runs of a command; port 0 is any free port.

    `manifest` is None for a plan without a system, which always has a target. `hidden` are the values that no file may
    contain: those of the plan's `secrets` and others.
    """

    plan: Plan
    profile: Profile
    target: Target | None
    port: int
    manifest: Manifest | None
    settings: Settings
    build: Path
    secrets: Mapping[str, str] = field(repr=False)
    hidden: tuple[str, ...] = field(repr=False)
    places: tuple[Place, ...] = ()
    part: Part | None = None
    is_profiled: bool = False
    set_values: SetValues = field(default_factory=SetValues)
    is_traced: bool = False
    sampler: str = LEAN
    # The command of one run with these options; its level, set by an experiment, is not in it.
    command: Command = field(default_factory=lambda: Command("run"))

    @property
    def properties(self) -> str:
        """The properties of the command line for a stored command: secrets are masked, those of --set left out."""
        return properties_text(self.plan, self.set_values.property_names)

    def run_spec(self, load: Load, *, note: str, command: str, series: str | None = None) -> RunSpec:
        """Return the spec of one run with this load; `command` repeats it."""
        return RunSpec(
            plan=self.plan,
            profile=self.profile,
            load=load,
            target=self.target,
            series=series,
            note=note,
            port=self.port,
            command=command,
            secrets=self.secrets,
            hidden=self.hidden,
            is_profiled=self.is_profiled,
            set_values=self.set_values.shown,
            is_traced=self.is_traced,
            options=self.command.values,
            part=self.part,
        )


def resolve_request(options: argparse.Namespace) -> Request:
    """Return the request that the options of a command describe; UsageError for an unknown name or a contradiction.

    Options that its verb does not take are not given.
    """
    names = _Given(**vars(options))
    home, build = names.home, names.build
    project = read_project(home)
    profile = specs.load_profile(folder_with(home, "env", names.env), names.env)
    # A wrong table is an error before the run, not after it.
    queries.requested(profile.cloudwatch, profile.name)
    notify_settings.requested(profile.notify, profile.name)
    profile = replace(profile, allowed_targets=(*profile.allowed_targets, *project.targets.values()))
    plan, target_text, moved_secrets = _found_plan(names, profile)
    names.target = target_text
    plan = _with_options(plan, names)
    _check_exclusions(names)
    if project.target and not names.target and not plan.system:
        names.target = project.target
    is_target_only = names.target and (names.part or not plan.system)
    check_hosts(plan.allow.hosts, plan.name, profile)
    target = _target(names, project, profile)
    part = parse_part(names.part) if names.part else None
    # Of a system that several parts load only the launcher records more than response times.
    profile = _with_password(replace(profile, database=None) if part else profile, home)
    places = parse_places(names.on) if names.on else ()
    check_reach([one.name for one in places if not one.is_here], target)
    system = None if is_target_only else configured_system(home, plan, profile)
    manifest = system.manifest if system else None
    plan, settings, given = _with_set(names, plan, system, is_target=target is not None)
    own_secrets = {} if target else plan.embedded_secrets
    secrets = find_secrets(plan.secrets, {**own_secrets, **moved_secrets}, home)
    public = manifest.settings if manifest else {}
    own_settings = [(name, value) for name, value in settings.items() if value != public[name]]
    request = Request(
        plan=plan,
        profile=profile,
        target=target,
        port=specs.parse_port(names.port) if names.port else 0,
        manifest=manifest,
        settings=settings,
        build=build,
        secrets=secrets,
        hidden=(*_hidden(plan, secrets, profile), *secret_values(own_settings)),
        places=places,
        part=part,
        is_profiled=bool(names.profile) or (profile.is_profiled and target is None),
        set_values=given,
        is_traced=bool(names.trace) or profile.is_traced,
        sampler=parse_sampler(names.sampler) if names.sampler else profile.sampler,
    )
    check_consent(_subject(request, names))
    return replace(request, command=run_command_of(options, request.hidden, request.properties))


class _WithSet(NamedTuple):
    """The plan and the settings of its system with the values of --set."""

    plan: Plan
    settings: Settings
    given: SetValues


def _with_set(names: _Given, plan: Plan, system: ConfiguredSystem | None, *, is_target: bool) -> _WithSet:
    manifest, settings = (system.manifest, system.settings) if system else (None, {})
    if not names.set:
        return _WithSet(plan, settings, SetValues())
    given = sorted_values(names.set, plan, manifest, system_names(names.home), is_target=is_target)
    plan = with_properties(plan, shlex.join(given.properties), where="")
    if manifest and given.settings:
        settings = with_settings(manifest, settings, given.settings, plan.embedded_settings)
    return _WithSet(plan, settings, given)


def _target(names: _Given, project: Project, profile: Profile) -> Target | None:
    """Return the target that is named, which must be allowed; None to start a system."""
    target = specs.parse_system(project.target_url(names.target)) if names.target else None
    if target:
        check_allowed(target, profile)
    return target


def _with_options(plan: Plan, names: _Given) -> Plan:
    """Return the plan with the options that change what it sends."""
    if names.properties:
        plan = with_properties(plan, names.properties)
    if names.think:
        plan = replace(plan, load=plan.load.with_think_time(units.parse_duration_s(names.think, "--think")))
    return plan


def _subject(request: Request, names: _Given) -> Subject:
    """Return what a command is about to use; `names` are those of its command line, or of a suite."""
    project, plan, name = read_project(names.home), request.plan, names.plan or ""
    is_request = bool(names.curl) or is_address(name)
    is_given = bool(names.target) and names.target not in project.targets and names.target != project.target
    is_typed = not names.is_from_file
    typed = {one.partition("=")[0].rpartition(".")[2] for one in request.set_values.settings if is_typed}
    return Subject(
        project=project,
        plan=plan,
        profile=request.profile,
        manifest=request.manifest,
        target=request.target,
        typed_variables=() if not is_typed else plan.secrets if is_request else variables_in(*(names.header or ())),
        is_plan_typed=is_typed and (is_request or is_jmx_path(name, folder_with(names.home, "plans", name))),
        is_target_typed=is_typed and is_given,
        settings={name: value for name, value in request.settings.items() if name not in typed},
    )


def _hidden(plan: Plan, secrets: Mapping[str, str], profile: Profile) -> Iterator[str]:
    """Yield what no file may contain: the secrets of a plan and of a profile."""
    yield from (*secrets.values(), *secrets_of_headers(plan.headers, secrets), *plan.hidden, *_secrets_outside(profile))


class _FoundPlan(NamedTuple):
    """A plan, the text of its target if one is given, and the secrets of a curl command by environment variable."""

    plan: Plan
    target: str | None
    secrets: Mapping[str, str]


class _Given(argparse.Namespace):
    """The options of a command; one that its verb does not take is None."""

    def __getattr__(self, name: str) -> Any:
        """Return None for an option that the verb does not take."""
        return None


def _found_plan(names: _Given, profile: Profile) -> _FoundPlan:
    """Return the plan with the headers of the project and the command line; one of an address has not the project's."""
    home, build, name, target = names.home, names.build, names.plan or "", names.target
    plans = folder_with(home, "plans", name)
    if is_address(name) and "curl" not in vars(names):
        raise UsageError(f"--plan={name}: {names.verb} needs a plan", f"make one: lth init NAME {name}")
    headers, secrets = read_project(home).headers, dict[str, str]()
    if names.curl or is_address(name):
        from harness.plan.adopt.one_request import first_request  # imported late: few runs are of an address

        if target:
            raise UsageError("--target and an address cannot be used together", "the address is the target")
        made = first_request(name, names.curl, build)
        plans, name, target, headers, secrets = made.folder, made.name, made.target.url, {}, dict(made.secrets)
    elif is_jmx_path(name, plans):
        from harness.plan.adopt.files import first_look  # imported late: few runs are of a JMX

        plans, name = first_look(Path(name), build)
    plan = load_plan(plans, name, profile.plan_changes.get(name))
    if (goal := read_project(home).goal) and plan.goal == Goal():
        plan = replace(plan, goal=parse_goal(goal, "goal in loadtest.toml"))
    headers = merged(
        checked_headers(headers, f"{FILE_NAME} [headers]"), plan.headers, parse_headers(names.header or ())
    )
    all_secrets = dict.fromkeys((*plan.secrets, *variables_in(*headers.values())))
    return _FoundPlan(replace(plan, headers=headers, secrets=tuple(all_secrets)), target, secrets)


def _check_exclusions(names: _Given) -> None:
    """Raise a UsageError for names that contradict each other."""
    if names.target and names.port:
        raise UsageError(f"--target and --port={names.port} cannot be used together", "give one")
    if names.target and names.profile:
        raise UsageError(
            "--profile and --target cannot be used together", "only a system that is started here can be profiled"
        )
    if names.on and names.part:
        raise UsageError(f"--on={names.on} and --part={names.part} cannot be used together", "give one")
    if names.part and not names.target:
        raise UsageError(
            f"--part={names.part}: the parts of a run load one system", "give its --target=http://host:port"
        )


def _secrets_outside(profile: Profile) -> tuple[str, ...]:
    """Return the secrets of neither plan nor system: of our environment, and of the profile's database."""
    password = profile.database.password if profile.database else ""
    return (*environment_secrets(), *filter(None, [password]))


def _with_password(profile: Profile, home: Path) -> Profile:
    """Return the profile with the password of its database, from the environment or secrets.toml."""
    database = profile.database
    if database is None or not database.password_name:
        return profile
    found = find_secrets((database.password_name,), {}, home, f"[database] of env/{profile.name}.toml")
    return replace(profile, database=replace(database, password=found[database.password_name]))


def configured_system(home: Path, plan: Plan, profile: Profile) -> ConfiguredSystem:
    """Return the system that the plan starts, and its settings; UsageError for a plan that only drives targets."""
    if not plan.system:
        todo = f"give --target={scheme_of(enabled_nodes(plan_tree(plan.jmx_path)))}://host:port of one that runs"
        raise UsageError(f"--plan={plan.name} has no system to start", todo)
    where = f"env/{profile.name}.toml"
    return load_configured(home, plan.system, profile.system_settings, where, plan.embedded_settings)
