"""Writes the large files of `scripts/bench scale`: a generated file repeated, one of many labels, one of many days."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from bench.readers.file import BenchFile
from bench.readers.generate import HEADER
from bench.readers.truth import LabelTruth, Truth
from harness.base.log import Log
from harness.base.units import MS_PER_S

_CHUNK_BYTES = 16 * 1024 * 1024
_PROGRESS_PERIOD_S = 2.0
_STARTED_MS = 1_700_000_000_000
# The time stamps of generated files begin with 17; no line within a quoted message does.
_POWERS = 10 ** np.arange(12, -1, -1)
_RECEIVED_BYTES, _SENT_BYTES = 1200, 300
_S_PER_DAY = 24 * 3600


def repeated(base: BenchFile, times: Sequence[int], path: Path, log: Log) -> BenchFile:
    """Write the rows of a generated file once per number in `times`, moved on by that many lengths of the file.

    Returns the new file with its true contents. OSError when it cannot be written.
    """
    total = base.truth.total("")
    length_ms = total.last_ms - total.first_ms
    next_log_s = time.monotonic() + _PROGRESS_PERIOD_S
    with path.open("wb") as out:
        out.write(HEADER.encode())
        for done, number in enumerate(times):
            for lines in _lines(base.path):
                out.write(moved(lines, number * length_ms))
                if time.monotonic() > next_log_s:
                    next_log_s += _PROGRESS_PERIOD_S
                    log(f"writing {path.name}: {done} of {len(times)} times {base.row_count:,} rows")
    labels = tuple(_repeated_truth(label, times, length_ms) for label in base.truth.labels)
    return BenchFile(path, path.stat().st_size, len(times) * base.row_count, Truth(labels))


def moved(lines: bytes, by_ms: int) -> bytes:
    """Return lines of a generated file with all time stamps moved on."""
    if not by_ms:
        return lines
    data = np.frombuffer(b"\n" + lines, np.uint8).copy()
    starts = np.flatnonzero((data[:-2] == ord("\n")) & (data[1:-1] == ord("1")) & (data[2:] == ord("7"))) + 1
    positions = starts[:, None] + np.arange(len(_POWERS))
    times_ms = (data[positions] - ord("0")).astype(np.int64) @ _POWERS + by_ms
    data[positions] = times_ms[:, None] // _POWERS % 10 + ord("0")
    return data[1:].tobytes()


def many_labels(path: Path, label_count: int, rows_each: int) -> BenchFile:
    """Write a file in which each of many labels has a few rows, in turn; return it with its true contents."""
    labels = [f"GET /items/{number:06d}" for number in range(label_count)]
    return _written(path, labels, label_count * rows_each, 1)


def many_seconds(path: Path, days: int, rows_per_s: int) -> BenchFile:
    """Write a file with a few rows in each second of many days; return it with its true contents."""
    labels = ("Browse", "Search", "Buy")
    return _written(path, labels, days * _S_PER_DAY * rows_per_s, MS_PER_S // rows_per_s)


def _written(path: Path, labels: Sequence[str], row_count: int, step_ms: int) -> BenchFile:
    """Write rows whose labels take turns, one every `step_ms` from the start of the first on."""
    counts: dict[str, dict[int, int]] = {label: {} for label in labels}
    first_ms: dict[str, int] = {}
    last_ms = dict.fromkeys(labels, 0)
    with path.open("w", encoding="utf-8") as out:
        out.write(HEADER)
        for row in range(row_count):
            label = labels[row % len(labels)]
            start_ms, elapsed_ms = _STARTED_MS + row * step_ms, 5 + row * 7919 % 200
            out.write(
                f"{start_ms},{elapsed_ms},{label},200,OK,Users 1-{1 + row % 9},text,true,,{_RECEIVED_BYTES},"
                f"{_SENT_BYTES},9,9,http://127.0.0.1:8080/{row % 1000},{elapsed_ms},0,0\n"
            )
            own = counts[label]
            own[elapsed_ms] = own.get(elapsed_ms, 0) + 1
            first_ms.setdefault(label, start_ms)
            last_ms[label] = max(last_ms[label], start_ms + elapsed_ms)
    truths = []
    for label, own in counts.items():
        if count := sum(own.values()):
            received_bytes, sent_bytes = count * _RECEIVED_BYTES, count * _SENT_BYTES
            truths.append(LabelTruth(label, own, 0, received_bytes, sent_bytes, first_ms[label], last_ms[label]))
    return BenchFile(path, path.stat().st_size, row_count, Truth(tuple(truths)))


def _lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a generated file without its header, many at a time."""
    with path.open("rb") as file:
        file.seek(len(HEADER.encode()))
        left = b""
        while chunk := file.read(_CHUNK_BYTES):
            whole, newline, left = (left + chunk).rpartition(b"\n")
            yield whole + newline


def _repeated_truth(label: LabelTruth, times: Sequence[int], length_ms: int) -> LabelTruth:
    return replace(
        label,
        counts={value_ms: count * len(times) for value_ms, count in label.counts.items()},
        error_count=label.error_count * len(times),
        received_bytes=label.received_bytes * len(times),
        sent_bytes=label.sent_bytes * len(times),
        first_ms=label.first_ms + min(times) * length_ms,
        last_ms=label.last_ms + max(times) * length_ms,
    )
