"""The command-line options shared by all commands that run a load."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.base import toolchain
from harness.base.errors import UsageError
from harness.plan.goal import option_metrics
from harness.plan.goal_input import GOAL_OPTION, goal_names
from harness.run.remote.keys import FOLDER_NAME as KEYS_FOLDER
from harness.run.request import Names

DEFAULT_PLAN, DEFAULT_PROFILE = "killbill-stripe", "local"
# Leaks show themselves over hours.
SOAK_DURATION = "8h"


def add_traffic(parser: argparse.ArgumentParser) -> None:
    """Add the options of the plan and profile; values are checked later."""
    parser.add_argument(
        "--plan", default=DEFAULT_PLAN, help=f"plan plans/<PLAN>.toml ({DEFAULT_PLAN}), or the path of a JMX"
    )
    profile = f"profile env/<ENV>.toml: heap sizes and settings ({DEFAULT_PROFILE})"
    parser.add_argument("--env", default=DEFAULT_PROFILE, help=profile)


def add_plan_alone(parser: argparse.ArgumentParser, target: str) -> None:
    """Add the options of a command that uses a plan without a load; `target` is the help of --target."""
    add_traffic(parser)
    add_properties(parser)
    parser.add_argument("--target", help=target)
    add_home(parser)


def add_length(parser: argparse.ArgumentParser) -> None:
    """Add the options of the length of a run and its target."""
    option = parser.add_argument
    option("--ramp", help="ramp-up, part of the duration: 25, 25s, 2m (the plan's default)")
    option("--duration", help="duration with its ramp-up: 100, 100s, 4h; for one run also auto (the plan's default)")
    option("--loops", help="loops per user, instead of --duration")
    option("--requests", help="end the load after about this many samples (the plan's default)")
    option("--target", help="address of a running system, http://host:8080; no system is started")
    option("--port", help="port of the system that is started (a free one)")


def add_goal(parser: argparse.ArgumentParser) -> None:
    """Add the options of the goal, which replaces the plan's goal."""
    example = "'p95<1500, errors<1%%, Check-Out: p99<3s, throughput>100/s'"
    text = f"goals instead of the plan's: {example}; a label may be a regular expression of whole labels"
    parser.add_argument(f"--{GOAL_OPTION}", help=text)
    for metric in option_metrics():
        if metric.is_share:
            text = "goal: at most this share of failed samples, such as 1%% (the plan's goal)"
        else:
            text = f"goal: {metric.name} of at most this many ms (the plan's goal, when no time is given)"
        parser.add_argument(f"--{metric.name}", help=text)


def add_stop(parser: argparse.ArgumentParser) -> None:
    """Add the option of the conditions that end a run early."""
    text = "end a run early: 'errors>50%% for 10s, p90>5s for 30s'; none ignores the plan's [stop]"
    parser.add_argument("--stop", help=text)


def goal_arguments(options: argparse.Namespace) -> Mapping[str, str | None]:
    """Return the texts of the goal's options, by name."""
    return {name: getattr(options, name) for name in goal_names()}


def add_remotes(parser: argparse.ArgumentParser) -> None:
    """Add the options of the load generators, which replace the JMeter of this machine."""
    option = parser.add_argument
    option("--remotes", help="load generators that share the load, host:port,host:port; make generator starts one")
    add_keys(parser)


def add_keys(parser: argparse.ArgumentParser) -> None:
    """Add the option of the folder of the load generators' keys."""
    keys = f"folder of the load generators' keys ({KEYS_FOLDER}/)"
    parser.add_argument("--keys", type=Path, default=toolchain.ROOT / KEYS_FOLDER, help=keys)


def add_properties(parser: argparse.ArgumentParser) -> None:
    """Add the option of further JMeter properties."""
    text = (
        'JMeter properties (-J), separated by spaces: "amount=25 httpclient4.retrycount=1"; quote a value with spaces'
    )
    parser.add_argument("--properties", help=text)


def add_profile(parser: argparse.ArgumentParser) -> None:
    """Add the option that profiles the system's JVMs."""
    text = "profile the system's JVMs: methods, locks, allocations, garbage collections (docs/profile.md)"
    parser.add_argument("--profile", action="store_true", help=text)


def add_set(parser: argparse.ArgumentParser) -> None:
    """Add the option of settings of the system and properties of the plan."""
    text = (
        "settings of the system and properties of the plan, instead of those of profile and plan: "
        "'killbill.plugin_threads=30 authorize_amount=25'"
    )
    parser.add_argument("--set", help=text)


def add_trace(parser: argparse.ArgumentParser) -> None:
    """Add the option that gives each HTTP request a traceparent header."""
    text = "give each HTTP request a W3C traceparent header of its own; its id is in the JTL and the report"
    parser.add_argument("--trace", action="store_true", help=text)


def add_soak(parser: argparse.ArgumentParser) -> None:
    """Add the option of a long run that looks for leaks."""
    text = (
        f"look for leaks: heap histograms before, in the middle of and after the load, each after a full garbage "
        f"collection; {SOAK_DURATION} without --duration, --loops or --requests (docs/soak.md)"
    )
    parser.add_argument("--soak", action="store_true", help=text)


def add_sure(parser: argparse.ArgumentParser) -> None:
    """Add the option that gives a DOUBTFUL run the exit code of an INVALID one."""
    parser.add_argument("--sure", action="store_true", help="exit code 3 also when a run is DOUBTFUL")


def add_home(parser: argparse.ArgumentParser) -> None:
    """Add the option of the folder of plans, profiles and systems."""
    text = "folder of plans/, env/ and systems/ (this one)"
    parser.add_argument("--home", type=Path, default=toolchain.ROOT, help=text)


def add_folders(parser: argparse.ArgumentParser) -> None:
    """Add the options of the report's note and the folders."""
    option = parser.add_argument
    option("--note", default="", help="text for the notes in the report")
    reports = "folder of the run directories (reports/)"
    option("--reports", type=_folder, default=toolchain.ROOT / "reports", help=reports)
    add_home(parser)
    option("--build", type=Path, default=toolchain.BUILD, help=argparse.SUPPRESS)


def _folder(text: str) -> Path:
    """Return an absolute path; processes with another working directory, such as a system's JVM, use it too."""
    return Path(text).resolve()


def refuse_empty(options: argparse.Namespace) -> None:
    """Raise a UsageError for an option with an empty value, such as an unset variable of a script."""
    for name, value in vars(options).items():
        if isinstance(value, str) and not value.strip() and name != "note":
            raise UsageError(f"--{name} is empty", "give a value, or leave the option out")


def names_of(options: argparse.Namespace) -> Names:
    """Return the names in the options."""
    given: dict[str, Any] = {"properties": getattr(options, "properties", None)}
    given["set_values"] = getattr(options, "set", None)
    given["is_profiled"] = getattr(options, "profile", False)
    given["is_traced"] = getattr(options, "trace", False)
    given["is_soak"] = getattr(options, "soak", False)
    return Names(options.plan, options.env, options.target, options.port, options.remotes, **given)


def make_command(verb: str, values: Mapping[str, str | None]) -> str:
    """Return the make command with the variables that have a value, and the profile unless it is the default.

    A value with blanks or signs of the shell is quoted.
    """
    variables = [f"{name.upper()}={shlex.quote(value)}" for name, value in values.items() if value]
    return " ".join(["make", verb, *(variable for variable in variables if variable != f"ENV={DEFAULT_PROFILE}")])
