"""Makes DataFrames of samples, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy
import pandas
from pandas import Categorical, DataFrame

from harness.api.frames import joined, texts
from harness.api.sample_pieces import Piece, of_samples
from harness.base.units import MS_PER_S
from harness.jtl.sample import TRANSACTION_MESSAGE
from harness.metrics.figures import group_of


def sample_frames(
    pieces: Iterator[Piece], chunk_rows: int, names: Sequence[str], once_labels: Sequence[str], origin_s: int | None
) -> Iterator[DataFrame]:
    """Yield DataFrames of at most `chunk_rows` rows; one without rows when there is no sample.

    `names` are the names of the files that are shown. `origin_s` is the second (since 1970) in which
    the load began; None without a load: then seconds count from the start of the first row.
    """
    once, is_first = frozenset(once_labels), True
    for parts in _chunks(pieces, chunk_rows):
        if origin_s is None:
            origin_s = int(parts[0].samples["start_ms"].iloc[0]) // MS_PER_S
        frames = [_frame(names[part.file], part.samples, once, origin_s) for part in parts]
        yield frames[0] if len(frames) == 1 else joined(frames)
        is_first = False
    if is_first:
        yield _frame("", of_samples(()), once, 0)


def _chunks(pieces: Iterator[Piece], chunk_rows: int) -> Iterator[list[Piece]]:
    """Yield the pieces, cut and put together to chunks of so many rows; the last one may have fewer."""
    parts: list[Piece] = []
    row_count = 0
    for piece in pieces:
        rest = piece.samples
        while row_count + len(rest) >= chunk_rows:
            cut = chunk_rows - row_count
            yield [*parts, Piece(piece.file, rest.iloc[:cut])]
            parts, row_count, rest = [], 0, rest.iloc[cut:]
        if len(rest):
            parts.append(Piece(piece.file, rest))
            row_count += len(rest)
    if parts:
        yield parts


def _frame(file: str, rows: DataFrame, once: frozenset[str], origin_s: int) -> DataFrame:
    names = pandas.Index([file] if len(rows) else [], dtype="str")
    start_ms, elapsed_ms = (rows[name].to_numpy() for name in ("start_ms", "elapsed_ms"))
    label, message, thread_name = (_by_appearance(rows[name].array) for name in ("label", "message", "thread_name"))
    is_transaction = numpy.array([text.startswith(TRANSACTION_MESSAGE) for text in message.categories], dtype=bool)
    return DataFrame(
        {
            "file": Categorical.from_codes(numpy.zeros(len(rows), dtype="int8"), categories=names),
            "second": (start_ms + elapsed_ms) // MS_PER_S - origin_s,
            "start_time": pandas.DatetimeIndex(start_ms.astype("datetime64[ms]")).tz_localize("UTC"),
            "elapsed_ms": elapsed_ms,
            "group": _groups(thread_name, label, once),
            "label": label,
            "is_transaction": is_transaction[message.codes],
            "success": rows["success"].to_numpy(),
            "code": _by_appearance(rows["code"].array),
            "message": message,
            "failure": _by_appearance(rows["failure"].array),
            "thread_name": thread_name,
            **{name: rows[name].array for name in ("latency_ms", "connect_ms", "received_bytes", "sent_bytes")},
            "active_users": rows["all_threads"].array,
            **{name: rows[name].to_numpy() for name in ("sample_count", "error_count")},
            "trace_id": _by_appearance(rows["trace_id"].array),
        }
    )


def _by_appearance(values: Categorical) -> Categorical:
    """Return the same texts; the categories are those that occur, in order of first appearance."""
    codes, used = pandas.factorize(values.codes)
    return Categorical.from_codes(codes, categories=values.categories[used])


def _groups(thread_name: Categorical, label: Categorical, once: frozenset[str]) -> Categorical:
    width = len(label.categories)
    codes, pairs = pandas.factorize(thread_name.codes.astype("int64") * width + label.codes)
    threads, labels = thread_name.categories.tolist(), label.categories.tolist()
    found = texts([group_of(threads[pair // width], labels[pair % width], once) for pair in pairs.tolist()])
    return Categorical.from_codes(found.codes[codes], categories=found.categories)
