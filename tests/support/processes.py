"""Processes that a test started: wait for what they do, and find those that are left."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import psutil

# Options of JVMs that are to start quickly: none lasts long enough to be compiled well, and verifying the classes of
# released jars is a tenth of the CPU time of a start.
QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
# The environment of a command whose Java processes are to start quickly.
QUICK_JAVA = {"JDK_JAVA_OPTIONS": QUICK_JVM}


def wait_for(condition, seconds: float = 40.0):
    """Return the condition's value once it is true; the test fails when it never is."""
    deadline_s = time.monotonic() + seconds
    while time.monotonic() < deadline_s:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError(f"not within {seconds} s")


@contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    """Interrupt this process as Ctrl-C does when the block takes longer: for a command that runs in it."""
    timer = threading.Timer(seconds, press_ctrl_c)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def interrupted_when(condition: Callable[[], object]) -> AbstractContextManager[None]:
    """Interrupt this process as Ctrl-C does as soon as the condition is true: for a command that runs in it."""

    def interrupt() -> None:
        wait_for(condition)
        press_ctrl_c()

    return meanwhile(interrupt)


@contextmanager
def meanwhile(act: Callable[[], object]) -> Iterator[None]:
    """Call `act` in a thread while the block runs a command in this process.

    What `act` raises interrupts the command, which may wait for it, and fails the test.
    """
    has_ended = threading.Event()

    def act_or_interrupt() -> None:
        try:
            act()
        except BaseException:
            if not has_ended.is_set():
                press_ctrl_c()
            raise

    with ThreadPoolExecutor(1) as pool:
        acting = pool.submit(act_or_interrupt)
        try:
            yield
        finally:
            has_ended.set()
        acting.result()


def press_ctrl_c() -> None:
    """Interrupt this process as Ctrl-C does: a command that runs in it."""
    os.kill(os.getpid(), signal.SIGINT)


def output_until(process: subprocess.Popen[str], text: str, seconds: float = 20.0) -> str:
    """Return the standard output of a process up to `text`; the test fails when `text` does not appear."""
    deadline_s, output = time.monotonic() + seconds, b""
    while text.encode() not in output:
        ready, _, _ = select.select([process.stdout], [], [], max(0.0, deadline_s - time.monotonic()))
        chunk = os.read(process.stdout.fileno(), 65_536) if ready else b""
        if not chunk:
            raise AssertionError(f"no {text!r} within {seconds} s: {output.decode()}")
        output += chunk
    return output.decode()


def becomes(read: Callable[[], Any], expected: object, seconds: float = 10.0) -> None:
    """Fail unless `read()` is equal to `expected` within some seconds: for a page or a file that follows an action."""
    deadline_s = time.monotonic() + seconds
    while (found := read()) != expected and time.monotonic() < deadline_s:
        time.sleep(0.05)
    assert found == expected


def is_running(pid: int) -> bool:
    """Return whether a process runs; one that has ended may not have been reaped yet."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def words_of(process: psutil.Process) -> list[str]:
    """Return the command of a process; nothing when it has ended, also a moment ago."""
    try:
        return list(process.cmdline())
    except psutil.NoSuchProcess:
        return []


def processes_of(folder: Path) -> list[psutil.Process]:
    """The processes that run in `folder` or have it in their command, ours left out."""
    found = []
    for process in psutil.process_iter():
        try:
            text = " ".join([process.cwd(), *process.cmdline()])
        except (psutil.Error, OSError):
            continue
        if str(folder) in text and process.pid != os.getpid():
            found.append(process)
    return found
