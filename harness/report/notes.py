"""Preserves the text that people write into a report when the report is rendered again."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

from harness.base.plain_text import without_control

NOTES_BEGIN = "<!-- notes:begin: text here is preserved when the report is rendered again -->"
# The spelling of older reports.
_OLD_NOTES_BEGIN = "<!-- notes:begin: what stands here is kept when the report is rendered again -->"
NOTES_END = "<!-- notes:end -->"
# The last line of a report: it detects a change outside of the notes block.
_SEAL = re.compile(r"<!-- outside of the notes block: sha256 ([0-9a-f]{16}) -->")


class Rendered(NamedTuple):
    """A report that replaces an older one.

    `moved_count` lines of the older one were outside of its notes block and are now in the block. `is_unclear` means
    that the older one has lines that the new one lacks, and that it is not known whether people wrote them.
    """

    text: str
    moved_count: int = 0
    is_unclear: bool = False


def notes_of(markdown: str) -> str | None:
    """Return the text of a report's notes block; None when there is no such block."""
    markdown = markdown.replace(_OLD_NOTES_BEGIN, NOTES_BEGIN)
    begin, end = markdown.find(NOTES_BEGIN), markdown.rfind(NOTES_END)
    return markdown[begin + len(NOTES_BEGIN) : end].strip("\n") if 0 <= begin < end else None


def rendered_again(older: str | None, render: Callable[[str], str], default: str = "") -> Rendered:
    """Return a report with the text that people wrote into the older one; `render` makes it from the text of its notes.

    `default` is the text of the notes when the older report has none. People wrote a line outside of the notes block if
    the older report without the line is unchanged: then the line is moved into the block.
    """
    default = without_control(default)  # the note of a run; what a person wrote into a report stays
    if older is None:
        return Rendered(_sealed(render(default)))
    older = older.replace(_OLD_NOTES_BEGIN, NOTES_BEGIN)
    notes = notes_of(older)
    fresh = render(default if notes is None else notes)
    outside, everything = _outside(older), _lines(older)
    seal = next(reversed(_SEAL.findall(older)), "")
    if notes is not None and seal == _digest(outside):
        return Rendered(_sealed(fresh))
    generated = _outside(render(""))
    for lines, block in ([(outside, notes)] if notes is not None else []) + [(everything, "")]:
        separated = _separated(lines, generated)
        if _digest(separated.generated) == seal and (not separated.written or notes_of(fresh) is not None):
            text = "\n\n".join(filter(None, (block, "\n".join(separated.written).strip("\n"))))
            moved_count = sum(1 for line in separated.written if line.strip())
            return Rendered(_sealed(render(text) if separated.written else fresh), moved_count)
    unclear = _separated(everything if notes is None else outside, generated).written
    return Rendered(_sealed(fresh), is_unclear=bool(unclear))


def _lines(markdown: str) -> list[str]:
    """Return the lines of a report without the marks of this module."""
    lines = markdown.split("\n")
    return [line for line in lines if line.strip() not in (NOTES_BEGIN, NOTES_END) and not _SEAL.search(line)]


def _outside(markdown: str) -> list[str]:
    if notes_of(markdown) is None:
        return _lines(markdown)
    begin, end = markdown.find(NOTES_BEGIN), markdown.rfind(NOTES_END)
    return _lines(f"{markdown[:begin]}\n{markdown[end + len(NOTES_END) :]}")


class _Separated(NamedTuple):
    """Lines that people wrote, with the blank lines between them, and generated lines."""

    written: list[str]
    generated: list[str]


def _separated(lines: Iterable[str], generated: Iterable[str]) -> _Separated:
    """Return the lines of a report; people wrote those that are not among the generated ones."""
    left = Counter(line.rstrip() for line in generated)
    written: list[str] = []
    rest: list[str] = []
    for line in lines:
        is_blank = not line.strip()
        if is_blank or left[line.rstrip()] > 0:
            left[line.rstrip()] -= 1
            rest.append(line)
            if written and written[-1].strip():
                written.append("")
        else:
            written.append(line)
    return _Separated(written if any(written) else [], rest)


def _digest(lines: Iterable[str]) -> str:
    """Return a short hash of lines; blank ones, spaces at their ends and their order do not matter."""
    bare = sorted(line.rstrip() for line in lines if line.strip())
    return hashlib.sha256("\n".join(bare).encode()).hexdigest()[:16]


def _sealed(markdown: str) -> str:
    return f"{markdown.rstrip()}\n\n<!-- outside of the notes block: sha256 {_digest(_outside(markdown))} -->\n"
