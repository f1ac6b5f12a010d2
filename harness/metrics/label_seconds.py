"""Counts samples per label and second, exactly: 8 bytes per sample while they are added, 16 when they are sorted."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from harness.base.units import MS_PER_S
from harness.jtl.sample import TRANSACTION_MESSAGE, Sample, generator_of
from harness.metrics.figures import LOAD, ONCE, group_of
from harness.metrics.histogram import Histogram
from harness.metrics.interval import SecondSpan
from harness.metrics.tally import LabelKey
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
        return Histogram.of(self.sorted_ms.tolist())


class LabelSeconds:
    """Takes samples in any order; `sort` ends that, and then the seconds can be read, as often as needed."""

    def __init__(self, once_labels: Iterable[str] = ()) -> None:
        self.once = frozenset(once_labels)
        self.users = SecondSeries(with_times=False)
        self._keys: dict[LabelKey, int] = {}
        # By file, thread, label, and whether it is a transaction. Plain tuples, because every sample makes one and
        # takes another apart.
        self._entries: dict[tuple[int, str, str, str, bool], tuple[int, Source | None]] = {}
        # The cells are pairs of a key's number and a second, in order of appearance. Each sample has its cell.
        self._cells: dict[tuple[int, int], int] = {}
        self._received, self._sent = array("q"), array("q")
        self._has_received = self._has_sent = True
        self._error_counts: dict[int, int] = {}
        # What whole milliseconds per sample leave of rows of several samples.
        self._rests_ms: dict[int, int] = {}
        self._cell_of, self._elapsed_ms = array("I"), array("I")

    def add(self, sample: Sample, file: int = 0) -> None:
        """Count a sample of a file, which is a load generator of its own."""
        (
            start_ms, elapsed_ms, label, _, message, thread_name, _, _, received_bytes, sent_bytes, users,
            _, _, count, error_count, _, _, host,
        ) = sample  # fmt: skip
        where = (file, host, thread_name, label, message.startswith(TRANSACTION_MESSAGE))
        number, source = self._entries.get(where) or self._entry(where)
        second = (start_ms + elapsed_ms) // MS_PER_S
        if (cell := self._cells.get((number, second))) is None:
            cell = self._cells[number, second] = len(self._cells)
            self._received.append(0)
            self._sent.append(0)
        if received_bytes is None:
            self._has_received = False
        else:
            self._received[cell] += received_bytes
        if sent_bytes is None:
            self._has_sent = False
        else:
            self._sent[cell] += sent_bytes
        if error_count:
            self._error_counts[cell] = self._error_counts.get(cell, 0) + error_count
        if count == 1:
            self._cell_of.append(cell)
            self._elapsed_ms.append(elapsed_ms)
        else:  # in JMeter's Statistical mode
            each_ms, rest_ms = divmod(elapsed_ms, count)
            self._cell_of.extend([cell] * count)
            self._elapsed_ms.extend([each_ms] * count)
            self._rests_ms[cell] = self._rests_ms.get(cell, 0) + rest_ms
        if users is not None and source:
            self.users.add_users(source, second, users)

    def _entry(self, where: tuple[int, str, str, str, bool]) -> tuple[int, Source | None]:
        """Return the number of the key of a thread's label, and the source of its users if they count."""
        file, host, thread_name, label, is_transaction = where
        if len(self._entries) >= _ENTRIES_MAX:
            self._entries.clear()
        group = group_of(thread_name, label, self.once)
        number = self._keys.setdefault(LabelKey(group, label, is_transaction), len(self._keys))
        source = Source(file, generator_of(thread_name) or host) if group in (LOAD, ONCE) else None
        entry = self._entries[where] = (number, source)
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

    def second_of(self, key: LabelKey, second: int, cell: int, sorted_ms: np.ndarray) -> LabelSecond:
        """Return the samples of a cell, with its sums."""
        return LabelSecond(
            key=key,
            second=second,
            sorted_ms=sorted_ms,
            elapsed_sum_ms=int(sorted_ms.sum()) + self._rests_ms.get(cell, 0),
            error_count=self._error_counts.get(cell, 0),
            received_bytes=self._received[cell] if self._has_received else None,
            sent_bytes=self._sent[cell] if self._has_sent else None,
        )


class SortedSeconds:
    """The seconds of all labels; `packed` has the number of the cell and the elapsed ms of each sample, in order.

    `cells` are the number of the key, the second, and the number of the cell before sorting: plain tuples, because
    there are millions of them.
    """

    def __init__(
        self, counted: LabelSeconds, keys: list[LabelKey], cells: list[tuple[int, int, int]], packed: np.ndarray
    ) -> None:
        self.keys = tuple(keys)
        self._counted, self._cells, self._packed = counted, cells, packed
        # Where the samples of each cell begin, and the end of the last.
        edges = np.arange(len(cells) + 1, dtype=np.uint64) << np.uint64(_ELAPSED_BITS)
        self._edges = np.searchsorted(packed, edges)

    @property
    def span_s(self) -> SecondSpan | None:
        """The first and the last second in which a sample ended; None without samples."""
        seconds = [second for _, second, _ in self._cells]
        return SecondSpan(min(seconds), max(seconds)) if seconds else None

    @property
    def sample_count(self) -> int:
        """The number of samples."""
        return len(self._packed)

    def active_users(self) -> Sequence[int | None]:
        """Return the active users of each second of `span_s`; None before any were seen."""
        span_s = self.span_s
        return self._counted.users.active_users(span_s.first_s, span_s.last_s) if span_s else []

    def by_label(self, key: LabelKey) -> Iterator[LabelSecond]:
        """Yield the seconds of a label in which samples ended, in order of time."""
        number = self.keys.index(key)
        start, end = (bisect_left(self._cells, (one,)) for one in (number, number + 1))
        yield from map(self._at, range(start, end))

    def by_time(self) -> Iterator[LabelSecond]:
        """Yield all seconds in order of time, labels in order of first appearance."""
        # By the second, and then by the number of the key.
        return map(self._at, sorted(range(len(self._cells)), key=lambda position: self._cells[position][1::-1]))

    def _at(self, position: int) -> LabelSecond:
        number, second, cell = self._cells[position]
        sorted_ms = self._packed[self._edges[position] : self._edges[position + 1]] & np.uint64(_ELAPSED_MASK)
        return self._counted.second_of(self.keys[number], second, cell, sorted_ms)
