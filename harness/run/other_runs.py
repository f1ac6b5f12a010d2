"""Notices other runs whose load is on at the same time on this machine, also those of other users.

Each run registers for the time of its load: a file in a folder that all users of the machine share, locked for as long
as the run's process lives. Whatever ends that process frees the lock, so a file without a lock is one left behind.
"""

from __future__ import annotations

import contextlib
import fcntl
import getpass
import json
import os
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from harness.base.guardian import RUNS_VARIABLE

_FOLDER_NAME = "load-test-runs"
_SUFFIX = ".run"
# Others may write there: no more than this is read of a file, and no more than this of a text.
_MOST_BYTES = 4096
_MOST_CHARACTERS = 120


@dataclass(frozen=True)
class OtherRun:
    """A run whose load is on: plan and name, process id, user."""

    name: str
    pid: int
    user: str

    def __str__(self) -> str:
        """Return the run as messages and run.json name it."""
        return f"{self.name}, pid {self.pid} of {self.user}"


class OtherRuns:
    """Tells of the other runs that are seen; `seen` has them all, in the order in which they were noticed."""

    def __init__(self, own: Path | None = None) -> None:
        self._own = own
        self._known: set[str] = set()
        self.seen: list[OtherRun] = []

    def new(self) -> list[OtherRun]:
        """Return the runs that are on now and were not there at an earlier look."""
        found = []
        for path in _files():
            if path != self._own and path.name not in self._known:
                other = _locked_run(path)
                if other:
                    self._known.add(path.name)
                    found.append(other)
        self.seen += found
        return found


@contextlib.contextmanager
def registered(name: str) -> Iterator[OtherRuns]:
    """Show others that the load of the run `name` is on, until the end of the block; yield the look at theirs.

    Where the folder cannot be written to, others do not see this run; it sees them all the same.
    """
    with contextlib.ExitStack() as stack:
        own = None
        with contextlib.suppress(OSError):
            own = _register(name, stack)
        yield OtherRuns(own)


def _register(name: str, stack: contextlib.ExitStack) -> Path:
    folder = _folder()
    with contextlib.suppress(FileExistsError):
        folder.mkdir(parents=True)
        folder.chmod(0o1777)  # for all users, and nobody removes what is another's
    own = folder / f"{uuid4().hex}{_SUFFIX}"
    draft = own.with_suffix(".new")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    stack.callback(os.close, handle)
    stack.callback(own.unlink, missing_ok=True)
    fcntl.flock(handle, fcntl.LOCK_EX)
    os.write(handle, json.dumps({"name": name, "pid": os.getpid(), "user": _user()}).encode())
    draft.rename(own)  # only now: whoever sees the file finds it locked and whole
    return own


def _locked_run(path: Path) -> OtherRun | None:
    """Return the run that holds a file; None for a file that no living process holds, or that is no file of ours."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
            with contextlib.suppress(OSError):
                path.unlink()  # its run is over; where it is another user's it stays
            return None
        facts = json.loads(os.read(handle, _MOST_BYTES))
        return OtherRun(_plain(facts["name"]), int(facts["pid"]), _plain(facts["user"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    finally:
        os.close(handle)


def _files() -> list[Path]:
    try:
        return sorted(path for path in _folder().iterdir() if path.suffix == _SUFFIX)
    except OSError:
        return []


def _folder() -> Path:
    given = os.environ.get(RUNS_VARIABLE)
    return Path(given) if given else Path(tempfile.gettempdir()) / _FOLDER_NAME


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user that has no name
        return str(os.getuid())


def _plain(text: object) -> str:
    return "".join(character for character in str(text) if character.isprintable())[:_MOST_CHARACTERS]
