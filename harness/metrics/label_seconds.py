"""Counts samples per label and second, exactly: 8 bytes per sample while they are added, 16 when they are sorted."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from harness.base.units import MS_PER_S
from harness.jtl.sample import Sample, generator_of
from harness.metrics.figures import LOAD, ONCE
from harness.metrics.histogram import Histogram
from harness.metrics.tally import LabelKey, group_of
from harness.metrics.timeline import SecondSeries, Source

# So many threads with a label are remembered with their keys; a load has many more rows than users times labels.
_ENTRIES_MAX = 100_000
_ELAPSED_BITS = 32
_ELAPSED_MASK = (1 << _ELAPSED_BITS) - 1


@dataclass(frozen=True)
class LabelSecond:
    """The samples of a label that ended in a second (s since 1970); bytes are None for a JTL without such a column.

    `sorted_ms` are the whole milliseconds per sample, in rising order.
    """

    key: LabelKey
    second: int
    sorted_ms: np.ndarray
    elapsed_sum_ms: int
    error_count: int
    received_bytes: int | None
    sent_bytes: int | None

    @property
    def sample_count(self) -> int:
        """The number of samples."""
        return len(self.sorted_ms)

    def histogram(self) -> Histogram:
        """Return the counts per elapsed millisecond, which rise."""
        values, counts = np.unique(self.sorted_ms, return_counts=True)
        return Histogram(dict(zip(values.tolist(), counts.tolist(), strict=True)))


class LabelSeconds:
    """Takes samples in any order; `sort` ends that, and then the seconds can be read, as often as needed."""

    def __init__(self, once_labels: Iterable[str] = ()) -> None:
        self.once = frozenset(once_labels)
        self.users = SecondSeries(with_times=False)
        self._keys: dict[LabelKey, int] = {}
        self._entries: dict[tuple[int, str, str, bool], tuple[int, Source, bool]] = {}
        # The cells are pairs of a key's number and a second, in order of appearance. Each sample has its cell.
        self._cells: dict[tuple[int, int], int] = {}
        self._sample_counts, self._error_counts, self._elapsed_sums = array("q"), array("q"), array("q")
        self._received, self._sent = array("q"), array("q")
        self._has_received = self._has_sent = True
        self._cell_of, self._elapsed_ms = array("I"), array("I")

    def add(self, sample: Sample, file: int = 0) -> None:
        """Count a sample of a file, which is a load generator of its own."""
        number, source, counts_users = self._entry(sample, file)
        end_ms, count = sample.start_ms + sample.elapsed_ms, sample.sample_count
        second = end_ms // MS_PER_S
        cell = self._cells.get((number, second))
        if cell is None:
            cell = self._cells[number, second] = len(self._sample_counts)
            for sums in (self._sample_counts, self._error_counts, self._elapsed_sums, self._received, self._sent):
                sums.append(0)
        self._sample_counts[cell] += count
        self._error_counts[cell] += sample.error_count
        self._elapsed_sums[cell] += sample.elapsed_ms
        if sample.received_bytes is None:
            self._has_received = False
        else:
            self._received[cell] += sample.received_bytes
        if sample.sent_bytes is None:
            self._has_sent = False
        else:
            self._sent[cell] += sample.sent_bytes
        for _ in range(count):  # 1, except in JMeter's Statistical mode
            self._cell_of.append(cell)
            self._elapsed_ms.append(sample.elapsed_ms // count)
        if counts_users:
            self.users.add(end_ms, sample.elapsed_ms, count, sample.error_count, sample.all_threads, source)

    def _entry(self, sample: Sample, file: int) -> tuple[int, Source, bool]:
        """Return the number of a sample's key, its source, and whether its users count, and remember them."""
        where = (file, sample.thread_name, sample.label, sample.is_transaction)
        entry = self._entries.get(where)
        if entry is None:
            if len(self._entries) >= _ENTRIES_MAX:
                self._entries.clear()
            group = group_of(sample.thread_name, sample.label, self.once)
            number = self._keys.setdefault((group, sample.label, sample.is_transaction), len(self._keys))
            entry = self._entries[where] = (
                number,
                Source(file, generator_of(sample.thread_name)),
                group in (LOAD, ONCE),
            )
        return entry

    def sort(self) -> SortedSeconds:
        """Return the seconds in order; no sample can be added any more."""
        cells = sorted(self._cells.items())
        rank = np.empty(len(cells), dtype=np.uint64)
        for position, (_, cell) in enumerate(cells):
            rank[cell] = position
        packed = rank[np.frombuffer(self._cell_of, dtype=np.uint32)]
        self._cell_of = array("I")
        packed <<= np.uint64(_ELAPSED_BITS)
        packed |= np.frombuffer(self._elapsed_ms, dtype=np.uint32)
        self._elapsed_ms = array("I")
        packed.sort()
        return SortedSeconds(self, list(self._keys), [(*pair, cell) for pair, cell in cells], packed)

    def sums(self, cell: int) -> tuple[int, int, int | None, int | None, int]:
        """Return the sums of a cell: elapsed ms, errors, received and sent bytes, samples."""
        return (
            self._elapsed_sums[cell],
            self._error_counts[cell],
            self._received[cell] if self._has_received else None,
            self._sent[cell] if self._has_sent else None,
            self._sample_counts[cell],
        )


class SortedSeconds:
    """The seconds of all labels; `packed` has the number of the cell and the elapsed ms of each sample, in order."""

    def __init__(
        self, counted: LabelSeconds, keys: list[LabelKey], cells: list[tuple[int, int, int]], packed: np.ndarray
    ) -> None:
        self.keys = tuple(keys)
        self._counted, self._cells, self._packed = counted, cells, packed
        self._ends = list(accumulate(counted.sums(cell)[-1] for _, _, cell in cells))

    @property
    def span_s(self) -> tuple[int, int] | None:
        """The first and the last second in which a sample ended; None without samples."""
        seconds = [second for _, second, _ in self._cells]
        return (min(seconds), max(seconds)) if seconds else None

    @property
    def sample_count(self) -> int:
        """The number of samples."""
        return len(self._packed)

    def active_users(self) -> list[int | None]:
        """Return the active users of each second of `span_s`; None before any were seen."""
        return self._counted.users.active_users(*self.span_s) if self.span_s else []

    def by_label(self, key: LabelKey) -> Iterator[LabelSecond]:
        """Yield the seconds of a label in which samples ended, in order of time."""
        number = self.keys.index(key)
        start, end = (bisect_left(self._cells, (one,)) for one in (number, number + 1))
        yield from map(self._at, range(start, end))

    def by_time(self) -> Iterator[LabelSecond]:
        """Yield all seconds in order of time, labels in order of first appearance."""
        for position in sorted(range(len(self._cells)), key=lambda one: (self._cells[one][1], self._cells[one][0])):
            yield self._at(position)

    def _at(self, position: int) -> LabelSecond:
        number, second, cell = self._cells[position]
        elapsed_sum_ms, error_count, received_bytes, sent_bytes, sample_count = self._counted.sums(cell)
        end = self._ends[position]
        sorted_ms = self._packed[end - sample_count : end] & np.uint64(_ELAPSED_MASK)
        return LabelSecond(
            self.keys[number], second, sorted_ms, elapsed_sum_ms, error_count, received_bytes, sent_bytes
        )
