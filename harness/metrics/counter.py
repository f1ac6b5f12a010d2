"""Counts a large CSV JTL with a Java program on several cores; the Python reader parses the irregular parts.

The program in harness/metrics/java stops at a record that only the plain (Python) reader can parse, and then gets
the position where it resumes. It passes on rows with unusual fields one by one. So the result equals that of the plain
reader for any file.
"""

from __future__ import annotations

import io
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

from harness.jtl.csv import LINE_BYTES_MAX, Records, RowReader
from harness.jtl.layout import READ_COLUMNS
from harness.jtl.sample import JOB_MARK, Sample, thread_group_of
from harness.jtl.times import HEAD_BYTES, Times
from harness.metrics.batches import BatchCounts
from harness.metrics.counter_process import CounterError, Frames, Program, counter, current
from harness.metrics.figures import LabelCounts, cause_of, group_of
from harness.metrics.histogram import Histogram
from harness.metrics.interval import IntervalMs
from harness.metrics.tally import ErrorKey, LabelKey, SampleTally, Scope
from harness.metrics.timeline import SecondSeries, Source

# How much the plain reader reads at once where the program stopped.
_READER_BYTES = 16 * 1024
# The amount that one core counts at a time.
_PART_BYTES = 16 * 1024 * 1024
# A file of this many slices, or a part of so many. A window reads one or two of them again where each batch begins.
_SLICES, _SLICES_OF_PART = 512, 32
_TIME_BITS = 30
_TIME_MASK = (1 << _TIME_BITS) - 1
_LOW = (1 << 32) - 1
# Keys of response codes: the label, the bit of transactions, the code. In batches, the first two are those of cells.
_ANSWER_LABEL_SHIFT, _ANSWER_OF_TRANSACTION, _ANSWER_SHIFT = 33, 1 << 32, 32
_GENERATOR_SHIFT = 40
_BELOW_GENERATOR = (1 << _GENERATOR_SHIFT) - 1
# The thread groups that the program distinguishes.
_THREADS = ("", "setUp", "tearDown", JOB_MARK)
# In the order that harness/metrics/java/Layout.java knows.
_ROLES = (*READ_COLUMNS, "grpThreads")
_NO_WINDOW = IntervalMs(-(1 << 62), 1 << 62)
# Of a file without bytes, sentBytes, Latency or Connect.
_MISSING_BITS = (1, 2, 4, 8)
_SUM_COUNT = 8
# Elapsed times, latencies and connect times.
_TIME_KINDS = 3
# Least and greatest end without rows: the initial values in Tally.java.
_NO_ENDS = f"{(1 << 62) - 1} {-(1 << 62)}"
# Messages of the program at its end.
_DONE, _DONE_AND_ENDS = b"D", b"E"


@dataclass(frozen=True)
class CsvFile:
    """The first `size_bytes` of a CSV JTL; `name` is what messages call it."""

    path: Path
    size_bytes: int
    name: str


def count_file(
    file: CsvFile,
    program: Program,
    scope: Scope,
    columns: Sequence[str] | None,
    report: Callable[[int, int], None],
    part_bytes: int = _PART_BYTES,
) -> SampleTally:
    """Return the tally of a CSV JTL.

    `part_bytes` is the amount that one core counts at a time; `report` receives the bytes and rows read so far.
    UsageError when the file is not a CSV JTL; CounterError when the program fails.
    """
    plain = _PlainReader(file, scope, columns)
    plain.read(0, 0)
    with counter(program, file.size_bytes) as process:
        try:
            process.order(_task(file, scope, part_bytes, plain.times))
            while True:
                process.order(plain.order())
                if shared := current():
                    shared.work_meanwhile()
                end = _follow(process.frames, plain, report)
                if end == _DONE:
                    return _whole(process.frames, plain)
                if end == _DONE_AND_ENDS:
                    counts = process.rest()  # frees its memory before ours fills up
                    return _whole(Frames(io.BytesIO(counts)), plain)
        except (EOFError, BrokenPipeError):
            raise CounterError(process.why_ended()) from None


