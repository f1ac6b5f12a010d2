"""Reads the samples of JTLs piece by piece: pandas reads the ordinary lines of a CSV file, our own reader all others.

Our own reader (harness/jtl/csv.py) defines what is right: which records are torn, which lines are headers, which
newlines belong to a text. It takes about ten times as long as pandas. So only lines that both read alike go to pandas
(harness/jtl/ordinary.py).
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, BinaryIO, NamedTuple, TypeAlias

import numpy
import pandas
from numpy.typing import NDArray
from pandas import Categorical, DataFrame

from harness.api.frames import joined, texts
from harness.jtl.csv import NOT_UTF_8, Records, RowReader
from harness.jtl.file_progress import ReadingProgress
from harness.jtl.inputs import Input, Opened, opened
from harness.jtl.layout import TRUTHS, Layout
from harness.jtl.ordinary import Lines, find_lines, unknown_lines
from harness.jtl.readers import CSV, reader_of
from harness.jtl.sample import ELAPSED_MAX_MS, TRACE_COLUMN, Dropped, Sample
from harness.jtl.times import HEAD_BYTES

_Numbers: TypeAlias = NDArray[numpy.int64]

# The fields of a sample by type, and the column of each in a JTL.
TEXTS = {
    "label": "label",
    "code": "responseCode",
    "message": "responseMessage",
    "thread_name": "threadName",
    "failure": "failureMessage",
    "trace_id": TRACE_COLUMN,
}
MAY_LACK = {
    "received_bytes": "bytes",
    "sent_bytes": "sentBytes",
    "all_threads": "allThreads",
    "latency_ms": "Latency",
    "connect_ms": "Connect",
}
_TIMES = {"start_ms": "timeStamp", "elapsed_ms": "elapsed"}
_COUNTS = {"sample_count": "SampleCount", "error_count": "ErrorCount"}
_SUCCESS = "success"
_LINE = "line"
_INTEGER = "int64"
_BLOCK_BYTES = 1024 * 1024
# pandas takes longer to begin than our own reader takes for so few lines.
_FEW_LINES = 100


class Piece(NamedTuple):
    """Samples of a file, whose number counts from 0: the fields of `Sample` as columns, without `group_threads`."""

    file: int
    samples: DataFrame


def sample_pieces(inputs: Sequence[Input], columns: Sequence[str] | None, line_limit: int) -> Iterator[Piece]:
    """Yield the samples of JTLs in order.

    A piece has the samples of at most `line_limit` lines, and may be empty. `columns` are those of files without a
    header line. Progress goes to standard error. UsageError when a file is not a JTL.
    """
    for number, given in enumerate(inputs):
        with opened(given) as file, ReadingProgress(file.size_bytes, given.name) as progress:
            row_count = 0
            for samples in _pieces(file, given.name, columns, line_limit):
                yield Piece(number, samples)
                row_count += len(samples)
                progress.update(file.position(), row_count)


def _pieces(file: Opened, name: str, columns: Sequence[str] | None, line_limit: int) -> Iterator[DataFrame]:
    if file.kind != CSV.name:
        samples = reader_of(file.kind).read(file.stream, name, Dropped(), columns)
        while some := list(islice(samples, line_limit)):
            yield of_samples(some)
        return
    reader = CsvReader(file.stream, name, columns)
    while (piece := reader.read(line_limit)) is not None:
        yield piece


class CsvReader:
    """Reads a CSV JTL into DataFrames; errors call it `name`."""

    def __init__(self, stream: BinaryIO, name: str, columns: Sequence[str] | None) -> None:
        self._stream = stream
        self._rest = stream.read(HEAD_BYTES)
        self._line_count = 0
        self._delimiter = ""
        self._name = name
        self._dropped = Dropped()
        self._rows = RowReader.of(name, self._dropped, columns, self._rest)

    def read(self, line_limit: int) -> DataFrame | None:
        """Return the samples of the next lines, at most so many; None at the end of the file.

        A record that begins in them is read to its end. Less is read where other columns begin.
        """
        if not (text := self._take(line_limit)):
            return None
        layout, delimiter = self._rows.layout, self._delimiter
        if not layout or not delimiter:
            return _in_order(self._read_others(text, unknown_lines(text)))
        lines = find_lines(text, delimiter, layout)
        others = self._read_others(text, lines)
        found = self._read_ordinary(text, lines, numpy.flatnonzero(lines.ordinary), layout)
        return _in_order([*found, *others])

    def _take(self, line_limit: int) -> bytes:
        """Return the next whole lines, at most so many; the last one of a file gets a newline if it has none."""
        blocks: list[bytes] = []
        count = 0
        while block := self._rest or self._stream.read(_BLOCK_BYTES):
            self._rest = b""
            ends = numpy.flatnonzero(numpy.frombuffer(block, numpy.uint8) == ord("\n"))
            if count + len(ends) >= line_limit:
                end = int(ends[line_limit - count - 1]) + 1
                self._rest = block[end:]
                return b"".join([*blocks, block[:end]])
            blocks.append(block)
            count += len(ends)
        text = b"".join(blocks)
        return text if not text or text.endswith(b"\n") else text + b"\n"

    def _read_others(self, text: bytes, lines: Lines) -> list[DataFrame]:
        """Return the samples of the lines that are not ordinary; count all lines.

        A record may need the lines after it; these are then not ordinary either. From the line on where other columns
        begin, the text is put back.
        """
        samples: list[Sample] = []
        numbers: list[int] = []
        first, layout, at, end = self._line_count, self._rows.layout, 0, len(lines)
        for begin in numpy.flatnonzero(~lines.ordinary).tolist():
            if begin < at:
                continue
            rest, taken = io.BytesIO(self._rest), list[bytes]()
            source = chain(_each(text, lines, range(begin, end)), _following(rest, self._stream, taken))
            records = Records(source, self._dropped, self._rows, self._delimiter, first + begin)
            at = begin
            while at == begin or (at < end and not lines.ordinary[at] and self._rows.layout == layout):
                if record := records.next():
                    line_number, fields = record
                    if sample := self._rows.sample(line_number, fields):
                        numbers.append(line_number - 1 - first)
                        samples.append(sample)
                at = records.line_count - first
            lines.ordinary[begin:at] = False
            self._delimiter = records.delimiter
            if taken:
                self._rest = b"".join(taken[max(at - end, 0) :]) + rest.read()
            if self._rows.layout != layout:
                if at < end:
                    self._rest = text[int(lines.starts[at]) :] + self._rest
                    lines.ordinary[at:] = False
                    end = at
                break
        self._line_count = first + max(at, end)
        return [of_samples(samples, numbers)] if samples else []

    def _read_ordinary(self, text: bytes, lines: Lines, numbers: _Numbers, layout: Layout) -> list[DataFrame]:
        """Return the samples of the ordinary lines with these numbers.

        A line that only looks ordinary, with an impossible time for example, is found by halves.
        """
        if len(numbers) > _FEW_LINES:
            try:
                return [_quick(_text_of(text, lines, numbers), numbers, layout, self._delimiter)]
            except ValueError:
                halves = numpy.array_split(numbers, 2)
                return [part for half in halves for part in self._read_ordinary(text, lines, half, layout)]
        rows = RowReader(self._name, self._dropped, layout)
        records = Records(_each(text, lines, numbers.tolist()), self._dropped, rows, self._delimiter)
        samples, line_indexes = [], []
        while record := records.next():
            line_number, fields = record
            if sample := rows.sample(line_number, fields):
                samples.append(sample)
                line_indexes.append(numbers[line_number - 1])
        return [of_samples(samples, line_indexes)] if samples else []


def _following(rest: io.BytesIO, stream: BinaryIO, taken: list[bytes]) -> Iterator[bytes]:
    """Yield the lines after a text, for a record that does not end in it, and add them to `taken`."""
    while True:
        line = rest.readline()
        if not line.endswith(b"\n"):
            line += stream.readline()
        if not line:
            return
        taken.append(line)
        yield line


def _each(text: bytes, lines: Lines, numbers: Iterable[int]) -> Iterator[bytes]:
    return (text[lines.starts[number] : lines.starts[number + 1]] for number in numbers)


def _text_of(text: bytes, lines: Lines, numbers: _Numbers) -> bytes:
    """Return the lines with these numbers, which rise."""
    gaps = numpy.flatnonzero(numpy.diff(numbers) > 1)
    begins = lines.starts[numbers[[0, *(gaps + 1)]]].tolist()
    ends = lines.starts[numbers[[*gaps, -1]] + 1].tolist()
    return b"".join([text[begin:end] for begin, end in zip(begins, ends, strict=True)])


def _quick(text: bytes, numbers: _Numbers, layout: Layout, delimiter: str) -> DataFrame:
    """Return the samples of ordinary lines. ValueError when one of them is none, or is read in another way."""
    named = {**_TIMES, _SUCCESS: _SUCCESS, **TEXTS, **MAY_LACK, **_COUNTS}
    index_of = {field: str(layout.index_of[column]) for field, column in named.items() if column in layout.index_of}
    frame = pandas.read_csv(
        io.BytesIO(text),
        sep=delimiter,
        header=None,
        names=[str(index) for index in range(layout.width)],
        index_col=False,
        usecols=list(index_of.values()),
        # Not as categories: of texts that are all numbers pandas would make numbers.
        dtype={index: object if field in TEXTS or field == _SUCCESS else _INTEGER for field, index in index_of.items()},
        na_filter=False,
        skip_blank_lines=False,
        low_memory=False,
        encoding_errors=NOT_UTF_8,
    )
    if len(frame) != len(numbers):
        raise ValueError("another number of lines")
    columns = {field: frame[index].to_numpy() for field, index in index_of.items()}
    codes, truths = pandas.factorize(columns[_SUCCESS])
    starts_ms, times = columns["start_ms"], layout.times
    is_impossible = (starts_ms < times.first_ms) | (starts_ms > times.last_ms)
    is_impossible |= columns["elapsed_ms"] > ELAPSED_MAX_MS
    if not TRUTHS.keys() >= set(truths) or is_impossible.any():
        raise ValueError("a sample without a result, or with an impossible time")
    success = numpy.array([TRUTHS[text] for text in truths], dtype=bool)[codes]
    of: dict[str, Any] = {field: _optional(columns.get(field), len(numbers)) for field in MAY_LACK}
    of |= {field: _categories(columns.get(field), len(numbers)) for field in TEXTS}
    of |= _counts(columns, success)
    return DataFrame({_LINE: numbers, **{field: columns[field] for field in _TIMES}, _SUCCESS: success, **of})


def _categories(values: NDArray[Any] | None, count: int) -> Categorical:
    if values is None:
        return Categorical.from_codes(numpy.zeros(count, dtype="int8"), categories=pandas.Index([""], dtype="str"))
    codes, found = pandas.factorize(values)
    return Categorical.from_codes(codes, categories=pandas.Index(found, dtype="str"))


def _optional(values: NDArray[Any] | None, count: int) -> pandas.arrays.IntegerArray:
    if values is None:
        return pandas.arrays.IntegerArray(numpy.zeros(count, dtype=_INTEGER), numpy.ones(count, dtype=bool))
    return pandas.arrays.IntegerArray(values, numpy.zeros(count, dtype=bool))


def _counts(columns: Mapping[str, NDArray[Any]], success: NDArray[numpy.bool_]) -> dict[str, _Numbers]:
    """Return the samples and errors of each row: of several in JMeter's Statistical mode."""
    samples = columns.get("sample_count", numpy.ones(len(success), dtype=_INTEGER))
    errors = numpy.where(success, 0, samples)
    if "sample_count" in columns and "error_count" in columns:
        errors = numpy.where(samples > 1, columns["error_count"], errors)
    if (samples < 1).any() or (errors > samples).any():
        raise ValueError("an impossible number of samples")
    return {"sample_count": samples, "error_count": errors}


