"""Prints progress and status messages."""

from __future__ import annotations

import sys
from collections.abc import Callable

from harness.base.plain_text import without_control

Log = Callable[[str], None]
# Spells the options in messages as the user types them; set once by harness/program.py.
_spell: Callable[[str], str] = str


def spell_with(spell: Callable[[str], str]) -> None:
    """Have each message go through a function before it is printed."""
    global _spell
    _spell = spell


def log(text: str) -> None:
    """Print a message on standard output at once."""
    print(without_control(_spell(text)), flush=True)


def stderr_log(prefix: str) -> Log:
    """Return a log that prints on standard error and starts each message with `prefix`."""

    def log_with_prefix(text: str) -> None:
        print(without_control(f"{prefix}{_spell(text)}"), file=sys.stderr, flush=True)

    return log_with_prefix
