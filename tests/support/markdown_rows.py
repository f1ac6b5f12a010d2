"""Reads the tables of a Markdown text by the titles of their columns, so that a new column changes no test of another.

A title that several columns of a table have, such as range or verdict, follows that of the last other column before:
`average ms: verdict`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

_BAR = re.compile(r"(?<!\\)\|")
_FOOTNOTE = re.compile(r" *\[\^\d+\]")
Row = Mapping[str, str]


def tables_of(text: str, heading: str = "") -> list[list[Row]]:
    """Return the rows of each table, of the whole text or of what follows the line `heading`."""
    lines = text.splitlines()
    lines = lines[lines.index(heading) :] if heading else lines
    found: list[list[Row]] = []
    titles: list[str] = []
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if not line.startswith("|"):
            titles = []
        elif following.startswith("| ---"):
            titles = _titles(_cells(_FOOTNOTE.sub("", line)))
            found.append([])
        elif titles and not line.startswith("| ---"):
            found[-1].append(dict(zip(titles, _cells(line), strict=True)))
    return found


def rows_of(text: str, heading: str = "") -> list[Row]:
    """Return the rows of the first table, of the whole text or of what follows the line `heading`."""
    return tables_of(text, heading)[0]


def row_of(text: str, name: str, heading: str = "") -> Row:
    """Return the first row whose first cell is `name`."""
    return next(row for rows in tables_of(text, heading) for row in rows if next(iter(row.values())) == name)


def cells_of(rows: Sequence[Row], *titles: str) -> list[list[str]]:
    """Return the cells of these columns, row by row."""
    return [[row[title] for title in titles] for row in rows]


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in _BAR.split(line.strip())[1:-1]]


def _titles(heads: Sequence[str]) -> list[str]:
    counts, last, titles = Counter(heads), "", []
    for head in heads:
        last = head if counts[head] == 1 else last
        titles.append(head if counts[head] == 1 else f"{last}: {head}")
    return titles
