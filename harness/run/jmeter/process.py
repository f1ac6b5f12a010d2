"""Starts and stops JMeter in a run directory, and finds the reasons of a failure in its logs."""

from __future__ import annotations

import contextlib
import re
import signal
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from harness.base import process as child
from harness.base import units
from harness.base.ports import LOOPBACK
from harness.base.units import MS_PER_S
from harness.jtl.sample import Sample
from harness.metrics.figures import LOAD, TEARDOWN, group_of
from harness.plan.http_sampler import JMETERS, LEAN
from harness.run.jmeter.command import CONSOLE_NAME, LOG_NAME, JMeterCommand
from harness.run.jmeter.connections import ACTIVE_USERS_NAME, START_NAME
from harness.run.network.watch import RUN_VARIABLE, Watch
from harness.run.record import SAMPLER

# In the versions of a run: which HTTP sampler JMeter used.
_ASK_AGAIN_S = 0.5
# The kernel reports at once that nothing listens at a port of the loopback interface.
_REFUSAL_S = 0.05
# A sample of the load that starts so long after a request to stop shows that JMeter did not obey it.
_OBEYED_S = 5.0
# JMeter logs it when the load has ended, whatever ended it.
_TEARDOWN_LINE = b" o.a.j.e.StandardJMeterEngine: Starting tearDown thread groups"
_REASONS_MOST = 3
_ERROR_LINE = re.compile(r" (?:ERROR|FATAL) [\w.$]+: (.+)")
# What a plan logs with ${__log(…,ERROR)}: the thread's name, then the message.
_PLAN_LINE = re.compile(r" ERROR o\.a\.j\.f\.LogFunction: .*?  :  (.+)")
# A JVM that a signal such as SIGTERM ends in order has this exit code plus the signal's number.
_SIGNALLED = 128
_DEAD_THREAD = " ERROR o.a.j.t.JMeterThread: Test failed!"
# JMeter writes no row for such a sample, and its user goes on.
_THROWN = re.compile(r" ERROR o\.a\.j\.t\.JMeterThread: Error while processing sampler: '(.*)'\.$")
# Java prints the options that it reads from the environment.
_JAVA_NOTE = "NOTE: Picked up "
_EXCEPTION_LINE = re.compile(r"(?:Caused by: )?((?:[\w$]+\.)*[\w$]+(?:Exception|Error): .*\S)\s*$")


@dataclass(frozen=True)
class JMeterHome:
    """A JMeter installation, the version of the Java that runs it, and the agent that watches its connections.

    `plugin_folder` has the jars of the plan's own plugins, if any, and `sampler` the classes of the lean HTTP sampler,
    which is used if it `is_lean`; without them JMeter's own also sends credentials to other hosts.
    """

    path: Path
    java: str
    agent: Path = Path()
    plugin_folder: Path | None = None
    sampler: Path | None = None
    is_lean: bool = True

    @property
    def options(self) -> tuple[str, ...]:
        """The options of JMeter's command line with which it finds the plan's own plugins."""
        return (f"-Jsearch_paths={self.plugin_folder}",) if self.plugin_folder else ()

    def versions(self) -> dict[str, str]:
        """Return the versions of Java, JMeter and its plugins, as found in the names of the jars."""
        versions = {"java": self.java, "jmeter": "unknown", SAMPLER: LEAN if self.sampler and self.is_lean else JMETERS}
        for jar in sorted((self.path / "lib" / "ext").glob("*.jar")):
            match = re.fullmatch(r"(ApacheJMeter_core|jmeter-plugins-[a-z-]+)-(\d[\w.]*)\.jar", jar.name)
            if match:
                versions["jmeter" if match[1] == "ApacheJMeter_core" else match[1]] = match[2]
        for jar in sorted(self.plugin_folder.glob("*.jar")) if self.plugin_folder else ():
            if match := re.fullmatch(r"(.+?)-(\d[\w.-]*)\.jar", jar.name):
                versions[match[1]] = match[2]
        return versions


@dataclass(frozen=True)
class StopLimits:
    """How long JMeter may take after a request to stop: for its running samples, for tearDown, and after TERM."""

    samples_s: float
    teardown_s: float
    term_s: float


