"""Reads the file in which the agent in JMeter counts what the users of each thread group did: GroupCounts.java."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from harness.base.units import MS_PER_S
from harness.run.group_counts import (
    LABEL_COUNTS,
    EarlyEnd,
    ExtractionCount,
    GroupCounts,
    IgnoredCount,
    LabelCount,
    RedirectCount,
    coarse,
    early_ends,
    extraction_counts,
    ignored_counts,
    label_counts,
    redirect_counts,
)

# Beside the agent's list of connections.
GROUPS_NAME = "groups.txt"
_OF_LABELS = frozenset(LABEL_COUNTS.values())
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "\\": "\\"}


class _Change(NamedTuple):
    """What is added to a second: those that began less those that ended, and their time in it; and what began."""

    pauses: int = 0
    pause_ms: int = 0
    users: int = 0
    alive_ms: int = 0
    pause_count: int = 0
    arrivals: int = 0


class _Group:
    """The lines of a group, or of several with the same name."""

    def __init__(self) -> None:
        self.is_open = False
        self.changes = defaultdict[int, list[_Change]](list)
        self.labels = defaultdict[str, list[LabelCount]](list)
        self.ends: list[EarlyEnd] = []
        self.ignored: list[IgnoredCount] = []
        self.extractions: list[ExtractionCount] = []
        self.redirects: list[RedirectCount] = []

    def counts(self, name: str, known_s: int) -> GroupCounts:
        """Return the counts up to the second that is known, or until nothing happens any more."""
        from_s = min(self.changes, default=known_s)
        to_s = max((known_s, *self.changes))
        changes = [_sum(self.changes.get(second, ())) for second in range(from_s, to_s + 1)]
        pause_ms = _times((one.pauses, one.pause_ms) for one in changes)
        alive_ms = _times((one.users, one.alive_ms) for one in changes)
        arrivals = [one.arrivals for one in changes]
        values = zip(pause_ms, alive_ms, arrivals, strict=False)
        size = max((at + 1 for at, three in enumerate(values) if any(three)), default=0)
        counts = GroupCounts(
            name,
            from_s,
            1,
            tuple(pause_ms[:size]),
            sum(one.pause_count for one in changes),
            tuple(alive_ms[:size]),
            tuple(arrivals[:size]) if self.is_open else None,
            ended_early=early_ends(self.ends),
            ignored=ignored_counts(self.ignored),
            extractions=extraction_counts(self.extractions),
            redirects=redirect_counts(self.redirects),
            **{name: label_counts(self.labels[what]) for name, what in LABEL_COUNTS.items()},
        )
        return coarse(counts)


def read_groups(text: str) -> tuple[GroupCounts, ...]:
    """Return what the agent's file says; nothing when it could not count all.

    A line that a kill cut is left out. Groups of one name are one.
    """
    names = dict[str, str]()
    groups = defaultdict[str, _Group](_Group)
    known_s = 0
    for line in text.splitlines(keepends=True):
        match line.rstrip("\n").split("\t") if line.endswith("\n") else ():
            case ["G", number, is_open, name]:
                names[number] = _plain(name)
                groups[names[number]].is_open |= is_open == "true"
            case ["S", number, second, *values]:
                groups[names[number]].changes[int(second)].append(_Change(*map(int, values)))
            case ["C", number, what, count, _, label] if what in _OF_LABELS:
                groups[names[number]].labels[what].append(LabelCount(_plain(label), int(count)))
            case ["C", _, "busy", *_]:
                pass  # see `busy_steps`
            case ["C", number, cause, count, first_ms, detail]:
                groups[names[number]].ends.append(EarlyEnd(cause, _plain(detail), int(count), int(first_ms)))
            case ["I", number, *values, label]:
                groups[names[number]].ignored.append(IgnoredCount(_plain(label), *map(int, values)))
            case ["R", number, count, label, asked, page]:
                one = RedirectCount(_plain(label), _plain(asked), _plain(page), int(count))
                groups[names[number]].redirects.append(one)
            case ["X", number, *values, _, _, _, _] as cells:
                extractor, variable, label, default = map(_plain, cells[-4:])
                extraction = ExtractionCount(extractor, variable, label, default, *map(int, values))
                groups[names[number]].extractions.append(extraction)
            case ["T", second]:
                known_s = int(second)
            case ["U"]:
                return ()
    return tuple(group.counts(name, known_s) for name, group in groups.items())


def busy_steps(text: str) -> dict[str, int]:
    """Return how many users were in which step when JMeter was told to end."""
    busy = Counter[str]()
    for line in text.splitlines():
        match line.split("\t"):
            case ["C", _, "busy", count, _, label]:
                busy[_plain(label)] += int(count)
    return dict(busy.most_common())


def _plain(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: _ESCAPES[match[1]], text)


def _sum(changes: Sequence[_Change]) -> _Change:
    return _Change(*map(sum, zip(*changes, strict=True))) if changes else _Change()


def _times(changes: Iterator[tuple[int, int]]) -> list[int]:
    """Return the time in each second (ms): of those who were there at its start, and of those who came or went."""
    pairs = list(changes)
    before = accumulate((change for change, _ in pairs), initial=0)
    return [count * MS_PER_S + ms for count, (_, ms) in zip(before, pairs, strict=False)]
