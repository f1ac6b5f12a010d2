"""Reads the messages, rows and WebSocket sessions of samples, and what opening connections took."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from harness.base.units import MS_PER_S
from harness.metrics.histogram import Histogram
from harness.metrics.interval import IntervalMs

# The agent's file in the run directory: Amounts.java.
FILE_NAME = "amounts.csv"
COLUMNS = ("end_ms", "label", "kind", "count", "duration_us")
SESSIONS, LOOKUPS, HANDSHAKES, WRITTEN = "sessions", "name lookups", "TLS handshakes", "requests written"
# What takes a time: how long a session was open, and how long it took to find an address, to agree on keys, or to write
# a request.
TIMED = (SESSIONS, LOOKUPS, HANDSHAKES, WRITTEN)
_US_PER_MS = 1_000


@dataclass(frozen=True)
class AmountUse:
    """The messages (or sent ones), rows, or what is TIMED, by `kind`, of the samples of a label in the window.

    What is timed has quantiles of how long it took, None for the others. A session counts when it ends.
    """

    label: str
    kind: str
    count: int
    rate_per_s: float
    p50_ms: int | None
    p95_ms: int | None
    max_ms: int | None


class Amount(NamedTuple):
    """A line of the file: what was counted until `end_ms`, of messages and rows within a second."""

    end_ms: int
    label: str
    kind: str
    number: int
    duration_us: int


def amounts_of(lines: Iterable[str], window_ms: IntervalMs) -> Iterator[Amount]:
    """Yield the lines that end in the window; one that is torn, as by a kill, is left out.

    Of messages and rows the second is known: a window that begins within one has all of it.
    """
    from_ms = window_ms.from_ms // MS_PER_S * MS_PER_S
    for row in csv.reader(lines):
        try:
            end_ms, label, kind, *numbers = row
            amount = Amount(int(end_ms), label, kind, *map(int, numbers))
        except (ValueError, TypeError):
            continue  # the head, or torn
        if from_ms <= amount.end_ms < window_ms.to_ms:
            yield amount


def read_amounts(lines: Iterable[str], window_ms: IntervalMs) -> tuple[AmountUse, ...]:
    """Return the amounts of the window by label and kind, as they first came."""
    counts: dict[tuple[str, str], int] = defaultdict(int)
    durations: dict[tuple[str, str], list[int]] = defaultdict(list)
    for amount in amounts_of(lines, window_ms):
        counts[amount.label, amount.kind] += amount.number
        if amount.kind in TIMED:
            durations[amount.label, amount.kind] += [round(amount.duration_us / _US_PER_MS)] * amount.number
    length_s = (window_ms.to_ms - window_ms.from_ms) / 1_000
    return tuple(_use(*key, count, length_s, durations[key]) for key, count in counts.items())


def _use(label: str, kind: str, count: int, length_s: float, durations_ms: list[int]) -> AmountUse:
    quantiles = Histogram.of(durations_ms).quantiles_ms((0.5, 0.95, 1.0)) if durations_ms else (None,) * 3
    return AmountUse(label, kind, count, count / length_s, *quantiles)