class TearDown:
    """Notices the start of tearDown: in jmeter.log, or by its first row where a part runs it.

    `began_s` is when it was noticed, by the monotonic clock; None before.
    """

    def __init__(self, log: Path) -> None:
        self._log = log
        self._read_bytes = 0
        self.began_s: float | None = None

    def has_begun(self, samples: Sequence[Sample] = ()) -> bool:
        """Return whether it has begun; `samples` are new rows."""
        if self.began_s is None and (self._is_logged() or any(_is_of(sample, TEARDOWN) for sample in samples)):
            self.began_s = time.monotonic()
        return self.began_s is not None

    def _is_logged(self) -> bool:
        try:
            with self._log.open("rb") as log:
                log.seek(self._read_bytes)
                text = log.read()
        except OSError:  # JMeter has not created it yet, or it was removed
            return False
        self._read_bytes += text.rfind(b"\n") + 1
        return _TEARDOWN_LINE in text


def held_at(command: JMeterCommand) -> Path:
    """Return the file with the time at which a JMeter that is held begins its load; see StartTime.java."""
    return command.connections.with_name(START_NAME)


def release(command: JMeterCommand) -> None:
    """Let a JMeter that is held begin its load as soon as it has started."""
    draft = held_at(command).with_suffix(".new")
    draft.write_text(str(int(time.time() * MS_PER_S)))
    draft.replace(held_at(command))


class JMeter:
    """One JMeter process in a run directory; `teardown` notices the start of the plan's tearDown."""

    def __init__(self, command: JMeterCommand, directory: Path) -> None:
        self._command = command
        self._active_users: int | None = None
        self.teardown = TearDown(directory / LOG_NAME)
        console = directory / CONSOLE_NAME
        self._watch = Watch(command.connections, command.allowed_connections, command.group)
        environment = {**command.environment, RUN_VARIABLE: command.connections.parent.name}
        launch = child.Launch(
            "JMeter", command.arguments, directory, environment, console, before=self._watch.before, is_jmeter=True
        )
        try:
            self._process = child.start(launch)
        except BaseException:
            self._watch.end()
            raise
        self._watch.begin(self._process.pid)

    @property
    def pid(self) -> int:
        """The process id of JMeter's JVM."""
        return self._process.pid

    def active_users(self) -> int | None:
        """Return how many users are active now; None when only the rows say it."""
        with contextlib.suppress(OSError, ValueError):  # it does not exist yet, or the agent is about to write it
            self._active_users = int(self._command.connections.with_name(ACTIVE_USERS_NAME).read_text())
        return self._active_users

    def poll(self) -> int | None:
        """Return the exit code; None while it runs."""
        return self._ended(self._process.poll())

    def _ended(self, code: int | None) -> int | None:
        """Return the exit code; what was seen of the connections is stored when there is one."""
        if code is not None:
            self._watch.end()
        return code

    def wait(self, seconds: float) -> int | None:
        """Return the exit code when JMeter ends; None when it still runs after `seconds`."""
        try:
            return self._ended(self._process.wait(timeout=seconds))
        except subprocess.TimeoutExpired:
            return None

    def stop(
        self,
        limits: StopLimits,
        new_samples: Callable[[], Sequence[Sample]] = tuple,
        hurry: Callable[[], bool] = lambda: False,
    ) -> int:
        """Return the exit code after a stop by the shutdown port, then TERM, then KILL.

        TERM follows when the running samples or tearDown take longer than `limits`, or when `hurry` returns true: the
        JTL is then complete without running samples. A second request would end tearDown. So JMeter gets another one
        only if it did not receive the first, or if it starts samples of the load long after it.
        """
        deadline_s = time.monotonic() + limits.samples_s
        asked_ms: float | None = None
        while self.poll() is None and time.monotonic() < deadline_s and not hurry():
            samples = new_samples()
            if self.teardown.has_begun(samples):
                deadline_s = (self.teardown.began_s or 0.0) + limits.teardown_s
            elif asked_ms is None or _goes_on(samples, asked_ms):
                asked_ms = time.time() * MS_PER_S if self._ask_to_stop() else None
            self.wait(_ASK_AGAIN_S)
        child.stop(self._process, limits.term_s)
        code = self.poll()
        self._watch.end()
        return -signal.SIGKILL if code is None else code

    def _ask_to_stop(self) -> bool:
        """Ask JMeter to end gracefully: no new iterations, and tearDown runs. Return whether it listens."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.connect((LOOPBACK, self._command.stop_port))
            sender.settimeout(_REFUSAL_S)
            try:
                sender.send(self._command.stop_word.encode())
                sender.recv(1)
            except TimeoutError:
                return True
            except OSError:  # a starting JMeter does not listen yet
                return False
        return True


def _goes_on(samples: Sequence[Sample], asked_ms: float) -> bool:
    """Return whether the load starts samples long after JMeter was asked to stop."""
    return any(sample.start_ms > asked_ms + _OBEYED_S * MS_PER_S and _is_of(sample, LOAD) for sample in samples)


def _is_of(sample: Sample, group: str) -> bool:
    return group_of(sample.thread_name, sample.label, frozenset()) == group


def free_udp_port() -> int:
    """Return a free UDP port of the loopback interface."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


