"""Handles Ctrl-C, TERM and HUP: an exception normally, only a counter while results must be saved.

A HUP that is ignored from the start, as under nohup, stays ignored.
"""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


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
    make, as in `ssh -t host make run`, does not.
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
    until, end = os.pipe()

    def wait() -> None:
        poll = select.poll()
        for descriptor in (terminal, until):
            poll.register(descriptor, 0)  # only its end
        if any(descriptor == terminal for descriptor, _ in poll.poll()):
            os.kill(os.getpid(), signal.SIGHUP)

    thread = threading.Thread(target=wait, name="terminal", daemon=True)
    thread.start()
    try:
        yield
    finally:
        os.close(end)
        thread.join()
        os.close(until)
        os.close(terminal)
