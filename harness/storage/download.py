"""Downloads a file of a run from S3 and verifies it before it gets its final name."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from harness.base.errors import ServiceError
from harness.base.install.python_packages import ensure_zstandard
from harness.base.once import sum_of_file
from harness.base.s3_address import parse_location
from harness.base.s3_stream import CHUNK_BYTES, NoObjectError, ObjectStream, chunks
from harness.storage.stored_runs import StoredFile


class DamagedError(ServiceError):
    """A stored file differs from what was pushed. Other runs are not affected."""


def download(client: Any, url: str, file: StoredFile, path: Path, got: Callable[[int], None]) -> None:
    """Download the file at `url` to `path`, unless an earlier pull left the right file there.

    `got` receives the number of bytes downloaded so far. DamagedError for wrong contents: then `path` is not written.
    """
    if path.is_file() and sum_of_file(path) == file.sha256:
        return
    draft = path.with_name(f"{path.name}.new")
    digest, size_bytes = hashlib.sha256(), 0
    try:
        raw = ObjectStream(client, parse_location(url))
    except NoObjectError:
        raise DamagedError(f"{url}: no longer exists", "--figures-only may not need it") from None
    with io.BufferedReader(raw, CHUNK_BYTES) as stored, draft.open("wb") as out:
        for data in _unpacked(stored, url) if file.is_packed else chunks(stored):
            size_bytes += len(data)
            if size_bytes > file.size_bytes:
                break
            digest.update(data)
            out.write(data)
            got(size_bytes)
    if size_bytes != file.size_bytes or digest.hexdigest() != file.sha256:
        draft.unlink()
        raise _damaged(url)
    draft.replace(path)


def _unpacked(stored: IO[bytes], url: str) -> Iterator[bytes]:
    ensure_zstandard()
    import zstandard

    reader = zstandard.ZstdDecompressor().stream_reader(stored, read_size=CHUNK_BYTES)
    try:
        while data := reader.read(CHUNK_BYTES):
            yield data
    except zstandard.ZstdError:
        raise _damaged(url) from None


def _damaged(url: str) -> DamagedError:
    what = f"{url}: differs from what was pushed (wrong checksum)"
    todo = "pull it again; if it fails again, delete the stored run (aws s3 rm --recursive) and push it again"
    return DamagedError(what, todo)
