"""Finds files of one run that have the same samples: the failures of a file beside it, or parts beside the whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, takewhile

from harness.base.errors import UsageError
from harness.jtl.inputs import Input, opened
from harness.jtl.readers import TALLY, reader_of
from harness.jtl.sample import Dropped, Sample

# The first rows of each file are looked for in the others, as far as these were written at that time.
_ROWS_MOST, _ROWS_LOOKED_AT_MOST = 500, 50_000
# Samples of two load generators are seldom alike; the same ones are, but for those that a file lacks.
_ALIKE_RATIO, _ALIKE_LEAST = 0.4, 10
# Rows are written a little after the samples end.
_LATE_MS = 10_000

_Row = tuple[int, int, str, str, str, int | None]


def refuse_alike(inputs: Sequence[Input], columns: Sequence[str] | None) -> None:
    """Raise a UsageError when much of a file is in another one, too: its samples would count twice."""
    firsts = [list(islice(_rows(given, columns), _ROWS_MOST)) for given in inputs]
    for number, (given, first) in enumerate(zip(inputs, firsts, strict=True)):
        if len(first) < _ALIKE_LEAST:
            continue
        wanted, last_ms = set(first), max(row[0] + row[1] for row in first) + _LATE_MS
        for other_number, other in enumerate(inputs):
            begins = firsts[other_number][:1]
            if other_number == number or not begins or begins[0][0] > last_ms:
                continue
            if _found(wanted, last_ms, _rows(other, columns)) >= max(_ALIKE_LEAST, _ALIKE_RATIO * len(wanted)):
                raise UsageError(
                    f"{given.name}: contains samples that {other.name} contains, too",
                    "they would count twice: leave one out",
                )


def _found(wanted: set[_Row], last_ms: int, rows: Iterator[_Row]) -> int:
    """Return how many of the wanted rows are among those that begin up to an instant."""
    earlier = takewhile(lambda row: row[0] <= last_ms, islice(rows, _ROWS_LOOKED_AT_MOST))
    return sum(row in wanted for row in earlier)


def _rows(given: Input, columns: Sequence[str] | None) -> Iterator[_Row]:
    """Yield what distinguishes the samples of a file; nothing of a tally."""
    with opened(given) as file:
        if file.kind != TALLY:
            yield from map(_row, reader_of(file.kind).read(file.stream, given.name, Dropped(), columns))


def _row(sample: Sample) -> _Row:
    return sample.start_ms, sample.elapsed_ms, sample.label, sample.thread_name, sample.code, sample.all_threads
