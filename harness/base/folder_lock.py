"""A lock that lets only one harness at a time use a folder."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.base.errors import UsageError


@contextmanager
def alone_in(folder: Path, what: str, todo: str) -> Iterator[None]:
    """Lock a folder. UsageError with these texts when another harness has the lock. A dead process holds no lock."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(what, todo) from None
        yield
    finally:
        os.close(handle)
