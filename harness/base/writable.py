"""Folders that are written: one that cannot be is a one-line error, and a lock admits one harness at a time."""

from __future__ import annotations

import errno
import fcntl
import os
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


def inside(path: Path, home: Path) -> Path:
    """Return a path to write to. UsageError where links lead it out of the folder `home`: somebody else may have packed
    it, and what they lead to is not the project's.
    """
    try:
        real, top = path.resolve(), home.resolve()
    except (OSError, RuntimeError):  # a link to itself
        raise UsageError(f"{path.name} cannot be written: its links lead to each other", "remove them") from None
    if not real.is_relative_to(top):
        name = os.path.relpath(path.absolute(), home.absolute())
        raise UsageError(
            f"{name} leads to {real}, outside of {_shown(home)}", "put a file or folder in place of the link"
        )
    return path


def is_private(path: Path) -> bool:
    """Return whether only this user and root may write a file or folder: nobody else put there what is in it."""
    state = path.stat()
    return state.st_uid in (os.geteuid(), 0) and not others_write(state)


def others_write(state: os.stat_result) -> bool:
    """Return whether others than the owner may write: everybody, or a group that is not this user's own one."""
    return bool(state.st_mode & 0o002) or bool(state.st_mode & 0o020 and state.st_gid != os.getegid())


def _shown(folder: Path) -> str:
    """Return a path that can be pasted: from here, or from the root where that is shorter."""
    return min(os.path.relpath(folder), str(folder.resolve()), key=len).rstrip("/") + "/"


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
