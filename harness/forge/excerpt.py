"""Cuts a Markdown report to a limited size, without the files beside it: for a comment or a step summary."""

from __future__ import annotations

import re
from collections.abc import Callable

_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)
_IMAGE = re.compile(r"!\[[^\]\n]*(?:\\\][^\]\n]*)*\]\([^)\n]*\)\n?")
# A relative link: there are no files next to the text.
# Of a reference image only its text is left. HTML is shown as it is written.
_IMAGE_MARK = re.compile(r"!(?=\[)")
_TAG = re.compile(r"<(?=[A-Za-z/!?])(?!https?://)")
# They turn the direction of the text that follows.
_DIRECTION = re.compile("[\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]")
_RELATIVE_LINK = re.compile(r"(?<!\\)\[([^\]\n]+)\]\((?![a-z][a-z0-9+.-]*://)[^)\n]*\)")
_BLANK_LINES = re.compile(r"\n{3,}")
_FENCE = "```"
_FENCE_LINE = f"{_FENCE}\n"
_CUT = "\n… cut here: {left} more lines in {rest}\n"


def without_files(report: str) -> str:
    """Return a report without comments, images, relative links and HTML."""
    text = _RELATIVE_LINK.sub(r"\1", _IMAGE.sub("", _COMMENT.sub("", report)))
    lines: list[str] = []
    is_code = False
    for line in text.split("\n"):
        is_code = is_code != line.startswith(_FENCE)
        lines.append(line if is_code else _TAG.sub("&lt;", _IMAGE_MARK.sub("", line)))
    text = "\n".join(lines)
    return _BLANK_LINES.sub("\n\n", text).strip() + "\n"


def without_direction(text: str) -> str:
    """Return a text without the characters that change the direction of writing."""
    return _DIRECTION.sub("", text)


def cut(text: str, limit: int, rest: str, size: Callable[[str], int] = len) -> str:
    """Return a text whose `size` (characters) is at most `limit`; a longer one is cut between lines.

    A code block that is cut is closed. `rest` names where the whole text is.
    """
    if size(text) <= limit:
        return text
    lines = text.splitlines(keepends=True)
    room = limit - size(_CUT.format(left=len(lines), rest=rest))
    fitting: list[str] = []
    is_code = False
    for line in lines:
        is_code_after = is_code != line.startswith(_FENCE)
        if size(line) + (size(_FENCE_LINE) if is_code_after else 0) > room:
            break
        room -= size(line)
        fitting.append(line)
        is_code = is_code_after
    end = _CUT.format(left=len(lines) - len(fitting), rest=rest)
    return "".join(fitting) + (_FENCE_LINE if is_code else "") + end
