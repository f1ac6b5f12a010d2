"""Lines of a tool's file, and the sample of each; a line that cannot be read is dropped and counted."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import BinaryIO, Literal, TypedDict, Unpack

from harness.base.units import MS_PER_S
from harness.jtl.csv import NOT_UTF_8, lines_of
from harness.jtl.sample import ELAPSED_MAX_MS, START_MAX_MS, Dropped, Sample

ALL_REQUESTS = "requests"  # the label where a file does not name its requests
_CUT, _DAMAGED = "cut off in the middle of a line", "damaged"
# What reading a value of another type, size or depth than it must have raises.
DAMAGES = (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError, csv.Error)
_ERROR_CODE_LEAST = 400
# JMeter counts bytes in a whole number of 64 bits, and users in one of 32.
_AMOUNTS_MOST: tuple[tuple[Literal["received_bytes", "sent_bytes", "users"], int], ...] = (
    ("received_bytes", 2**63 - 1), ("sent_bytes", 2**63 - 1), ("users", 2**31 - 1)
)  # fmt: skip
# The powers of ten that whole time stamps since 1970 have: seconds, ms, µs, ns.
_UNITS_PER_MS = {10: 1 / MS_PER_S, 13: 1, 16: 10**3, 19: 10**6}


def each_row(
    stream: BinaryIO, dropped: Dropped, read: Callable[[str], Sample | None], first_line: int = 1
) -> Iterator[Sample]:
    """Yield the sample of each line of a stream that begins with the line `first_line` of its file.

    `read` returns None for a line without a sample, and raises one of DAMAGES for one that is damaged; that is noted in
    `dropped`.
    """
    for number, raw in enumerate(lines_of(stream), first_line):
        line = raw.decode("utf-8", errors=NOT_UTF_8).rstrip("\r\n")
        if not line:
            continue
        try:
            sample = read(line)
        except DAMAGES:
            dropped.note(number, _DAMAGED if raw.endswith(b"\n") else _CUT)
            continue
        if sample is not None:
            yield sample


def fields_of(line: str) -> list[str]:
    """Return the fields of a line of CSV; a quoted field of these tools never spans lines."""
    return next(csv.reader([line], strict=True))


def header_of(stream: BinaryIO, delimiter: str = ",") -> list[str]:
    """Return the column names in the first line."""
    return stream.readline().decode("utf-8", errors=NOT_UTF_8).strip("\ufeff\r\n").split(delimiter)


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


def by_name(columns: Sequence[str], fields: Iterable[str]) -> dict[str, str]:
    """Return the fields of a row by column. ValueError when their number differs: the row is torn."""
    return dict(zip(columns, fields, strict=True))
