"""Lines of a tool's file, and the sample of each; a line that cannot be read is dropped and counted."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import BinaryIO, Literal, TypedDict, Unpack

from harness.base.units import MS_PER_S
from harness.jtl.csv import NOT_UTF_8, Records, RowReader, lines_of
from harness.jtl.layout import Layout
from harness.jtl.sample import ELAPSED_MAX_MS, FIRST_LINES_MOST, START_MAX_MS, Dropped, Sample

ALL_REQUESTS = "requests"  # the label where a file does not name its requests
_CUT, _DAMAGED = "cut off in the middle of a line", "damaged"
# What reading a value of another type, size or depth than it must have raises.
DAMAGES = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, csv.Error)
_ERROR_CODE_LEAST = 400
# JMeter counts bytes in a whole number of 64 bits, and users in one of 32.
_AMOUNTS_MOST: tuple[tuple[Literal["received_bytes", "sent_bytes", "users"], int], ...] = (
    ("received_bytes", 2**63 - 1), ("sent_bytes", 2**63 - 1), ("users", 2**31 - 1)
)  # fmt: skip
# The powers of ten that whole time stamps since 1970 have: seconds, ms, µs, ns.
_UNITS_PER_MS = {10: 1 / MS_PER_S, 13: 1, 16: 10**3, 19: 10**6}

Row = dict[str, str]


def each_row(
    stream: BinaryIO,
    dropped: Dropped,
    read: Callable[[str], Sample | None],
    *,
    first_line: int = 1,
    ends_itself: bool = True,
) -> Iterator[Sample]:
    """Yield the sample of each line of a stream that begins with the line `first_line` of its file.

    `read` returns None for a line without a sample, and raises one of DAMAGES for one that is damaged; that is noted in
    `dropped`. A last line that the tool did not end is cut off, unless it `ends_itself`, as JSON does.
    """
    for number, raw in enumerate(lines_of(stream), first_line):
        line = raw.decode("utf-8", errors=NOT_UTF_8).rstrip("\r\n")
        if not line:
            continue
        sample, is_cut, is_damaged = None, not raw.endswith(b"\n"), False
        try:
            sample = read(line)
        except DAMAGES:
            is_damaged = True
        if is_damaged or (is_cut and (sample is None or not ends_itself)):
            dropped.note(number, _CUT if is_cut else _DAMAGED, is_cut=is_cut)
        elif sample is not None:
            yield sample


def each_record(
    stream: BinaryIO,
    dropped: Dropped,
    read: Callable[[Row], Sample | None],
    columns: Sequence[str] = (),
    delimiter: str = ",",
) -> Iterator[Sample]:
    """Yield the sample of each record of a table, whose quoted fields may span lines; see `each_row`.

    Without `columns` the first record names them. These tools end each line: a record without that is cut off.
    """
    rows = RowReader("", dropped, Layout(tuple(columns)) if columns else None)
    records = Records(lines_of(stream), dropped, rows, delimiter)
    while (record := records.next()) is not None:
        number, fields = record
        if rows.layout is None:
            rows.layout = Layout(tuple(fields))
            continue
        if tuple(fields) == rows.layout.columns:  # of a second run in the file
            dropped.header_lines = [*dropped.header_lines, number][:FIRST_LINES_MOST]
            continue
        try:
            if rows.is_last:
                raise ValueError
            sample = read(dict(zip(rows.layout.columns, fields, strict=True)))
        except DAMAGES:
            dropped.note(number, _CUT if rows.is_last else _DAMAGED, is_torn_end=rows.is_last)
            continue
        if sample is not None:
            yield sample
    # A killed JMeter tears the last row. These tools write at their end: there are more rows that are missing.
    dropped.cut_count, dropped.torn_end_count = dropped.cut_count + dropped.torn_end_count, 0


def rows_of(text: str) -> list[Row]:
    """Return the rows of a whole table by its columns. ValueError for one that is cut off or damaged."""
    if not text.endswith("\n"):
        raise ValueError(_CUT)
    try:
        columns, *records = csv.reader(io.StringIO(text, newline=""), strict=True)
    except csv.Error as error:
        raise ValueError(str(error)) from None
    return [dict(zip(columns, record, strict=True)) for record in records if record]


def ms_since_1970(text: str) -> float:
    """Return a time stamp in ms: RFC 3339, or a whole number of s, ms, µs or ns. ValueError for anything else."""
    if text.isdigit():
        return int(text) / _UNITS_PER_MS[len(text)]
    return datetime.fromisoformat(text).timestamp() * MS_PER_S


class Details(TypedDict, total=False):
    """What a file may say of a sample besides its times, label and code; `users` is the number of active ones."""

    success: bool | None
    message: str
    thread_name: str
    received_bytes: int | None
    sent_bytes: int | None
    users: int | None
    latency_ms: float | None
    connect_ms: float | None


def sample_of(start_ms: float, elapsed_ms: float, label: str, code: str, **more: Unpack[Details]) -> Sample:
    """Return a sample with times rounded to whole ms, as JMeter has them. One of DAMAGES for an impossible value.

    Without `success` a request succeeded that has a response with a code below 400.
    """
    success, message = more.get("success"), more.get("message", "")
    latency_ms, connect_ms = more.get("latency_ms") or 0, more.get("connect_ms") or 0
    start, elapsed = round(start_ms), round(elapsed_ms)
    if not (0 <= start <= START_MAX_MS and 0 <= elapsed <= ELAPSED_MAX_MS):
        raise ValueError(f"{start_ms} {elapsed_ms}")
    if not (0 <= latency_ms <= ELAPSED_MAX_MS and 0 <= connect_ms <= ELAPSED_MAX_MS):
        raise ValueError(f"{latency_ms} {connect_ms}")
    for name, most in _AMOUNTS_MOST:
        if not 0 <= (more.get(name) or 0) <= most:
            raise ValueError(name)
    if not all(isinstance(text, str) for text in (label, code, message, more.get("thread_name", ""))):
        raise TypeError(label)
    if success is None:
        success = not message and 0 < int(code) < _ERROR_CODE_LEAST
    return Sample(
        start_ms=start,
        elapsed_ms=elapsed,
        label=label,
        code=code,
        message=message,
        thread_name=more.get("thread_name", ""),
        success=success,
        failure="" if success else message or f"status {code}",
        received_bytes=more.get("received_bytes"),
        sent_bytes=more.get("sent_bytes"),
        all_threads=more.get("users"),
        latency_ms=round(latency_ms) if more.get("latency_ms") is not None else None,
        connect_ms=round(connect_ms) if more.get("connect_ms") is not None else None,
        error_count=0 if success else 1,
    )
