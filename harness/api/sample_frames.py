"""Makes DataFrames of samples, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy
import pandas
from pandas import DataFrame

from harness.api.frames import texts
from harness.base.units import MS_PER_S
from harness.jtl.sample import TRANSACTION_MESSAGE, Sample
from harness.metrics.tally import group_of

_INTEGER = "int64"


def sample_frames(
    rows: Iterator[tuple[int, Sample]],
    chunk_rows: int,
    names: Sequence[str],
    once_labels: Sequence[str],
    origin_s: int | None,
) -> Iterator[DataFrame]:
    """Yield DataFrames of at most `chunk_rows` rows; one without rows when there is no sample.

    `rows` are numbers of files, whose `names` are shown, and samples. `origin_s` is the second (since 1970) in which
    the load began; None without a load: then seconds count from the start of the first row.
    """
    once, is_first = frozenset(once_labels), True
    while (chunk := list(islice(rows, chunk_rows))) or is_first:
        if origin_s is None:
            origin_s = chunk[0][1].start_ms // MS_PER_S if chunk else 0
        yield _frame([names[number] for number, _ in chunk], [sample for _, sample in chunk], once, origin_s)
        is_first = False


def _frame(files: Sequence[str], samples: Sequence[Sample], once: frozenset[str], origin_s: int) -> DataFrame:
    columns = zip(*samples, strict=True) if samples else ((),) * len(Sample._fields)
    of: dict[str, Sequence[Any]] = dict(zip(Sample._fields, columns, strict=True))
    start_ms, elapsed_ms = (numpy.array(of[name], dtype=_INTEGER) for name in ("start_ms", "elapsed_ms"))
    groups = {pair: group_of(*pair, once) for pair in set(zip(of["thread_name"], of["label"], strict=True))}
    message = texts(of["message"])
    is_transaction = numpy.array([text.startswith(TRANSACTION_MESSAGE) for text in message.categories], dtype=bool)
    return DataFrame(
        {
            "file": texts(files),
            "second": (start_ms + elapsed_ms) // MS_PER_S - origin_s,
            "start_time": pandas.DatetimeIndex(start_ms.astype("datetime64[ms]")).tz_localize("UTC"),
            "elapsed_ms": elapsed_ms,
            "group": texts([groups[pair] for pair in zip(of["thread_name"], of["label"], strict=True)]),
            "label": texts(of["label"]),
            "is_transaction": is_transaction[message.codes],
            "success": numpy.array(of["success"], dtype=bool),
            "code": texts(of["code"]),
            "message": message,
            "failure": texts(of["failure"]),
            "thread_name": texts(of["thread_name"]),
            "latency_ms": _integers(of["latency_ms"]),
            "connect_ms": _integers(of["connect_ms"]),
            "received_bytes": _integers(of["received_bytes"]),
            "sent_bytes": _integers(of["sent_bytes"]),
            "active_users": _integers(of["all_threads"]),
            "sample_count": numpy.array(of["sample_count"], dtype=_INTEGER),
            "error_count": numpy.array(of["error_count"], dtype=_INTEGER),
            "trace_id": texts(of["trace_id"]),
        }
    )


def _integers(values: Sequence[int | None]) -> pandas.arrays.IntegerArray:
    """Return integers of which some may be unknown; pandas.array takes several times as long."""
    if None not in values:
        return pandas.arrays.IntegerArray(numpy.array(values, dtype=_INTEGER), numpy.zeros(len(values), dtype=bool))
    unknown = numpy.array([value is None for value in values], dtype=bool)
    return pandas.arrays.IntegerArray(numpy.array([value or 0 for value in values], dtype=_INTEGER), unknown)
