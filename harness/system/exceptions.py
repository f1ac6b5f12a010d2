"""Counts exceptions in the logs of a Java system, by class and innermost cause.

An exception is a head line (class, then its message) followed by stack frames. It is recognised by this form only, so
logback, Log4j, java.util.logging and Tomcat's catalina.log, which indents the whole trace, are read alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from harness.system.recorder import Reading, Recorder

KINDS_MOST = 20
_EXAMPLE_CHARACTERS = 200
# The most lines of a message before its stack frames; a later frame belongs to something else.
_MESSAGE_LINES = 100

# Packages begin in lower case and classes in upper case, so java.lang.Thread.State in a thread dump is not a class.
_CLASS = r"(?:[a-z_]\w*\.)+[A-Z_][\w$]*"
_HEAD = re.compile(rf'(\s*)(?:Exception in thread "[^"]*" )?({_CLASS})(?:: ?(.*)|\s*)$')
# A log format may put the exception after the log's own message, on one line.
_HEAD_BEHIND_TEXT = re.compile(rf"[\s:(\[]({_CLASS}(?:Exception|Error))(?:: ?(.*)|\s*)$")
_FRAME = re.compile(r"\s*at [^\s(]+\([^)]*\)")
_LEFT_OUT_FRAMES = re.compile(r"\s*\.\.\. \d+ ")
_NESTED = re.compile(rf"(\s*)(Caused by|Suppressed|Wrapped by): (?:({_CLASS})(?=:|\s*$))?")
# The beginning of a log line: a date, a time or a level.
_RECORD = re.compile(
    r"\[?(?:\d{4}[-/.]\d\d|\d\d?[-/. ](?:\d\d|[A-Z][a-z]{2})[-/. ]\d{2,4}|\d\d:\d\d:\d\d|[A-Z][a-z]{2} \d\d?, \d{4}"
    r"|(?:TRACE|FINE|FINER|FINEST|CONFIG|DEBUG|INFO|WARN|WARNING|ERROR|SEVERE|FATAL)\b)"
)
# RMI and JavaMail put their cause into their message, on a line that looks like the head of an exception.
_IN_MESSAGE = "nested exception is:"


@dataclass(frozen=True)
class ExceptionCount:
    """The exceptions of one log with the same class and innermost cause ("" for none), and the first of them.

    `first_line` is its line number in the log, from 1; `example` is the first line of its message, shortened.
    """

    log: str
    class_name: str
    cause: str
    count: int
    first_line: int
    example: str


@dataclass
class _Trace:
    """A trace that is being read: `has_frames` marks an exception, `is_open` a last message that may continue."""

    line_number: int
    indent: str
    class_name: str
    message: str
    cause: str = ""
    has_frames: bool = False
    is_open: bool = True

    @property
    def is_exception(self) -> bool:
        """Return whether it is an exception: by its frames or, since the JVM omits frequent ones, by its name alone."""
        return self.has_frames or self.class_name.endswith(("Exception", "Error"))


def count_exceptions(lines: Iterable[str], log: str) -> tuple[ExceptionCount, ...]:
    """Return every kind of exception in one log, the most frequent first; a trace counts once."""
    counter = _Counter(log)
    for line in lines:
        counter.add(line.rstrip())
    return counter.counts()


class MostFrequent(NamedTuple):
    """The most frequent kinds of exceptions, and the number of kinds that are left out."""

    kinds: tuple[ExceptionCount, ...]
    left_out_count: int


def most_frequent(counts: Iterable[ExceptionCount]) -> MostFrequent:
    """Return the most frequent kinds of all logs, at most KINDS_MOST."""
    ordered = sorted(counts, key=_order)
    return MostFrequent(tuple(ordered[:KINDS_MOST]), max(0, len(ordered) - KINDS_MOST))


def _order(kind: ExceptionCount) -> tuple[int, str, int]:
    return -kind.count, kind.log, kind.first_line


class _Counter:
    """Reads a log line by line; stores only the current trace."""

    def __init__(self, log: str) -> None:
        self._log = log
        self._kinds: dict[tuple[str, str], ExceptionCount] = {}
        self._trace: _Trace | None = None
        self._before = ""
        self._number = 0
        self._message_lines = 0

    def add(self, line: str) -> None:
        self._number += 1
        if _FRAME.match(line):
            self._frame()
        elif nested := _NESTED.match(line):
            self._nested(nested)
        elif _LEFT_OUT_FRAMES.match(line) and self._trace:
            self._trace.is_open = False
        else:
            self._other(line)
        self._before = line

    def counts(self) -> tuple[ExceptionCount, ...]:
        self._finish()
        return tuple(sorted(self._kinds.values(), key=_order))

    def _frame(self) -> None:
        if self._trace is None:
            behind = _HEAD_BEHIND_TEXT.search(self._before)
            if behind is None or _NESTED.match(self._before):
                return  # part of a thread dump, or of a trace that began before this log
            self._trace = _Trace(self._number - 1, "", behind[1], behind[2] or "")
        self._trace.has_frames, self._trace.is_open = True, False

    def _nested(self, nested: re.Match[str]) -> None:
        if self._trace is None:
            return
        indent, kind, class_name = nested.groups()
        # Deeper ones are causes of a suppressed exception, not of this one.
        if class_name and indent == self._trace.indent:
            if kind == "Caused by":
                self._trace.cause = class_name
            elif kind == "Wrapped by":  # logback's %rEx starts with the innermost
                self._trace.cause = self._trace.cause or self._trace.class_name
                self._trace.class_name = class_name
        self._trace.has_frames = self._trace.is_open = True
        self._message_lines = 0

    def _other(self, line: str) -> None:
        head = _HEAD.match(line)
        if self._trace and self._trace.is_open and self._goes_on(line, is_head=head is not None):
            self._message_lines += 1
            return
        self._finish()
        if head:
            self._trace = _Trace(self._number, head[1], head[2], head[3] or "")
            self._message_lines = 0

    def _goes_on(self, line: str, *, is_head: bool) -> bool:
        """Return whether the line belongs to the message of the current trace."""
        if is_head:
            return self._before.endswith(_IN_MESSAGE)
        return self._message_lines < _MESSAGE_LINES and not _RECORD.match(line)

    def _finish(self) -> None:
        trace, self._trace = self._trace, None
        if trace is None or not trace.is_exception:
            return
        kind = (trace.class_name, trace.cause)
        message = " ".join(trace.message.split())[:_EXAMPLE_CHARACTERS]
        first = ExceptionCount(self._log, *kind, 0, trace.line_number, "" if message == "null" else message)
        known = self._kinds.get(kind, first)
        self._kinds[kind] = replace(known, count=known.count + 1)


def _read(of: Reading) -> dict[str, Any]:
    counts: list[ExceptionCount] = []
    missing = []
    for name in of.exception_logs:
        try:
            with (of.logs / name).open(encoding="utf-8", errors="replace") as lines:
                counts += count_exceptions(lines, name)
        except OSError:
            missing.append(name)
    frequent = most_frequent(counts)
    left_out = frequent.left_out_count
    return {"exceptions": frequent.kinds, "exception_kinds_left_out": left_out, "missing_logs": tuple(missing)}


RECORDER = Recorder("exceptions", read=_read, without_load=True)
