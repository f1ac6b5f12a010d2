"""Keeps space on the disk of a run while its load lasts: a disk that its samples fill can then take the report."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.base.guardian import Guardian

_NAME = ".reserve"
# Enough for run.json, the report and its charts; on a small disk a quarter of what is free.
_MOST_BYTES = 8 * 1024 * 1024
_SHARE = 4


@contextmanager
def reserved(folder: Path, guardian: Guardian) -> Iterator[Callable[[], None]]:
    """Take space on the disk of a folder within the block; yield what frees it earlier."""
    path = folder / _NAME

    def free() -> None:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)

    guardian.remove_at_end(path)
    with contextlib.suppress(OSError):
        size = min(_MOST_BYTES, shutil.disk_usage(folder).free // _SHARE)
        with path.open("wb") as file:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)
            else:
                file.write(bytes(size))
    try:
        yield free
    finally:
        free()
