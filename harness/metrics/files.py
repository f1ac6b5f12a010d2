"""Reads JTLs, wherever they come from, into the tally of one run."""

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
from harness.jtl.csv import Dropped, Sample, parse
from harness.jtl.inputs import Input, Opened, opened, raw
from harness.jtl.progress import ReadingProgress
from harness.metrics.counter import CounterError, CsvFile, Program, count_file
from harness.metrics.tally import SampleTally, Scope

# Smaller files are read before the counter has started.
_LARGE_BYTES = 8 * 1024 * 1024
_ROWS_PER_LOOK = 10_000
_COPY_BYTES = 1024 * 1024


def read_samples(path: Path, dropped: Dropped) -> Iterator[Sample]:
    """Yield the samples of a JTL, noting in `dropped` what was left out; UsageError when it is none."""
    with opened(Input(path.name, path)) as source:
        yield from _samples(source, path.name, dropped, None)


def read_tally(
    inputs: Sequence[Input],
    once_labels: Sequence[str] = (),
    window_ms: tuple[int, int] | None = None,
    columns: Sequence[str] | None = None,
    batch_count: int = 0,
    with_timeline: bool = True,
) -> tuple[SampleTally, Dropped]:
    """Return the tally of JTLs as of one run, each a generator of its own, and what could not be used of them.

    `columns` are those of files without a header line; `batch_count` is in how many batches the window is counted, too;
    the tally has a timeline only `with_timeline`. Says on standard error how far it is. UsageError when one cannot be
    read, is no JTL, or changes while it is read.
    """
    scope = Scope(tuple(once_labels), 0, window_ms, batch_count, with_timeline)
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
    """Give inputs that can be read twice: what comes from standard input is kept in a file meanwhile, as it is."""
    with tempfile.TemporaryDirectory(prefix="jtl-") as folder:
        kept = []
        for number, given in enumerate(inputs):
            path = given.path
            if path is None:
                path = Path(folder) / str(number)
                with raw(given) as stream, _room_for(given.name), path.open("wb") as copy:
                    shutil.copyfileobj(stream, copy, _COPY_BYTES)
            kept.append(Input(given.name, path))
        yield kept


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
        from harness.jtl.xml import parse_xml  # here, because few files need it, and small ones are read sooner without

        return parse_xml(file.stream, name, dropped)
    return parse(file.stream, name, dropped, columns)


def _plain(samples: Iterable[Sample], file: Opened, scope: Scope, progress: ReadingProgress) -> SampleTally:
    """Return the tally of samples, added up one by one."""
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
    """Return the tally of a large CSV file by the counter; None where that cannot be: the plain reader has to do it.

    `text` is the file unpacked, which may be another one than `file`.
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
    progress.say(f"reading {text.name}: without the counter of large JTLs, which takes longer: {why}")
    return None


def _unpacked(
    file: Opened, head: bytes, name: str, scope: Scope, columns: Sequence[str] | None, progress: ReadingProgress
) -> tuple[SampleTally, Dropped]:
    """Return the tally of a large compressed file or pipe, kept unpacked in a file meanwhile."""
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
    """Return the folder of the counter's classes; StartError when they cannot be made."""
    try:
        return ensure_counter()
    except UsageError as error:  # an old clone of somebody else's, into which we may not write
        raise StartError(error.what) from None


@contextmanager
def _room_for(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        what = f"{name}: no room to unpack it in {tempfile.gettempdir()} ({error.strerror})"
        raise UsageError(what, "name another folder in TMPDIR, or unpack it yourself") from None


def _copy(head: bytes, stream: BinaryIO, copy: IO[bytes], look: Callable[[], None]) -> None:
    copy.write(head)
    while data := stream.read(_COPY_BYTES):
        copy.write(data)
        look()
    copy.flush()
