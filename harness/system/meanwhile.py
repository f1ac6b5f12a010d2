"""What the JVMs of a system waited for in some seconds: the longest lock, and the method with unusually many waits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from harness.system.profile import own_frame
from harness.system.profile_events import EventRow, Events
from harness.system.threads import WAITING

_NS_PER_S = 1_000_000_000
# Fewer threads on average do not explain a slow sample.
_THREADS_LEAST = 0.1


def within(events: Mapping[str, Events], seconds: Collection[int]) -> Mapping[str, Events]:
    """Return the events of these seconds (since 1970) only."""
    return {
        process: replace(
            found, rows={kind: [row for row in rows if row.second in seconds] for kind, rows in found.rows.items()}
        )
        for process, found in events.items()
    }


def longest_lock(events: Mapping[str, Events], seconds: range) -> str:
    """Return the lock for which threads waited longest in total, and the method that waited; "" without a wait."""
    totals = Counter[str]()
    for process, row in _rows(events, "lock", seconds):
        totals[_named(events, process, f"{row.detail} at {own_frame(row.stack)}")] += row.total
    return min(totals, key=lambda name: (-totals[name], name), default="")


def usual_waits(events: Mapping[str, Events]) -> Mapping[str, float]:
    """Return how many threads with work waited in each method on average, from the first second to the last."""
    seconds = [row.second for found in events.values() for row in found.rows.get("thread", ())]
    if not seconds:
        return {}
    return _thread_counts(events, range(min(seconds), max(seconds) + 1))


def unusual_wait(events: Mapping[str, Events], seconds: range, usual: Mapping[str, float]) -> str:
    """Return the method in which most threads with work waited beyond the usual number; "" when hardly any did.

    Threads that always wait in the same method explain no slow sample.
    """
    more = {name: count - usual.get(name, 0.0) for name, count in _thread_counts(events, seconds).items()}
    name, excess = min(more.items(), key=lambda item: (-item[1], item[0]), default=("", 0.0))
    if excess < _THREADS_LEAST:
        return ""
    before = usual.get(name, 0.0)
    return f"{name}: {excess + before:.1f} threads, usually {before:.1f}"


def _thread_counts(events: Mapping[str, Events], seconds: range) -> dict[str, float]:
    counts = Counter[str]()
    for process, row in _rows(events, "thread", seconds):
        if row.other == WAITING and len(row.stack) > 1:
            counts[_named(events, process, f"{row.stack[1]} in {row.stack[0]}")] += row.total
    return {name: total_ns / _NS_PER_S / len(seconds) for name, total_ns in counts.items()}


def _rows(events: Mapping[str, Events], kind: str, seconds: range) -> Iterator[tuple[str, EventRow]]:
    """Yield the rows of a kind in these seconds, each with its process."""
    return ((name, row) for name, found in events.items() for row in found.rows.get(kind, ()) if row.second in seconds)


def _named(events: Mapping[str, Events], process: str, text: str) -> str:
    return f"{process}: {text}" if len(events) > 1 else text
