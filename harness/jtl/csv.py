"""Reads a CSV JTL into samples and counts everything that had to be dropped: never silently wrong.

A torn record is found by one rule: a closing quote must be followed by the delimiter, a line end or the end of the
file. If it is not, the record that opened the quote is torn; it is dropped and counted, and reading goes on with the
line after the one that the record began in. A record whose number of fields differs from the header is torn too: of
several lines only the first is dropped for it, as a torn quote may have been closed by that of a later record.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import NamedTuple

from harness.base import units
from harness.base.errors import UsageError

# What a run calls its JTL; one that was merged has more.
SAMPLES_NAME = "samples.jtl"
_SAMPLES_NAMES = re.compile(r"samples(?:-([2-9]|[1-9][0-9]+))?\.jtl")
DELIMITERS = (",", "|", ";", "\t")
_NEEDED = ("timeStamp", "elapsed", "label", "success")
# JMeter's default columns, for a file that was written without a header line.
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
# What is read of a record, in the order that harness/metrics/java/Layout.java knows.
READ_COLUMNS = (
    *_NEEDED, "responseCode", "responseMessage", "threadName", "failureMessage", "bytes", "sentBytes", "allThreads",
    "Latency", "Connect", "SampleCount", "ErrorCount",
)  # fmt: skip
# The forms that JMeter itself tries for jmeter.save.saveservice.timestamp_format.
_DATE_FORMS = (
    "%Y/%m/%d %H:%M:%S.%f", "%Y/%m/%d %H:%M:%S", "%Y-%m-%d %H:%M:%S.%f", "%Y-%m-%d %H:%M:%S", "%m/%d/%y %H:%M:%S",
)  # fmt: skip
# A thread is named "<group> <number of the group>-<number of the thread>"; in a distributed run the generator's address
# stands before it as -R has it: an IPv4 address, or any host with its port. A host's bare name could be a group's.
_GENERATOR = re.compile(
    r"([0-9]{1,3}(?:\.[0-9]{1,3}){3}|(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):([1-9][0-9]{0,4}))-.* [0-9]+-[0-9]+",
    re.DOTALL,
)
_PORT_MAX = 65_535
# Bytes that are not UTF-8 become \\xe4 and so on: labels that differ only in these stay apart, and can be printed.
NOT_UTF_8 = "backslashreplace"
_FIRST_LINES_KEPT = 5
_TORN = "torn record: a quote that does not close properly"
# Longer than any sample can be: a time stamp in the place of a duration, a clock that was set.
ELAPSED_MAX_MS = 7 * 24 * 3600 * 1000
# The end of the year 9999, the last that dates know.
START_MAX_MS = 253_402_300_799_999
# Java's long, in which JMeter counts.
LONG_MAX = 2**63 - 1
_LONG_DIGITS = len(str(LONG_MAX))
_WHOLE = re.compile("-?[0-9]{1,4300}")
# So much of a bad field stands in a message.
_SHOWN_MAX = 40
# A record with quotes may span lines; one that spans more than this is a torn quote, not a message.
_LINES_PER_RECORD_MAX = 10_000


class Sample(NamedTuple):
    """One row of a JTL: times in milliseconds since 1970, sizes in bytes; None where the file has no such column."""

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
    sample_count: int = 1  # a row may stand for several samples (JMeter's Statistical mode): elapsed is their sum
    error_count: int = 0

    @property
    def end_ms(self) -> int:
        """When the sample ended."""
        return self.start_ms + self.elapsed_ms

    @property
    def is_transaction(self) -> bool:
        """Whether a Transaction Controller wrote the row: it sums up samples that have rows of their own."""
        return self.message.startswith(TRANSACTION_MESSAGE)


def samples_name(number: int) -> str:
    """Return what a run calls the JTL of its first, second, … generator: samples.jtl, samples-2.jtl, …."""
    return SAMPLES_NAME if number == 1 else f"samples-{number}.jtl"


def samples_number(name: str) -> int | None:
    """Return which of a run's JTLs has this name, from 1 on; None when it is none of them."""
    match = _SAMPLES_NAMES.fullmatch(name)
    return int(match[1] or 1) if match else None


