"""Reads the samples of Gatling's simulation.log, as text: versions 3.0 to 3.10.

A response time is from the start of the request until the whole response is there, connecting included.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from harness.base.errors import UsageError
from harness.jtl.sample import TRANSACTION_MESSAGE, Dropped, Sample
from harness.jtl.tools.rows import each_row, sample_of

# The first record of a binary log: its type 0, then the length and the text of the version.
BINARY = re.compile(rb"\0\0\0\0[\x03-\x20](\d+\.\d+[\w.-]*)")
_READ = re.compile(r"3\.(\d|10)(\D.*)?")
_REMEDY = "run Gatling 3.0 to 3.10, which writes simulation.log as text"


def refuse_binary(stream: BinaryIO, name: str, _dropped: Dropped) -> Iterator[Sample]:
    """Raise UsageError, which names the version of a binary log."""
    match = BINARY.match(stream.read(64))
    version = match[1].decode() if match else ""
    raise UsageError(f"{name}: a binary log of Gatling {version}, which is not read", _REMEDY)


def read_log(stream: BinaryIO, name: str, dropped: Dropped) -> Iterator[Sample]:
    """Yield the requests of a simulation.log, and its groups as transactions. UsageError for an unknown version."""
    version = stream.readline().decode("utf-8", errors="replace").rstrip("\r\n").split("\t")[-1].strip()
    if not _READ.fullmatch(version):
        raise UsageError(f"{name}: a log of Gatling {version or 'of an unknown version'}, which is not read", _REMEDY)
    dropped.unknown.append("A log of Gatling has neither response codes nor sizes")
    users = 0

    def read(line: str) -> Sample | None:
        nonlocal users
        kind, *fields = line.split("\t")
        if kind == "REQUEST":  # [user,] groups, name, start, end, status, message
            group, label, start, end, status, message = fields[-6:]
        elif kind == "GROUP":  # [user,] groups, start, end, cumulated, status
            group, start, end, _, status = fields[-5:]
            label, message = group, f"{TRANSACTION_MESSAGE} unknown"
        elif kind == "USER":
            users += 1 if "START" in fields else -1
            return None
        else:  # RUN of a log that was appended, ERROR without a request, ASSERTION
            return None
        if status not in ("OK", "KO"):
            raise ValueError(status)
        return sample_of(
            int(start),
            int(end) - int(start),
            f"{group.replace(',', ' / ')} / {label}" if group and kind == "REQUEST" else label.replace(",", " / "),
            "",
            success=status == "OK",
            message=message.strip(),
            users=users or None,
        )

    return each_row(stream, dropped, read, first_line=2)
