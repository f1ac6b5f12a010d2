"""Turns a folder that cannot be written into a one-line error."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.base.errors import UsageError

# The errors of a full disk and of a used-up quota.
FULL = (errno.ENOSPC, errno.EDQUOT)
TODO = "give yourself write permission, or choose another folder"


@contextmanager
def writing_into(folder: Path) -> Iterator[None]:
    """Turn an OSError while writing to `folder` into a UsageError; an existing file name is no such error."""
    try:
        yield
    except FileExistsError:
        if folder.is_dir():
            raise
        raise UsageError(f"{_shown(folder)} is not a folder", "move that file away") from None
    except OSError as error:
        todo = "free disk space" if error.errno in FULL else TODO
        raise UsageError(f"{_shown(folder)} cannot be written ({error.strerror})", todo) from None


def _shown(folder: Path) -> str:
    return f"{folder.parent.name}/{folder.name}/".lstrip("/")
