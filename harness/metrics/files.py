"""Reads the JTLs of one run, from any source, into a tally."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from harness.base.errors import UsageError
from harness.base.units import BYTES_PER_MB
from harness.jtl.csv import parse
from harness.jtl.file_progress import ROWS_PER_LOOK, ReadingProgress
from harness.jtl.inputs import Input, Opened, opened
from harness.jtl.readers import CSV, SUMMARY, TALLY, reader_of, refuse_summary
from harness.jtl.sample import Dropped, Sample
from harness.metrics.alike import counted_twice, refuse_alike, refuse_repeated
from harness.metrics.counter_process import LARGE_BYTES, shared_counter
from harness.metrics.first_rows import FirstRows
from harness.metrics.tally import SampleTally, Scope, add_samples
from harness.metrics.timeline import Order

# Rows are written in the order in which samples end, or a little later when a thread waits for the file.
_LATE_MS = 2000
# A tally of 100,000 labels has 30 MB; more than this was not written by us.
_TALLY_MAX_BYTES = 512 * BYTES_PER_MB


def read_samples(path: Path, dropped: Dropped) -> Iterator[Sample]:
    """Yield the samples of a JTL; count dropped records in `dropped`. UsageError when the file is not a JTL."""
    with opened(Input(path.name, path)) as source:
        yield from _samples(source, path.name, dropped, None)


def each_sample(inputs: Sequence[Input], columns: Sequence[str] | None = None) -> Iterator[tuple[int, Sample]]:
    """Yield the number of the file and the sample for each row of the JTLs; progress goes to standard error.

    Tally files contain no rows and are left out. A pair is a plain tuple, because there is one for each sample.
    """
    for number, given in enumerate(inputs):
        with opened(given) as file, ReadingProgress(file.size_bytes, given.name) as progress:
            if file.kind == TALLY:
                continue
            for row, sample in enumerate(_samples(file, given.name, Dropped(), columns), 1):
                yield number, sample
                if row % ROWS_PER_LOOK == 0:
                    progress.update(file.position(), row)


@shared_counter()
def read_tally(
    inputs: Sequence[Input],
    scope: Scope | None = None,
    kept: FirstRows | None = None,
    *,
    may_be_alike: bool = False,
) -> SampleTally:
    """Return the tally of the samples in `scope` of one run's JTLs, one per load generator; each file has its number.

    `kept` keeps the first samples of each file, and has the columns of files without a header line. Progress goes to
    standard error. UsageError when a file is unreadable, is not a JTL, or changes while it is read, and for the same
    samples twice, in one file, in two, or in a file and a tally, unless they `may_be_alike`.
    """
    scope, kept, whole = scope or Scope(), kept or FirstRows(), None
    number, seen = 0, dict[str, str]()
    for given in inputs:
        with opened(given) as file, ReadingProgress(file.size_bytes, given.name) as progress:
            tally = _tally(file, given, replace(scope, file=number), kept, progress)
            dropped = tally.dropped
            if file.truncated:
                dropped.note(0, file.truncated, is_cut=True)
            file.check_unchanged()
            if file.kind != TALLY and given.path and not scope.window_ms:
                _find_sorting(tally.orders[number], tally, given, kept.columns)
        tally.names = tally.names or {number: given.name}
        if len(inputs) > 1 and not scope.window_ms and not may_be_alike:
            _refuse_twice(tally, given, seen)
        if len(inputs) > 1 and len(tally.names) == 1:  # a tally of several files has named them
            dropped.first = [(line, f"{reason} ({tally.names[number]})") for line, reason in dropped.first]
        number += len(tally.names)
        if whole is None:
            whole = tally
        else:
            whole.merge(tally)
    if not scope.window_ms and not may_be_alike:
        stored = [given for given in inputs if given.path]
        for given in stored:
            refuse_repeated(given, kept)
        if len(inputs) > 1:
            refuse_alike(stored, kept)
    return whole or scope.tally()


def _find_sorting(order: Order, tally: SampleTally, given: Input, columns: Sequence[str] | None) -> None:
    """Note by which column the rows of a file were sorted, if their ends go back by more than a sample takes."""
    if order.back_ms <= _LATE_MS:
        return
    from harness.metrics.row_order import sorted_by  # imported late: hardly a file needs it

    longest_ms = max(
        counts.histogram.max_ms or 0 for by_source in tally.labels.values() for counts in by_source.values()
    )
    if order.back_ms > (late_ms := longest_ms + _LATE_MS):
        with opened(given) as file:
            order.sorted_by = sorted_by(_samples(file, given.name, Dropped(), columns), late_ms)
        order.back_ms = 0 if order.sorted_by else order.back_ms


def _refuse_twice(tally: SampleTally, given: Input, seen: dict[str, str]) -> None:
    """Raise a UsageError when an earlier input has the samples of one of its files: they would count twice."""
    by_file: dict[int, list[str]] = {}
    for key, by_source in tally.labels.items():
        for source, counts in by_source.items():
            # Sums are enough. The group is left out: only the run's own folder says which steps are once per user.
            text = repr((key.label, key.is_transaction, source.generator, counts.histogram.count, *counts.sums))
            by_file.setdefault(source.file, []).append(text)
    for source, users in (*tally.requests.users.items(), *tally.transactions.users.items()):
        by_file.setdefault(source.file, []).append(repr((source.generator, sum(users.values()))))
    digests = ["\n".join(sorted(texts)) for texts in by_file.values()]
    for digest in digests:
        if digest in seen:
            raise counted_twice(given.name, seen[digest])
    seen.update(dict.fromkeys(digests, given.name))


def _tally(file: Opened, given: Input, scope: Scope, kept: FirstRows, progress: ReadingProgress) -> SampleTally:
    if file.kind == TALLY:
        return _stored_tally(file, given.name, scope)
    if file.kind == CSV.name and file.is_plain and given.path and (file.size_bytes or 0) >= LARGE_BYTES:
        # Imported late, as below: these modules take longer to load than a small file to read.
        from harness.metrics.counter import CsvFile
        from harness.metrics.large_files import counted_tally

        text = CsvFile(given.path, file.size_bytes or 0, given.name)
        if (counted := counted_tally(file, text, scope, kept.columns, progress, progress.update)) is not None:
            return counted
    tally = scope.tally()
    if file.kind == CSV.name and not file.is_plain:
        head = file.stream.read(LARGE_BYTES)
        if len(head) == LARGE_BYTES:
            from harness.metrics.large_files import unpacked_tally

            # The window is counted in another copy.
            return unpacked_tally(file, head, given.name, replace(scope, then_window=False), kept.columns, progress)
        samples = parse(io.BytesIO(head), given.name, tally.dropped, kept.columns)
    else:
        samples = _samples(file, given.name, tally.dropped, kept.columns)
    add_samples(tally, kept.keep(given, file, samples), file, progress)
    return tally


def _stored_tally(file: Opened, name: str, scope: Scope) -> SampleTally:
    """Return the content of a tally file. UsageError when it is damaged, or when a window is wanted."""
    if scope.window_ms or scope.with_timeline:
        raise UsageError(
            f"{name}: a tally, which contains no samples for a measurement window",
            "name the JTLs, or print the table without --window",
        )
    from harness.metrics.tally_file import from_bytes

    text = bytearray()
    while len(text) <= _TALLY_MAX_BYTES and (chunk := file.stream.read(BYTES_PER_MB)):
        text += chunk
    problem = file.truncated or ("it is too long" if len(text) > _TALLY_MAX_BYTES else "")
    if problem:
        raise UsageError(f"{name}: a damaged tally ({problem})", "copy it again, or write it again: lth tally")
    return from_bytes(bytes(text), name, scope.file)


def _samples(file: Opened, name: str, dropped: Dropped, columns: Sequence[str] | None) -> Iterator[Sample]:
    if file.kind == SUMMARY:
        refuse_summary(file.stream, name)
    return reader_of(file.kind).read(file.stream, name, dropped, columns)
