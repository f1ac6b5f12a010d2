"""Formats the help of a command for the width of the terminal: text wraps between words, remarks are aligned.

This module runs before .venv exists: standard library only.
"""

from __future__ import annotations

import argparse
import re
import shutil
import textwrap
from collections.abc import Iterable, Iterator
from itertools import groupby

from harness.base.log import spelled

# Longer lines are hard to read.
_WIDTH_MOST = 100
# An example is indented, and two blanks separate its remark from the command.
_EXAMPLE = re.compile(r" +(?P<command>\S.*?)(?: {2,}(?P<remark>.*))?")
# Words of a command: a quoted text is one, and so is an option with its value.
_TEXT = r"""(?:[^\s'"]|'[^']*'|"[^"]*")+"""
_WORD = re.compile(rf"-{_TEXT}(?: +(?!-){_TEXT})?|{_TEXT}")
_INDENT, _GAP = "  ", 2
# Remarks are not further to the right than this; those of longer commands are below the command.
_REMARK_COLUMN_MOST = 34


class HelpFormatter(argparse.HelpFormatter):
    """Formats the help of a parser: paragraphs and examples as they are separated by their author, each wrapped."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=min(shutil.get_terminal_size().columns, _WIDTH_MOST) - 2)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines = spelled(text).strip("\n").splitlines()
        # Lines of one kind follow each other: blank ones, examples, text.
        blocks = groupby(lines, lambda line: (bool(line.strip()), line.startswith(" ")))
        parts: list[str] = []
        for (has_text, is_example), block in blocks:
            if not has_text:
                parts.append("")
            elif is_example:
                parts += _examples(block, width)
            else:
                parts += wrapped(" ".join(block), width)
        return "\n".join(indent + part for part in parts)

    def _split_lines(self, text: str, width: int) -> list[str]:
        return wrapped(" ".join(text.split()), width)


def wrapped(text: str, width: int) -> list[str]:
    """Return text in lines that break between words only: no option, path or URL is cut."""
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def _examples(lines: Iterable[str], width: int) -> Iterator[str]:
    """Yield commands with their remarks in one column."""
    pairs = [(match["command"], match["remark"] or "") for line in lines if (match := _EXAMPLE.fullmatch(line))]
    widths = (len(_INDENT) + len(command) + _GAP for command, remark in pairs if remark)
    column = max((one for one in widths if one <= _REMARK_COLUMN_MOST), default=5 * len(_INDENT))
    for command, remark in pairs:
        rows = _command(command, width)
        notes = wrapped(remark, width - column)
        if notes and len(rows) == 1 and len(rows[0]) + _GAP <= column:
            rows = [rows[0].ljust(column) + notes.pop(0)]
        yield from rows
        yield from (" " * column + note for note in notes)


def _command(command: str, width: int) -> list[str]:
    """Return a command in lines that can be pasted: a backslash continues it."""
    rows = [_INDENT]
    for word in _WORD.findall(command):
        if len(rows[-1]) + len(word) > width - len(" \\") and rows[-1].strip():
            rows[-1] += "\\"
            rows.append(_INDENT * 3)
        rows[-1] += f"{word} "
    return [row.rstrip() for row in rows]


def names_of_project() -> dict[str, str]:
    """Return the names of the plans and profiles, wrapped to 80 columns."""
    from harness.base.config import is_suite  # here, because a correct command needs none
    from harness.base.project import current_project, names_in

    home = current_project().folder
    by_kind = {
        kind: [path.stem for path in names_in(home, folder, "*.toml") if not is_suite(path)]
        for kind, folder in (("plans", "plans"), ("profiles", "env"))
    }
    return {
        kind: textwrap.fill(
            " ".join(names), 80, initial_indent=" " * 10, subsequent_indent=" " * 10, break_on_hyphens=False
        ).strip()
        for kind, names in by_kind.items()
    }
