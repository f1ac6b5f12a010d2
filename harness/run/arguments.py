"""The command-line options that every command which drives a system takes."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from harness.base import toolchain
from harness.base.errors import UsageError
from harness.plan.goal import GoalArguments
from harness.run.remote.keys import FOLDER_NAME as KEYS_FOLDER
from harness.run.request import Names

DEFAULT_PLAN, DEFAULT_PROFILE = "killbill-stripe", "local"


def add_traffic(parser: argparse.ArgumentParser) -> None:
    """Add the plan and its profile; every value is a text, checked later."""
    parser.add_argument("--plan", default=DEFAULT_PLAN, help=f"plans/<PLAN>.toml ({DEFAULT_PLAN})")
    profile = f"profile env/<ENV>.toml: sizes of system and generator ({DEFAULT_PROFILE})"
    parser.add_argument("--env", default=DEFAULT_PROFILE, help=profile)


def add_length(parser: argparse.ArgumentParser) -> None:
    """Add how long a run is and what it runs against."""
    option = parser.add_argument
    option("--ramp", help="time until all users run: 25, 25s, 2m; part of the duration (the plan's default)")
    option(
        "--duration", help="length of the load with its ramp: 100, 100s, 4h; of a run also auto (the plan's default)"
    )
    option("--loops", help="loops per user, instead of --duration")
    option("--requests", help="the load ends after about so many samples, if not before (the plan's default)")
    option("--target", help="address of a running system, http://host:8080; nothing is started here")
    option("--port", help="port of the system that is started here (a free one)")


def add_goal(parser: argparse.ArgumentParser) -> None:
    """Add what takes the place of the plan's goal."""
    option = parser.add_argument
    option("--p90", help="goal: the 90 %% line is up to so many ms (the plan's goal, when no time is given)")
    option("--average", help="goal: the average is up to so many ms")
    option("--errors", help="goal: up to so many samples fail, such as 1%% (the plan's goal)")


def goal_arguments(options: argparse.Namespace) -> GoalArguments:
    """Return what the options say of the goal."""
    return GoalArguments(options.p90, options.average, options.errors)


def add_remotes(parser: argparse.ArgumentParser) -> None:
    """Add the generators that drive in place of this machine's JMeter."""
    option = parser.add_argument
    option("--remotes", help="generators that share the load, host:port,host:port; make generator starts one")
    add_keys(parser)


def add_keys(parser: argparse.ArgumentParser) -> None:
    """Add where the keys of generators are."""
    keys = f"folder of the generators' keys ({KEYS_FOLDER}/)"
    parser.add_argument("--keys", type=Path, default=toolchain.ROOT / KEYS_FOLDER, help=keys)


def add_sure(parser: argparse.ArgumentParser) -> None:
    """Add what makes a DOUBTFUL run end with the exit code of an INVALID one."""
    parser.add_argument("--sure", action="store_true", help="exit code 3 also when a run is DOUBTFUL")


def add_places(parser: argparse.ArgumentParser) -> None:
    """Add the report's note, and where things are."""
    option = parser.add_argument
    option("--note", default="", help="text for the report's notes block")
    reports = "where run directories go (reports/)"
    option("--reports", type=_folder, default=toolchain.ROOT / "reports", help=reports)
    option("--home", type=Path, default=toolchain.ROOT, help="folder that holds plans/, env/ and systems/ (this one)")
    option("--build", type=Path, default=toolchain.BUILD, help=argparse.SUPPRESS)


def _folder(text: str) -> Path:
    """Return a path that means the same to programs that work in folders of their own, such as a system's JVM."""
    return Path(text).resolve()


def refuse_empty(options: argparse.Namespace) -> None:
    """Raise a UsageError for an option without a value: a variable of a script that was never set."""
    for name, value in vars(options).items():
        if isinstance(value, str) and not value.strip() and name != "note":
            raise UsageError(f"--{name} is empty", "give a value, or leave the option out")


def names_of(options: argparse.Namespace) -> Names:
    """Return what the options name."""
    return Names(options.plan, options.env, options.target, options.port, options.remotes)


def make_command(verb: str, values: Mapping[str, str | None]) -> str:
    """Return the make command with the variables that have a value, and the profile unless it is the default."""
    words = [f"{name.upper()}={value}" for name, value in values.items() if value]
    return " ".join(["make", verb, *(word for word in words if word != f"ENV={DEFAULT_PROFILE}")])
