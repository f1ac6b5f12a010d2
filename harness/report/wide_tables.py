"""Splits tables of many columns into tables that a page of GitHub shows without scrolling."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from harness.report.tables import table

# The content of a page of GitHub, and what its table takes: a character of a bold word, a capital, a cell's padding.
_PAGE_PX, _CHARACTER_PX, _CAPITAL_PX, _PADDING_PX = 1012, 10, 12, 27
_TARGET = re.compile(r"\]\([^)]*\)|[\\\[*]")


def narrow_tables(
    heads: Sequence[str], rows: Sequence[Sequence[str]], *, text_columns: int = 1, kept: int = 1, together: int = 1
) -> str:
    """Return a table, or several below each other that are narrow enough; each begins with the first `kept` columns.

    The first `text_columns` are left-aligned, as in `table`; each `together` of the columns after `kept` stay together.
    """
    widths = [max(_width_px(text) for text in column) for column in zip(heads, *rows, strict=True)]
    texts = [
        table(
            [heads[at] for at in shown],
            [[row[at] for at in shown] for row in rows],
            text_columns=sum(at < text_columns for at in shown),
        )
        for shown in _parts(widths, kept, together)
    ]
    return "\n\n".join(texts)


def _parts(widths: Sequence[int], kept: int, together: int) -> Iterator[list[int]]:
    """Yield the columns of each table."""
    shown = list(range(kept))
    for first in range(kept, len(widths), together):
        group = range(first, min(first + together, len(widths)))
        if len(shown) > kept and sum(widths[at] for at in (*shown, *group)) > _PAGE_PX:
            yield shown
            shown = list(range(kept))
        shown += group
    yield shown


def _width_px(text: str) -> int:
    """Return the width of a cell whose text is wrapped after each word."""
    return _PADDING_PX + max(map(_word_px, _TARGET.sub("", text).split()), default=0)


def _word_px(word: str) -> int:
    return sum(_CAPITAL_PX if character.isupper() else _CHARACTER_PX for character in word)
