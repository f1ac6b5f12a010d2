"""Foreign text in messages and tables: one line, and nothing that controls a terminal or the direction of text."""

from __future__ import annotations

import re

_MOST_CHARACTERS = 300
# Control characters, separators of lines, marks of the direction of a text, and halves of characters.
CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufff9-\ufffb]"
)


def without_control(text: str) -> str:
    """Return text without characters that control a terminal or the direction of text; tabs and line ends stay."""
    return CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def one_line(text: str) -> str:
    """Return text on one line, without characters that control a terminal or the direction of text."""
    return without_control(" ".join(text.split()))


def printable(text: str) -> str:
    """Return text in which every sign is visible: what somebody decides by must not look like another text.

    Unlike in `one_line`, joiners, spaces of other widths, tabs and line ends are replaced as well.
    """
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text)


def short_line(text: str, most: int = _MOST_CHARACTERS) -> str:
    """Return text of another program on one line of at most `most` characters."""
    line = one_line(text[: 4 * most])
    return line if len(line) <= most else f"{line[:most]}…"
