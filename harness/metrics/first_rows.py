"""Keeps the first samples of each JTL: they are read once for all that look at single rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

from harness.jtl.inputs import Input, Opened, opened
from harness.jtl.readers import CSV, TALLY, reader_of
from harness.jtl.sample import Dropped, Sample

# So many of each file find samples that count twice; so many of all files together are looked at one by one.
ROWS_LEAST, ROWS_MOST = 500, 5_000


class FirstBlock(NamedTuple):
    """The first samples of a file of this kind.

    Of a CSV file whose bytes are those of its text, `end_byte` is where they were read up to; else None.
    """

    kind: str
    rows: Sequence[Sample]
    end_byte: int | None


class FirstRows:
    """The first `most` samples of JTLs; `columns` are used for files without a header line."""

    def __init__(self, columns: Sequence[str] | None = None, most: int = ROWS_LEAST) -> None:
        self.columns = columns
        self.most = most
        self._blocks: dict[Input, FirstBlock] = {}

    def keep(self, given: Input, file: Opened, samples: Iterator[Sample]) -> Iterator[Sample]:
        """Return the samples of a file, which is read from its beginning on, and keep the first ones."""
        first = list(islice(samples, self.most))
        is_csv = file.kind == CSV.name and file.is_plain
        self._blocks[given] = FirstBlock(file.kind, first, file.stream.tell() if is_csv else None)
        return chain(first, samples)

    def of(self, given: Input) -> FirstBlock:
        """Return the first samples of a file, which is read unless they are kept; none of a tally.

        UsageError when it is unreadable or no JTL.
        """
        if given not in self._blocks:
            with opened(given) as file:
                if file.kind == TALLY:
                    return FirstBlock(TALLY, (), None)
                self.keep(given, file, reader_of(file.kind).read(file.stream, given.name, Dropped(), self.columns))
        return self._blocks[given]
