"""Run a harness as a child process with a time limit; stop it and everything it started when the limit is over."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass

import psutil

from harness.base.interrupts import Interrupts
from harness.base.process import Launch, start
from harness.plan.spec import OVERRUN_S
from harness.run.jmeter.drive import GRACEFUL_S

IN_TIME, TOO_LONG, INTERRUPTED = "in time", "too long", "interrupted"
_POLL_S = 0.2
Poll = Callable[[], None] | None
# How long a child may take after each signal: JMeter finishes its samples and tearDown; the report is written. The
# guardian of a killed harness ends the remaining processes within some seconds.
_AFTER_INT_S, _AFTER_TERM_S, _AFTER_KILL_S = GRACEFUL_S + OVERRUN_S + 55.0, 20.0, 20.0


@dataclass(frozen=True)
class ProcessEnd:
    """How a child ended: by itself in time, or stopped by the time limit or by an interrupt."""

    exit_code: int
    took_s: float
    how: str


def run_limited(launch: Launch, limit_s: float, interrupts: Interrupts, poll: Poll = None) -> ProcessEnd:
    """Run a child; stop it after `limit_s` or on an interrupt. `interrupts` must be held.

    `poll` is called several times per second while the child runs.
    """
    started_s, before = time.monotonic(), interrupts.count
    process = start(launch)
    how = IN_TIME
    try:
        if not _ends_within(process, limit_s, interrupts, before, poll):
            how = INTERRUPTED if interrupts.count > before else TOO_LONG
            _stop(process, interrupts, poll)
    finally:
        _kill(process)
    return ProcessEnd(process.returncode, time.monotonic() - started_s, how)


def _stop(process: subprocess.Popen[bytes], interrupts: Interrupts, poll: Poll) -> None:
    """Send SIGINT, then SIGTERM; a further interrupt skips the waiting time."""
    for number, patience_s in ((signal.SIGINT, _AFTER_INT_S), (signal.SIGTERM, _AFTER_TERM_S)):
        before = interrupts.count
        process.send_signal(number)
        if _ends_within(process, patience_s, interrupts, before, poll):
            return


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a running child, and wait until everything that it started has ended."""
    if process.poll() is not None:
        return
    started = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.wait()
    _, left = psutil.wait_procs(started, timeout=_AFTER_KILL_S)
    for one in left:
        one.kill()


def _ends_within(
    process: subprocess.Popen[bytes], seconds: float, interrupts: Interrupts, before: int, poll: Poll
) -> bool:
    """Return whether the child ended within the time and before an interrupt after the first `before` ones."""
    until_s = time.monotonic() + seconds
    while True:
        try:
            process.wait(timeout=_POLL_S)
            return True
        except subprocess.TimeoutExpired:
            if poll:
                poll()
            if interrupts.count > before or time.monotonic() > until_s:
                return False
