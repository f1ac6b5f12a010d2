"""Defines an option of a command, and adds it to a parser."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from harness.run.arguments import OptionScope, Taken

Kind = type[list[str]] | type[str] | type[bool]


@dataclass(frozen=True)
class Option:
    """An option; without `metavar` it is on or off. `default` may be a function, which is called for each command.
    `const` is the value of an option whose value was left out, where `nargs` is ?.

    `other` are further spellings, and `dest` is the attribute of the parsed options if it is not the name. `of` is what
    the option is for, see `OptionScope`.
    """

    help: str
    metavar: str = ""
    short: str = ""
    default: Any = None
    type: Callable[[str], Any] = str
    choices: tuple[str, ...] = ()
    nargs: str | None = None
    const: str | None = None
    is_repeated: bool = False
    is_required: bool = False
    other: tuple[str, ...] = ()
    dest: str | None = None
    of: OptionScope = OptionScope.KIND
    may_be_secret: bool = False

    def add_to(self, parser: argparse._ActionsContainer, name: str) -> Taken:
        """Add the option to a parser or group, and return what a command takes."""
        flags = [*([f"-{self.short}"] if self.short else []), f"--{name}", *(f"--{other}" for other in self.other)]
        more: dict[str, Any] = {"help": self.help, "dest": self.dest or name.replace("-", "_")}
        if not self.metavar:
            parser.add_argument(*flags, action="store_true", **more)
            return self._taken(name, more["dest"], default=False)
        more["default"] = self.default() if callable(self.default) else self.default
        more |= {"type": self.type, "required": self.is_required, "metavar": self.metavar}
        if self.choices:
            more |= {"choices": self.choices, "metavar": None}
        if self.is_repeated:
            more |= {"action": "append"}
        elif self.nargs:
            more |= {"nargs": self.nargs, "const": self.const}
        parser.add_argument(*flags, **more)
        return self._taken(name, more["dest"], more["default"])

    def _taken(self, name: str, dest: str, default: Any) -> Taken:
        return Taken(name, self.other, dest, default, self.of, self.may_be_secret)

    @property
    def kind(self) -> Kind:
        """What a value is in TOML: text, on or off, or several."""
        return list if self.is_repeated else str if self.metavar else bool
