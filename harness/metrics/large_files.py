"""Reads JTLs that take more than memory and Python: large ones by the Java counter, packed ones and pipes by a copy.

Only large files import this module: a small table is complete before all of it is loaded.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from harness.base.errors import StartError, UsageError
from harness.base.install.toolchain import ensure_counter
from harness.base.java import java_context
from harness.jtl.csv import parse
from harness.jtl.file_progress import ReadingProgress
from harness.jtl.inputs import Input, Opened, raw
from harness.jtl.sample import HOST_COLUMN
from harness.metrics.counter import CsvFile, count_file
from harness.metrics.counter_process import CounterError, Program
from harness.metrics.tally import SampleTally, Scope, add_samples

_COPY_BYTES = 1024 * 1024
_HEADER_MOST_BYTES = 64 * 1024


@contextmanager
def rereadable(inputs: Sequence[Input]) -> Iterator[Sequence[Input]]:
    """Yield inputs that can be read twice: standard input is stored in a temporary file."""
    with tempfile.TemporaryDirectory(prefix="jtl-") as folder:
        stored = []
        for number, given in enumerate(inputs):
            if (path := given.path) is None:
                path = Path(folder) / str(number)
                with raw(given) as stream, _room_for(given.name), path.open("wb") as copy:
                    shutil.copyfileobj(stream, copy, _COPY_BYTES)
            stored.append(Input(given.name, path))
        yield stored


def counted_tally(
    file: Opened,
    text: CsvFile,
    scope: Scope,
    columns: Sequence[str] | None,
    progress: ReadingProgress,
    report: Callable[[int, int], None],
) -> SampleTally | None:
    """Return the tally of a large CSV file from the counter; None when the plain reader must read it.

    `text` is the file with its text, which may be a decompressed copy of `file`.
    """
    if scope.closes_ms or _has_hosts(text.path):
        return None
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


def unpacked_tally(
    file: Opened, head: bytes, name: str, scope: Scope, columns: Sequence[str] | None, progress: ReadingProgress
) -> SampleTally:
    """Return the tally of a large compressed file or pipe, decompressed into a temporary file."""
    with tempfile.NamedTemporaryFile(prefix="jtl-") as copy:
        with _room_for(name):
            copy.write(head)
            while data := file.stream.read(_COPY_BYTES):
                copy.write(data)
                progress.update(file.position(), 0)
            copy.flush()

        def report(_: int, row_count: int) -> None:
            progress.update(file.position(), row_count)

        text = CsvFile(Path(copy.name), copy.tell(), name)
        if (counted := counted_tally(file, text, scope, columns, progress, report)) is not None:
            return counted
        copy.seek(0)
        tally = scope.tally()
        add_samples(tally, parse(copy, name, tally.dropped, columns), file, progress)
        return tally


def _has_hosts(path: Path) -> bool:
    """Return whether a CSV JTL has the machine of each sample, a column that the counter does not read."""
    with path.open("rb") as stream:
        return HOST_COLUMN.encode() in stream.readline(_HEADER_MOST_BYTES)


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
