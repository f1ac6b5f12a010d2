"""Child processes of the harness: each in a session of its own, its output in a file, ended as a group."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from harness.base.errors import StartError, UsageError
from harness.base.secrecy import AWS_VARIABLES

_TAIL_LINES = 30
_TAIL_BYTES = 64_000
# A child that was sent SIGKILL is gone at once, save when it hangs in the kernel.
_KILL_WAIT_S = 5.0
_POLL_S = 0.02
_PR_SET_PDEATHSIG = 1  # of linux/prctl.h


@dataclass(frozen=True)
class Launch:
    """What to start, where, and with what."""

    name: str
    argv: Sequence[str]
    cwd: Path
    environment: Mapping[str, str]
    log: Path
    cpu_count: int = 0


def start(launch: Launch) -> subprocess.Popen[bytes]:
    """Return the started process; UsageError when its program is not there. Ctrl-C of the terminal misses it."""
    launch.log.parent.mkdir(parents=True, exist_ok=True)
    with launch.log.open("wb") as log, _on_cpus(launch.cpu_count, launch.name):
        try:
            return subprocess.Popen(
                launch.argv,
                cwd=launch.cwd,
                env={**inherited(), **launch.environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_ending_with_us(),
            )
        except OSError as error:
            raise UsageError(
                f"{launch.name}: cannot start {launch.argv[0]} ({error.strerror})", "install it or put it on PATH"
            ) from None


def _ending_with_us() -> Callable[[], None] | None:
    """Return what a child does first, so that Linux asks it to end when we are killed and our guardian with us.

    The kernel watches the thread that started the child: only the main one lives as long as we do.
    """
    if sys.platform != "linux" or threading.current_thread() is not threading.main_thread():
        return None
    ours, prctl = os.getpid(), ctypes.CDLL(None).prctl

    def ask_kernel() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != ours:
            os.kill(os.getpid(), signal.SIGTERM)

    return ask_kernel


def inherited() -> dict[str, str]:
    """Return our environment without the keys to AWS: those are for our own uploads, and no log can have them then."""
    return {name: value for name, value in os.environ.items() if name not in AWS_VARIABLES}


def run(launch: Launch) -> int:
    """Return the exit code of the command, run to its end; it is ended with its group when we are interrupted."""
    process = start(launch)
    try:
        return process.wait()
    finally:
        stop(process, deadline_s=1.0)


def run_or_fail(launch: Launch) -> None:
    """Run the command to its end; StartError with the tail of its log when its exit code is not 0."""
    code = run(launch)
    if code:
        raise StartError(
            f"{launch.name}: {Path(launch.argv[0]).name} ended with code {code}",
            f"see its log, {launch.log}",
            tail_of(launch.log),
        )


def stop(process: subprocess.Popen[bytes], deadline_s: float) -> None:
    """End the process and its group: SIGTERM, SIGKILL after `deadline_s`. Does nothing to one that was seen to end."""
    if process.returncode is not None:
        return
    _signal_group(process.pid, signal.SIGTERM)
    until_s = time.monotonic() + deadline_s
    while not _has_ended(process.pid) and time.monotonic() < until_s:
        time.sleep(_POLL_S)
    # The ended leader is reaped only now: until then its number cannot become that of somebody else's group.
    _signal_group(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=_KILL_WAIT_S)


def tail_of(*logs: Path) -> str:
    """Return the last lines of the logs, each under its name; of logs that are missing or empty, nothing."""
    parts = []
    for log in logs:
        with contextlib.suppress(OSError), log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _TAIL_BYTES))
            lines = deque(file.read().decode(errors="replace").splitlines(), maxlen=_TAIL_LINES)
            if lines:
                parts.append(f"--- last lines of {log.name}:\n" + "\n".join(lines))
    return "\n".join(parts)


def _has_ended(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def _signal_group(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


@contextlib.contextmanager
def _on_cpus(count: int, name: str) -> Iterator[None]:
    """Have the children that are started within run on `count` CPUs (0: on all).

    The calling thread is moved there and back, and a child inherits its place: so a JVM, which counts its CPUs first
    of all, finds the right number. Of the CPUs we may use, the last are taken.
    """
    if count == 0:
        yield
        return
    if not hasattr(os, "sched_setaffinity"):
        raise UsageError(f"{name}: cpus = {count}, and this operating system cannot pin", "set cpus = 0 (all)")
    allowed = os.sched_getaffinity(0)
    if count > len(allowed):
        raise UsageError(f"{name}: cpus = {count}, and there are {len(allowed)} to use", "set cpus = 0 (all)")
    os.sched_setaffinity(0, sorted(allowed)[-count:])
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)
