"""Prints texts: the only module that does, so that no text of others controls a terminal.

This module runs before .venv exists: standard library only.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TextIO

from harness.base.plain_text import without_control

Log = Callable[[str], None]
# Spells the commands in texts as the user types them; set once by harness/cli/program.py.
_spell: Callable[[str], str] = str


def spell_with(spell: Callable[[str], str]) -> None:
    """Have each text that people read go through a function before it is printed."""
    global _spell
    _spell = spell


def spelled(text: str) -> str:
    """Return a text with its commands as the user types them; files have the text itself."""
    return _spell(text)


def print_text(text: object = "", *, file: TextIO | None = None, end: str = "\n", flush: bool = False) -> None:
    """Print a text that people read, without characters that control a terminal."""
    print_page(spelled(str(text)), file=file, end=end, flush=flush)


def print_page(text: str, *, file: TextIO | None = None, end: str = "\n", flush: bool = False) -> None:
    """Print a table or a page, which may as well be stored in a file: with its commands as they are stored."""
    print(without_control(text), file=file, end=end, flush=flush)


def emit(text: str) -> None:
    """Print a text that a program reads, such as CSV, as it is; on a terminal as `print_text` does."""
    sys.stdout.write(without_control(text) if sys.stdout.isatty() else text)


def log(text: str) -> None:
    """Print a message on standard output at once."""
    print_text(text, flush=True)


def stderr_log(prefix: str) -> Log:
    """Return a log that prints on standard error and starts each message with `prefix`."""

    def log_with_prefix(text: str) -> None:
        print_page(f"{prefix}{spelled(text)}", file=sys.stderr, flush=True)

    return log_with_prefix
