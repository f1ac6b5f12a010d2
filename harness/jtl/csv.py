"""Reads a CSV JTL into samples, and counts and names every record that it has to drop.

One rule finds a torn record: a closing quote must be followed by the delimiter, a line end or the end of the file.
Otherwise the record with the opening quote is torn. It is dropped and counted, and reading resumes at the line after
its first one. A record whose number of fields differs from the header is torn too. Of such a record only the first line
is dropped, because a quote of a later record may have closed the torn quote.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import NamedTuple

from harness.base import units
from harness.base.errors import UsageError

# The name of a run's JTL. A merged run has several.
SAMPLES_NAME = "samples.jtl"
_SAMPLES_NAMES = re.compile(r"samples(?:-([2-9]|[1-9][0-9]+))?\.jtl")
DELIMITERS = (",", "|", ";", "\t")
_NEEDED = ("timeStamp", "elapsed", "label", "success")
# JMeter's default columns, for a file without a header line.
_HEADERLESS = {
    17: (
        "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,bytes,"
        "sentBytes,grpThreads,allThreads,URL,Latency,IdleTime,Connect"
    ),
    16: (
        "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,bytes,"
        "sentBytes,grpThreads,allThreads,Latency,IdleTime,Connect"
    ),
    13: (
        "timeStamp,elapsed,label,responseCode,threadName,success,bytes,grpThreads,allThreads,Latency,SampleCount,"
        "ErrorCount,uuid"
    ),
}
TRANSACTION_MESSAGE = "Number of samples in transaction :"
# The columns that are read from a record, in the order that harness/metrics/java/Layout.java knows.
READ_COLUMNS = (
    *_NEEDED, "responseCode", "responseMessage", "threadName", "failureMessage", "bytes", "sentBytes", "allThreads",
    "Latency", "Connect", "SampleCount", "ErrorCount",
)  # fmt: skip
# The formats that JMeter itself tries for jmeter.save.saveservice.timestamp_format.
_DATE_FORMS = (
    "%Y/%m/%d %H:%M:%S.%f", "%Y/%m/%d %H:%M:%S", "%Y-%m-%d %H:%M:%S.%f", "%Y-%m-%d %H:%M:%S", "%m/%d/%y %H:%M:%S",
)  # fmt: skip
# A thread is named "<group> <group number>-<thread number>". In a distributed run the load generator's address comes
# first, as given to -R: an IPv4 address, or any host with its port. A bare host name could be a group's name.
_GENERATOR = re.compile(
    r"([0-9]{1,3}(?:\.[0-9]{1,3}){3}|(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):([1-9][0-9]{0,4}))-.* [0-9]+-[0-9]+",
    re.DOTALL,
)
_PORT_MAX = 65_535
# Bytes that are not UTF-8 become \\xe4 and so on, so that labels that differ only in them stay distinct and printable.
NOT_UTF_8 = "backslashreplace"
_FIRST_LINES_KEPT = 5
_TORN = "torn record: a quote that does not close properly"
# Longer than any sample: a time stamp in the wrong column, or a clock that was set.
ELAPSED_MAX_MS = 7 * 24 * 3600 * 1000
# The end of the year 9999, the last one that Python's dates support.
START_MAX_MS = 253_402_300_799_999
# Java's long, in which JMeter counts.
LONG_MAX = 2**63 - 1
_LONG_DIGITS = len(str(LONG_MAX))
_WHOLE = re.compile("-?[0-9]{1,4300}")
# So many numbers of a file are remembered.
_NUMBERS_MAX = 50_000
_TRUTHS = {"true": True, "TRUE": True, "True": True, "false": False, "FALSE": False, "False": False}
# The length of a bad field in a message.
_SHOWN_MAX = 40
# A record with quotes may span lines. One that spans more than this has a torn quote.
_LINES_PER_RECORD_MAX = 10_000


class Sample(NamedTuple):
    """A row of a JTL: times in milliseconds since 1970, sizes in bytes; None for a column that the file lacks."""

    start_ms: int
    elapsed_ms: int
    label: str
    code: str
    message: str
    thread_name: str
    success: bool
    failure: str
    received_bytes: int | None
    sent_bytes: int | None
    all_threads: int | None
    latency_ms: int | None = None
    connect_ms: int | None = None
    sample_count: int = 1  # in JMeter's Statistical mode a row is the sum of several samples
    error_count: int = 0

    @property
    def end_ms(self) -> int:
        """Return when the sample ended."""
        return self.start_ms + self.elapsed_ms

    @property
    def is_transaction(self) -> bool:
        """Return whether a Transaction Controller wrote the row, which sums up samples with rows of their own."""
        return self.message.startswith(TRANSACTION_MESSAGE)


def samples_name(number: int) -> str:
    """Return the JTL's name for a run's first, second, … load generator: samples.jtl, samples-2.jtl, …."""
    return SAMPLES_NAME if number == 1 else f"samples-{number}.jtl"


def samples_number(name: str) -> int | None:
    """Return which of a run's JTLs has this name, counting from 1; None for another file."""
    match = _SAMPLES_NAMES.fullmatch(name)
    return int(match[1] or 1) if match else None


