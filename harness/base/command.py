"""A command of the tool as a value: a verb and its options. It is stored as `lth` types it.

This module runs before .venv exists: standard library only.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

LTH, MAKE = "lth", "make"
# The value of an option that is on.
ON = "1"


class CommandOption(NamedTuple):
    """A name and its value; the value of an option that is on is None."""

    name: str
    value: str | None


@dataclass(frozen=True)
class Command:
    """A verb with its options in order: pairs of name and value; the value of an option that is on is None.

    A name that occurs several times is an option that was repeated.
    """

    verb: str
    options: tuple[tuple[str, str | None], ...] = ()
    program: str = LTH

    @classmethod
    def of(cls, verb: str, **values: str | None) -> Command:
        """Return the command with the options that have a value; an underscore in a name is a hyphen."""
        return cls(verb, tuple((name.replace("_", "-"), value) for name, value in values.items() if value))

    @classmethod
    def parse(cls, text: str) -> Command:
        """Return a stored command, which is one of lth, or of make by earlier versions."""
        program, verb, *words = [*shlex.split(text), "", ""]
        if program == MAKE:
            pairs = (word.partition("=") for word in words if word)
            options = [(name.lower().replace("_", "-"), value) for name, _, value in pairs]
            return cls(verb, tuple(options), MAKE)
        return cls(verb, tuple(_option(word) for word in words if word))

    def changed(self, **values: str | None) -> Command:
        """Return the command with other values of these options; None switches an option on."""
        names = {name.replace("_", "-"): value for name, value in values.items()}
        kept = tuple(pair for pair in self.options if pair[0] not in names)
        return replace(self, options=(*kept, *names.items()))

    @property
    def values(self) -> Mapping[str, tuple[str, ...]]:
        """The values of each option, in order: equal for commands that are spelled differently and mean the same."""
        names = sorted({name for name, _ in self.options})
        return {
            name: tuple(ON if value is None else value for one, value in self.options if one == name) for name in names
        }

    def __str__(self) -> str:
        """Return the command as it can be pasted."""
        if self.program == MAKE:
            pairs = (f"{_variable(name)}={shlex.quote(ON if value is None else value)}" for name, value in self.options)
            return " ".join([MAKE, self.verb, *pairs])
        return shlex.join([LTH, self.verb, *(_word(*pair) for pair in self.options)])


def changed_command(command: str, **values: str | None) -> str:
    """Return a stored command with other values of these options, in its own spelling; None switches an option on.

    To a command of another program, of a version before 1.0.0, the options are added.
    """
    if shlex.split(command)[:1] not in ([LTH], [MAKE]):
        words = str(Command("", tuple(values.items()))).removeprefix(f"{LTH} '' ")
        return f"{command} {words}"
    return str(Command.parse(command).changed(**values))


def _word(name: str, value: str | None) -> str:
    return f"--{name}" if value is None else f"--{name}={value}" if name else value


def _option(word: str) -> CommandOption:
    """Return an option of a command line; an argument without a name has an empty one."""
    if not word.startswith("-"):
        return CommandOption("", word)
    name, equals, value = word.lstrip("-").partition("=")
    return CommandOption(name, value if equals else None)


def _variable(name: str) -> str:
    return name.upper().replace("-", "_")
