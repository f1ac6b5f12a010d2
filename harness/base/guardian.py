"""A guardian process: when the harness dies, however it dies, nothing that it started lives on.

Every child of the harness carries HARNESS_OWNER=<id> in its environment and hands it on to its own children. The
guardian, in a session of its own, waits for the end of a pipe whose other end only the harness holds. The pipe ends
when the harness ends, even by SIGKILL. Then the guardian ends every process of that owner, masks the secrets in what a
run has left that did not come to its end, and removes what it was told of. The same file is the guardian's
program: standard library and psutil, and what masks secrets.

A guardian that dies is replaced. Where both die at once, the next harness on this machine ends what they left.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import psutil

OWNER_VARIABLE = "HARNESS_OWNER"
# What the harness tells its guardian: a list in JSON of the word, a folder, and values to mask.
_REMOVE, _MASK, _MASKED = "remove", "mask", "masked"
# A process may wipe its environment, as nginx does to show a title; the session that it was started in stays.
_SESSION = "session"
# A harness may be started by another one, as a nightly starts its runs. Its guardian is to outlive both of them.
_GUARDIAN_VARIABLE = "HARNESS_GUARDIAN"
# How long the processes of a dead harness have to end after SIGTERM, before SIGKILL.
_GRACE_S = 4.0
_KILL_WAIT_S = 2.0
_KILL_ROUNDS = 3
_POLL_S = 0.05
_CLOSE_DEADLINE_S = _GRACE_S + _KILL_ROUNDS * _KILL_WAIT_S + 5.0
# The harness's process id and when that process started, so that nobody takes another one of that id for it.
_OWNER_ID = re.compile(r"(\d+)-(\d*)-[0-9a-f]+")
_START_FIELD = 19  # of /proc/<pid>/stat, counted from the state
_ENDED = "ended"


class Guardian:
    """Watches over everything that is started with its `environment`, until it is closed or the harness dies."""

    def __init__(self, owner_id: str | None = None) -> None:
        self.owner_id = owner_id or f"{os.getpid()}-{_start_of(os.getpid())}-{secrets.token_hex(8)}"
        self._told = b""
        self._begin()

    def _begin(self) -> None:
        read_end, self._write_end = os.pipe()  # neither is inherited, save the read end by the guardian
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", str(Path(__file__).resolve()), self.owner_id, str(read_end)],
                pass_fds=(read_end,),
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={**os.environ, _GUARDIAN_VARIABLE: "yes"},
            )
        finally:
            os.close(read_end)

    @property
    def environment(self) -> Mapping[str, str]:
        """Return what to merge into the environment of a child, so that it is watched over."""
        return {OWNER_VARIABLE: self.owner_id}

    def remove_at_end(self, path: Path) -> None:
        """Have a folder, or a link, removed when the harness dies (or this guardian is closed)."""
        self._tell(_REMOVE, path)

    def watch(self, session: int) -> None:
        """Have the processes of a session ended when the harness dies, also those that do not show their owner."""
        self._tell(_SESSION, session)

    @contextlib.contextmanager
    def masking(self, folder: Path, values: Sequence[str]) -> Iterator[None]:
        """Have the values masked in the files of `folder`, should the harness not come to the end of the block."""
        self._tell(_MASK, folder, *values)
        yield
        self._tell(_MASKED, folder)

    def _tell(self, word: str, what: Path | int, *values: str) -> None:
        message = json.dumps([word, str(what), *values]).encode() + b"\0"
        self._told += message
        try:
            os.write(self._write_end, message)
        except BrokenPipeError:
            self._process.wait()
            self.keep_up()

    def keep_up(self) -> None:
        """Start another guardian, with all that this one was told, should it have died."""
        code = self._process.poll()
        if code is None:
            return
        print(f"the guardian process ended (exit code {code}); another one is started", file=sys.stderr, flush=True)
        os.close(self._write_end)
        self._begin()
        os.write(self._write_end, self._told)

    def close(self) -> None:
        """End what is left of the owner's processes and the guardian itself. Can be called again."""
        if self._write_end < 0:
            return
        self.keep_up()
        os.close(self._write_end)
        self._write_end = -1
        try:
            self._process.wait(timeout=_CLOSE_DEADLINE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> Guardian:
        end_leftovers()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def owned_processes(owner_id: str, sessions: Collection[int] = ()) -> list[psutil.Process]:
    """Return the live processes that carry `owner_id` in their environment or are of these sessions, and their
    descendants, but no guardian.
    """
    found: dict[int, psutil.Process] = {}
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if os.getsid(process.pid) in sessions or process.environ().get(OWNER_VARIABLE) == owner_id:
                found[process.pid] = process
                found.update((child.pid, child) for child in process.children(recursive=True))
    found.pop(os.getpid(), None)
    return [process for process in found.values() if not _is_guardian(process)]


def end_leftovers() -> None:
    """End the processes of harnesses that were killed together with their guardians, and say so."""
    found: dict[str, list[str]] = {}
    ours = _namespace(os.getpid())
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            owner = _OWNER_ID.fullmatch(process.environ().get(OWNER_VARIABLE, ""))
            # In another namespace, as a container's, the process ids are other ones.
            is_ours = owner is not None and process.pid != os.getpid() and _namespace(process.pid) == ours
            if owner and is_ours and _has_ended(int(owner[1]), owner[2]) and not _is_guardian(process):
                found.setdefault(owner[0], []).append(f"{process.name()} (pid {process.pid})")
    for owner_id, names in found.items():
        print(f"ended, left by a harness that was killed: {', '.join(names)}", file=sys.stderr, flush=True)
        _end_all(owner_id, ())


def _has_ended(pid: int, start: str) -> bool:
    return not psutil.pid_exists(pid) or _start_of(pid) not in ("", start)


def _start_of(pid: int) -> str:
    """Return when a process started, in ticks since the machine did; "" where that cannot be known."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return _ENDED if fields[0] in "ZX" else fields[_START_FIELD]


def _namespace(pid: int) -> str:
    try:
        return str(Path(f"/proc/{pid}/ns/pid").readlink())
    except OSError:
        return ""


def _is_guardian(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error, OSError):
        return _GUARDIAN_VARIABLE in process.environ()
    return False


def _end_all(owner_id: str, sessions: Collection[int]) -> None:
    """Ask the owner's processes to end, then kill; again, should one have started another meanwhile."""
    victims = owned_processes(owner_id, sessions)
    for process in victims:
        with contextlib.suppress(psutil.Error):
            process.terminate()
    _wait_for(victims, _GRACE_S)
    for _ in range(_KILL_ROUNDS):
        # One look is not enough: a process in the middle of its exec shows no environment for a moment.
        time.sleep(_POLL_S)
        victims = owned_processes(owner_id, sessions)
        for process in victims:
            with contextlib.suppress(psutil.Error):
                process.kill()
        _wait_for(victims, _KILL_WAIT_S)


def _wait_for(processes: list[psutil.Process], deadline_s: float) -> None:
    until_s = time.monotonic() + deadline_s
    while any(_is_alive(process) for process in processes) and time.monotonic() < until_s:
        time.sleep(_POLL_S)


def _is_alive(process: psutil.Process) -> bool:
    """Return whether the process still runs; one that ended and that its parent has not looked at does not."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _main(owner_id: str, read_end: int) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with os.fdopen(read_end, "rb") as pipe:
        told = [json.loads(message) for message in pipe.read().split(b"\0") if message]
    _end_all(owner_id, {int(session) for word, session, *_ in told if word == _SESSION})
    masked = [folder for word, folder, *_ in told if word == _MASKED]
    for word, folder, *values in told:
        if word == _MASK and values and folder not in masked:
            _mask(Path(folder), values)
    for word, path, *_ in told:
        if word == _REMOVE and Path(path).is_symlink():
            Path(path).unlink(missing_ok=True)
        elif word == _REMOVE:
            shutil.rmtree(path, ignore_errors=True)


def _mask(folder: Path, values: Sequence[str]) -> None:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from harness.base.secrets import mask_secrets  # here, because this program is found by its file

    mask_secrets(folder, values)


if __name__ == "__main__":
    _main(sys.argv[1], int(sys.argv[2]))