def generator_of(thread_name: str) -> str:
    """Return the load generator at the start of a thread's name, such as 10.0.0.7:1099; "" for none."""
    if ":" not in thread_name and not thread_name[:1].isdigit():
        return ""  # almost every thread; a regular expression takes five times as long
    match = _GENERATOR.fullmatch(thread_name)
    return match[1] if match and int(match[2] or 1) <= _PORT_MAX else ""


@dataclass
class Dropped:
    """The records that a reader dropped: their number, and the first line numbers with the reasons.

    `header_lines` are the line numbers of header lines after the beginning of a file.
    """

    count: int = 0
    first: list[tuple[int, str]] = field(default_factory=list)
    header_lines: list[int] = field(default_factory=list)

    def note(self, line_number: int, reason: str) -> None:
        """Count a dropped record that began in `line_number`."""
        self.count += 1
        if len(self.first) < _FIRST_LINES_KEPT:
            self.first.append((line_number, reason))

    @property
    def first_text(self) -> str:
        """Return the first dropped records as text; a line number of 0 means none."""
        return "; ".join(f"line {line}: {reason}" if line else reason for line, reason in self.first)

    def merge(self, other: Dropped, lines_before: int) -> None:
        """Add the dropped records of a later part that has `lines_before` lines before it."""
        self.count += other.count
        later = [(lines_before + line_number, reason) for line_number, reason in other.first]
        self.first = [*self.first, *later][:_FIRST_LINES_KEPT]
        self.header_lines = [*self.header_lines, *(lines_before + line for line in other.header_lines)]
        del self.header_lines[_FIRST_LINES_KEPT:]


def parse(
    stream: Iterable[bytes], name: str, dropped: Dropped, columns: Sequence[str] | None = None
) -> Iterator[Sample]:
    """Yield the samples of the lines of a CSV JTL in file order; count dropped records in `dropped`.

    Errors call the file `name`; `columns` are used for a file without a header line. UsageError when this is
    not a CSV JTL.
    """
    rows = RowReader(name, dropped, Layout.of(columns, f"{name}: --columns") if columns else None)
    records = Records(iter(stream), dropped, rows)
    while (record := records.next()) is not None:
        sample = rows.sample(*record)
        if sample is not None:
            yield sample


