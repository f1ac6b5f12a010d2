"""Spells the options of messages as make types them: USERS=5 for --users=5. All texts are written as lth types them."""

from __future__ import annotations

import re

from harness.cli.options import OPTIONS

_NAMES = {key.partition("/")[0] for key in OPTIONS} | {other for one in OPTIONS.values() for other in one.other}
_SWITCHES = {key.partition("/")[0] for key, one in OPTIONS.items() if not one.metavar or one.const}
_OPTION = re.compile(r"(?<![\w'-])--([a-z][a-z0-9-]*)(=?)")
# A command reaches to the end of its clause: its options stay as they are, because it is for the shell.
_COMMAND = re.compile(r"(?<![\w./-])lth (?=[a-z])[^;,()\n]*")


def for_make(text: str) -> str:
    """Return a message as a caller of make reads it: options are variables, and lth is scripts/lth of the clone."""
    parts, end = [], 0
    for command in _COMMAND.finditer(text):
        parts += [_OPTION.sub(_variable, text[end : command.start()]), f"scripts/{command[0]}"]
        end = command.end()
    return "".join([*parts, _OPTION.sub(_variable, text[end:])])


def _variable(match: re.Match[str]) -> str:
    if match[1] not in _NAMES:
        return match[0]
    name = match[1].upper().replace("-", "_")
    return f"{name}=1" if match[1] in _SWITCHES and not match[2] else f"{name}{match[2]}"
