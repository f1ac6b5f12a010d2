"""Prepares something once per machine: a stamp of its sources, and a lock for which a second harness waits."""

from __future__ import annotations

import fcntl
import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from harness.base.log import Log
from harness.base.writable import writing_into

_PART_BYTES = 1 << 20


def stamp_of(paths: Sequence[Path], *texts: str) -> str:
    """Return the hash of the texts and of the files' names and contents. OSError for an unreadable file.

    A folder means all files in it.
    """
    digest = hashlib.sha256("\0".join(texts).encode())
    for path in paths:
        files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
        for file in files:
            digest.update(str(file.relative_to(path.parent)).encode() + b"\0")
            with file.open("rb") as stream:  # data of a plan may be large
                while part := stream.read(_PART_BYTES):
                    digest.update(part)
    return digest.hexdigest()


def sum_of_file(path: Path) -> str:
    """Return the SHA-256 of a file, as hexadecimal digits. OSError for an unreadable file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def has_stamp(file: Path, stamp: str) -> bool:
    """Return whether `file` contains that stamp."""
    return file.is_file() and file.read_text() == stamp


@contextmanager
def lock(file: Path, name: str, log: Log) -> Iterator[None]:
    """Hold the lock of one preparation; log a message while another harness holds it."""
    with writing_into(file.parent):
        file.parent.mkdir(parents=True, exist_ok=True)
        handle = file.open("w")
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            log(f"{name}: waiting for another harness that is preparing it")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
