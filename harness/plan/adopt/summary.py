"""Describes the fixes of an adopted plan for the terminal: how many of each kind, and one example."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from harness.plan.adopt.diff import Hunk, hunks
from harness.plan.adopt.draft import Draft
from harness.plan.adopt.fix import Fix
from harness.plan.finding import Finding

_EXAMPLE_LINES, _WIDTH = 4, 150
_LEFT_SHOWN = 20


def fix_lines(draft: Draft) -> Iterator[str]:
    """Yield each kind of fix with the number of changed elements, and its first change as a diff."""
    counts = Counter(draft.changes)
    changed = hunks(draft)
    for fix in Fix:
        if counts[fix]:
            yield f"{counts[fix]:>5}  {fix.value}"
            concerned = sorted((hunk for hunk in changed if fix in hunk.fixes), key=lambda hunk: len(hunk.fixes))
            yield from _example(concerned[0]) if concerned else ()


def left_lines(left: Sequence[Finding], file: str) -> Iterator[str]:
    """Yield what no fix maps, one line each, at most 20."""
    for one in left[:_LEFT_SHOWN]:
        yield f"  {one.text_in(file)}; {one.todo}"
    if len(left) > _LEFT_SHOWN:
        yield f"  and {len(left) - _LEFT_SHOWN} more"


def _example(hunk: Hunk) -> Iterator[str]:
    yield f"         line {hunk.start + 1}:"
    for sign, lines in (("-", hunk.old), ("+", hunk.new)):
        for line in lines[:_EXAMPLE_LINES]:
            text = line.strip()
            yield f"         {sign} {text if len(text) <= _WIDTH else text[: _WIDTH - 1] + '…'}"
        if len(lines) > _EXAMPLE_LINES:
            yield f"         {sign} …"
