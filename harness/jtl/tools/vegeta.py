"""Reads the samples of Vegeta: `vegeta encode --to json` and `--to csv`.

Latency is from the start of the request until the whole response is read, connecting included.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import BinaryIO

from harness.base.errors import UsageError
from harness.jtl.sample import Dropped, Sample
from harness.jtl.tools.rows import each_record, each_row, ms_since_1970, sample_of

_NS_PER_MS = 1_000_000
_COLUMNS = (
    "timestamp", "code", "latency", "bytes_out", "bytes_in", "error", "body", "attack", "seq", "method", "url",
    "headers",
)  # fmt: skip


def refuse_gob(_stream: BinaryIO, name: str, _dropped: Dropped) -> Iterator[Sample]:
    """Raise UsageError, which names the command that makes a readable file."""
    raise UsageError(f"{name}: Vegeta's binary results", f"convert them: vegeta encode --to json {name} > results.json")


def read_json(stream: BinaryIO, _name: str, dropped: Dropped) -> Iterator[Sample]:
    """Yield the samples of `vegeta encode --to json`."""
    return each_row(stream, dropped, lambda line: _sample(json.loads(line)))


def read_csv(stream: BinaryIO, _name: str, dropped: Dropped) -> Iterator[Sample]:
    """Yield the samples of `vegeta encode --to csv`, which has no header line."""
    return each_record(stream, dropped, _sample, _COLUMNS)


def _sample(row: dict[str, str]) -> Sample:
    label = f"{row['method']} {row['url']}".strip()
    return sample_of(
        ms_since_1970(str(row["timestamp"])),
        int(row["latency"]) / _NS_PER_MS,
        label or row["attack"] or "requests",
        str(row["code"]),
        message=row["error"],
        received_bytes=int(row["bytes_in"]),
        sent_bytes=int(row["bytes_out"]),
    )
