"""Runs JMeter in a run directory and stops it: gracefully first, then harder. Its exit code is never believed alone."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import StartError
from harness.generator import CONSOLE_NAME

_LOOPBACK = "127.0.0.1"
_LOG_REASON_LINES = 3


@dataclass(frozen=True)
class JMeterHome:
    """A JMeter installation and the version of the Java that runs it."""

    path: Path
    java: str

    def versions(self) -> dict[str, str]:
        """Return the versions of Java, JMeter and its plugins, read off the names of the jars."""
        found = {"java": self.java, "jmeter": "unknown"}
        for jar in sorted((self.path / "lib" / "ext").glob("*.jar")):
            match = re.fullmatch(r"(ApacheJMeter_core|jmeter-plugins-[a-z-]+)-(\d[\w.]*)\.jar", jar.name)
            if match:
                found["jmeter" if match[1] == "ApacheJMeter_core" else match[1]] = match[2]
        return found


class JMeter:
    """One JMeter process; `stop_port` is the UDP port on which it hears `stop_word`."""

    def __init__(
        self,
        command: Sequence[str],
        directory: Path,
        environment: Mapping[str, str],
        stop_port: int,
        stop_word: str,
    ) -> None:
        self._stop_port = stop_port
        self._stop_word = stop_word
        with (directory / CONSOLE_NAME).open("wb") as console:
            try:
                self._process = subprocess.Popen(
                    command,
                    cwd=directory,
                    env={**os.environ, **environment},
                    stdin=subprocess.DEVNULL,
                    stdout=console,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,  # a Ctrl-C in the terminal reaches the harness alone
                )
            except OSError as error:
                raise StartError(
                    f"{command[0]} does not run ({error.strerror})", "run make setup, or correct JMETER_HOME"
                ) from None

    @property
    def pid(self) -> int:
        """The process id of JMeter's JVM."""
        return self._process.pid

    def poll(self) -> int | None:
        """Return the exit code; None while it runs."""
        return self._process.poll()

    def ask_to_stop(self) -> None:
        """Ask for the graceful end: no new iterations, and tearDown runs."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(self._stop_word.encode(), (_LOOPBACK, self._stop_port))

    def terminate(self) -> None:
        """Send TERM to the process group: the JTL stays complete, running samples are lost."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send KILL to the process group and reap it."""
        self._signal(signal.SIGKILL)
        self._process.wait()

    def wait(self, seconds: float) -> int | None:
        """Return the exit code as soon as there is one; None when it still runs after `seconds`."""
        try:
            return self._process.wait(timeout=max(0.0, seconds))
        except subprocess.TimeoutExpired:
            return None

    def _signal(self, number: int) -> None:
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            return  # it has ended between two looks


def stop(jmeter: JMeter, graceful_s: float, term_s: float) -> int:
    """Stop JMeter by its shutdown port, then TERM, then KILL, and return its exit code."""
    deadline_s = time.monotonic() + graceful_s
    while jmeter.poll() is None and time.monotonic() < deadline_s:
        jmeter.ask_to_stop()  # repeated: a JMeter that is still starting does not listen yet
        if jmeter.wait(1.0) is not None:
            break
    if jmeter.poll() is None:
        jmeter.terminate()
        jmeter.wait(term_s)
    if jmeter.poll() is None:
        jmeter.kill()
    code = jmeter.poll()
    return -signal.SIGKILL if code is None else code


def free_udp_port() -> int:
    """Return a UDP port of the loopback interface that was free a moment ago."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind((_LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


def reason_from_logs(directory: Path, log_name: str) -> str:
    """Return what JMeter itself says went wrong: the first errors of jmeter.log, else the end of its console."""
    log, console = directory / log_name, directory / CONSOLE_NAME
    lines = log.read_text(errors="replace").splitlines() if log.is_file() else []
    errors = [line.split(": ", 1)[-1] for line in lines if " ERROR " in line or " FATAL " in line]
    causes = [line for line in lines if line.startswith(("Cause", "cause-message", "message", "exception", "first-j"))]
    if errors:
        return "; ".join(" ".join(line.split()) for line in [*errors[:_LOG_REASON_LINES], *causes[:_LOG_REASON_LINES]])
    tail = console.read_text(errors="replace").split("\n") if console.is_file() else []
    return "; ".join([line.strip() for line in tail if line.strip()][-_LOG_REASON_LINES:])
