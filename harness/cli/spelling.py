"""Spells the commands of texts for their reader. All texts, and all files, name them as `lth` types them.

| reader | `lth run --users=5` |
| --- | --- |
| has `lth`: it is installed, or on the PATH | as it is |
| called make | make run USERS=5; what make cannot say, as the next one |
| called another program of a clone | the same, with the path of `lth` in the clone |
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from pathlib import Path

from harness.base.command import LTH, MAKE
from harness.base.project import CHECKOUT, SCRIPTS
from harness.cli.options import OPTIONS
from harness.cli.verbs import ALIASES, PREFIXES, VERBS

_NAMES = {key.partition("/")[0] for key in OPTIONS} | {other for one in OPTIONS.values() for other in one.other}
_SWITCHES = {key.partition("/")[0] for key, one in OPTIONS.items() if not one.metavar or one.const}
_OPTION = re.compile(r"(?<![\w'-])--([a-z][a-z0-9-]*)(=?)")
_VERBS = "|".join(("help", *VERBS, *ALIASES, *PREFIXES))
_PROGRAM = r"(?<![\w./-])lth"
_CALLED = re.compile(rf"{_PROGRAM}(?= (?:{_VERBS})(?![\w-]))")
# A command reaches to the end of its clause; quotes may contain anything.
_COMMAND = re.compile(
    rf"{_PROGRAM} ({_VERBS})(?![\w-])((?:(?!{_PROGRAM} )(?:'[^'\n]*'|\"[^\"\n]*\"|[^;,()\n'\"]|,(?=\S)))*)"
)
_WORD = re.compile(r"\s+((?:'[^'\n]*'|\"[^\"\n]*\"|[^\s'\"`])+)")
# What follows a command: the end of a sentence or a quotation; behind options also a word of the sentence.
_END, _PROSE = re.compile(r"\s*(?:[.:`]|$)"), re.compile(r"\s+[a-z]+(?:\s|[.:]?$)")
_ANY_OPTION = re.compile(r"(?<![\w-])--?[a-z]")


def spelled_for(caller: str, text: str) -> str:
    """Return a text as the caller of a program reads it."""
    return for_make(text) if caller == MAKE else for_clone(text)


def _lth() -> str:
    """Return lth as it can be called here: a clone has it among its scripts."""
    if CHECKOUT is None or shutil.which(LTH):
        return LTH
    program = f"{SCRIPTS}{LTH}"
    return program if Path.cwd() == CHECKOUT else os.fspath(CHECKOUT / program)


def for_clone(text: str) -> str:
    """Return a text with the commands of the clone in place of those of lth."""
    lth = shlex.quote(_lth())
    return text if lth == LTH else _CALLED.sub(lambda _: lth, text)


def for_make(text: str) -> str:
    """Return a text as a caller of make reads it: --users=5 is USERS=5, and lth run --users=5 make run USERS=5.

    Commands that make may not have, such as those with arguments, are those of lth.
    """
    parts, end = [], 0
    for command in _COMMAND.finditer(text):
        parts += [_OPTION.sub(_variable, text[end : command.start()]), _command(command)]
        end = command.end()
    return "".join([*parts, _OPTION.sub(_variable, text[end:])])


def _command(match: re.Match[str]) -> str:
    verb, rest = match[1], match[2]
    if verb == "help":
        return f"{MAKE} {verb}{rest}"
    of_shell, variables, end = for_clone(match[0]), dict[str, str](), 0
    while (word := _WORD.match(rest, end)) and shlex.split(word[1])[0].startswith("--"):
        name, equals, value = shlex.split(word[1])[0].removeprefix("--").partition("=")
        if not equals and name in _SWITCHES:
            value = "1"
        elif not equals and (word := _WORD.match(rest, word.end())):
            value = shlex.split(word[1])[0]
        if not word or name not in _NAMES or name in variables:
            return of_shell
        variables[name] = value
        end = word.end()
    tail = rest[end:]
    if _ANY_OPTION.search(tail) or not (_END.match(tail) or (variables and _PROSE.match(tail))):
        return of_shell
    return " ".join(["make", verb, *(f"{_upper(name)}={_quoted(value)}" for name, value in variables.items())]) + tail


def _variable(match: re.Match[str]) -> str:
    if match[1] not in _NAMES:
        return match[0]
    return f"{_upper(match[1])}=1" if match[1] in _SWITCHES and not match[2] else f"{_upper(match[1])}{match[2]}"


def _upper(name: str) -> str:
    return name.upper().replace("-", "_")


def _quoted(value: str) -> str:
    return value if value == "…" else shlex.quote(value)