class Records:
    """Splits lines into records. A quoted field may contain delimiters, doubled quotes and newlines."""

    def __init__(
        self, lines: Iterator[bytes], dropped: Dropped, rows: RowReader, delimiter: str = "", lines_before: int = 0
    ) -> None:
        self.delimiter = delimiter
        self._lines = lines
        self._dropped = dropped
        self._rows = rows
        self._line_count = lines_before
        self._waiting: deque[_Line] = deque()

    @property
    def line_count(self) -> int:
        """Return the number of lines read so far, including those before the first record."""
        return self._line_count - len(self._waiting)

    @property
    def read_ahead(self) -> bytes:
        """Return the bytes read in search of a closing quote that belong to no record yet."""
        return b"".join(line.raw for line in self._waiting)

    def next(self) -> tuple[int, list[str]] | None:
        """Return (line number, fields) of the next record, None at the end; count and skip torn records."""
        while (line := self._waiting.popleft() if self._waiting else self._pull()) is not None:
            text = line.text
            if text in ("", "\r"):
                continue
            if not self.delimiter:
                self.delimiter = _delimiter(text)
            fields = self._split(line) if '"' in text else text.removesuffix("\r").split(self.delimiter)
            if fields is not None:
                return line.number, fields
        return None

    def _pull(self) -> _Line | None:
        raw = next(self._lines, None)
        if raw is None:
            return None
        self._line_count += 1
        text = raw.removesuffix(b"\n").decode("utf-8", errors=NOT_UTF_8)
        text = text.removeprefix("\ufeff")  # at the start of the file, or of one appended to it
        if "\0" in text:  # a full disk leaves a block of NUL bytes in place of lost data
            self._dropped.note(self._line_count, "NUL bytes: data was lost here")
            text = text[text.rindex("\0") + 1 :]
        return _Line(self._line_count, raw, text)

    def _split(self, line: _Line) -> list[str] | None:
        """Return the fields of the record that begins with `line`; None, and counted, when it is torn."""
        text, used = line.text, 0
        fields, is_open = _split_quoted(text, self.delimiter)
        while is_open and used <= _LINES_PER_RECORD_MAX:
            # The record continues in the next line: one that was put back, else from the file.
            if used == len(self._waiting):
                following = self._pull()
                if following is None:
                    break
                self._waiting.append(following)
            following = self._waiting[used]
            text += "\n" + following.text
            used += 1
            if '"' in following.text:
                fields, is_open = _split_quoted(text, self.delimiter)
        reason = _TORN if fields is None or is_open else self._rows.misfit(fields) if used else ""
        if reason:
            self._dropped.note(line.number, reason)
            return None
        for _ in range(used):
            self._waiting.popleft()
        return fields


class _Line(NamedTuple):
    number: int
    raw: bytes
    text: str


def _split_quoted(text: str, delimiter: str) -> tuple[list[str] | None, bool]:
    """Return (fields, whether a quote is still open); fields is None for a torn record."""
    fields: list[str] = []
    position = 0
    text = text.removesuffix("\r")  # of a CRLF line end; an open quote makes the caller retry with the whole record
    while True:
        if text.startswith('"', position):
            end = position + 1
            while True:
                end = text.find('"', end)
                if end < 0:
                    return None, True
                if not text.startswith('""', end):
                    break
                end += 2
            fields.append(text[position + 1 : end].replace('""', '"'))
            position = end + 1
            if position == len(text):
                return fields, False
            if not text.startswith(delimiter, position):
                return None, False
            position += 1
        else:
            end = text.find(delimiter, position)
            if end < 0:
                fields.append(text[position:])
                return fields, False
            fields.append(text[position:end])
            position = end + 1


def _delimiter(line: str) -> str:
    return max(DELIMITERS, key=line.count)


def _is_header(fields: Sequence[str]) -> bool:
    return "timeStamp" in fields and ("elapsed" in fields or "label" in fields)


