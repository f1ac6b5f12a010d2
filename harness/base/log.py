"""Prints texts: the only module that does, so that no text of others controls a terminal.

This module runs before .venv exists: standard library only.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TextIO

from harness.base.plain_text import without_control

Log = Callable[[str], None]
# Spells the options in messages as the user types them; set once by harness/cli/program.py.
_spell: Callable[[str], str] = str


def spell_with(spell: Callable[[str], str]) -> None:
    """Have each message go through a function before it is printed."""
    global _spell
    _spell = spell


def print_text(text: object = "", *, file: TextIO | None = None, end: str = "\n", flush: bool = False) -> None:
    """Print a text that people read, without characters that control a terminal."""
    print(without_control(str(text)), file=file, end=end, flush=flush)


def emit(text: str) -> None:
    """Print a text that a program reads, such as CSV, as it is; on a terminal as `print_text` does."""
    sys.stdout.write(without_control(text) if sys.stdout.isatty() else text)


def log(text: str) -> None:
    """Print a message on standard output at once."""
    print_text(_spell(text), flush=True)


def stderr_log(prefix: str) -> Log:
    """Return a log that prints on standard error and starts each message with `prefix`."""

    def log_with_prefix(text: str) -> None:
        print_text(f"{prefix}{_spell(text)}", file=sys.stderr, flush=True)

    return log_with_prefix
