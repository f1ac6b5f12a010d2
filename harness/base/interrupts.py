"""Handles Ctrl-C, TERM and HUP: an exception normally, only a counter while results must be saved.

A HUP that is ignored from the start, as under nohup, stays ignored. The end of a starter that gave a pipe (`lifeline`)
is a TERM.
"""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import NamedTuple

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# The descriptor of a pipe that only the starter of this process can write to.
_LIFELINE_VARIABLE = "HARNESS_LIFELINE"


class Lifeline(NamedTuple):
    """The descriptor that a child process inherits, and the environment that names it."""

    descriptor: int
    environment: Mapping[str, str]


class Interrupts:
    """Catches the signals that ask to stop while the context is open; `count` is the number of requests."""

    def __init__(self) -> None:
        self.count = 0
        self._raising = True
        self._hung_up = False
        self._before = {number: signal.getsignal(number) for number in _SIGNALS}
        if self._before[signal.SIGHUP] is signal.SIG_IGN:
            del self._before[signal.SIGHUP]
        self._stack = ExitStack()

    def __enter__(self) -> Interrupts:
        for number in self._before:
            signal.signal(number, self._note)
        if signal.SIGHUP in self._before:
            self._stack.enter_context(_terminal_watched())
        if lifeline := os.environ.pop(_LIFELINE_VARIABLE, ""):
            self._stack.enter_context(_starter_watched(int(lifeline)))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def ask(self) -> None:
        """Count a request to stop that is no signal; it is noticed where the count is checked, within `deferred`."""
        self.count += 1

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Only count signals within this block; the caller checks `count`."""
        before, self._raising = self._raising, False
        try:
            yield
        finally:
            self._raising = before

    def _note(self, number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            if self._hung_up:
                return  # when a terminal closes, both the system and the shell send a HUP
            self._hung_up = True
        self.count += 1
        if self._raising:
            raise KeyboardInterrupt


@contextmanager
def held() -> Iterator[None]:
    """Handle signals that ask to stop after the block: a process that it starts is known then, and can be ended."""
    if threading.current_thread() is not threading.main_thread():  # signals are handled in that one
        yield
        return
    asked: list[int] = []
    handlers = {number: signal.getsignal(number) for number in _SIGNALS}
    caught = {number: handler for number, handler in handlers.items() if callable(handler)}
    for number in caught:
        signal.signal(number, lambda number, _: asked.append(number))
    try:
        yield
    finally:
        for number, handler in caught.items():
            signal.signal(number, handler)
        for noted in asked:
            signal.raise_signal(noted)


@contextmanager
def _terminal_watched() -> Iterator[None]:
    """Send this process a HUP when its terminal closes and the program that leads its session does not pass it on.

    The kernel sends a HUP to that program alone. A shell passes it on to its jobs, which have groups of their own;
    make, as in `ssh -t host lth run`, does not.
    """
    leader = os.getsid(0)
    if leader == os.getpid() or leader != os.getpgrp():
        yield
        return
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:  # it has none
        yield
        return
    with _sending(signal.SIGHUP, terminal):
        yield


@contextmanager
def _starter_watched(lifeline: int) -> Iterator[None]:
    """Send this process a TERM when its starter ends, however that ends, or closes its end of the pipe."""
    os.set_inheritable(lifeline, False)
    with _sending(signal.SIGTERM, lifeline):
        yield


@contextmanager
def _sending(number: signal.Signals, watched: int) -> Iterator[None]:
    """Send this process a signal when a descriptor hangs up within the block, after which it is closed."""
    until, end = os.pipe()

    def wait() -> None:
        poll = select.poll()
        for descriptor in (watched, until):
            poll.register(descriptor, 0)  # only its end
        if any(descriptor == watched for descriptor, _ in poll.poll()):
            os.kill(os.getpid(), number)

    thread = threading.Thread(target=wait, name="hang-up", daemon=True)
    thread.start()
    try:
        yield
    finally:
        os.close(end)
        thread.join()
        os.close(until)
        os.close(watched)


@contextmanager
def lifeline() -> Iterator[Lifeline]:
    """Yield what a child process gets so that it ends, with its results stored, at the end of the block or of us."""
    read_end, write_end = os.pipe()
    try:
        yield Lifeline(read_end, {_LIFELINE_VARIABLE: str(read_end)})
    finally:
        os.close(read_end)
        os.close(write_end)