class RowReader:
    """Turns records into samples. Any header line, also a later one, sets the current columns."""

    def __init__(self, name: str, dropped: Dropped, layout: Layout | None = None) -> None:
        self.layout = layout
        self._name = name
        self._dropped = dropped

    def misfit(self, fields: Sequence[str]) -> str:
        """Return what is wrong with the number of fields; "" while the columns are unknown."""
        if self.layout is None or len(fields) == self.layout.width:
            return ""
        return f"{len(fields)} fields where the header has {self.layout.width}"

    def sample(self, line_number: int, fields: list[str]) -> Sample | None:
        """Return the sample of a record; None for a header line and for a dropped record."""
        if _is_header(fields):
            if line_number > 1 and self.layout is not None and len(self._dropped.header_lines) < _FIRST_LINES_KEPT:
                self._dropped.header_lines.append(line_number)
            self.layout = Layout.of(fields, f"{self._name}:{line_number}")
            return None
        if self.layout is None:
            self.layout = self._assumed(line_number, fields)
        if len(fields) != self.layout.width:
            self._dropped.note(line_number, self.misfit(fields))
            return None
        try:
            return self.layout.sample(fields)
        except ValueError as error:
            self._dropped.note(line_number, str(error))
            return None

    def _assumed(self, line_number: int, fields: list[str]) -> Layout:
        names = _HEADERLESS.get(len(fields))
        if names is None or not _WHOLE.fullmatch(fields[0]):
            todo = f"give its columns: --columns timeStamp,elapsed,… ({units.plural(len(fields), 'field')} a line)"
            raise UsageError(f"{self._name}:{line_number}: not a CSV JTL with known columns: no header line", todo)
        return Layout.of(names.split(","), self._name)


@dataclass(frozen=True)
class Layout:
    """The current columns: the index of each field in a record."""

    columns: tuple[str, ...]

    @classmethod
    def of(cls, columns: Sequence[str], where: str) -> Layout:
        """Return the layout of these columns. UsageError when a required column is missing or occurs twice."""
        missing = [column for column in _NEEDED if column not in columns]
        if missing:
            raise UsageError(f"{where}: no column {', '.join(missing)}", "save the JTL with JMeter's columns")
        doubled = [column for column in READ_COLUMNS if columns.count(column) > 1]
        if doubled:
            raise UsageError(f"{where}: {', '.join(doubled)} occurs twice", "name every column once")
        return cls(tuple(columns))

    @property
    def width(self) -> int:
        """Return the number of fields of a record."""
        return len(self.columns)

    @cached_property
    def index_of(self) -> dict[str, int]:
        """Return the index of each column."""
        return {name: index for index, name in enumerate(self.columns)}

    def sample(self, fields: list[str]) -> Sample:
        """Return the sample of a record. ValueError names a bad field."""
        sample = self._plain_sample(fields) if self._plain_sample else None
        return sample or self._checked_sample(fields)

    @cached_property
    def _plain_sample(self) -> Callable[[list[str]], Sample | None] | None:
        """Return a quick reader of plain records, which nearly all are; it returns None for any other record.

        None when the columns are not those of a plain record: all but SampleCount and ErrorCount.
        """
        names = [name for name in READ_COLUMNS if name not in ("SampleCount", "ErrorCount")]
        if "SampleCount" in self.index_of or not all(name in self.index_of for name in names):
            return None
        (
            start, elapsed, label, success,
            code, message, thread, failure, received, sent, users, latency, connect,
        ) = (self.index_of[name] for name in names)  # fmt: skip
        number_of = _Numbers()

        def read(fields: list[str]) -> Sample | None:
            start_text = fields[start]
            if not (start_text.isdigit() and start_text.isascii() and len(start_text) < _LONG_DIGITS):
                return None
            start_ms = int(start_text)
            try:
                elapsed_ms = number_of[fields[elapsed]]
                is_success = _TRUTHS[fields[success]]
                sample = Sample(
                    start_ms,
                    elapsed_ms,
                    fields[label],
                    fields[code],
                    fields[message],
                    fields[thread],
                    is_success,
                    fields[failure],
                    number_of[fields[received]],
                    number_of[fields[sent]],
                    number_of[fields[users]],
                    number_of[fields[latency]],
                    number_of[fields[connect]],
                    1,
                    0 if is_success else 1,
                )
            except KeyError:
                return None
            return sample if elapsed_ms <= ELAPSED_MAX_MS and start_ms <= START_MAX_MS else None

        return read

    def _checked_sample(self, fields: list[str]) -> Sample:
        index_of = self.index_of
        elapsed_ms = _whole(fields, index_of["elapsed"], "elapsed")
        if not 0 <= elapsed_ms <= ELAPSED_MAX_MS:
            raise ValueError(f"elapsed {elapsed_ms} ms is impossible")
        start_ms = _instant_ms(fields[index_of["timeStamp"]])
        if not 0 <= start_ms <= START_MAX_MS:
            raise ValueError(f"timeStamp {_shown(fields[index_of['timeStamp']])} is impossible")
        success = _truth(fields[index_of["success"]])
        sample_count = 1 if "SampleCount" not in index_of else _whole(fields, index_of["SampleCount"], "SampleCount")
        if sample_count < 1:
            raise ValueError(f"SampleCount {sample_count} is impossible")
        error_count = 0 if success else sample_count
        if sample_count > 1 and "ErrorCount" in index_of:
            error_count = _whole(fields, index_of["ErrorCount"], "ErrorCount")
            if not 0 <= error_count <= sample_count:
                raise ValueError(f"ErrorCount {error_count} of SampleCount {sample_count} is impossible")
        return Sample(
            start_ms,
            elapsed_ms,
            fields[index_of["label"]],
            _text(fields, index_of.get("responseCode")),
            _text(fields, index_of.get("responseMessage")),
            _text(fields, index_of.get("threadName")),
            success,
            _text(fields, index_of.get("failureMessage")),
            _optional(fields, index_of.get("bytes"), "bytes"),
            _optional(fields, index_of.get("sentBytes"), "sentBytes"),
            _optional(fields, index_of.get("allThreads"), "allThreads"),
            _optional(fields, index_of.get("Latency"), "Latency"),
            _optional(fields, index_of.get("Connect"), "Connect"),
            sample_count,
            error_count,
        )


