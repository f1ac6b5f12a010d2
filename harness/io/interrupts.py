"""Ctrl-C, TERM and HUP as a wish to stop: an exception while there is nothing to save, a flag while there is."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """Catches the signals that ask to stop, for as long as it is entered; `count` says how often it was asked."""

    def __init__(self) -> None:
        self.count = 0
        self._raising = True
        self._before = [signal.getsignal(number) for number in _SIGNALS]

    def __enter__(self) -> Interrupts:
        for number in _SIGNALS:
            signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in zip(_SIGNALS, self._before, strict=True):
            signal.signal(number, handler)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Within this block a signal is only counted; whoever holds it looks at `count`."""
        before, self._raising = self._raising, False
        try:
            yield
        finally:
            self._raising = before

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self.count += 1
        if self._raising:
            raise KeyboardInterrupt
