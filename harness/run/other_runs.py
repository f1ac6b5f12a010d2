"""Detects other runs, also of other users, whose load runs at the same time on this machine.

Each run registers while its load runs: it locks a file in a folder that all users of the machine share. The end of the
process always frees the lock, so a file without a lock is a leftover.
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
from harness.base.plain_text import printable

# The id of the run of which this one is a part: its other parts are no other runs.
WHOLE_VARIABLE = "HARNESS_WHOLE_RUN"
_FOLDER_NAME = "load-test-runs"
_SUFFIX = ".run"
# Other users may write there: limit the bytes of a file and the length of a text.
_MOST_BYTES = 4096
_MOST_CHARACTERS = 120


@dataclass(frozen=True)
class OtherRun:
    """A run whose load is running; `name` contains the plan."""

    name: str
    pid: int
    user: str

    def __str__(self) -> str:
        """Return the text for messages and run.json."""
        return f"{self.name}, pid {self.pid} of {self.user}"


class OtherRuns:
    """Finds other runs; `seen` contains all of them in the order of detection.

    One that is off finds none: what launches parts on other machines makes no load here.
    """

    def __init__(self, own: Path | None = None, *, is_off: bool = False) -> None:
        self._own, self._is_off = own, is_off
        self._known: set[str] = set()
        self.seen: list[OtherRun] = []

    def new(self) -> list[OtherRun]:
        """Return the runs that are running now and were not found by an earlier call."""
        new_runs = []
        for path in () if self._is_off else _files():
            if path != self._own and path.name not in self._known:
                other = _locked_run(path)
                if other:
                    self._known.add(path.name)
                    new_runs.append(other)
        self.seen += new_runs
        return new_runs


@contextlib.contextmanager
def registered(name: str) -> Iterator[OtherRuns]:
    """Register the run `name` until the end of the block; yield the detector of other runs.

    When the folder is not writable, other runs do not detect this one, but it detects them.
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
        folder.chmod(0o1777)  # writable by all users; only the owner of a file can remove it
    own = folder / f"{uuid4().hex}{_SUFFIX}"
    draft = own.with_suffix(".new")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    stack.callback(os.close, handle)
    stack.callback(own.unlink, missing_ok=True)
    fcntl.flock(handle, fcntl.LOCK_EX)
    facts = {"name": name, "pid": os.getpid(), "user": _user(), "whole": os.environ.get(WHOLE_VARIABLE, "")}
    os.write(handle, json.dumps(facts).encode())
    draft.rename(own)  # only now, so that other runs always find a complete, locked file
    return own


def _locked_run(path: Path) -> OtherRun | None:
    """Return the run that locks a file; None for an unlocked file or a file of something else."""
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
                path.unlink()  # its run has ended; the file of another user cannot be removed
            return None
        facts = json.loads(os.read(handle, _MOST_BYTES))
        other = OtherRun(
            printable(str(facts["name"])[:_MOST_CHARACTERS]),
            int(facts["pid"]),
            printable(str(facts["user"])[:_MOST_CHARACTERS]),
        )
        return None if facts.get("whole", "") == os.environ.get(WHOLE_VARIABLE, "none") else other
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
    except (KeyError, OSError):  # a container's user without a name
        return str(os.getuid())
