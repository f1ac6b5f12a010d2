"""Starts and ends child processes: each has its own session and log file and is ended with its process group."""

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

from harness.base.errors import StartError, UsageError
from harness.base.interrupts import held
from harness.base.machine_credentials import is_of_the_machine
from harness.base.secrecy import AWS_VARIABLES

_TAIL_LINES = 30
_TAIL_BYTES = 64_000
# SIGKILL ends a child at once unless it hangs in the kernel.
_KILL_WAIT_S = 5.0
_POLL_S = 0.02
# Packages put servers there (nginx, haproxy); on Debian only root has these folders on PATH.
_SERVER_FOLDERS = ("/usr/local/sbin", "/usr/sbin", "/sbin")
_PR_SET_PDEATHSIG = 1  # from linux/prctl.h


@dataclass(frozen=True)
class Launch:
    """A command to start: its arguments, folder, environment and log file.

    The child calls `before` before it becomes the command. `is_jmeter` is true for a JVM that runs a plan: it gets no
    credentials of this machine (`base/machine_credentials.py`).
    """

    name: str
    argv: Sequence[str]
    cwd: Path
    environment: Mapping[str, str]
    log: Path
    cpu_count: int = 0
    before: Callable[[], None] | None = None
    is_jmeter: bool = False


def start(launch: Launch) -> subprocess.Popen[bytes]:
    """Return the started process. UsageError when the program is missing. Ctrl-C in the terminal does not reach it."""
    launch.log.parent.mkdir(parents=True, exist_ok=True)
    with launch.log.open("wb") as log, _on_cpus(launch.cpu_count, launch.name):
        try:
            return subprocess.Popen(
                launch.argv,
                cwd=launch.cwd,
                env=_environment(launch),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_all_of(_ending_with_us(), launch.before),
            )
        except OSError as error:
            raise UsageError(
                f"{launch.name}: cannot start {launch.argv[0]} ({error.strerror})", "install it or put it on PATH"
            ) from None


def _all_of(*functions: Callable[[], None] | None) -> Callable[[], None] | None:
    called = [one for one in functions if one]

    def call_all() -> None:
        for one in called:
            one()

    return call_all if called else None


def _environment(launch: Launch) -> dict[str, str]:
    given = inherited()
    if launch.is_jmeter:
        given = {name: value for name, value in given.items() if not is_of_the_machine(name)}
    return {**given, **launch.environment}


def _ending_with_us() -> Callable[[], None] | None:
    """Return a function that makes Linux send the child SIGTERM when the harness and its guardian are killed.

    The kernel watches the thread that started the child, so only the main thread can use this.
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
    """Return the environment of child processes: ours, with the folders of servers at the end of PATH.

    The AWS keys are left out: only our own uploads need them, and no log can contain them.
    """
    ours = {name: value for name, value in os.environ.items() if name not in AWS_VARIABLES}
    folders = ours.get("PATH", os.defpath).split(os.pathsep)
    added = [folder for folder in _SERVER_FOLDERS if folder not in folders]
    return ours | {"PATH": os.pathsep.join([*folders, *added])}


def run(launch: Launch) -> int:
    """Run the command and return its exit code. When we are interrupted, end its process group."""
    process = None
    try:
        with held():
            process = start(launch)
        return process.wait()
    finally:
        if process:
            stop(process, deadline_s=1.0)


def run_or_fail(launch: Launch) -> None:
    """Run the command. StartError with the tail of its log when the exit code is not 0."""
    code = run(launch)
    if code:
        raise StartError(
            f"{launch.name}: {Path(launch.argv[0]).name} ended with code {code}",
            f"see {launch.log}",
            tail_of(launch.log),
        )


def stop(process: subprocess.Popen[bytes], deadline_s: float) -> None:
    """End the process and its group: SIGTERM, then SIGKILL after `deadline_s`. No effect on one that has ended."""
    if process.returncode is not None:
        return
    _signal_group(process.pid, signal.SIGTERM)
    until_s = time.monotonic() + deadline_s
    while not _has_ended(process.pid) and time.monotonic() < until_s:
        time.sleep(_POLL_S)
    # Reap the ended leader only now: until then no other process group can get its number.
    _signal_group(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=_KILL_WAIT_S)


def tail_of(*logs: Path) -> str:
    """Return the last lines of each log under its name; missing and empty logs are left out."""
    parts = []
    for log in logs:
        with contextlib.suppress(OSError), log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _TAIL_BYTES))
            lines = deque(file.read().decode(errors="replace").splitlines(), maxlen=_TAIL_LINES)
            if lines:
                parts.append(f"--- last lines of {log.name}:\n" + "\n".join(lines))
    return "\n".join(parts)


def _has_ended(pid: int) -> bool:
    import psutil  # deferred: whoever only starts a process need not load it

    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def _signal_group(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


@contextlib.contextmanager
def _on_cpus(count: int, name: str) -> Iterator[None]:
    """Run the children started within the block on `count` CPUs (0: all).

    A child inherits the CPU affinity of the calling thread, which is restored afterwards. A JVM counts its CPUs at
    start, so it sees the right number. The last of the CPUs available to us are used.
    """
    if count == 0:
        yield
        return
    if not hasattr(os, "sched_setaffinity"):
        raise UsageError(
            f"{name}: cpus = {count}, but this operating system cannot pin processes", "set cpus = 0 (all)"
        )
    allowed = os.sched_getaffinity(0)
    if count > len(allowed):
        raise UsageError(f"{name}: cpus = {count}, but only {len(allowed)} are available", "set cpus = 0 (all)")
    os.sched_setaffinity(0, sorted(allowed)[-count:])
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)
