"""Reads the samples of tools that load one address: `hey -o csv`, `oha --output-format csv`, `ab -g`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from harness.base.units import MS_PER_S
from harness.jtl.sample import Dropped, Sample
from harness.jtl.tools.rows import ALL_REQUESTS, by_name, each_row, fields_of, header_of, sample_of

_NO_FAILURES = "The CSV file of {} omits requests without a response: errors may be missing"


def read_hey(stream: BinaryIO, _name: str, dropped: Dropped) -> Iterator[Sample]:
    """Yield the samples of `hey -o csv`: from the start of a request, connecting included, to the whole response."""
    dropped.unknown.append(_NO_FAILURES.format("hey"))
    columns = header_of(stream)

    def read(line: str) -> Sample:
        row = by_name(columns, fields_of(line))
        seconds = {name: float(row[name]) for name in ("offset", "response-time", "DNS+dialup", "Response-delay")}
        start, elapsed, connect, delay = (value * MS_PER_S for value in seconds.values())
        return sample_of(
            start, elapsed, ALL_REQUESTS, row["status-code"], connect_ms=connect, latency_ms=connect + delay
        )

    return each_row(stream, dropped, read, first_line=2)


def read_oha(stream: BinaryIO, _name: str, dropped: Dropped) -> Iterator[Sample]:
    """Yield the samples of `oha --output-format csv`: from the start, connecting included, to the whole response."""
    dropped.unknown.append(_NO_FAILURES.format("oha"))
    columns = header_of(stream)

    def read(line: str) -> Sample:
        row = by_name(columns, fields_of(line))
        return sample_of(
            float(row["request-start"]) * MS_PER_S,
            float(row["request-duration"]) * MS_PER_S,
            ALL_REQUESTS,
            row["status"],
            received_bytes=int(row["bytes"]),
            connect_ms=float(row["DNS+dialup"]) * MS_PER_S,
        )

    return each_row(stream, dropped, read, first_line=2)


def read_ab(stream: BinaryIO, _name: str, dropped: Dropped) -> Iterator[Sample]:
    """Yield the samples of `ab -g`: from connecting to the whole response; start times are whole seconds."""
    dropped.unknown.append("A file of ab -g says neither which requests failed nor when exactly they began")
    columns = header_of(stream, "\t")

    def read(line: str) -> Sample:
        row = by_name(columns, line.split("\t"))
        connect = int(row["ctime"])
        return sample_of(
            int(row["seconds"]) * MS_PER_S,
            int(row["ttime"]),
            ALL_REQUESTS,
            "",
            success=True,
            connect_ms=connect,
            latency_ms=connect + int(row["wait"]),
        )

    return each_row(stream, dropped, read, first_line=2)