class _Numbers(dict[str, int]):
    """Whole numbers from 0 by their text, remembered because most repeat in a file; KeyError for any other text."""

    def __missing__(self, text: str) -> int:
        if not (text.isdigit() and text.isascii() and len(text) < _LONG_DIGITS):
            raise KeyError(text)
        if len(self) >= _NUMBERS_MAX:
            self.clear()
        number = self[text] = int(text)
        return number


def _text(fields: list[str], index: int | None) -> str:
    return "" if index is None else fields[index]


def _optional(fields: list[str], index: int | None, name: str) -> int | None:
    if index is None:
        return None
    value = _whole(fields, index, name)
    if value < 0:
        raise ValueError(f"{name} {value} is impossible")
    return value


def _whole(fields: list[str], index: int, name: str) -> int:
    text = fields[index]
    try:
        value = whole_number(text)
    except ValueError:
        raise ValueError(f"{name} {_shown(text)} is not a whole number") from None
    if len(text) >= _LONG_DIGITS and abs(value) > LONG_MAX:
        raise ValueError(f"{name} {_shown(text)} is beyond JMeter's range")
    return value


def whole_number(text: str) -> int:
    """Return a whole number as JMeter writes it. ValueError for Python's other spellings: +7, 1_000, spaces."""
    if not (text.isdigit() and text.isascii()) and not _WHOLE.fullmatch(text):
        raise ValueError(text)
    return int(text)


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}…")


def _instant_ms(text: str) -> int:
    """Return a time stamp in ms since 1970, from a number or a date of timestamp_format, taken as UTC."""
    try:
        return whole_number(text)
    except ValueError:
        pass
    for form in _DATE_FORMS if text.isascii() else ():
        try:
            return round(datetime.strptime(text, form).replace(tzinfo=UTC).timestamp() * units.MS_PER_S)
        except ValueError:
            continue
    raise ValueError(f"timeStamp {_shown(text)} is neither a whole number nor a date")


def _truth(text: str) -> bool:
    if text not in _TRUTHS:
        raise ValueError(f"success {_shown(text)} is neither true nor false")
    return _TRUTHS[text]
