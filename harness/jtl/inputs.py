"""Finds the JTLs that command-line arguments name and opens them: plain, gzip or zstd, CSV or XML, file or pipe."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from harness.base.config import did_you_mean
from harness.base.errors import UsageError
from harness.base.packed import Beginning, beginning_of, packed_path
from harness.base.paths import GLOB_CHARACTERS
from harness.base.units import BYTES_PER_MB
from harness.jtl.readers import DASHBOARD_NAME, kind_of
from harness.jtl.sample import SAMPLES_NAME, samples_number
from harness.jtl.streams import (
    GZIP_MAGIC,
    UTF_16_MARKS,
    ChunkStream,
    StreamSource,
    buffered,
    gunzipped,
    is_zstd,
    unzstd,
    utf_8,
)

if TYPE_CHECKING:
    from harness.base.s3_stream import ObjectStream

STANDARD_INPUT = "-"
_S3_SCHEME = "s3://"
_PACKED = ("", ".gz", ".zst")
_NAMES_SHOWN = 5
_HEAD_BYTES = 64 * 1024
_COPY_BYTES = 256 * 1024
_PIPE_IN = "pipe a JTL into it (ssh host cat samples.jtl | lth table -), or name a file"


@dataclass(frozen=True)
class Input:
    """A file to read. Messages call it `name`; `path` is None for standard input and S3 objects.

    An S3 object has its `url`, and the `endpoint_url` of a server other than AWS.
    """

    name: str
    path: Path | None
    url: str | None = None
    endpoint_url: str | None = None


def resolve(arguments: Sequence[str], endpoint_url: str | None = None) -> tuple[Input, ...]:
    """Return the inputs that the arguments name, in order. UsageError when an argument matches nothing.

    An argument is a file, `-` for standard input, an object s3://bucket/key, a pattern that the shell did not expand
    (its matches are sorted), or a folder. A run's folder means its samples.jtl, that of JMeter's dashboard its
    statistics.json, any other folder its *.jtl, each also with .gz or .zst. Other names in a folder are not read:
    telemetry.csv is not a JTL. The same file under two names is an error, because its samples would count twice.
    """
    inputs: list[Input] = []
    for argument in arguments:
        if argument == STANDARD_INPUT:
            inputs.append(Input("standard input", None))
        elif argument.startswith(_S3_SCHEME):
            inputs.append(Input(argument, None, argument, endpoint_url))
        else:
            inputs += [Input(str(path), path) for path in _paths(argument)]
    seen: dict[object, str] = {}
    for source in inputs:
        key = _identity(source)
        if key in seen:
            other = "given" if seen[key] == source.name else f"the same file as {seen[key]}, given"
            raise UsageError(f"{source.name}: {other} twice", "its samples would count twice: leave one out")
        seen[key] = source.name
    return tuple(inputs)


def _identity(source: Input) -> object:
    if source.path is None:
        return source.url
    path = _growing(source.path)
    try:
        status = path.stat()
    except OSError as error:
        raise _unreadable(str(path), error) from None
    return (status.st_dev, status.st_ino)


def _growing(path: Path) -> Path:
    """Return the JTL that is being packed into this file, which contains the same rows; else the file itself."""
    plain = path.with_suffix("")
    return plain if packed_path(plain) == path and plain.is_file() and beginning_of(plain) else path


def _paths(argument: str) -> list[Path]:
    names = [argument]
    try:
        Path(argument).lstat()
    except FileNotFoundError:
        if not GLOB_CHARACTERS & set(argument):
            raise _not_found(Path(argument)) from None
        import glob  # here, because a shell expands most patterns

        names = sorted(glob.glob(argument, recursive=True))  # noqa: PTH207 - Path.glob accepts no absolute patterns
        if not names:
            raise UsageError(f"{argument}: matches no file", "check the folder with ls") from None
    except OSError as error:
        raise _unreadable(argument, error) from None
    return [found for path in map(Path, names) for found in (_in_folder(path) if path.is_dir() else [path])]


def _in_folder(folder: Path) -> list[Path]:
    try:
        names = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        raise _unreadable(str(folder), error) from None
    for packed in _PACKED:
        if SAMPLES_NAME + packed in names:
            numbered = [(samples_number(name.removesuffix(packed)), name) for name in names if name.endswith(packed)]
            return [folder / name for _, name in sorted((number, name) for number, name in numbered if number)]
    if found := [folder / name for name in names if name.endswith(tuple(f".jtl{packed}" for packed in _PACKED))]:
        return found
    if DASHBOARD_NAME in names:
        return [folder / DASHBOARD_NAME]
    runs = [name for name in names if any((folder / name / (SAMPLES_NAME + packed)).is_file() for packed in _PACKED)]
    others = [name for name in names if name.endswith((".csv", ".xml", ".csv.gz", ".xml.gz"))]
    if runs:
        todo = f"name one of its runs: {_listed(runs)}"
    elif others:
        todo = f"name one of its files: {_listed(others)}"
    else:
        todo = "name a JTL, or the folder of a run with its samples"
    raise UsageError(f"{folder}: a folder without samples: neither {SAMPLES_NAME} nor any other *.jtl", todo)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_NAMES_SHOWN]) + (", …" if len(names) > _NAMES_SHOWN else "")


def _not_found(path: Path) -> UsageError:
    try:
        there = sorted(other.name for other in path.parent.iterdir())
    except OSError:
        return UsageError(f"{path}: not found", f"there is no folder {path.parent}")
    return UsageError(f"{path}: not found", f"{did_you_mean(path.name, there)}check the folder with ls")


def _unreadable(name: str, error: OSError) -> UsageError:
    if isinstance(error, PermissionError):
        return UsageError(f"{name}: no permission to read it", "check its permissions with ls -l")
    return UsageError(f"{name}: cannot be read ({error.strerror})", "name another file")


class Opened:
    """An open JTL: its decompressed bytes, and what is known about the file."""

    def __init__(self, source: Input, raw: io.FileIO | ObjectStream) -> None:
        self._name = source.name
        self._source = StreamSource(raw, source.name)
        self._file = raw if isinstance(raw, io.FileIO) else None
        self._before = os.fstat(self._file.fileno()) if self._file else None
        self.truncated: str | None = None  # why a compressed file ended early; known after reading
        self.size_bytes = _stored_bytes(raw)
        self._packed: StreamSource | None = None
        self._on_disk = on_disk = stream = buffered(self._source)  # referenced: its finaliser would close the file
        beginning = beginning_of(source.path) if self._file and source.path else None
        if beginning and self._file and self.size_bytes is not None:
            self._file.seek(beginning.text_bytes)
            self.size_bytes += beginning.packed_bytes - min(beginning.text_bytes, self.size_bytes)
            stream = buffered(ChunkStream(self._from(beginning)))
        head = stream.peek()
        if head.startswith(GZIP_MAGIC) or is_zstd(head):
            unpacked = gunzipped if head.startswith(GZIP_MAGIC) else unzstd
            stream = buffered(ChunkStream(unpacked(stream, self._cut)))
            head = stream.peek()
            if not head and self.truncated:
                raise UsageError(f"{source.name}: {self.truncated} at its beginning", "copy or download it again")
        if head.startswith(UTF_16_MARKS):  # written by PowerShell's >
            stream = buffered(ChunkStream(utf_8(stream)))
            head = stream.peek()
        self.stream: BinaryIO = stream
        self.kind = kind_of(head[:_HEAD_BYTES], source.name)
        # Whether byte ranges of the file at the input's path are byte ranges of the text.
        self.is_plain = stream is on_disk and self.size_bytes is not None and source.path is not None

    def _from(self, beginning: Beginning) -> Iterator[bytes]:
        """Yield a file whose beginning is packed: the packed rows, then the others."""
        try:
            packed = io.FileIO(beginning.packed)
        except OSError as error:
            raise _unreadable(str(beginning.packed), error) from None
        with packed:
            self._packed = StreamSource(packed, beginning.packed.name, beginning.packed_bytes)
            yield from gunzipped(buffered(self._packed), self._cut)
        while data := self._on_disk.read(_COPY_BYTES):
            yield data

    def _cut(self, reason: str) -> None:
        self.truncated = reason

    def position(self) -> int:
        """Return the number of bytes read from the file so far, before decompression."""
        return self._source.position + (self._packed.position if self._packed else 0)

    def check_unchanged(self) -> None:
        """Raise a UsageError if the file has changed or gone since it was opened: its run may still be in progress."""
        if self.size_bytes is None or self._file is None or self._before is None:
            return
        now = os.fstat(self._file.fileno())
        is_removed = now.st_nlink == 0 < self._before.st_nlink  # a here-document never has a name
        if is_removed or now.st_size < self._before.st_size:
            what = "was removed" if is_removed else "was truncated"
            raise UsageError(f"{self._name}: {what} while it was read", "read it again when nothing writes to it")
        if (now.st_size, now.st_mtime_ns) == (self._before.st_size, self._before.st_mtime_ns):
            return
        is_longer = now.st_size > self._before.st_size
        what = f"grew from {_size_text(self._before.st_size, now.st_size)}" if is_longer else "was written to"
        raise UsageError(
            f"{self._name}: {what} while it was read: the run is still in progress",
            "wait until it ends, or copy the file first",
        )


def _stored_bytes(raw: io.FileIO | ObjectStream) -> int | None:
    """Return the stored size of a file or object, before decompression; None for a pipe."""
    if not isinstance(raw, io.FileIO):
        return raw.size_bytes
    status = os.fstat(raw.fileno())
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _size_text(before: int, after: int) -> str:
    if after - before < BYTES_PER_MB:
        return f"{before:,} to {after:,} bytes"
    return f"{before / BYTES_PER_MB:.0f} to {after / BYTES_PER_MB:.0f} MB"


@contextmanager
def opened(source: Input) -> Iterator[Opened]:
    """Open an input and close it at the end. UsageError when it is unreadable or not a JTL."""
    with raw(source) as file:
        yield Opened(source, file)


@contextmanager
def raw(source: Input) -> Iterator[io.FileIO | ObjectStream]:
    """Yield an input's stored bytes and close it at the end. UsageError when it is unreadable."""
    if source.url:
        from harness.base.s3_stream import open_object  # imported late: boto3 is slow to load and files do not need it

        with open_object(source.url, source.endpoint_url) as stored:
            yield stored
        return
    try:
        file = io.FileIO(0, closefd=False) if source.path is None else io.FileIO(source.path)
    except OSError as error:
        raise _unreadable(source.name, error) from None
    with file:
        if file.isatty():
            raise UsageError(f"{source.name} is a terminal", _PIPE_IN)
        yield file