def plan_messages(directory: Path, log_name: str) -> tuple[str, ...]:
    """Return the distinct errors that the plan itself logged."""
    messages = (match[1].strip() for line in _log_lines(directory / log_name) if (match := _PLAN_LINE.search(line)))
    return tuple(dict.fromkeys(messages))[:_REASONS_MOST]


def has_dead_thread(directory: Path, log_name: str) -> bool:
    """Return whether an exception ended a thread, and with it a user, too early."""
    return any(_DEAD_THREAD in line for line in _log_lines(directory / log_name))


def lost_samples(directory: Path, log_name: str) -> str:
    """Return how many samples have no row as an exception ended their sampler, and the first one; empty without any.

    An interrupt, as at the end of an open load, is none.
    """
    counts, first = Counter[str](), ""
    for line, cause in pairwise([*_log_lines(directory / log_name), ""]):
        match = _THROWN.search(line)
        if match and "Interrupt" not in cause:
            counts[match[1]] += 1
            first = first or cause.strip()
    steps = ", ".join(f"{name} ({count})" for name, count in counts.most_common(_REASONS_MOST))
    what = f"{units.plural(counts.total(), 'sample')} without a row, as an exception ended their sampler: {steps}"
    return f"{what}; {first}" if counts else ""


def signal_of(exit_code: int) -> signal.Signals | None:
    """Return the signal that ended a process; None when it ended by itself."""
    try:
        return signal.Signals(-exit_code if exit_code < 0 else exit_code - _SIGNALLED)
    except ValueError:
        return None


def ending_text(exit_code: int) -> str:
    """Return how a process ended: `was killed by signal 9 (SIGKILL)`, `ended with exit code 1`."""
    number = signal_of(exit_code)
    if number is None:
        return f"ended with exit code {exit_code}"
    return f"was {'killed' if exit_code < 0 else 'ended'} by signal {int(number)} ({number.name})"


def reason_from_logs(directory: Path, log_name: str, *, with_console: bool = True) -> str:
    """Return the errors and exceptions in jmeter.log, else the last lines of the console.

    When a signal ended JMeter the console does not contain the reason: leave it out.
    """
    console, lines = directory / CONSOLE_NAME, _log_lines(directory / log_name)
    errors = [match[1] for line in lines if (match := _ERROR_LINE.search(line) or _EXCEPTION_LINE.match(line))]
    if not errors and with_console and console.is_file():
        shown = console.read_text(errors="replace").splitlines()
        errors = [line for line in shown if line.strip() and not line.startswith(_JAVA_NOTE)][-_REASONS_MOST:]
    reasons = dict.fromkeys(" ".join(text.split()).replace(f"{directory}/", "") for text in errors)
    return "; ".join(list(reasons)[:_REASONS_MOST])


def _log_lines(log: Path) -> list[str]:
    return log.read_text(errors="replace").splitlines() if log.is_file() else []
