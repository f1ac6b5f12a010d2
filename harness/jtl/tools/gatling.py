"""Reads the samples of Gatling's simulation.log: as text (versions 3.0 to 3.12) and binary (3.13 to 3.15).

A response time is from the start of the request until the whole response is there, connecting included. The binary
format is that of Gatling's LogFileDataWriter.scala: big-endian numbers, and texts that are written once and then named
by their number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from struct import Struct
from typing import BinaryIO, Never

from harness.base.errors import UsageError
from harness.jtl.sample import FIRST_LINES_MOST, TRANSACTION_MESSAGE, Dropped, Sample
from harness.jtl.tools.rows import each_row, sample_of

_TEXT, _BINARY = re.compile(r"3\.(\d|1[0-2])(\D.*)?"), re.compile(r"3\.1[3-5](\D.*)?")
_LACKS = "A log of Gatling has neither response codes nor sizes"
# Gatling's own report has these among its errors, and not among its requests.
_NEVER_SENT = "never sent (ERROR records)"
_BYTE, _INT, _LONG, _TIMES, _USER = map(Struct, ("!b", "!i", "!q", "!ii", "!ibi"))
_RUN, _REQUEST, _USER_EVENT, _GROUP, _ERROR = range(5)
_ENCODINGS = ("latin-1", "utf-16-le")  # as a JVM on a little-endian machine stores its texts
_TEXT_BYTES_MOST = 1 << 20


def read_log(stream: BinaryIO, name: str, dropped: Dropped) -> Iterator[Sample]:
    """Yield the requests of a simulation.log, and its groups as transactions. UsageError for an unknown version."""
    version = stream.readline().decode("utf-8", errors="replace").rstrip("\r\n").split("\t")[-1].strip()
    if not _TEXT.fullmatch(version):
        _refuse(name, version)
    dropped.unknown.append(_LACKS)
    users, number = 0, 1

    def read(line: str) -> Sample | None:
        nonlocal users, number
        number += 1
        kind, *fields = line.split("\t")
        if kind == "REQUEST":  # [user,] groups, name, start, end, status, message
            group, label, start, end, status, message = fields[-6:]
            groups = [*group.split(","), label] if group else [label.replace(",", " / ")]
        elif kind == "GROUP":  # [user,] groups, start, end, cumulated, status
            group, start, end, _, status = fields[-5:]
            groups, message = group.split(","), None
        elif kind == "USER":
            users += 1 if "START" in fields else -1
            return None
        elif kind == "ERROR":  # message, time
            return _never_sent(int(fields[-1]), fields[0], users)
        else:
            if kind == "RUN":  # of a log that was appended
                dropped.header_lines = [*dropped.header_lines, number][:FIRST_LINES_MOST]
            return None
        if status not in ("OK", "KO"):
            raise ValueError(status)
        return _sample(int(start), int(end), groups, status == "OK", message, users)

    return each_row(stream, dropped, read, first_line=2, ends_itself=False)


def read_binary(stream: BinaryIO, name: str, dropped: Dropped) -> Iterator[Sample]:
    """Yield the requests of a binary simulation.log, and its groups as transactions.

    UsageError for an unknown version. A log that is cut off or damaged is read up to there, which `dropped` notes.
    """
    log, users, number = _Binary(stream), 0, 1
    try:
        log.take(_BYTE)
        version = log.text()
        if not _BINARY.fullmatch(version):
            _refuse(name, version)
        dropped.unknown.append(_LACKS)
        log.text()
        (run_ms,) = log.take(_LONG)
        log.text()
        for _ in range(log.number()):  # scenarios
            log.text()
        for _ in range(log.number()):  # assertions
            log.bytes(log.number())
        while (kind := stream.read(1)) != b"":
            number += 1
            if kind[0] == _USER_EVENT:
                users += 1 if log.take(_USER)[1] else -1
            elif kind[0] == _ERROR:
                message, at = log.cached(), log.number()
                yield _never_sent(run_ms + at, message, users)
            elif kind[0] in (_REQUEST, _GROUP):
                groups, message = [log.cached() for _ in range(log.number())], None
                if kind[0] == _REQUEST:
                    groups.append(log.cached())
                start, end = log.take(_TIMES)
                if kind[0] == _GROUP:
                    log.number()  # the sum of its response times
                is_ok = log.take(_BYTE)[0] == 1
                if kind[0] == _REQUEST:
                    message = log.cached()
                try:
                    yield _sample(run_ms + start, run_ms + end, groups, is_ok, message, users)
                except ValueError:
                    dropped.note(0, f"record {number}: impossible times")
            else:
                raise ValueError(kind)
    except EOFError:
        dropped.note(0, f"record {number}: cut off", is_cut=True)
    except (ValueError, LookupError):
        dropped.note(0, f"record {number}: damaged, and nothing after it can be read", is_cut=True)


def _sample(
    start_ms: int, end_ms: int, groups: Sequence[str], success: bool, message: str | None, users: int
) -> Sample:
    """Return the sample of a request, or of a group, which has no message."""
    return sample_of(
        start_ms,
        end_ms - start_ms,
        " / ".join(groups),
        "",
        success=success,
        message=f"{TRANSACTION_MESSAGE} unknown" if message is None else message.strip(),
        users=users or None,
    )


def _never_sent(at_ms: int, message: str, users: int) -> Sample:
    """Return a failure of 0 ms for an ERROR record: a request that could not be built, so no server has seen it."""
    return sample_of(at_ms, 0, _NEVER_SENT, "", success=False, message=message.strip(), users=users or None)


def _refuse(name: str, version: str) -> Never:
    remedy = "run Gatling 3.0 to 3.15, or upgrade this tool"
    raise UsageError(f"{name}: a log of Gatling {version or 'of an unknown version'}, which is not read", remedy)


class _Binary:
    """The values in a binary log. EOFError at its end; ValueError or LookupError for one that is damaged."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._texts: dict[int, str] = {}

    def bytes(self, count: int) -> bytes:
        if not 0 <= count <= _TEXT_BYTES_MOST:
            raise ValueError(count)
        read = self._stream.read(count)
        if len(read) < count:
            raise EOFError
        return read

    def take(self, values: Struct) -> tuple[int, ...]:
        return values.unpack(self.bytes(values.size))

    def number(self) -> int:
        return self.take(_INT)[0]

    def text(self) -> str:
        count = self.number()
        if not count:
            return ""
        raw = self.bytes(count)
        return raw.decode(_ENCODINGS[self.take(_BYTE)[0]])

    def cached(self) -> str:
        number = self.number()
        if number >= 0:
            self._texts[number] = self.text()
        return self._texts[abs(number)]
