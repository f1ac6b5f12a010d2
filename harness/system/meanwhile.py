"""What the JVMs of a system waited for most in some seconds: a lock, and a place where threads with work were."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from harness.system.profile import Events, own_frame
from harness.system.threads import WAITING

_NS_PER_S = 1_000_000_000
# Fewer threads on average say nothing about a slow sample.
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
    """Return the lock for which threads waited longest in all, and the method that waited; "" without a wait."""
    return _largest(_lock_waits(events, seconds))[0]


def most_frequent_wait(events: Mapping[str, Events], seconds: range) -> str:
    """Return the place where most threads with work waited, and how many on average; "" when hardly any did."""
    name, total_ns = _largest(_thread_waits(events, seconds))
    thread_count = total_ns / _NS_PER_S / len(seconds)
    return f"{name}: {thread_count:.1f} threads" if thread_count >= _THREADS_LEAST else ""


def _lock_waits(events: Mapping[str, Events], seconds: range) -> Iterator[tuple[str, int]]:
    for process, found in events.items():
        for row in found.rows.get("lock", ()):
            if row.second in seconds:
                yield _named(events, process, f"{row.detail} at {own_frame(row.stack)}"), row.total


def _thread_waits(events: Mapping[str, Events], seconds: range) -> Iterator[tuple[str, int]]:
    for process, found in events.items():
        for row in found.rows.get("thread", ()):
            if row.second in seconds and row.other == WAITING and len(row.stack) > 1:
                yield _named(events, process, f"{row.stack[1]} in {row.stack[0]}"), row.total


def _named(events: Mapping[str, Events], process: str, text: str) -> str:
    return f"{process}: {text}" if len(events) > 1 else text


def _largest(values: Iterator[tuple[str, int]]) -> tuple[str, int]:
    """Return the name with the largest sum, and the sum; ("", 0) without values."""
    sums: dict[str, int] = {}
    for name, value in values:
        sums[name] = sums.get(name, 0) + value
    return min(sums.items(), key=lambda item: (-item[1], item[0]), default=("", 0))
