"""A guardian process that ends everything the harness started when the harness dies, even by SIGKILL.

Every child of the harness has HARNESS_OWNER=<id> in its environment and passes it on to its own children. The
guardian runs in its own session and waits for the end of a pipe that only the harness writes to. The operating system
closes the pipe when the harness ends. The guardian then ends every process of that owner, masks secrets in the files of
an unfinished run, and removes temporary folders. This file is also the guardian's program: it imports only the standard
library, psutil and the masking of secrets.

The harness replaces a guardian that died. If both die at once, the next harness on this machine ends the leftovers.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import psutil

OWNER_VARIABLE = "HARNESS_OWNER"
# Names another folder in which runs register. Harnesses with different folders ignore each other, as tests must.
RUNS_VARIABLE = "HARNESS_RUNS"
# A message to the guardian is a JSON list: the command, a folder, and the values to mask.
_REMOVE, _MASK, _MASKED = "remove", "mask", "masked"
# A process may clear its environment (nginx does, to set its title), but it stays in the session it was started in.
_SESSION = "session"
# A harness may be started by another one: a nightly starts its runs. The guardian must outlive both.
_GUARDIAN_VARIABLE = "HARNESS_GUARDIAN"
# Time for the processes of a dead harness to end after SIGTERM, before SIGKILL.
_GRACE_S = 4.0
_KILL_WAIT_S = 2.0
_KILL_ROUNDS = 3
_POLL_S = 0.05
_REMOVE_WAIT_S = 2.0
_CLOSE_DEADLINE_S = _GRACE_S + _KILL_ROUNDS * _KILL_WAIT_S + 5.0
# Process id and start time of the harness: a reused process id is not mistaken for it.
_OWNER_ID = re.compile(r"(\d+)-(\d*)-[0-9a-f]+")
# What a pipe holds everywhere before somebody reads: written before the guardian starts, it cannot be lost.
_HELD_BYTES = 16_384
_START_FIELD = 19  # of /proc/<pid>/stat, counting from the state field
_ENDED = "ended"


class Guardian:
    """Ends all processes started with its `environment` when it is closed or when the harness dies.

    Its process starts when the environment is first read or the first instruction is sent: a command that is refused
    needs none.
    """

    def __init__(self, owner_id: str | None = None) -> None:
        self.owner_id = owner_id or f"{os.getpid()}-{_start_of(os.getpid())}-{os.urandom(8).hex()}"
        self._sent = b""
        self._process: subprocess.Popen[bytes] | None = None
        self._write_end = -1
        self._is_closed = False

    def _begin_once(self) -> None:
        if self._process is None and not self._is_closed:
            self._begin()

    def _begin(self) -> None:
        read_end, self._write_end = os.pipe()  # only the guardian inherits the read end
        try:
            os.write(self._write_end, self._sent[:_HELD_BYTES])  # first: the harness may be killed at any moment
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
        if len(self._sent) > _HELD_BYTES:
            os.write(self._write_end, self._sent[_HELD_BYTES:])

    @property
    def environment(self) -> Mapping[str, str]:
        """Return the variables to add to a child's environment so that the guardian ends it."""
        self._begin_once()
        return {OWNER_VARIABLE: self.owner_id}

    def remove_at_end(self, path: Path) -> None:
        """Remove a folder, a file or a link when the harness dies or this guardian is closed."""
        self._send(_REMOVE, path)

    def watch(self, session: int) -> None:
        """End the processes of a session when the harness dies, including those without the owner variable."""
        self._send(_SESSION, session)

    @contextlib.contextmanager
    def masking(self, folder: Path, values: Sequence[str]) -> Iterator[None]:
        """Mask the values in the files of `folder` if the harness dies within the block."""
        self._send(_MASK, folder, *values)
        yield
        self._send(_MASKED, folder)

    def _send(self, command: str, what: Path | int, *values: str) -> None:
        self._begin_once()
        message = json.dumps([command, str(what), *values]).encode() + b"\0"
        self._sent += message
        try:
            os.write(self._write_end, message)
        except BrokenPipeError:
            if self._process:
                self._process.wait()
            self.keep_up()

    def keep_up(self) -> None:
        """Start another guardian with the same instructions if this one died."""
        code = self._process.poll() if self._process else None
        if code is None:
            return
        print(f"the guardian process ended (exit code {code}); starting another one", file=sys.stderr, flush=True)
        os.close(self._write_end)
        self._begin()

    def close(self) -> None:
        """End the owner's remaining processes and the guardian itself. Calling it again has no effect."""
        self._is_closed = True
        if self._process is None or self._write_end < 0:
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
    """Return the live processes of an owner or of these sessions, and their descendants, without guardians.

    A process belongs to an owner when its environment contains `owner_id`.
    """
    owned: dict[int, psutil.Process] = {}
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if os.getsid(process.pid) in sessions or process.environ().get(OWNER_VARIABLE) == owner_id:
                owned[process.pid] = process
                owned.update((child.pid, child) for child in process.children(recursive=True))
    owned.pop(os.getpid(), None)
    return [process for process in owned.values() if not _is_guardian(process)]


