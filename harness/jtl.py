"""Reads a CSV JTL into samples and counts everything that had to be dropped: never silently wrong.

A torn record is found by one rule: a closing quote must be followed by the delimiter, a line end or the end of the
file. If it is not, the record that opened the quote is torn; it is dropped and counted, and reading goes on with the
line after the one that the record began in. A record whose number of fields differs from the header is torn too.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO, NamedTuple

from harness.errors import UsageError

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
_FIRST_LINES_KEPT = 5
# Longer than any sample can be: a time stamp in the place of a duration, a clock that was set.
_ELAPSED_MAX_MS = 7 * 24 * 3600 * 1000
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

    @property
    def end_ms(self) -> int:
        """When the sample ended."""
        return self.start_ms + self.elapsed_ms


@dataclass
class Dropped:
    """What a reader could not use: how many records, and the first line numbers with the reason."""

    count: int = 0
    first: list[tuple[int, str]] = field(default_factory=list)

    def note(self, line_number: int, reason: str) -> None:
        """Count one dropped record that began in `line_number`."""
        self.count += 1
        if len(self.first) < _FIRST_LINES_KEPT:
            self.first.append((line_number, reason))


def parse(stream: BinaryIO, name: str, dropped: Dropped) -> Iterator[Sample]:
    """Yield the samples of an open CSV JTL in file order, noting in `dropped` what was left out.

    `name` is what errors call the file; UsageError when it is no CSV JTL.
    """
    lines = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="replace", newline="\n")
    columns: _Columns | None = None
    for line_number, fields in _records(_numbered(lines, dropped), dropped):
        if columns is None:
            columns, is_header = _first_columns(fields, name, line_number)
            if is_header:
                continue
        if _is_header(fields):
            columns = _header_columns(fields, name, line_number)  # files put together: the later one is in force now
            continue
        if len(fields) != columns.width:
            dropped.note(line_number, f"{len(fields)} fields where the header has {columns.width}")
            continue
        try:
            sample = columns.sample(fields)
        except ValueError as error:
            dropped.note(line_number, str(error))
            continue
        yield sample


def _numbered(lines: Iterable[str], dropped: Dropped) -> Iterator[tuple[int, str]]:
    for line_number, line in enumerate(lines, 1):
        text = line.removesuffix("\n").removeprefix("\ufeff")  # the mark of another file put behind the first
        if "\0" in text:  # a block of NUL bytes stands where a full disk lost what was written
            dropped.note(line_number, "NUL bytes: what was written there is lost")
            text = text[text.rindex("\0") + 1 :]
        yield line_number, text


def _records(lines: Iterator[tuple[int, str]], dropped: Dropped) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, fields) per record; a quoted field may hold delimiters, doubled quotes and newlines."""
    waiting: list[tuple[int, str]] = []
    delimiter = ""
    while True:
        number, line = waiting.pop(0) if waiting else next(lines, (0, ""))
        if number == 0:
            return
        if line in ("", "\r"):
            continue
        if not delimiter:
            delimiter = _delimiter(line)
        if '"' not in line:
            yield number, line.removesuffix("\r").split(delimiter)
            continue
        text, used = line, 0
        fields, is_open = _split_quoted(text, delimiter)
        while is_open:
            # The record goes on in the next line: taken from those put back, else from the file.
            if used == len(waiting):
                following = next(lines, None)
                if following is None:
                    break
                waiting.append(following)
            text += "\n" + waiting[used][1]
            used += 1
            if '"' in waiting[used - 1][1] or used > _LINES_PER_RECORD_MAX:
                fields, is_open = _split_quoted(text, delimiter)
                if used > _LINES_PER_RECORD_MAX:
                    break
        if fields is None or is_open:
            dropped.note(number, "torn record: a quote that does not close properly")
            continue
        del waiting[:used]
        yield number, fields


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


def _header_columns(fields: Sequence[str], name: str, line_number: int) -> _Columns:
    missing = [column for column in _NEEDED if column not in fields]
    if missing:
        raise UsageError(f"{name}:{line_number}: no column {', '.join(missing)}", "save the JTL with JMeter's columns")
    return _Columns(fields)


def _first_columns(fields: list[str], name: str, line_number: int) -> tuple[_Columns, bool]:
    """Return the columns in force from the first record on, and whether that record is a header."""
    if _is_header(fields):
        return _header_columns(fields, name, line_number), True
    assumed = _HEADERLESS.get(len(fields))
    if assumed is None or not fields[0].isdigit():
        kind = "XML, and only CSV is read" if fields[0].startswith("<") else "not a CSV JTL: no header line"
        raise UsageError(f"{name}:{line_number}: {kind}", "name a JTL that JMeter wrote as CSV")
    return _Columns(assumed.split(",")), False


class _Columns:
    """Where each field of a record stands."""

    def __init__(self, names: Sequence[str]) -> None:
        self.width = len(names)
        place = {name: index for index, name in enumerate(names)}
        self._start, self._elapsed, self._label, self._success = (place[name] for name in _NEEDED)
        self._code = place.get("responseCode")
        self._message = place.get("responseMessage")
        self._thread = place.get("threadName")
        self._failure = place.get("failureMessage")
        self._received = place.get("bytes")
        self._sent = place.get("sentBytes")
        self._all_threads = place.get("allThreads")

    def sample(self, fields: list[str]) -> Sample:
        """Return the sample of one record; ValueError says which field is bad."""
        elapsed_ms = _whole(fields, self._elapsed, "elapsed")
        if not 0 <= elapsed_ms <= _ELAPSED_MAX_MS:
            raise ValueError(f"elapsed {elapsed_ms} ms cannot be")
        return Sample(
            _whole(fields, self._start, "timeStamp"),
            elapsed_ms,
            fields[self._label],
            _text(fields, self._code),
            _text(fields, self._message),
            _text(fields, self._thread),
            _truth(fields[self._success]),
            _text(fields, self._failure),
            None if self._received is None else _whole(fields, self._received, "bytes"),
            None if self._sent is None else _whole(fields, self._sent, "sentBytes"),
            None if self._all_threads is None else _whole(fields, self._all_threads, "allThreads"),
        )


def _text(fields: list[str], index: int | None) -> str:
    return "" if index is None else fields[index]


def _whole(fields: list[str], index: int, name: str) -> int:
    try:
        return int(fields[index])
    except ValueError:
        raise ValueError(f"{name} {fields[index]!r} is not a whole number") from None


def _truth(text: str) -> bool:
    if text in ("true", "TRUE", "True"):
        return True
    if text in ("false", "FALSE", "False"):
        return False
    raise ValueError(f"success {text!r} is neither true nor false")