def generator_of(thread_name: str) -> str:
    """Return the generator of a distributed run, as 10.0.0.7:1099, that a thread's name begins with; "" for none."""
    if ":" not in thread_name and not thread_name[:1].isdigit():
        return ""  # nearly all: a regular expression takes five times as long
    match = _GENERATOR.fullmatch(thread_name)
    return match[1] if match and int(match[2] or 1) <= _PORT_MAX else ""


@dataclass
class Dropped:
    """What a reader could not use: how many records, and the first line numbers with the reason.

    `header_lines` are the lines of the first header lines behind the beginning of a file.
    """

    count: int = 0
    first: list[tuple[int, str]] = field(default_factory=list)
    header_lines: list[int] = field(default_factory=list)

    def note(self, line_number: int, reason: str) -> None:
        """Count one dropped record that began in `line_number`."""
        self.count += 1
        if len(self.first) < _FIRST_LINES_KEPT:
            self.first.append((line_number, reason))

    @property
    def first_text(self) -> str:
        """The first of them in words; a line number of 0 stands for none."""
        return "; ".join(f"line {line}: {reason}" if line else reason for line, reason in self.first)

    def merge(self, other: Dropped, lines_before: int) -> None:
        """Add what was dropped from a later part, which has `lines_before` lines before it."""
        self.count += other.count
        later = [(lines_before + line_number, reason) for line_number, reason in other.first]
        self.first = [*self.first, *later][:_FIRST_LINES_KEPT]
        self.header_lines = [*self.header_lines, *(lines_before + line for line in other.header_lines)]
        del self.header_lines[_FIRST_LINES_KEPT:]


def parse(
    stream: Iterable[bytes], name: str, dropped: Dropped, columns: Sequence[str] | None = None
) -> Iterator[Sample]:
    """Yield the samples of a CSV JTL, given line by line, in file order, noting in `dropped` what was left out.

    `name` is what errors call the file; `columns` are its columns where it has no header line. UsageError when it is
    no CSV JTL.
    """
    rows = RowReader(name, dropped, Layout.of(columns, f"{name}: --columns") if columns else None)
    records = Records(iter(stream), dropped, rows)
    while (record := records.next()) is not None:
        sample = rows.sample(*record)
        if sample is not None:
            yield sample


class Records:
    """Splits lines into records: a quoted field may hold delimiters, doubled quotes and newlines."""

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
        """How many lines have gone into the records so far, those before the first one included."""
        return self._line_count - len(self._waiting)

    @property
    def read_ahead(self) -> bytes:
        """What was read in search of a closing quote and belongs to no record yet."""
        return b"".join(line.raw for line in self._waiting)

    def next(self) -> tuple[int, list[str]] | None:
        """Return (line number, fields) of the next record; None at the end. Torn ones are noted and passed over."""
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
        text = text.removeprefix("\ufeff")  # of the file, or of another one put behind the first
        if "\0" in text:  # a block of NUL bytes stands where a full disk lost what was written
            self._dropped.note(self._line_count, "NUL bytes: what was written there is lost")
            text = text[text.rindex("\0") + 1 :]
        return _Line(self._line_count, raw, text)

    def _split(self, line: _Line) -> list[str] | None:
        """Return the fields of the record that begins with `line`; None when it is torn, which is noted."""
        text, used = line.text, 0
        fields, is_open = _split_quoted(text, self.delimiter)
        while is_open and used <= _LINES_PER_RECORD_MAX:
            # The record goes on in the next line: taken from those put back, else from the file.
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
    text = text.removesuffix("\r")  # of a CRLF line end; within quotes the caller comes back with the whole record
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
    """Turns records into samples by the columns in force; a header line anywhere puts its own columns in force."""

    def __init__(self, name: str, dropped: Dropped, layout: Layout | None = None) -> None:
        self.layout = layout
        self._name = name
        self._dropped = dropped

    def misfit(self, fields: Sequence[str]) -> str:
        """Return what is wrong with the number of fields; nothing while the columns are not known."""
        if self.layout is None or len(fields) == self.layout.width:
            return ""
        return f"{len(fields)} fields where the header has {self.layout.width}"

    def sample(self, line_number: int, fields: list[str]) -> Sample | None:
        """Return the sample of a record; None for a header line, and for a record that is noted as dropped."""
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
            raise UsageError(f"{self._name}:{line_number}: not a CSV JTL that is known: no header line", todo)
        return Layout.of(names.split(","), self._name)