def end_leftovers() -> None:
    """End the processes of harnesses that died together with their guardians, and print their names."""
    leftovers: dict[str, list[str]] = {}
    guarded: set[str] = set()
    ours = _namespace(os.getpid())
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            environment = process.environ()
            if _GUARDIAN_VARIABLE in environment:
                guarded.update(process.cmdline())  # the id of its owner is one of the words
                continue
            if environment.get(RUNS_VARIABLE) != os.environ.get(RUNS_VARIABLE):
                continue
            owner = _OWNER_ID.fullmatch(environment.get(OWNER_VARIABLE, ""))
            # Process ids differ in another namespace, such as a container's.
            is_ours = owner is not None and process.pid != os.getpid() and _namespace(process.pid) == ours
            if owner and is_ours and _has_ended(int(owner[1]), owner[2]):
                leftovers.setdefault(owner[0], []).append(f"{process.name()} (pid {process.pid})")
    for owner_id, names in leftovers.items():
        if owner_id in guarded:
            continue  # its guardian ends them
        print(f"ended processes left by a killed harness: {', '.join(names)}", file=sys.stderr, flush=True)
        _end_all(owner_id, ())


def _has_ended(pid: int, start: str) -> bool:
    return not psutil.pid_exists(pid) or _start_of(pid) not in ("", start)


def _start_of(pid: int) -> str:
    """Return when a process started, in ticks since boot; "" when that is unknown."""
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
    """Send SIGTERM to the owner's processes, then SIGKILL; repeat in case one started another process."""
    victims = owned_processes(owner_id, sessions)
    for process in victims:
        with contextlib.suppress(psutil.Error):
            process.terminate()
    _wait_for(victims, _GRACE_S)
    for _ in range(_KILL_ROUNDS):
        # One check is not enough: a process shows no environment for a moment during exec.
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
    """Return whether the process is still running; a zombie is not."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _main(owner_id: str, read_end: int) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with os.fdopen(read_end, "rb") as pipe:
        # A harness that was killed while it wrote leaves half a message behind the last end of one.
        messages = [json.loads(message) for message in pipe.read().split(b"\0")[:-1]]
    _end_all(owner_id, {int(session) for command, session, *_ in messages if command == _SESSION})
    masked = [folder for command, folder, *_ in messages if command == _MASKED]
    for command, folder, *values in messages:
        if command == _MASK and values and folder not in masked:
            _mask(Path(folder), values)
    until_s = time.monotonic() + _REMOVE_WAIT_S
    for path in [Path(path) for command, path, *_ in messages if command == _REMOVE]:
        if path.is_symlink() or path.is_file():
            path.unlink(missing_ok=True)
            continue
        shutil.rmtree(path, ignore_errors=True)
        while path.exists() and time.monotonic() < until_s:  # a cgroup stays until its processes have ended wholly
            time.sleep(_POLL_S)
            shutil.rmtree(path, ignore_errors=True)


def _mask(folder: Path, values: Sequence[str]) -> None:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from harness.base.secrets import mask_secrets  # imported late: the guardian starts from this file's path

    mask_secrets(folder, values)


if __name__ == "__main__":
    _main(sys.argv[1], int(sys.argv[2]))