def of_samples(samples: Sequence[Sample], lines: Sequence[int] | None = None) -> DataFrame:
    """Return samples as rows of a piece; `lines` are the numbers of their lines, 0, 1, … by default."""
    columns = zip(*samples, strict=True) if samples else ((),) * len(Sample._fields)
    of: dict[str, Sequence[Any]] = dict(zip(Sample._fields, columns, strict=True))
    return DataFrame(
        {
            _LINE: numpy.array(range(len(samples)) if lines is None else lines, dtype=_INTEGER),
            **{field: numpy.array(of[field], dtype=_INTEGER) for field in _TIMES},
            _SUCCESS: numpy.array(of[_SUCCESS], dtype=bool),
            **{field: _integers(of[field]) for field in MAY_LACK},
            **{field: texts(of[field]) for field in TEXTS},
            **{field: numpy.array(of[field], dtype=_INTEGER) for field in _COUNTS},
        }
    )


def _integers(values: Sequence[int | None]) -> pandas.arrays.IntegerArray:
    """Return integers of which some may be unknown; pandas.array takes several times as long."""
    unknown = numpy.array([value is None for value in values], dtype=bool)
    return pandas.arrays.IntegerArray(numpy.array([value or 0 for value in values], dtype=_INTEGER), unknown)


def _in_order(parts: Sequence[DataFrame]) -> DataFrame:
    """Return the rows of all parts in the order of their lines."""
    if not parts:
        return of_samples(())
    if len(parts) == 1:
        return parts[0]
    whole = joined(parts)
    return whole.iloc[numpy.argsort(whole[_LINE].to_numpy(), kind="stable")]
