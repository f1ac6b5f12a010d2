"""Reads the JTLs of one run, from any source, into a tally."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from harness.jtl.csv import parse
from harness.jtl.inputs import Input, Opened, opened
from harness.jtl.progress import ReadingProgress
from harness.jtl.sample import Dropped, Sample
from harness.metrics.tally import SampleTally, Scope

# Below this size, the plain reader finishes before the counter has started.
_LARGE_BYTES = 8 * 1024 * 1024
_ROWS_PER_LOOK = 10_000


def read_samples(path: Path, dropped: Dropped) -> Iterator[Sample]:
    """Yield the samples of a JTL; count dropped records in `dropped`. UsageError when the file is not a JTL."""
    with opened(Input(path.name, path)) as source:
        yield from _samples(source, path.name, dropped, None)


def each_sample(inputs: Sequence[Input], columns: Sequence[str] | None = None) -> Iterator[tuple[int, Sample]]:
    """Yield the number of the file and the sample for each row of the JTLs; progress goes to standard error."""
    for number, given in enumerate(inputs):
        with opened(given) as file, ReadingProgress(file.size_bytes, given.name) as progress:
            for row, sample in enumerate(_samples(file, given.name, Dropped(), columns), 1):
                yield number, sample
                if row % _ROWS_PER_LOOK == 0:
                    progress.update(file.position(), row)


def read_tally(
    inputs: Sequence[Input],
    once_labels: Sequence[str] = (),
    window_ms: tuple[int, int] | None = None,
    columns: Sequence[str] | None = None,
    batch_count: int = 0,
    with_timeline: bool = True,
) -> tuple[SampleTally, Dropped]:
    """Return the tally of one run's JTLs, one per load generator, and the dropped records.

    `columns` are used for files without a header line; `batch_count` is the number of batches of the window; the tally
    has a timeline only with `with_timeline`. Progress goes to standard error. UsageError when a file is unreadable, is
    not a JTL, or changes while it is read.
    """
    return count_samples(inputs, Scope(tuple(once_labels), 0, window_ms, batch_count, with_timeline), columns)


def count_samples(
    inputs: Sequence[Input], scope: Scope, columns: Sequence[str] | None = None
) -> tuple[SampleTally, Dropped]:
    """Return the tally of the samples in `scope` and the dropped records, as `read_tally`; each file has its number."""
    whole, dropped = None, Dropped()
    for number, given in enumerate(inputs):
        with opened(given) as file, ReadingProgress(file.size_bytes, given.name) as progress:
            tally, left_out = _tally(file, given, replace(scope, file=number), columns, progress)
            if file.truncated:
                left_out.note(0, file.truncated)
            file.check_unchanged()
        if len(inputs) > 1:
            left_out.first = [(line, f"{reason} ({given.name})") for line, reason in left_out.first]
        if whole is None:
            whole = tally
        else:
            whole.merge(tally)
        dropped.merge(left_out, 0)
    return whole or scope.tally(), dropped


def _tally(
    file: Opened, given: Input, scope: Scope, columns: Sequence[str] | None, progress: ReadingProgress
) -> tuple[SampleTally, Dropped]:
    if file.kind == "csv" and file.is_plain and given.path and (file.size_bytes or 0) >= _LARGE_BYTES:
        # Imported late, as below: these modules take longer to load than a small file to read.
        from harness.metrics.counter import CsvFile
        from harness.metrics.large_files import counted_tally

        text = CsvFile(given.path, file.size_bytes or 0, given.name)
        counted = counted_tally(file, text, scope, columns, progress, progress.update)
        if counted:
            return counted
    if file.kind == "csv" and not file.is_plain:
        head = file.stream.read(_LARGE_BYTES)
        if len(head) == _LARGE_BYTES:
            from harness.metrics.large_files import unpacked_tally

            return unpacked_tally(file, head, given.name, scope, columns, progress)
        return plain_tally(
            parse(io.BytesIO(head), given.name, dropped := Dropped(), columns), file, scope, progress
        ), dropped
    dropped = Dropped()
    return plain_tally(_samples(file, given.name, dropped, columns), file, scope, progress), dropped


def _samples(file: Opened, name: str, dropped: Dropped, columns: Sequence[str] | None) -> Iterator[Sample]:
    if file.kind == "xml":
        from harness.jtl.xml import parse_xml  # imported late: few files need it

        return parse_xml(file.stream, name, dropped)
    return parse(file.stream, name, dropped, columns)


def plain_tally(samples: Iterable[Sample], file: Opened, scope: Scope, progress: ReadingProgress) -> SampleTally:
    """Return the tally of samples, added one by one."""
    tally = scope.tally()
    for number, sample in enumerate(samples, 1):
        tally.add(sample)
        if number % _ROWS_PER_LOOK == 0:
            progress.update(file.position(), number)
    return tally
