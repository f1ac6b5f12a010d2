"""Runs work on a foreign file in a child process with limits of time and memory: libraries that hang or crash end it.

The work is pure: it gets nothing but the file, and returns a value.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import pickle
import resource
import select
import signal
import struct
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import NamedTuple, NoReturn, TypeVar

import psutil

from harness.base.errors import UsageError

Result = TypeVar("Result")
# The work names its place before each part of it; a part may take so long.
PART_MOST_S = 60.0
MEMORY_MOST_BYTES = 4_000_000_000
_TODO = "repair the file, or leave that part out"
_HEAD = struct.Struct("!cQ")
_PLACE, _RESULT, _REFUSED, _MEMORY, _BUG = b"p", b"r", b"u", b"m", b"b"


def bounded(name: str, work: Callable[[Callable[[str], None]], Result]) -> Result:
    """Return what `work` returns, which calls its argument with its place before each part.

    UsageError, with the place, when a part takes too long, too much memory, or crashes Python.
    """
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the child starts no thread, and uses none of ours
        child = os.fork()
    if not child:
        os.close(read)
        _work(write, work)
    os.close(write)
    place = ""
    try:
        while True:
            kind, data = _message(read)
            if kind == _RESULT:
                result: Result = pickle.loads(data)
                return result
            if kind == _REFUSED:
                raise UsageError(*pickle.loads(data))
            if kind == _BUG:
                raise RuntimeError(data.decode())
            if kind == _MEMORY:
                most = f"{MEMORY_MOST_BYTES / 1e9:g} GB"
                raise UsageError(f"{name}{place}: needs more than {most} of memory", _TODO)
            place = f": {data.decode(errors='replace')}"
    except TimeoutError:
        raise UsageError(f"{name}{place}: takes longer than {PART_MOST_S:g} s", _TODO) from None
    except EOFError:
        raise UsageError(f"{name}{place}: nested too deeply, or damaged: its parser crashed", _TODO) from None
    finally:
        os.close(read)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


class TooSlowError(Exception):
    """A block took longer than it may."""


@contextlib.contextmanager
def within(limit_s: float) -> Iterator[None]:
    """Raise TooSlowError when the block takes longer; for the child of `bounded`, which has no other alarm."""

    def expired(*_: object) -> NoReturn:
        raise TooSlowError

    before = signal.signal(signal.SIGALRM, expired)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _work(write: int, work: Callable[[Callable[[str], None]], Result]) -> NoReturn:
    """Do the work in the child, and end it without the clean-up of its parent."""
    code = 1
    try:
        faulthandler.disable()  # a crash is a finding about the file
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with contextlib.suppress(ValueError, OSError):  # macOS has no such limit
            limit = psutil.Process().memory_info().vms + MEMORY_MOST_BYTES
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        try:
            result = pickle.dumps(work(lambda place: _send(write, _PLACE, place.encode(errors="replace"))))
            _send(write, _RESULT, result)
        except UsageError as error:
            _send(write, _REFUSED, pickle.dumps((error.what, error.todo)))
        except MemoryError:
            _send(write, _MEMORY, b"")
        except Exception:  # noqa: BLE001 - the parent raises it
            _send(write, _BUG, traceback.format_exc().encode(errors="replace"))
        code = 0
    finally:
        os._exit(code)


def _send(write: int, kind: bytes, data: bytes) -> None:
    left = memoryview(_HEAD.pack(kind, len(data)) + data)
    while left:
        left = left[os.write(write, left) :]


class _Message(NamedTuple):
    """What the child sends: its kind, and the data that belong to it."""

    kind: bytes
    data: bytes


def _message(read: int) -> _Message:
    """Return the next message of the child. TimeoutError without one, EOFError when the child is gone."""
    deadline_s = time.monotonic() + PART_MOST_S
    kind, size = _HEAD.unpack(_bytes(read, _HEAD.size, deadline_s))
    return _Message(kind, _bytes(read, size, deadline_s))


def _bytes(read: int, count: int, deadline_s: float) -> bytes:
    received = bytearray()
    while len(received) < count:
        if not select.select([read], [], [], max(0.0, deadline_s - time.monotonic()))[0]:
            raise TimeoutError
        if not (data := os.read(read, min(count - len(received), 1 << 20))):
            raise EOFError
        received += data
    return bytes(received)
