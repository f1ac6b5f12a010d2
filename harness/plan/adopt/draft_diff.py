"""Compares a draft of a JMX with its original: the changed lines, and a unified diff."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from harness.plan.adopt.draft import Draft, Edit

_CONTEXT = 3


@dataclass(frozen=True)
class Hunk:
    """Changed lines: they begin at line `start` (from 0) of the original; `fixes` are the kinds of the changes."""

    start: int
    old: tuple[str, ...]
    new: tuple[str, ...]
    fixes: frozenset[str]


def hunks(draft: Draft) -> list[Hunk]:
    """Return the changed lines of a draft, in file order, without context."""
    starts = _line_starts(draft.data)
    all_hunks: list[Hunk] = []
    group: list[Edit] = []
    for edit in draft.edits():
        if group and bisect_right(starts, edit.start) > bisect_right(starts, group[-1].end):
            all_hunks.append(_hunk(draft, starts, group))
            group = []
        group.append(edit)
    if group:
        all_hunks.append(_hunk(draft, starts, group))
    return all_hunks


def unified(draft: Draft, old_name: str, new_name: str) -> str:
    """Return the changes as a unified diff with three lines of context; empty without changes."""
    lines = _text(draft.data).splitlines()
    blocks: list[list[Hunk]] = []
    for hunk in hunks(draft):
        if blocks and hunk.start - _end(blocks[-1][-1]) <= 2 * _CONTEXT:
            blocks[-1].append(hunk)
        else:
            blocks.append([hunk])
    written, added_count = [], 0
    for block in blocks:
        written.append(_block_text(lines, block, added_count))
        added_count += _added_count(block)
    return f"--- {old_name}\n+++ {new_name}\n{''.join(written)}" if written else ""


def _block_text(lines: Sequence[str], block: Sequence[Hunk], added_before: int) -> str:
    """Return hunks with their context as text; blocks before them have added so many lines to the new file."""
    first, last = max(0, block[0].start - _CONTEXT), min(len(lines), _end(block[-1]) + _CONTEXT)
    out, position = [], first
    for hunk in block:
        out += [f" {line}" for line in lines[position : hunk.start]]
        out += [f"-{line}" for line in hunk.old] + [f"+{line}" for line in hunk.new]
        position = _end(hunk)
    out += [f" {line}" for line in lines[position:last]]
    count = last - first
    head = f"@@ -{first + 1},{count} +{first + 1 + added_before},{count + _added_count(block)} @@"
    return "\n".join([head, *out]) + "\n"


def _added_count(block: Sequence[Hunk]) -> int:
    """Return by how many lines hunks make a file longer."""
    return sum(len(hunk.new) - len(hunk.old) for hunk in block)


def _end(hunk: Hunk) -> int:
    return hunk.start + len(hunk.old)


def _hunk(draft: Draft, starts: Sequence[int], edits: Sequence[Edit]) -> Hunk:
    """Return the lines that contain edits, before and after them."""
    first = bisect_right(starts, edits[0].start) - 1
    last = bisect_right(starts, max(edit.end for edit in edits))
    begin, end = starts[first], starts[last] if last < len(starts) else len(draft.data)
    parts, position = [], begin
    for edit in edits:
        parts += [draft.data[position : edit.start], edit.new]
        position = edit.end
    new = b"".join((*parts, draft.data[position:end]))
    old_lines, new_lines = _text(draft.data[begin:end]).splitlines(), _text(new).splitlines()
    while old_lines and new_lines and old_lines[0] == new_lines[0]:
        old_lines, new_lines, first = old_lines[1:], new_lines[1:], first + 1
    while old_lines and new_lines and old_lines[-1] == new_lines[-1]:
        old_lines, new_lines = old_lines[:-1], new_lines[:-1]
    return Hunk(first, tuple(old_lines), tuple(new_lines), frozenset(edit.fix for edit in edits))


def _line_starts(data: bytes) -> list[int]:
    starts, position = [0], data.find(b"\n")
    while position >= 0:
        starts.append(position + 1)
        position = data.find(b"\n", position + 1)
    return starts


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace").replace("\r\n", "\n")
