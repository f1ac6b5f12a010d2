"""Find the tables in a Markdown text and remove the mark-up from their cells."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

# A heading, a line in bold, or the title of a folded part.
_HEADING = re.compile(r"#{1,6}\s+(.*?)\s*#*|\*\*(.*)\*\*|<details><summary>(.*)</summary>")
_ITEM = re.compile(r"^[*+-]\s+")
_BAR = re.compile(r"(?<!\\)((?:\\\\)*)\|")
_RULE = re.compile(r":?-+:?")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_FOOTNOTE = re.compile(r"\[\^[^\]]*\]")
_LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")


@dataclass(frozen=True)
class MarkdownTable:
    """A table: the line number of its head (from 1), the title above it, its heads, and the unparsed cells.

    `heading` is the heading above it, also when another table is in between; `title` is then empty. `caption` is the
    last line of text between the heading or table before it and the table.
    """

    line: int
    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    heading: str = ""
    caption: str = ""

    @property
    def last_line(self) -> int:
        """The line number of its last row."""
        return self.line + 1 + len(self.rows)


def tables_of(lines: Sequence[str]) -> list[MarkdownTable]:
    """Return the tables in order: a line with bars, a line of dashes, and the lines with bars below."""
    tables, title, heading, caption, index = [], "", "", "", 0
    while index < len(lines):
        heads = cells_of(lines[index])
        if index + 1 < len(lines) and heads and _is_rule(lines[index + 1], len(heads)):
            end = index + 2
            while end < len(lines) and cells_of(lines[end]):
                end += 1
            rows = tuple(tuple(cells_of(line)) for line in lines[index + 2 : end])
            tables.append(MarkdownTable(index + 1, title, tuple(map(plain, heads)), rows, heading, caption))
            index, title, caption = end, "", ""
            continue
        match = _HEADING.fullmatch(lines[index].strip())
        if match:
            title = heading = plain(next(filter(None, match.groups()), ""))
            caption = ""
        elif lines[index].strip():
            caption = _ITEM.sub("", lines[index].strip()).replace("**", "").rstrip(" :")
        index += 1
    return tables


def _is_rule(line: str, count: int) -> bool:
    cells = cells_of(line)
    return len(cells) == count and all(_RULE.fullmatch(cell) for cell in cells)


def cells_of(line: str) -> list[str]:
    """Return the stripped cells of a table line; empty when the line has no bar."""
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
