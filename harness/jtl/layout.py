"""The columns of a CSV JTL: which field is which, and the sample that a record's fields mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from harness.base import units
from harness.base.errors import UsageError
from harness.jtl.sample import (
    ELAPSED_MAX_MS,
    HOST_COLUMN,
    LONG_MAX,
    TRACE_COLUMN,
    WHOLE,
    Sample,
    is_plain_number,
    whole_number,
)
from harness.jtl.times import ALWAYS, Times

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
# The columns that are read from a record, in the order that harness/metrics/java/Layout.java knows.
READ_COLUMNS = (
    *_NEEDED, "responseCode", "responseMessage", "threadName", "failureMessage", "bytes", "sentBytes", "allThreads",
    "Latency", "Connect", "SampleCount", "ErrorCount",
)  # fmt: skip
# Of these, the ones with whole numbers.
WHOLE_COLUMNS = (
    "timeStamp", "elapsed", "bytes", "sentBytes", "allThreads", "Latency", "Connect", "SampleCount", "ErrorCount",
)  # fmt: skip
# The formats that JMeter itself tries for jmeter.save.saveservice.timestamp_format, and one with the day first, which
# no other is taken for. ISO 8601 is read besides. Others are ambiguous: 3/4/2026 is in March or April.
_DATE_FORMS = (
    "%Y/%m/%d %H:%M:%S.%f", "%Y/%m/%d %H:%M:%S", "%Y-%m-%d %H:%M:%S.%f", "%Y-%m-%d %H:%M:%S", "%m/%d/%y %H:%M:%S",
    "%d.%m.%Y %H:%M:%S.%f", "%d.%m.%Y %H:%M:%S",
)  # fmt: skip
_DATES_READ = "2026-01-31T23:59:59.999Z, 2026/01/31 23:59:59.999, 31.01.2026 23:59:59 or 01/31/26 23:59:59"
_LONG_DIGITS = len(str(LONG_MAX))
NAME_A_JTL = "name a JTL that JMeter wrote, or a file of another tool in lth help other-tools"
_HEADER_REMEDY = "run again with jmeter.save.saveservice.timestamp_format=ms and JMeter's default columns"
# So many numbers of a file are remembered.
_NUMBERS_MAX = 50_000
TRUTHS = {"true": True, "TRUE": True, "True": True, "false": False, "FALSE": False, "False": False}
# The columns by their name in small letters.
_SPELLINGS = {name.lower(): name for name in (*READ_COLUMNS, "grpThreads", TRACE_COLUMN, HOST_COLUMN)}
# The length of a bad field in a message.
_SHOWN_MAX = 40


@dataclass(frozen=True)
class Layout:
    """The current columns: the index of each field in a record; and the possible time stamps of the file."""

    columns: tuple[str, ...]
    times: Times = ALWAYS

    @classmethod
    def of(cls, columns: Sequence[str], where: str, times: Times = ALWAYS) -> Layout:
        """Return the layout of these columns. UsageError when a required column is missing or occurs twice."""
        columns = spelled(columns)
        if missing := [column for column in _NEEDED if column not in columns]:
            raise UsageError(f"{where}: no column {', '.join(missing)}", "save the JTL with JMeter's columns")
        if doubled := _doubled(columns):
            raise UsageError(f"{where}: {', '.join(doubled)} occurs twice", "name every column once")
        return cls(tuple(columns), times)

    @cached_property
    def width(self) -> int:
        """Return the number of fields of a record."""
        return len(self.columns)

    @cached_property
    def index_of(self) -> dict[str, int]:
        """Return the index of each column."""
        return {name: index for index, name in enumerate(self.columns)}

    @cached_property
    def plain_sample(self) -> Callable[[list[str]], Sample | None] | None:
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
        number_of, group_users = _Numbers(), self.index_of.get("grpThreads")
        traced, host = self.index_of.get(TRACE_COLUMN), self.index_of.get(HOST_COLUMN)
        first_ms, last_ms = self.times

        def read(fields: list[str]) -> Sample | None:
            start_text = fields[start]
            if not (is_plain_number(start_text) and len(start_text) < _LONG_DIGITS):
                return None
            start_ms = int(start_text)
            try:
                elapsed_ms = number_of[fields[elapsed]]
                is_success = TRUTHS[fields[success]]
                values = (
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
                    None if group_users is None else number_of[fields[group_users]],
                    "" if traced is None else fields[traced],
                    "" if host is None else fields[host],
                )
            except KeyError:
                return None
            if elapsed_ms <= ELAPSED_MAX_MS and first_ms <= start_ms <= last_ms:
                return tuple.__new__(Sample, values)  # as Sample(*values), in half the time
            return None

        return read

    def checked_sample(self, fields: list[str]) -> Sample:
        """Return the sample of any record. ValueError names a bad field, BadTimeError an impossible time stamp."""
        given = dict(zip(self.columns, fields, strict=True))
        elapsed_ms = _whole(given, "elapsed")
        if not 0 <= elapsed_ms <= ELAPSED_MAX_MS:
            raise ValueError(f"elapsed {elapsed_ms} ms is impossible")
        start_ms = _instant_ms(given["timeStamp"])
        self.times.check(start_ms, _shown(given["timeStamp"]))
        if (success := TRUTHS.get(given["success"])) is None:
            raise ValueError(f"success {_shown(given['success'])} is neither true nor false")
        sample_count = _whole(given, "SampleCount") if "SampleCount" in given else 1
        if sample_count < 1:
            raise ValueError(f"SampleCount {sample_count} is impossible")
        error_count = 0 if success else sample_count
        if sample_count > 1 and "ErrorCount" in given:
            error_count = _whole(given, "ErrorCount")
            if not 0 <= error_count <= sample_count:
                raise ValueError(f"ErrorCount {error_count} of SampleCount {sample_count} is impossible")
        received_bytes, sent_bytes, all_threads, latency_ms, connect_ms = (
            _optional(given, name) for name in ("bytes", "sentBytes", "allThreads", "Latency", "Connect")
        )
        return Sample(
            start_ms,
            elapsed_ms,
            given["label"],
            given.get("responseCode", ""),
            given.get("responseMessage", ""),
            given.get("threadName", ""),
            success,
            given.get("failureMessage", ""),
            received_bytes,
            sent_bytes,
            all_threads,
            latency_ms,
            connect_ms,
            sample_count,
            error_count,
            _count(given.get("grpThreads", "")),
            given.get(TRACE_COLUMN, ""),
            given.get(HOST_COLUMN, ""),
        )


def assumed_layout(fields: Sequence[str], where: str, times: Times) -> Layout:
    """Return JMeter's default layout for the first record of a file without a header line. UsageError for another."""
    names = _HEADERLESS.get(len(fields))
    if names is not None and WHOLE.fullmatch(fields[0]):
        return Layout.of(names.split(","), where, times)
    if len(set(fields) & set(READ_COLUMNS)) >= len(_NEEDED):
        lacking = ", ".join(name for name in _NEEDED if name not in fields)
        raise UsageError(f"{where}: its header line has no column {lacking}", _HEADER_REMEDY)
    if len(fields) == 1 or not WHOLE.fullmatch(fields[0]):
        begins = f"it begins with {_shown(fields[0])}"
        raise UsageError(f"{where}: not a CSV JTL: {begins}", NAME_A_JTL)
    todo = f"give its columns: --columns timeStamp,elapsed,… ({units.plural(len(fields), 'field')} a line)"
    raise UsageError(f"{where}: not a CSV JTL with known columns: no header line", todo)


