"""Keeps closed, full or broken standard streams from ending a measurement.

This module runs before .venv exists: standard library only.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import select
import sys
from typing import Any, TextIO


class _Output(io.FileIO):
    """An output descriptor. Data that cannot be written is dropped; `error` is the first reason."""

    error: OSError | None = None
    is_reader_gone = False

    def __init__(self, number: int) -> None:
        super().__init__(number, "w", closefd=False)
        self._is_terminal = self.isatty()

    def write(self, data: Any) -> int:
        """Write and return the number of bytes that are done; wait when a non-blocking descriptor is full."""
        try:
            while (written := super().write(data)) is None:
                select.select([], [self.fileno()], [])
            return written
        except OSError as error:
            self.error = self.error or error
            # A closed terminal answers with the error code that a disk uses for a disk error.
            self.is_reader_gone |= error.errno == errno.EPIPE or (error.errno == errno.EIO and self._is_terminal)
            return memoryview(data).nbytes


_outputs: dict[int, _Output] = {}


def protect() -> None:
    """Open closed standard descriptors on /dev/null, and drop output that cannot be printed from now on.

    Call this before anything else opens a file: a pipe or log that gets the number of a standard descriptor would
    receive the printed text. Streams that somebody has replaced stay as they are.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # it takes the lowest free number
    if sys.stdin is None:
        sys.stdin = open(0, closefd=False)  # noqa: SIM115 - open until the process ends
    if sys.stdout is sys.__stdout__:
        sys.stdout = _protected(1, sys.stdout)
    if sys.stderr is sys.__stderr__:
        sys.stderr = _protected(2, sys.stderr)


def output_error() -> OSError | None:
    """Return why some standard output could not be written; None when all of it was."""
    if 1 not in _outputs:
        return None
    with contextlib.suppress(ValueError):  # the stream is closed
        sys.stdout.flush()
    return _outputs[1].error


def is_reader_gone() -> bool:
    """Return whether the reader of standard output (head, less, a closed terminal) is gone."""
    return output_error() is not None and _outputs[1].is_reader_gone


def _protected(number: int, stream: TextIO | None) -> TextIO:
    raw = _outputs[number] = _Output(number)
    buffer = io.BufferedWriter(raw)
    is_error = number == 2
    if stream is None:
        return io.TextIOWrapper(buffer, encoding="utf-8", errors="backslashreplace", line_buffering=is_error)
    is_by_line = bool(getattr(stream, "line_buffering", False) or getattr(stream, "write_through", False))
    return io.TextIOWrapper(buffer, encoding=stream.encoding, errors=stream.errors, line_buffering=is_by_line)
