"""Finds the tables in a Markdown text and takes the mark-up off their cells."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_HEADING = re.compile(r"#{1,6}\s+(.*?)\s*#*|\*\*(.*)\*\*")
_BAR = re.compile(r"(?<!\\)((?:\\\\)*)\|")
_RULE = re.compile(r":?-+:?")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_FOOTNOTE = re.compile(r"\[\^[^\]]*\]")
_LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")


@dataclass(frozen=True)
class MarkdownTable:
    """A table: the line of its head (from 1 on), the title above it, its heads, and rows of cells as written."""

    line: int
    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def tables_of(lines: Sequence[str]) -> list[MarkdownTable]:
    """Return the tables, top to bottom: a line with bars above a line of dashes, and the lines with bars below."""
    found, title, place = [], "", 0
    while place < len(lines):
        heads = cells_of(lines[place])
        if place + 1 < len(lines) and heads and _is_rule(lines[place + 1], len(heads)):
            end = place + 2
            while end < len(lines) and cells_of(lines[end]):
                end += 1
            rows = tuple(tuple(cells_of(line)) for line in lines[place + 2 : end])
            found.append(MarkdownTable(place + 1, title, tuple(map(plain, heads)), rows))
            place, title = end, ""
            continue
        heading = _HEADING.fullmatch(lines[place].strip())
        if heading:
            title = plain(heading[1] or heading[2] or "")
        place += 1
    return found


def _is_rule(line: str, count: int) -> bool:
    cells = cells_of(line)
    return len(cells) == count and all(_RULE.fullmatch(cell) for cell in cells)


def cells_of(line: str) -> list[str]:
    """Return the cells of a line of a table, without the blanks around them; nothing when the line has no bar."""
    parts = _BAR.sub("\\1\n", line.strip()).split("\n")
    if len(parts) < 2:
        return []
    if not parts[0]:
        del parts[0]
    if parts and not parts[-1]:
        del parts[-1]
    return [part.strip() for part in parts]


def plain(text: str) -> str:
    """Return the text of a cell without mark-up: footnotes, links, bold and escapes."""
    text = _LINK.sub(r"\1", _FOOTNOTE.sub("", text)).strip()
    for mark in ("**", "__", "`"):
        if len(text) > 2 * len(mark) and text.startswith(mark) and text.endswith(mark):
            text = text.removeprefix(mark).removesuffix(mark)
    return _ESCAPED.sub(r"\1", text).strip()
