"""One harness at a time in a folder."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.base.errors import UsageError


@contextmanager
def alone_in(folder: Path, what: str, todo: str) -> Iterator[None]:
    """Hold a folder alone; UsageError with these words when another harness does. Whatever ends a harness frees it."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(what, todo) from None
        yield
    finally:
        os.close(handle)
