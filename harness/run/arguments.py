"""The command-line options shared by all commands that run a load."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping
from typing import Any

from harness.base.errors import UsageError
from harness.base.project import CHECKOUT, DEFAULT_PROFILE, current_project
from harness.plan.goal_input import goal_names
from harness.plan.plan import is_address
from harness.run.request import Names

# Options that are on or off, as the values of `make_command` have them.
_FLAGS = {("--fresh", "1"), ("--profile", "1"), ("--trace", "1")}
# Leaks show themselves over hours.
SOAK_DURATION = "8h"


def goal_arguments(options: argparse.Namespace) -> Mapping[str, str | None]:
    """Return the texts of the goal's options, by name."""
    return {name: getattr(options, name) for name in goal_names()}


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
    given |= {name: getattr(options, name, None) for name in ("target", "port", "remotes", "sampler", "on", "part")}
    given |= {"headers": tuple(getattr(options, "header", ())), "curl": getattr(options, "curl", None)}
    if is_address(options.plan or "") and not hasattr(options, "curl"):
        raise UsageError(f"PLAN={options.plan}: {options.verb} needs a plan", f"make one: lth init NAME {options.plan}")
    return Names(options.plan or "", options.env, **given)


def make_command(verb: str, values: Mapping[str, str | None]) -> str:
    """Return the command with the variables that have a value, and the profile unless it is the default.

    A value with blanks or signs of the shell is quoted. Several headers, a line each, are several options of lth.
    """
    given = {name: value for name, value in values.items() if value and (name, value) != ("env", DEFAULT_PROFILE)}
    headers = given.pop("header", "").splitlines()
    pairs = [*given.items(), *(("header", text) for text in headers)]
    if current_project().folder == CHECKOUT and len(headers) < 2:
        return " ".join(["make", verb, *(f"{name.upper()}={shlex.quote(value)}" for name, value in pairs)])
    options = ((f"--{name.replace('_', '-')}", value) for name, value in pairs)
    return shlex.join(
        ["lth", verb, *(name if (name, value) in _FLAGS else f"{name}={value}" for name, value in options)]
    )


def changed_command(command: str, values: Mapping[str, str]) -> str:
    """Return a stored command with other values of these options, in its own spelling: for make, or as options."""
    words = shlex.split(command)
    is_make = words[:1] == ["make"]
    for name, value in values.items():
        option = name.upper() if is_make else f"--{name.replace('_', '-')}"
        is_flag = (option, value) in _FLAGS
        if option in words:
            at = words.index(option)
            del words[at : at + (1 if is_flag else 2)]
        words = [word for word in words if not word.startswith(f"{option}=")]
        words.append(option if is_flag else f"{option}={value}")
    if not is_make:
        return shlex.join(words)
    pairs = (word.partition("=") for word in words)
    return " ".join(f"{name}{equals}{shlex.quote(value)}" if equals else name for name, equals, value in pairs)
