"""What the options of a command say about its runs: the command is their settings.

A verb takes options by `harness.cli.options.take`, which lists them in `options.taken`. The stored command, the
arguments of child processes and the settings of an experiment are made of this list, without a second list of names.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from harness.base.command import Command
from harness.base.errors import UsageError
from harness.base.project import DEFAULT_PROFILE

# Leaks show themselves over hours.
SOAK_DURATION = "8h"


class OptionScope(Enum):
    """What an option is for."""

    # What each load generator sends: child processes and the parts of a run get it.
    LOAD = "load"
    # What else makes up a run: child processes get it.
    RUN = "run"
    # What the verb itself does with its runs.
    KIND = "kind"
    # Limits of all runs: in the command, but no setting; an experiment may be resumed with others.
    SERIES = "series"
    # How runs are followed, named and published: not in the command.
    FOLLOW = "follow"
    # Where files are on this machine: not in the command.
    PLACE = "place"


_IN_COMMAND = (OptionScope.LOAD, OptionScope.RUN, OptionScope.KIND, OptionScope.SERIES)
_SETTINGS = (OptionScope.LOAD, OptionScope.RUN, OptionScope.KIND)


class Taken(NamedTuple):
    """An option that a verb takes: its name, other spellings, its attribute of the parsed options, and its default."""

    name: str
    others: tuple[str, ...]
    dest: str
    default: Any
    of: OptionScope
    may_be_secret: bool

    def texts(self, value: Any, home: Path) -> list[str | None]:
        """Return a value as it is typed, once per repetition; None for an option that is on; empty for the default."""
        if value in (None, False, "") or (value == self.default and self.name != "env"):
            return []
        if value is True:
            return [None]
        values = value if isinstance(value, list | tuple) else [value]
        return [_path_text(one, home) if isinstance(one, Path) else str(one) for one in values]


def command_of(options: argparse.Namespace, hidden: Sequence[str] = (), properties: str | None = None) -> Command:
    """Return the command of the options, with ••• for the `hidden` secrets.

    `properties` replace --properties as it was given, which may have secrets of any length.
    """
    pairs = _pairs(options, _IN_COMMAND, hidden, properties)
    return Command(options.verb, tuple(pair for pair in pairs if pair[0] not in getattr(options, "implied", ())))


def run_command_of(options: argparse.Namespace, hidden: Sequence[str], properties: str) -> Command:
    """Return the command of one run with the options that are a run's, whatever the verb; see `command_of`."""
    return Command("run", tuple(_pairs(options, (OptionScope.LOAD, OptionScope.RUN), hidden, properties)))


def _pairs(
    options: argparse.Namespace, of: Collection[OptionScope], hidden: Sequence[str], properties: str | None
) -> Iterator[tuple[str, str | None]]:
    from harness.base.secrecy import masked  # here, as below: every table imports this module

    for one, text in _given(options, of, {} if properties is None else {"properties": properties}):
        if not (one.name == "env" and text == one.default == DEFAULT_PROFILE):
            yield one.name, text if text is None else masked(text, hidden)


def run_arguments(
    options: argparse.Namespace,
    of: Collection[OptionScope] = (OptionScope.LOAD, OptionScope.RUN),
    *,
    without: Collection[str] = (),
    secret: bool | None = None,
    changes: Mapping[str, Any] = MappingProxyType({}),
) -> tuple[str, ...]:
    """Return the arguments of a child process that runs one load, with `changes` of the options.

    With `secret` only the options that may contain secrets, which no record may contain as given, or only the others.
    """
    return tuple(
        f"--{one.name}" if text is None else f"--{one.name}={text}"
        for one, text in _given(options, of, changes)
        if one.dest not in without and secret in (None, one.may_be_secret)
    )


def settings_of(command: str, options: argparse.Namespace) -> Mapping[str, tuple[str, ...]]:
    """Return the settings in a stored command by option: what must be unchanged to resume its experiment.

    Limits are left out, and so are defaults, which commands of earlier versions contain.
    """
    taken = {name: one for one in options.taken for name in (one.name, *one.others)}
    settings = dict[str, tuple[str, ...]]()
    for name, values in Command.parse(command).values.items():
        one = taken.get(name)
        if one is None or (one.of in _SETTINGS and values not in ((), (str(one.default),))):
            settings[one.name if one else name] = values
    return settings


def _given(
    options: argparse.Namespace, of: Collection[OptionScope], changes: Mapping[str, Any]
) -> Iterator[tuple[Taken, str | None]]:
    for one in getattr(options, "taken", ()):
        if one.of in of:
            value = changes.get(one.dest, getattr(options, one.dest))
            yield from ((one, text) for text in one.texts(value, options.home))


def _path_text(path: Path, home: Path) -> str:
    """Return a path in the project as seen from there; of any other its name: reports name no folder of a machine."""
    whole, folder = path.absolute(), home.absolute()
    return str(whole.relative_to(folder)) if whole.is_relative_to(folder) else path.name


def goal_arguments(options: argparse.Namespace) -> Mapping[str, str | None]:
    """Return the texts of the goal's options, by name."""
    from harness.plan.goal_input import goal_names

    return {name: getattr(options, name) for name in goal_names()}


def refuse_empty(options: argparse.Namespace) -> None:
    """Raise a UsageError for an option with an empty value, such as an unset variable of a script."""
    for name, value in vars(options).items():
        if isinstance(value, str) and not value.strip() and name != "note":
            raise UsageError(f"--{name} is empty", "give a value, or leave the option out")


def changed(options: argparse.Namespace, **changes: Any) -> argparse.Namespace:
    """Return the options with other values."""
    return argparse.Namespace(**{**vars(options), **changes})
