"""Reads what the lean HTTP sampler measured of streamed answers (text/event-stream): their events and their gaps."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from harness.metrics.histogram import Histogram
from harness.metrics.interval import IntervalMs

# The agent's file in the run directory: EventStream.java.
FILE_NAME = "streams.csv"
COLUMNS = ("end_ms", "label", "event_count", "stream_us", "longest_gap_us")
_US_PER_MS, _US_PER_S = 1_000, 1_000_000
# Rates are counted in hundredths: as exact as they are printed.
_PER_UNIT = 100


@dataclass(frozen=True)
class StreamUse:
    """The streamed answers of a label that ended in the window.

    Events per second are those of an answer from its first event to its last one; `slow_rate_per_s` is the rate that
    95 % of the answers reach. Both are None where no answer has two events at different times. A gap is the time
    between an event and the next one of an answer; of each answer the longest one counts.
    """

    label: str
    stream_count: int
    event_count: int
    rate_per_s: float | None
    slow_rate_per_s: float | None
    gap_p50_ms: int
    gap_p95_ms: int
    gap_max_ms: int


class Stream(NamedTuple):
    """One answer."""

    end_ms: int
    label: str
    event_count: int
    stream_us: int
    longest_gap_us: int

    @property
    def rate_per_s(self) -> float | None:
        """Events per second from the first one to the last one; None without two at different times."""
        return _US_PER_S * (self.event_count - 1) / self.stream_us if self.stream_us > 0 else None

    @property
    def longest_gap_ms(self) -> float:
        """The longest time between two events."""
        return self.longest_gap_us / _US_PER_MS


def streams_of(lines: Iterable[str], window_ms: IntervalMs) -> Iterator[Stream]:
    """Yield the answers that ended in the window; a line that is torn, as by a kill, is left out."""
    for row in csv.reader(lines):
        try:
            end_ms, label, *numbers = row
            stream = Stream(int(end_ms), label, *map(int, numbers))
        except (ValueError, TypeError):
            continue  # the head, or torn
        if window_ms.from_ms <= stream.end_ms < window_ms.to_ms:
            yield stream


def read_streams(lines: Iterable[str], window_ms: IntervalMs) -> tuple[StreamUse, ...]:
    """Return the use of each label in the window, in order of the first answers."""
    by_label: dict[str, list[Stream]] = defaultdict(list)
    for stream in streams_of(lines, window_ms):
        by_label[stream.label].append(stream)
    return tuple(_use(label, streams) for label, streams in by_label.items())


def _use(label: str, streams: list[Stream]) -> StreamUse:
    gaps = Histogram.of(round(one.longest_gap_ms) for one in streams)
    rates = Histogram.of(round(_PER_UNIT * rate) for one in streams if (rate := one.rate_per_s) is not None)
    middle, slow = rates.quantiles_ms((0.5, 0.05)) if rates.counts else (None, None)
    p50_ms, p95_ms, max_ms = gaps.quantiles_ms((0.5, 0.95, 1.0))
    return StreamUse(
        label=label,
        stream_count=len(streams),
        event_count=sum(one.event_count for one in streams),
        rate_per_s=None if middle is None else middle / _PER_UNIT,
        slow_rate_per_s=None if slow is None else slow / _PER_UNIT,
        gap_p50_ms=p50_ms,
        gap_p95_ms=p95_ms,
        gap_max_ms=max_ms,
    )
