"""Reads the JTLs of one run, from any source, into a tally."""

from __future__ import annotations

import io
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, BinaryIO

from harness.base.errors import StartError, UsageError
from harness.base.java import java_context
from harness.base.toolchain import ensure_counter
from harness.jtl.csv import parse
from harness.jtl.inputs import Input, Opened, opened, raw
from harness.jtl.progress import ReadingProgress
from harness.jtl.sample import Dropped, Sample
from harness.metrics.counter import CounterError, CsvFile, Program, count_file
from harness.metrics.tally import SampleTally, Scope

# Below this size, the plain reader finishes before the counter has started.
_LARGE_BYTES = 8 * 1024 * 1024
_ROWS_PER_LOOK = 10_000
_COPY_BYTES = 1024 * 1024


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


@contextmanager
def rereadable(inputs: Sequence[Input]) -> Iterator[Sequence[Input]]:
    """Yield inputs that can be read twice: standard input is stored in a temporary file."""
    with tempfile.TemporaryDirectory(prefix="jtl-") as folder:
        stored = []
        for number, given in enumerate(inputs):
            path = given.path
            if path is None:
                path = Path(folder) / str(number)
                with raw(given) as stream, _room_for(given.name), path.open("wb") as copy:
                    shutil.copyfileobj(stream, copy, _COPY_BYTES)
            stored.append(Input(given.name, path))
        yield stored


def _tally(
    file: Opened, given: Input, scope: Scope, columns: Sequence[str] | None, progress: ReadingProgress
) -> tuple[SampleTally, Dropped]:
    if file.kind == "csv" and file.is_plain and given.path and (file.size_bytes or 0) >= _LARGE_BYTES:
        text = CsvFile(given.path, file.size_bytes or 0, given.name)
        counted = _counted(file, text, scope, columns, progress, progress.update)
        if counted:
            return counted
    if file.kind == "csv" and not file.is_plain:
        head = file.stream.read(_LARGE_BYTES)
        if len(head) == _LARGE_BYTES:
            return _unpacked(file, head, given.name, scope, columns, progress)
        return _plain(
            parse(io.BytesIO(head), given.name, dropped := Dropped(), columns), file, scope, progress
        ), dropped
    dropped = Dropped()
    return _plain(_samples(file, given.name, dropped, columns), file, scope, progress), dropped


def _samples(file: Opened, name: str, dropped: Dropped, columns: Sequence[str] | None) -> Iterator[Sample]:
    if file.kind == "xml":
        from harness.jtl.xml import parse_xml  # imported late: few files need it

        return parse_xml(file.stream, name, dropped)
    return parse(file.stream, name, dropped, columns)


def _plain(samples: Iterable[Sample], file: Opened, scope: Scope, progress: ReadingProgress) -> SampleTally:
    """Return the tally of samples, added one by one."""
    tally = scope.tally()
    for number, sample in enumerate(samples, 1):
        tally.add(sample)
        if number % _ROWS_PER_LOOK == 0:
            progress.update(file.position(), number)
    return tally


def _counted(
    file: Opened,
    text: CsvFile,
    scope: Scope,
    columns: Sequence[str] | None,
    progress: ReadingProgress,
    report: Callable[[int, int], None],
) -> tuple[SampleTally, Dropped] | None:
    """Return the tally of a large CSV file from the counter; None when the plain reader must read it.

    `text` is the file with its text, which may be a decompressed copy of `file`.
    """
    try:
        java = java_context().get("java")
        classes = _classes() if java else None
        if java and classes:
            return count_file(text, Program(java, classes), scope, columns, report)
        why = "there is no JDK"
    except (CounterError, StartError, OSError) as error:
        why = str(error).partition("\n")[0]
    file.check_unchanged()
    progress.print_line(f"reading {text.name} without the counter for large JTLs, which takes longer: {why}")
    return None


def _unpacked(
    file: Opened, head: bytes, name: str, scope: Scope, columns: Sequence[str] | None, progress: ReadingProgress
) -> tuple[SampleTally, Dropped]:
    """Return the tally of a large compressed file or pipe, decompressed into a temporary file."""
    with tempfile.NamedTemporaryFile(prefix="jtl-") as copy:
        with _room_for(name):
            _copy(head, file.stream, copy, lambda: progress.update(file.position(), 0))

        def report(_: int, row_count: int) -> None:
            progress.update(file.position(), row_count)

        text = CsvFile(Path(copy.name), copy.tell(), name)
        counted = _counted(file, text, scope, columns, progress, report)
        if counted:
            return counted
        copy.seek(0)
        return _plain(parse(copy, name, dropped := Dropped(), columns), file, scope, progress), dropped


def _classes() -> Path | None:
    """Return the folder of the counter's classes. StartError when they cannot be built."""
    try:
        return ensure_counter()
    except UsageError as error:  # a clone that we may not write to
        raise StartError(error.what) from None


@contextmanager
def _room_for(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        what = f"{name}: not enough space to unpack it in {tempfile.gettempdir()} ({error.strerror})"
        raise UsageError(what, "set TMPDIR to another folder, or unpack it yourself") from None


def _copy(head: bytes, stream: BinaryIO, copy: IO[bytes], look: Callable[[], None]) -> None:
    copy.write(head)
    while data := stream.read(_COPY_BYTES):
        copy.write(data)
        look()
    copy.flush()
