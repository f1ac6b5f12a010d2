"""Finds samples that would count twice: in two files of one run, such as a part and the whole, or in one file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, takewhile
from typing import NamedTuple

from harness.base.errors import UsageError
from harness.jtl.inputs import Input, opened
from harness.jtl.readers import TALLY, reader_of
from harness.jtl.sample import Dropped, Sample
from harness.metrics.first_rows import ROWS_LEAST, FirstRows

# The first rows of each file are looked for in the others, as far as these were written at that time.
_ROWS_MOST, _ROWS_LOOKED_AT_MOST = ROWS_LEAST, 50_000
# Samples of two load generators are seldom alike; the same ones are, but for those that a file lacks.
_ALIKE_RATIO, _ALIKE_LEAST = 0.4, 10
# A thread does one request at a time, so none of it is repeated to the millisecond; shorter ones of threads of several
# load generators, whose rows may name none of them, are by chance.
_REPEATED_LEAST_MS = 5
# Rows are written a little after the samples end.
_LATE_MS = 10_000

_Row = tuple[int, int, str, str, str, int | None]


def refuse_alike(inputs: Sequence[Input], kept: FirstRows) -> None:
    """Raise a UsageError when much of a file is in another one, too: its samples would count twice."""
    firsts = [list(map(_row, kept.of(given).rows[:_ROWS_MOST])) for given in inputs]
    heads = [_Head(number, set(first), _last_ms(first)) for number, first in enumerate(firsts)]
    heads = [head for head in heads if len(firsts[head.number]) >= _ALIKE_LEAST]
    alike: list[tuple[int, int]] = []
    for number, first in enumerate(firsts):
        earlier = [head for head in heads if head.number != number and first and first[0][0] <= head.last_ms]
        if earlier:  # a file is read once, however many others there are
            last_ms = max(head.last_ms for head in earlier)
            rows = list(_until(last_ms, islice(_rows(inputs[number], kept.columns), _ROWS_LOOKED_AT_MOST)))
            alike += [(head.number, number) for head in earlier if head.is_in(rows)]
    if alike:
        raise counted_twice(*(inputs[number].name for number in min(alike)))


def refuse_repeated(given: Input, kept: FirstRows) -> None:
    """Raise a UsageError when rows at the beginning of a file are there twice, as in one that was joined with itself.

    Rows without the name of a thread may be alike, and so may a transaction and its request.
    """
    rows = Counter(
        _row(one)
        for one in kept.of(given).rows[:_ROWS_MOST]
        if one.thread_name and one.elapsed_ms >= _REPEATED_LEAST_MS and not one.is_transaction
    )
    repeated = rows.total() - len(rows)
    if repeated >= max(_ALIKE_LEAST, _ALIKE_RATIO * rows.total()):
        raise UsageError(
            f"{given.name}: {repeated} of its first {rows.total()} samples are repeated, to the millisecond",
            "they would count twice: leave out the lines that are there already",
        )


def counted_twice(name: str, other: str) -> UsageError:
    """Return the error for a file whose samples another one has, too."""
    return UsageError(f"{name}: contains samples that {other} contains, too", "they would count twice: leave one out")


class _Head(NamedTuple):
    """The first rows of a file, by its number, and until when others wrote these, ms since 1970."""

    number: int
    rows: set[_Row]
    last_ms: int

    def is_in(self, rows: Iterable[_Row]) -> bool:
        """Return whether so many of them are among the earlier rows of another file that chance is excluded."""
        count = sum(row in self.rows for row in _until(self.last_ms, rows))
        return count >= max(_ALIKE_LEAST, _ALIKE_RATIO * len(self.rows))


def _until(last_ms: int, rows: Iterable[_Row]) -> Iterator[_Row]:
    return takewhile(lambda row: row[0] <= last_ms, rows)


def _last_ms(rows: Sequence[_Row]) -> int:
    return max((row[0] + row[1] for row in rows), default=0) + _LATE_MS


def _rows(given: Input, columns: Sequence[str] | None) -> Iterator[_Row]:
    """Yield what distinguishes the samples of a file; nothing of a tally."""
    with opened(given) as file:
        if file.kind != TALLY:
            yield from map(_row, reader_of(file.kind).read(file.stream, given.name, Dropped(), columns))


def _row(sample: Sample) -> _Row:
    return sample.start_ms, sample.elapsed_ms, sample.label, sample.thread_name, sample.code, sample.all_threads
