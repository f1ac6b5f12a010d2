"""Runs the Java program that counts large JTLs, and reads its output.

Several readings can share one process of it, which is started and compiled only once. Small tables import this, so it
imports nothing that takes long.
"""

from __future__ import annotations

import os
import stat
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from harness.jtl.csv import NOT_UTF_8

# Below this size, the plain reader finishes before the counter has started.
LARGE_BYTES = 8 * 1024 * 1024
_THREADS_MAX = 4
# Enough for four threads, and for the slices of two hours of 5,000 labels; it is seldom filled.
_HEAP_MB = 256
# A small nursery stays in the processor's cache. Without a file for other tools it starts sooner.
_JVM_OPTIONS = ("-XX:+UseSerialGC", "-Xmn16m", "-XX:-UsePerfData", "-XX:+IgnoreUnrecognizedVMOptions")
# Compilers compete with counting for cores. The quick one is done in tenths of a second. The optimising one pays in
# files of this size: there it compiles only what counts most rows.
_OPTIMISED_BYTES = 2 * 1024 * 1024 * 1024
_QUICKLY_COMPILED = ("-XX:TieredStopAtLevel=1",)
_OPTIMISED = (
    "-XX:Tier4InvocationThreshold=50000", "-XX:Tier4MinInvocationThreshold=50000", "-XX:Tier4CompileThreshold=100000",
    "-XX:Tier4BackEdgeThreshold=400000",
)  # fmt: skip
# Exit codes of the program.
_ENDS = {3: "it has too little memory for so many labels and response times", 4: "the file has changed"}


class CounterError(Exception):
    """The program failed: the file must be read without it."""


@dataclass(frozen=True)
class Program:
    """The Java to run, and the folder of the compiled classes."""

    java: str
    classes: Path


class Frames:
    """Reads the program's output. EOFError when it ends too early."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def read(self, size: int) -> bytes:
        """Return this many bytes."""
        data = self._stream.read(size)
        if len(data) < size:
            raise EOFError
        return data

    def small(self) -> int:
        """Return a four-byte number."""
        return int.from_bytes(self.read(4), "big", signed=True)

    def large(self) -> int:
        """Return an eight-byte number."""
        return int.from_bytes(self.read(8), "big", signed=True)

    def name(self) -> bytes:
        """Return bytes that are preceded by their length."""
        return self.read(self.small())

    def text(self) -> str:
        """Return a text; bytes that are not UTF-8 are escaped as in the plain reader."""
        return self.name().decode("utf-8", errors=NOT_UTF_8)

    def texts(self) -> list[str]:
        """Return a list of texts."""
        return [self.text() for _ in range(self.small())]

    def table(self, column_count: int) -> list[array[int]]:
        """Return the columns of a table, the keys first."""
        width = column_count + 1
        numbers = array("q", self.read(self.small() * width * 8))
        numbers.byteswap()
        return [numbers[column::width] for column in range(width)]


class CounterProcess:
    """A running program: `order` gives it a line, `frames` are its answers. CounterError when it does not start."""

    def __init__(self, program: Program, file_bytes: int) -> None:
        import subprocess  # imported late: no small table needs it

        threads = min(_THREADS_MAX, os.cpu_count() or 1)
        compiler = _OPTIMISED if file_bytes >= _OPTIMISED_BYTES else _QUICKLY_COMPILED
        options = [f"-Xmx{_HEAP_MB}m", *_JVM_OPTIONS, *compiler]
        command = [program.java, *options, "-cp", str(program.classes), "CountJtl", str(threads)]
        try:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        except OSError as error:
            raise CounterError(f"{program.java} does not run ({error.strerror})") from None
        assert self._process.stdout is not None
        self._output = self._process.stdout
        self.frames = Frames(self._output)

    @property
    def is_running(self) -> bool:
        """Return whether it can still take tasks."""
        return self._process.poll() is None

    def order(self, line: str) -> None:
        """Send a line. BrokenPipeError when the program has ended."""
        assert self._process.stdin is not None
        # Unbuffered: flushing a buffer would fail again after the program has ended.
        os.write(self._process.stdin.fileno(), f"{line}\n".encode())

    def rest(self) -> bytes:
        """Return all output up to the program's end: then its memory is free."""
        rest = self._output.read()
        self._process.wait()
        return rest

    def why_ended(self) -> str:
        """Return the reason why it ended early."""
        return _ENDS.get(self._process.wait(), f"it ended with code {self._process.returncode}")

    def close(self) -> None:
        """End it."""
        self._process.kill()
        with self._process:  # closes its pipes
            pass


class SharedCounter:
    """What several readings share.

    `process` is the running counter between two readings; None before the first one, and after one with large counts.
    `meanwhile` is what the caller can do while the counter counts for the first time.
    """

    def __init__(self, meanwhile: Callable[[], object] | None) -> None:
        self.process: CounterProcess | None = None
        self._meanwhile = [meanwhile] if meanwhile else []

    def offer(self, meanwhile: Callable[[], object] | None) -> None:
        """Take what a caller further in can do meanwhile, too."""
        self._meanwhile += [meanwhile] if meanwhile else []

    def work_meanwhile(self) -> None:
        """Do what the caller can do while the counter counts, unless that is done."""
        while self._meanwhile:
            self._meanwhile.pop(0)()


_current: ContextVar[SharedCounter | None] = ContextVar("_current", default=None)


def current() -> SharedCounter | None:
    """Return what readings share now; None outside of `shared_counter`."""
    return _current.get()


@contextmanager
def shared_counter(meanwhile: Callable[[], object] | None = None) -> Iterator[None]:
    """Count all large files that are read within by one process, and end it afterwards.

    `meanwhile` is called while it counts the first of them; never without a large file.
    """
    if shared := current():
        shared.offer(meanwhile)
        yield
        return
    with _sharing(SharedCounter(meanwhile)):
        yield


@contextmanager
def early_counter(words: Sequence[str]) -> Iterator[None]:
    """Share a process as `shared_counter` does, and start it at once when a word of a command names a large file.

    So it starts while the rest of the tool is loaded.
    """
    file_bytes = max(map(_file_bytes, words), default=0)
    if file_bytes < LARGE_BYTES:
        yield
        return
    from harness.base.install.toolchain import ready_counter
    from harness.base.java import java_context  # here, as below: small tables do without

    shared, java, classes = SharedCounter(None), java_context().get("java"), ready_counter()
    if java and classes:
        with suppress(CounterError):
            shared.process = CounterProcess(Program(java, classes), file_bytes)
    with _sharing(shared):
        yield


def _file_bytes(word: str) -> int:
    """Return the size of the file that a word names; 0 when it names none."""
    try:
        status = os.stat(word)  # noqa: PTH116 - a word may be anything
    except (OSError, ValueError):
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


@contextmanager
def _sharing(shared: SharedCounter) -> Iterator[None]:
    token = _current.set(shared)
    try:
        yield
    finally:
        _current.reset(token)
        if shared.process:
            shared.process.close()


@contextmanager
def counter(program: Program, file_bytes: int) -> Iterator[CounterProcess]:
    """Yield a program for one file: the shared one within `shared_counter`, else one that is ended afterwards."""
    shared = current()
    process = shared.process if shared else None
    if process is None or not process.is_running:
        process = CounterProcess(program, file_bytes)
    is_reusable = False
    try:
        yield process
        is_reusable = shared is not None and process.is_running
    finally:
        if not is_reusable:
            process.close()
        if shared:
            shared.process = process if is_reusable else None
