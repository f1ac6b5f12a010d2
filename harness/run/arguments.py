"""The command-line options shared by all commands that run a load, and the request they make."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.base import toolchain, units
from harness.base.errors import UsageError
from harness.base.secrecy import secret_values
from harness.base.secrets import environment_secrets, find_secrets
from harness.plan import spec as specs
from harness.plan.allowed_targets import check_allowed, check_hosts
from harness.plan.goal import Goal
from harness.plan.plan import Plan, load_plan
from harness.plan.spec import Profile, Target
from harness.run.remote.keys import FOLDER_NAME as KEYS_FOLDER
from harness.run.remote.load import Remote, check_reach, parse_remotes
from harness.system.manifest import load_configured
from harness.system.system import Manifest, Settings

DEFAULT_PLAN, DEFAULT_PROFILE = "killbill-stripe", "local"
_TIME_MAX_MS = 3_600_000


@dataclass(frozen=True)
class Asked:
    """What all runs of a command share: plan, profile, and the target or the system to start; port 0 is any.

    `manifest` is None for a plan that has no system, and always a target. `hidden` are the values that nothing keeps,
    those of the plan's `secrets` and others.
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
    remotes: tuple[Remote, ...] = ()


def add_traffic(parser: argparse.ArgumentParser) -> None:
    """Add the plan and its profile; every value is text and checked later."""
    parser.add_argument("--plan", default=DEFAULT_PLAN, help=f"plan plans/<PLAN>.toml ({DEFAULT_PLAN})")
    profile = f"profile env/<ENV>.toml: heap sizes and settings ({DEFAULT_PROFILE})"
    parser.add_argument("--env", default=DEFAULT_PROFILE, help=profile)


def add_length(parser: argparse.ArgumentParser) -> None:
    """Add the length of a run and its target."""
    option = parser.add_argument
    option("--ramp", help="ramp-up, part of the duration: 25, 25s, 2m (the plan's default)")
    option("--duration", help="duration with its ramp-up: 100, 100s, 4h; for one run also auto (the plan's default)")
    option("--loops", help="loops per user, instead of --duration")
    option("--requests", help="end the load after about this many samples (the plan's default)")
    option("--target", help="address of a running system, http://host:8080; no system is started")
    option("--port", help="port of the system that is started (a free one)")


def add_goal(parser: argparse.ArgumentParser) -> None:
    """Add the goal that replaces the plan's goal."""
    option = parser.add_argument
    option("--p90", help="goal: p90 of at most this many ms (the plan's goal, when no time is given)")
    option("--average", help="goal: average of at most this many ms")
    option("--errors", help="goal: at most this share of failed samples, such as 1%% (the plan's goal)")


def goal_of(options: argparse.Namespace, plans: Goal) -> Goal:
    """Return the goal: what was given; of times and of errors each the plan's where nothing was."""
    p90_ms = units.parse_whole_number(options.p90, "P90", 1, _TIME_MAX_MS) if options.p90 else None
    average_ms = units.parse_whole_number(options.average, "AVERAGE", 1, _TIME_MAX_MS) if options.average else None
    error_ratio = units.parse_percent_ratio(options.errors, "ERRORS") if options.errors else plans.error_ratio
    if p90_ms is None and average_ms is None:
        return replace(plans, error_ratio=error_ratio)
    return Goal(p90_ms=p90_ms, error_ratio=error_ratio, average_ms=average_ms)


def add_remotes(parser: argparse.ArgumentParser) -> None:
    """Add the load generators that replace the JMeter of this machine."""
    option = parser.add_argument
    option("--remotes", help="load generators that share the load, host:port,host:port; make generator starts one")
    add_keys(parser)


def add_keys(parser: argparse.ArgumentParser) -> None:
    """Add the folder of the load generators' keys."""
    keys = f"folder of the load generators' keys ({KEYS_FOLDER}/)"
    parser.add_argument("--keys", type=Path, default=toolchain.ROOT / KEYS_FOLDER, help=keys)


def add_sure(parser: argparse.ArgumentParser) -> None:
    """Add the option that gives a DOUBTFUL run the exit code of an INVALID one."""
    parser.add_argument("--sure", action="store_true", help="exit code 3 also when a run is DOUBTFUL")


def add_places(parser: argparse.ArgumentParser) -> None:
    """Add the report's note, and the folders."""
    option = parser.add_argument
    option("--note", default="", help="text for the notes in the report")
    reports = "folder of the run directories (reports/)"
    option("--reports", type=_folder, default=toolchain.ROOT / "reports", help=reports)
    option("--home", type=Path, default=toolchain.ROOT, help="folder of plans/, env/ and systems/ (this one)")
    option("--build", type=Path, default=toolchain.BUILD, help=argparse.SUPPRESS)


def _folder(text: str) -> Path:
    """Return a path that means the same to programs that work in folders of their own, such as a system's JVM."""
    return Path(text).resolve()


def refuse_empty(options: argparse.Namespace) -> None:
    """Raise a UsageError for an option without a value: a variable of a script that was never set."""
    for name, value in vars(options).items():
        if isinstance(value, str) and not value.strip() and name != "note":
            raise UsageError(f"--{name} is empty", "give a value, or leave the option out")


def asked_of(
    home: Path, build: Path, plan: str, env: str, target: str | None, port: str | None, remotes: str | None = None
) -> Asked:
    """Return what these names and texts come to; UsageError when one is unknown or they make no sense together."""
    profile = specs.load_profile(home / "env", env)
    found = load_plan(home / "plans", plan, profile.plan_changes.get(plan))
    if target and port:
        raise UsageError(f"TARGET and PORT={port} exclude each other", "give one")
    is_target_only = target and not found.system
    check_hosts(found.allow.hosts, found.name, profile)
    there = specs.parse_target(target) if target else None
    if there:
        check_allowed(there, profile)
    generators = parse_remotes(remotes) if remotes else ()
    check_reach(generators, there)
    manifest, settings = (None, {}) if is_target_only else configured_system(home, found, profile)
    secrets = find_secrets(found.secrets, {} if target else found.embedded_secrets, home)
    public = manifest.settings if manifest else {}
    own_settings = [(name, value) for name, value in settings.items() if value != public[name]]
    return Asked(
        plan=found,
        profile=profile,
        target=there,
        port=specs.parse_port(port) if port else 0,
        manifest=manifest,
        settings=settings,
        build=build,
        secrets=secrets,
        hidden=(*secrets.values(), *found.hidden, *secret_values(own_settings), *environment_secrets()),
        remotes=generators,
    )


def configured_system(home: Path, plan: Plan, profile: Profile) -> tuple[Manifest, Settings]:
    """Return the system that the plan starts, and its settings; UsageError for a plan that only drives targets."""
    if not plan.system:
        raise UsageError(f"PLAN={plan.name} has no system to start", "give TARGET=http://host:port of one that runs")
    where = f"env/{profile.name}.toml"
    return load_configured(home / "systems", plan.system, profile.system_settings, where, plan.embedded_settings)


def make_command(verb: str, values: Mapping[str, str | None]) -> str:
    """Return the make command with the variables that have a value, and the profile unless it is the default."""
    words = [f"{name.upper()}={value}" for name, value in values.items() if value]
    return " ".join(["make", verb, *(word for word in words if word != f"ENV={DEFAULT_PROFILE}")])