@dataclass(frozen=True)
class Layout:
    """The columns in force: where each field of a record stands."""

    columns: tuple[str, ...]

    @classmethod
    def of(cls, columns: Sequence[str], where: str) -> Layout:
        """Return the layout of columns in their order; UsageError when one that is needed is missing or doubled."""
        missing = [column for column in _NEEDED if column not in columns]
        if missing:
            raise UsageError(f"{where}: no column {', '.join(missing)}", "save the JTL with JMeter's columns")
        doubled = [column for column in READ_COLUMNS if columns.count(column) > 1]
        if doubled:
            raise UsageError(f"{where}: {', '.join(doubled)} stands there twice", "name every column once")
        return cls(tuple(columns))

    @property
    def width(self) -> int:
        """How many fields a record has."""
        return len(self.columns)

    @cached_property
    def place(self) -> dict[str, int]:
        """The position of each column."""
        return {name: index for index, name in enumerate(self.columns)}

    def sample(self, fields: list[str]) -> Sample:
        """Return the sample of one record; ValueError says which field is bad."""
        place = self.place
        elapsed_ms = _whole(fields, place["elapsed"], "elapsed")
        if not 0 <= elapsed_ms <= ELAPSED_MAX_MS:
            raise ValueError(f"elapsed {elapsed_ms} ms cannot be")
        start_ms = _instant_ms(fields[place["timeStamp"]])
        if not 0 <= start_ms <= START_MAX_MS:
            raise ValueError(f"timeStamp {_shown(fields[place['timeStamp']])} cannot be")
        success = _truth(fields[place["success"]])
        sample_count = 1 if "SampleCount" not in place else _whole(fields, place["SampleCount"], "SampleCount")
        if sample_count < 1:
            raise ValueError(f"SampleCount {sample_count} cannot be")
        error_count = 0 if success else sample_count
        if sample_count > 1 and "ErrorCount" in place:
            error_count = _whole(fields, place["ErrorCount"], "ErrorCount")
            if not 0 <= error_count <= sample_count:
                raise ValueError(f"ErrorCount {error_count} of SampleCount {sample_count} cannot be")
        return Sample(
            start_ms,
            elapsed_ms,
            fields[place["label"]],
            _text(fields, place.get("responseCode")),
            _text(fields, place.get("responseMessage")),
            _text(fields, place.get("threadName")),
            success,
            _text(fields, place.get("failureMessage")),
            _optional(fields, place.get("bytes"), "bytes"),
            _optional(fields, place.get("sentBytes"), "sentBytes"),
            _optional(fields, place.get("allThreads"), "allThreads"),
            _optional(fields, place.get("Latency"), "Latency"),
            _optional(fields, place.get("Connect"), "Connect"),
            sample_count,
            error_count,
        )


def _text(fields: list[str], index: int | None) -> str:
    return "" if index is None else fields[index]


def _optional(fields: list[str], index: int | None, name: str) -> int | None:
    if index is None:
        return None
    value = _whole(fields, index, name)
    if value < 0:
        raise ValueError(f"{name} {value} cannot be")
    return value


def _whole(fields: list[str], index: int, name: str) -> int:
    text = fields[index]
    try:
        value = whole_number(text)
    except ValueError:
        raise ValueError(f"{name} {_shown(text)} is not a whole number") from None
    if len(text) >= _LONG_DIGITS and abs(value) > LONG_MAX:
        raise ValueError(f"{name} {_shown(text)} is more than JMeter can count")
    return value


def whole_number(text: str) -> int:
    """Return a whole number as JMeter writes it; ValueError for what Python reads as one as well: +7, 1_000, spaces."""
    if not (text.isdigit() and text.isascii()) and not _WHOLE.fullmatch(text):
        raise ValueError(text)
    return int(text)


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}…")


def _instant_ms(text: str) -> int:
    """Return a time stamp in ms since 1970: a number, or a date as timestamp_format may write it, taken as UTC."""
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
    if text in ("true", "TRUE", "True"):
        return True
    if text in ("false", "FALSE", "False"):
        return False
    raise ValueError(f"success {_shown(text)} is neither true nor false")
