"""Lets several readings of large JTLs share one process of the counter, which is started and compiled only once.

Small tables import this, so it imports nothing that takes long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.metrics.counter_process import CounterProcess


class SharedCounter:
    """What several readings share.

    `process` is the running counter between two readings; None before the first one, and after one with large counts.
    `meanwhile` is what the caller can do while the counter counts for the first time.
    """

    def __init__(self, meanwhile: Callable[[], object] | None) -> None:
        self.process: CounterProcess | None = None
        self._meanwhile = meanwhile

    def work_meanwhile(self) -> None:
        """Do what the caller can do while the counter counts, unless that is done."""
        work, self._meanwhile = self._meanwhile, None
        if work:
            work()


_current: ContextVar[SharedCounter | None] = ContextVar("_current", default=None)


def current() -> SharedCounter | None:
    """Return what readings share now; None outside of `shared_counter`."""
    return _current.get()


@contextmanager
def shared_counter(meanwhile: Callable[[], object] | None = None) -> Iterator[None]:
    """Count all large files that are read within by one process, and end it afterwards.

    `meanwhile` is called while it counts the first of them; never without a large file.
    """
    if current():
        yield
        return
    shared = SharedCounter(meanwhile)
    token = _current.set(shared)
    try:
        yield
    finally:
        _current.reset(token)
        if shared.process:
            shared.process.close()
