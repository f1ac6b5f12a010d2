"""Handles Ctrl-C, TERM and HUP: an exception normally, only a counter while results must be saved.

A HUP that is ignored from the start, as under nohup, stays ignored.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
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

    def __enter__(self) -> Interrupts:
        for number in self._before:
            signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
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
