"""Lets several readings of large JTLs share one process of the counter, which is started and compiled only once.

Small tables import this, so it imports nothing that takes long.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.metrics.counter_process import CounterProcess


class SharedCounter:
    """The running counter between two readings; None before the first one, and after one with large counts."""

    process: CounterProcess | None = None


_current: ContextVar[SharedCounter | None] = ContextVar("_current", default=None)


def current() -> SharedCounter | None:
    """Return what readings share now; None outside of `shared_counter`."""
    return _current.get()


@contextmanager
def shared_counter() -> Iterator[None]:
    """Count all large files that are read within by one process, and end it afterwards."""
    if current():
        yield
        return
    shared = SharedCounter()
    token = _current.set(shared)
    try:
        yield
    finally:
        _current.reset(token)
        if shared.process:
            shared.process.close()
