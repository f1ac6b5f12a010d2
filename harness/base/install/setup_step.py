"""Runs the commands of the one-time set-up: a log and progress for each, and an end for those of all threads at once.

This module runs before .venv exists: standard library only.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from harness.base.errors import StartError
from harness.base.interrupts import held
from harness.base.log import stderr_log

log = stderr_log("setup: ")

_TAIL_LINES = 15
_PROGRESS_S = 10.0
# What programs print for a full disk.
_NO_SPACE = "No space left on device"
_FREE_LEAST_BYTES = 1_000_000
# What Maven, pip and uv print about a download: its name and its size.
_DOWNLOAD = re.compile(r"(?:Downloaded from \S+ \S+|Downloading \S+) \(([\d.]+) ?([kKMG]?)i?B\b")
_BYTES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}

# Maven and javac end before the second compiler of a JVM is worth its CPU time.
QUICK_JVM = "-XX:TieredStopAtLevel=1"
# By itself Maven waits half an hour for a server that says nothing, and asks no second time. The first two names are
# those of Maven 3.8 and of later ones.
_PATIENCE = " ".join((
    "-Dmaven.wagon.rto=60000", "-Daether.connector.requestTimeout=60000",
    "-Dmaven.wagon.http.retryHandler.class=default", "-Dmaven.wagon.http.retryHandler.count=3",
    "-Dmaven.wagon.http.retryHandler.requestSentEnabled=true",
    "-Dmaven.wagon.http.retryHandler.nonRetryableClasses=java.net.UnknownHostException",
))  # fmt: skip

_running: set[subprocess.Popen[bytes]] = set()
_starting = threading.Lock()
_is_ended = False


@dataclass(frozen=True)
class SetupStep:
    """A step of the set-up: what it installs, the log of its commands, and when it started (s, monotonic)."""

    what: str
    log_file: Path
    started_s: float

    def status(self) -> str:
        """Return how long the step has taken, and how much it has downloaded."""
        size = downloaded_bytes(self.log_file.read_text(errors="replace"))
        passed = f"{time.monotonic() - self.started_s:.0f} s"
        return f"{passed}, {size / 1e6:.1f} MB downloaded" if size else passed


@contextmanager
def step(what: str, log_file: Path) -> Iterator[SetupStep]:
    """Yield a step; print its start with the path of its log, and its end with the time and the downloaded size."""
    current = SetupStep(what, log_file, time.monotonic())
    log(f"{what}: one-time set-up (log: {log_file.parent.name}/{log_file.name})")
    log_file.write_bytes(b"")
    yield current
    log(f"{what}: done in {current.status()}")


def run(command: Sequence[str], step: SetupStep, cwd: Path, todo: str) -> None:
    """Run a command; print progress while it runs. StartError with the tail of its log when it fails.

    The command's process group ends when this thread is interrupted, or when `end_all` is called.
    """
    with step.log_file.open("ab") as out:
        process = None
        try:
            with held():
                process = _started(command, out, cwd, todo)
            code = _wait(process, step)
        finally:
            if process:
                _end(process)
                process.wait()
                _running.discard(process)
    if code:
        free_bytes = shutil.disk_usage(step.log_file.parent).free
        if _NO_SPACE in step.log_file.read_text(errors="replace") or free_bytes < _FREE_LEAST_BYTES:
            what = f"{step.what}: no space left on device"
            raise StartError(what, f"free disk space for {step.log_file.parent}, or set XDG_CACHE_HOME")
        tail = "\n".join(step.log_file.read_text(errors="replace").splitlines()[-_TAIL_LINES:])
        raise StartError(f"set-up failed: {Path(command[0]).name} ended with exit code {code}", todo, tail)


def end_all() -> None:
    """End the commands of all threads; none starts afterwards, as the program ends, too."""
    global _is_ended
    with _starting:
        _is_ended = True
        for process in tuple(_running):
            _end(process)


def downloaded_bytes(text: str) -> float:
    """Return the sum of the sizes of all downloads in the output of Maven, pip or uv, in bytes, as they round it."""
    return sum(float(number) * _BYTES[unit] for number, unit in _DOWNLOAD.findall(text))


def _started(command: Sequence[str], out: IO[bytes], cwd: Path, todo: str) -> subprocess.Popen[bytes]:
    with _starting:
        if _is_ended:
            raise StartError("the set-up was ended", "run the command again")
        options = f"{QUICK_JVM} {_PATIENCE} {os.environ.get('MAVEN_OPTS', '')}".strip()
        variables = {**os.environ, "MAVEN_OPTS": options}
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=cwd,
                env=variables,
                start_new_session=True,
            )
        except OSError as error:
            raise StartError(f"{command[0]} does not run ({error.strerror})", todo) from None
        _running.add(process)
        return process


def _wait(process: subprocess.Popen[bytes], step: SetupStep) -> int:
    while True:
        try:
            return process.wait(timeout=_PROGRESS_S)
        except subprocess.TimeoutExpired:
            log(f"{step.what}: {step.status()}")


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