def _task(file: CsvFile, scope: Scope, part_bytes: int, times: Times) -> str:
    window_ms = scope.window_ms or _NO_WINDOW
    values = (
        bytes(file.path).hex(),
        file.size_bytes,
        window_ms.from_ms,
        window_ms.to_ms,
        part_bytes,
        str(scope.with_timeline).lower(),
        scope.batch_count or 1,
        _words(scope.thread_groups),
        _slice_bytes(file, scope, part_bytes),
        _words(scope.cut_labels),
        *times,
    )
    return " ".join(map(str, values))


def _words(names: Sequence[str]) -> str:
    return ",".join(f"x{name.encode().hex()}" for name in names) or "-"


def _slice_bytes(file: CsvFile, scope: Scope, part_bytes: int) -> int:
    """Return the length of the slices whose counts the program keeps for a window of the file; 0 for none."""
    if not scope.then_window or scope.window_ms or scope.thread_groups or current() is None:
        return 0
    return max(part_bytes // _SLICES_OF_PART, file.size_bytes // _SLICES)


def _follow(frames: Frames, plain: _PlainReader, report: Callable[[int, int], None]) -> bytes:
    """Process the program's messages until it is done, or needs the plain reader; return the last message's kind."""
    while True:
        kind = frames.read(1)
        if kind == b"P":
            report(frames.large(), frames.large() + plain.row_count)
        elif kind == b"O":
            plain.take(frames.large(), frames.large(), frames.name())
        elif kind == b"F":
            tally = plain.tally_of(frames.small())
            for _ in range(frames.small()):
                label, code, text = frames.text(), frames.text(), frames.text()
                cause = cause_of(text, "")
                error = ErrorKey(label, code, cause.text)
                tally.add_kind(error, frames.large(), frames.large(), frames.large(), cause.example)
        elif kind == b"S":
            plain.read(frames.large(), frames.large())
            return kind
        else:
            return kind


class _PlainReader:
    """Reads the chunks and rows that the program leaves to the plain reader.

    `first` is each label's first offset, by the thread group that is counted apart; of all rows its key is None.
    """

    def __init__(self, file: CsvFile, scope: Scope, columns: Sequence[str] | None) -> None:
        self.tally = scope.tally()
        self.first: dict[str | None, dict[LabelKey, int]] = {group: {} for group in (None, *scope.thread_groups)}
        # Rows that may be transactions that were cut: without a message, if the program has seen one of the label, or
        # failed ones without a time.
        self.blank: list[tuple[int, Sample]] = []
        self.row_count = 0
        self.back_ms = 0
        self._file = file
        with file.path.open("rb") as stream:
            head = stream.read(min(HEAD_BYTES, file.size_bytes))
        rows = RowReader.of(file.name, self.tally.dropped, columns, head)
        self.times, self._layout = rows.times, rows.layout
        self._delimiter = ""
        self._offset = 0
        self._line_count = 0

    def tally_of(self, group: int) -> SampleTally:
        """Return the tally of the thread group with this number, that of all rows for -1."""
        return self.tally if group < 0 else list(self.tally.by_thread_group.values())[group]

    def order(self) -> str:
        """Return the command for the program: where to resume, and the format of the rows."""
        layout = self._layout
        if layout is None:  # the whole file was read and contains no record
            return f"{self._file.size_bytes} {self._line_count} {_NO_ENDS} 44 1" + " -1" * len(_ROLES)
        order = self.tally.orders[self.tally.file]
        ends = _NO_ENDS if order.least_ms is None else f"{order.least_ms} {order.most_ms}"
        indexes = " ".join(str(layout.index_of.get(column, -1)) for column in _ROLES)
        return f"{self._offset} {self._line_count} {ends} {ord(self._delimiter)} {layout.width} {indexes}"

    def read(self, offset: int, line_count: int) -> None:
        """Read a chunk of whole records, at least until the columns are known."""
        self.back_ms = max(self.back_ms, self.tally.back_ms)
        self.tally.orders.clear()  # the program needs only the ends of this chunk
        with self._file.path.open("rb") as stream:
            stream.seek(offset)
            rows = self._rows()
            lines = _lines(stream, self._file.size_bytes)
            records = Records(lines, self.tally.dropped, rows, self._delimiter, line_count)
            at = offset
            while (rows.layout is None or at < offset + _READER_BYTES) and (record := records.next()):
                self._add(rows, at, *record)
                at = stream.tell() - len(records.read_ahead)
            self._offset = stream.tell() - len(records.read_ahead)
            self._line_count = records.line_count
            self._layout, self._delimiter = rows.layout, records.delimiter

    def take(self, offset: int, line: int, row: bytes) -> None:
        """Read a single row that begins `line` lines after the first."""
        rows = self._rows()
        if record := Records(iter(io.BytesIO(row)), self.tally.dropped, rows, self._delimiter, line).next():
            self._add(rows, offset, *record)

    def _rows(self) -> RowReader:
        return RowReader(self._file.name, self.tally.dropped, self._layout, self.times)

    def _add(self, rows: RowReader, offset: int, line_number: int, fields: list[str]) -> None:
        if (sample := rows.sample(line_number, fields)) is not None:
            self.row_count += 1
            has_messages = rows.layout is not None and "responseMessage" in rows.layout.index_of
            is_open = not sample.message and sample.label not in self.tally.transaction_labels
            if has_messages and (is_open or (sample.is_transaction and sample.error_count and not sample.elapsed_ms)):
                self.blank.append((offset, sample))
            else:
                self._count(offset, sample)

    def add_blank(self) -> None:
        """Count the rows without a message, once all labels of transactions are known."""
        self.tally.transaction_labels |= {key.label for key in self.tally.labels if key.is_transaction}
        for offset, sample in self.blank:
            self._count(offset, sample)

    def _count(self, offset: int, sample: Sample) -> None:
        if key := self.tally.add(sample):
            firsts = [self.first[None]]
            if self.tally.by_thread_group:
                firsts.append(self.first.get(thread_group_of(sample.thread_name), {}))
            for first in firsts:
                first[key] = min(offset, first.get(key, offset))


def _lines(stream: BinaryIO, end: int) -> Iterator[bytes]:
    while line := stream.readline(min(LINE_BYTES_MAX, end - stream.tell())):
        yield line


def _whole(frames: Frames, plain: _PlainReader) -> SampleTally:
    """Return the combined tally of the program and the plain reader, labels in file order."""
    tally = plain.tally
    back_ms = _fill(tally, frames, plain.first[None])
    order = tally.orders[tally.file]
    order.back_ms = max(order.back_ms, back_ms, plain.back_ms)
    for group, own in tally.by_thread_group.items():
        _fill(own, frames, plain.first[group])
    if plain.blank:
        back_ms = order.back_ms
        plain.add_blank()
        order.back_ms = back_ms  # these rows were not the last ones
        for name, first in plain.first.items():
            own = tally if name is None else tally.by_thread_group[name]
            own.labels = {key: own.labels[key] for key in sorted(own.labels, key=first.__getitem__)}
    return tally


def _fill(tally: SampleTally, frames: Frames, first: dict[LabelKey, int]) -> int:
    """Add the program's counts, labels in file order; return how far row ends go back at most, ms."""
    first_ms, back_ms = frames.large(), frames.large()
    labels, codes = frames.texts(), frames.texts()
    sources = [Source(tally.file, generator) for generator in frames.texts()]
    keys, *columns = frames.table(_SUM_COUNT + 2)
    # By cell, what its elapsed times, its latencies and its connect times are added to: a label's, and its batch's.
    cells: list[list[list[Histogram]]] = []
    for key, *sums, offset, missing in zip(keys, *columns, strict=True):
        source = sources[key >> _GENERATOR_SHIFT]
        label_key, batch = _place(key & _BELOW_GENERATOR, labels, tally)
        first[label_key] = min(offset, first.get(label_key, offset))
        counts, own = _label_counts(sums, missing), tally.counts(label_key, source)
        own.merge(counts)
        known = [
            [] if missing & bit else [times]
            for bit, times in zip(_MISSING_BITS[2:], (own.first_bytes, own.connects), strict=True)
        ]
        cells.append([[own.histogram], *known])
        if tally.batch_count:
            own_batch = tally.batches[label_key][batch]
            sums_of_batch = counts.elapsed_sum_ms, counts.error_count, counts.received_bytes
            own_batch.merge(BatchCounts(Histogram(), *sums_of_batch))
            cells[-1][0].append(own_batch.histogram)
            if known[0]:
                cells[-1][1].append(own_batch.first_bytes)
        tally.note_start(first_ms)
    for kind in range(_TIME_KINDS):
        for number, histogram in _histograms(*frames.table(1)):
            for own_histogram in cells[number][kind]:
                own_histogram.merge(histogram.counts)
    for key, sample_count, error_count in zip(*frames.table(2), strict=True):
        if tally.batch_count:
            cell, code = key >> _ANSWER_SHIFT, codes[key & _LOW]
            label_key, batch = _place(cell, labels, tally)
            tally.batches[label_key][batch].add_code(code, sample_count)
            continue
        code_key = (labels[key >> _ANSWER_LABEL_SHIFT], codes[key & _LOW], bool(key & _ANSWER_OF_TRANSACTION))
        tally.add_code(code_key, sample_count, error_count)
    for second_series in (tally.requests, tally.transactions):
        for key, sample_count, error_count, elapsed_ms, users in zip(*frames.table(4), strict=True):
            second = key & _BELOW_GENERATOR
            second_series.seconds.add(second, sample_count, error_count, elapsed_ms)
            if users >= 0:
                second_series.add_users(sources[key >> _GENERATOR_SHIFT], second, users)
        for second, change in zip(*frames.table(1), strict=True):
            second_series.waits[second] += change
        second_series.merge(SecondSeries(bucket_s=1 << frames.small(), buckets=dict(_histograms(*frames.table(1)))))
    tally.labels = {key: tally.labels[key] for key in sorted(tally.labels, key=first.__getitem__)}
    return back_ms


class _Place(NamedTuple):
    """Where a cell is counted."""

    key: LabelKey
    batch: int


def _place(key: int, labels: Sequence[str], tally: SampleTally) -> _Place:
    """Return the label and the batch of a cell."""
    index, batch = divmod(key >> 3, tally.batch_count or 1)
    label = labels[index]
    return _Place(LabelKey(group_of(_THREADS[(key & 7) >> 1], label, tally.once), label, bool(key & 1)), batch)


def _label_counts(sums: Sequence[int], missing: int) -> LabelCounts:
    """Return the counts of a label without its times; the bits of `missing` mark the columns that the file lacks."""
    elapsed_sum_ms, error_count, *amounts, first_ms, last_ms = sums
    received, sent, latency, connect = (
        None if missing & bit else amount for bit, amount in zip(_MISSING_BITS, amounts, strict=True)
    )
    return LabelCounts(Histogram(), elapsed_sum_ms, error_count, received, sent, latency, connect, first_ms, last_ms)


def _histograms(keys: array[int], counts: array[int]) -> Iterator[tuple[int, Histogram]]:
    """Yield (number, histogram) from sorted keys that combine the number (high bits) and the elapsed time."""
    start = 0
    while start < len(keys):
        number = keys[start] >> _TIME_BITS
        stop = bisect_left(keys, (number + 1) << _TIME_BITS, start)
        times = [key & _TIME_MASK for key in keys[start:stop]]
        yield number, Histogram(dict(zip(times, counts[start:stop], strict=True)))
        start = stop
