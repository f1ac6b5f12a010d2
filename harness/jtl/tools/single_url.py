"""Reads the samples of tools that load one address: `hey -o csv`, `oha --output-format csv`, `ab -g`, h2load."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from harness.base.units import MS_PER_S
from harness.jtl.sample import Dropped, Sample
from harness.jtl.tools.rows import ALL_REQUESTS, Row, each_record, sample_of

_US_PER_MS = 1_000
_NO_FAILURES = "The CSV file of {} omits requests without a response: errors may be missing"


def read_hey(stream: BinaryIO, _name: str, dropped: Dropped) -> Iterator[Sample]:
    """Yield the samples of `hey -o csv`: from the start of a request, connecting included, to the whole response."""
    dropped.unknown.append(_NO_FAILURES.format("hey"))

    def read(row: Row) -> Sample:
        seconds = {name: float(row[name]) for name in ("offset", "response-time", "DNS+dialup", "Response-delay")}
        start, elapsed, connect, delay = (value * MS_PER_S for value in seconds.values())
        return sample_of(
            start, elapsed, ALL_REQUESTS, row["status-code"], connect_ms=connect, latency_ms=connect + delay
        )

    return each_record(stream, dropped, read)


def read_oha(stream: BinaryIO, _name: str, dropped: Dropped) -> Iterator[Sample]:
    """Yield the samples of `oha --output-format csv`: from the start, connecting included, to the whole response."""
    dropped.unknown.append(_NO_FAILURES.format("oha"))

    def read(row: Row) -> Sample:
        return sample_of(
            float(row["request-start"]) * MS_PER_S,
            float(row["request-duration"]) * MS_PER_S,
            ALL_REQUESTS,
            row["status"],
            received_bytes=int(row["bytes"]),
            connect_ms=float(row["DNS+dialup"]) * MS_PER_S,
        )

    return each_record(stream, dropped, read)


def read_ab(stream: BinaryIO, _name: str, dropped: Dropped) -> Iterator[Sample]:
    """Yield the samples of `ab -g`: from connecting to the whole response; start times are whole seconds."""
    dropped.unknown.append(
        "A file of ab -g says neither which requests failed nor when exactly they began, so req/s is rough"
    )

    def read(row: Row) -> Sample:
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

    return each_record(stream, dropped, read, delimiter="\t")


def read_h2load(stream: BinaryIO, _name: str, dropped: Dropped) -> Iterator[Sample]:
    """Yield the samples of `h2load --log-file FILE`: start and time in µs, and the status."""
    dropped.unknown.append("The log of h2load omits requests without a response: errors may be missing")

    def read(row: Row) -> Sample:
        start, elapsed = int(row["start"]) / _US_PER_MS, int(row["time"]) / _US_PER_MS
        return sample_of(start, elapsed, ALL_REQUESTS, row["status"])

    return each_record(stream, dropped, read, ("start", "status", "time"), "\t")
