"""Reads the variables of a `make` command line as the options of a verb: USERS=50 is --users=50."""

from __future__ import annotations

import argparse
import os
import re
import shlex

from harness.base.config import did_you_mean
from harness.base.errors import UsageError
from harness.base.spellings import MASK

# Where the value of an option that is on or off is written, as in HTML=1: these words.
ON, OFF = ("1", "yes", "on", "true"), ("0", "no", "off", "false", "")
# Options that can be repeated on the command line, and whose values have blanks: make gives one.
_WITH_BLANKS = ("--header", "--only")
# Behind " -- " in MAKEFLAGS are the variables of the command line; blanks in their values are escaped.
_ASSIGNMENT = re.compile(r"(?:\\.|[^ \\])+", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
# The width of a terminal, which some shells export: as an option only the command line has it.
_OF_TERMINAL = "COLUMNS"
# Variables that make itself or the programs of the harness read.
_OTHERS = re.compile(
    "DISPLAY|XAUTHORITY|PYTHON|CHROME|JAVA_HOME|JAVA_HOME_FOR_JMETER|JMETER_HOME|HARNESS_RUNS|HARNESS_RUN_ID|"
    "LIVE_TOKEN|TMPDIR|NO_COLOR|GITHUB_STEP_SUMMARY|SHELL|MAKEFLAGS|TESTS|BENCH|ALL|LTH_TRUST|AWS_.*|MAVEN_.*|XDG_.*"
)


def given_variables() -> dict[str, str]:
    """Return the variables of the command line of make, with their values as they were typed."""
    _, _, overrides = os.environ.get("MAKEFLAGS", "").partition("-- ")
    return {name: value for name, value in _split(overrides) if not _OTHERS.fullmatch(name)}


def arguments_of(verb: str, parser: argparse.ArgumentParser) -> list[str]:
    """Return the arguments of a verb for the variables of make: of its command line, else of the environment.

    UsageError for a variable that is no option of the verb: USER=10 must not start the default load.
    """
    if given_variables().get("HELP") in ON:
        return ["--help"]
    actions = _actions(parser)
    positional = {action.dest.upper(): action for action in parser._actions if not action.option_strings}
    words: list[str] = []
    shown = [name for name, action in {**actions, **positional}.items() if action.help != argparse.SUPPRESS]
    of_environment = {name: os.environ[name] for name in shown if name in os.environ and name != _OF_TERMINAL}
    for name, value in (of_environment | given_variables()).items():
        action = positional.get(name) or actions.get(name)
        if action is None or action.help == argparse.SUPPRESS:
            known = ", ".join(
                one for one in sorted(shown) if (one not in ("H", "HELP") and len(one) > 1) or one in "AB"
            )
            raise UsageError(
                f"{name}: make {verb} has no such variable", f"{did_you_mean(name, shown)}there are: {known}"
            )
        words += _words(name, value, action)
    return words


def _actions(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    """Return the options of a parser by variable."""
    return {
        flag.lstrip("-").upper().replace("-", "_"): action
        for action in parser._actions
        for flag in action.option_strings
    }


def add_stored(options: argparse.Namespace, parser: argparse.ArgumentParser, command: str) -> None:
    """Give the options that were not given the values that they have in a stored command, of lth or make."""
    actions, words = _actions(parser), []
    for word in shlex.split(command)[2:]:
        name, equals, value = word.lstrip("-").partition("=")
        action = actions.get(name.upper().replace("-", "_"))
        if action and MASK not in value:  # else an option of an earlier version, or a secret
            words += _words(name, value if equals else ON[0], action)
    for name, value in vars(parser.parse_args(words)).items():
        if getattr(options, name) == parser.get_default(name):
            setattr(options, name, value)


def _words(name: str, value: str, action: argparse.Action) -> list[str]:
    """Return the arguments for one variable; none for an empty one."""
    if action.nargs == 0 or (action.nargs == "?" and action.option_strings and value.strip() in (*ON, *OFF)):
        if value.strip() in ON:
            return [action.option_strings[-1]]
        if value.strip() in OFF:
            return []
        raise UsageError(f"{name}={value}: neither on nor off", f"give {name}=1 or {name}=0; nothing was started")
    if not value.strip():
        return []
    many = action.nargs in ("+", "*")
    values = value.split() if many else [value]
    if not action.option_strings:
        return values
    flag = next(flag for flag in action.option_strings if flag.startswith("--"))
    if action.nargs is None or not many:
        is_split = isinstance(action, argparse._AppendAction) and flag not in _WITH_BLANKS
        repeated = value.split() if is_split else values
        return [f"{flag}={one}" for one in repeated]
    return [flag, *values]


def _split(text: str) -> list[tuple[str, str]]:
    """Return the names and values in the variables of MAKEFLAGS: blanks are escaped, and $ is doubled."""
    pairs = (word.partition("=") for word in _ASSIGNMENT.findall(text))
    return [(name.rstrip(":?+!"), _ESCAPED.sub(r"\1", value.replace("$$", "$"))) for name, _, value in pairs]