class _Numbers(dict[str, int]):
    """Whole numbers from 0 by their text, remembered because most repeat in a file; KeyError for any other text."""

    def __missing__(self, text: str) -> int:
        if not (is_plain_number(text) and len(text) < _LONG_DIGITS):
            raise KeyError(text)
        if len(self) >= _NUMBERS_MAX:
            self.clear()
        number = self[text] = int(text)
        return number


def spelled(columns: Sequence[str]) -> Sequence[str]:
    """Return the names of columns as JMeter writes them, in place of other capitals and blanks around them."""
    names = [_SPELLINGS.get(column.strip().lower(), column) for column in columns]
    return [column if name in columns else name for column, name in zip(columns, names, strict=True)]


def is_header(fields: Sequence[str]) -> bool:
    """Return whether a record is a header line."""
    return "timeStamp" in fields and ("elapsed" in fields or "label" in fields)


def lacks_columns(columns: Sequence[str]) -> bool:
    """Return whether no layout has these columns: a needed one is missing, or one occurs twice."""
    columns = spelled(columns)
    return bool(set(_NEEDED) - set(columns) or _doubled(columns))


def _doubled(columns: Sequence[str]) -> list[str]:
    return [column for column in READ_COLUMNS if columns.count(column) > 1]


def _optional(given: dict[str, str], name: str) -> int | None:
    if name not in given:
        return None
    value = _whole(given, name)
    if value < 0:
        raise ValueError(f"{name} {value} is impossible")
    return value


def _count(text: str) -> int | None:
    """Return a count that few reports use: one that is no number spoils no record, and is not known."""
    return int(text) if is_plain_number(text) and len(text) < _LONG_DIGITS else None


def _whole(given: dict[str, str], name: str) -> int:
    text = given[name]
    try:
        value = whole_number(text)
    except ValueError:
        raise ValueError(f"{name} {_shown(text)} is not a whole number") from None
    if len(text) >= _LONG_DIGITS and abs(value) > LONG_MAX:
        raise ValueError(f"{name} {_shown(text)} is beyond JMeter's range")
    return value


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}…")


def _instant_ms(text: str) -> int:
    """Return a time stamp in ms since 1970, from a number or a date; one without a time zone is taken as UTC."""
    try:
        return whole_number(text)
    except ValueError:
        pass
    moment: datetime | None = None
    if text.isascii() and "T" in text:
        with suppress(ValueError):
            moment = datetime.fromisoformat(text)
    for form in _DATE_FORMS if text.isascii() and moment is None else ():
        with suppress(ValueError):
            moment = datetime.strptime(text, form)
            break
    if moment is None:
        raise ValueError(f"timeStamp {_shown(text)} is neither a whole number nor a date as {_DATES_READ}")
    return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * units.MS_PER_S)
