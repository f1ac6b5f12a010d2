"""Yields the entries of a HAR file one by one, so that a file of any size needs little memory."""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from harness.base.errors import UsageError
from harness.base.regular import regular
from harness.jtl.file_progress import ReadingProgress

TODO = "export the HAR again, with content"
_CHUNK = 1024 * 1024
_BLANK = re.compile(r"[ \t\r\n]*")
# So near to the end a value may be cut: 1.5 after its point, false, or \u00e9 after its backslash.
_NEAR_END = 8


def entries_of(path: Path) -> Iterator[Any]:
    """Yield each item of log.entries. UsageError for a file that is no HAR, or that ends within an entry.

    The memory is a few times the largest entry. Progress goes to standard error.
    """
    count = 0
    with _opened(path) as file, ReadingProgress(path.stat().st_size, path.name) as progress:
        text = _Text(io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace"))
        try:
            if text.enter("log") != "{" or text.enter("entries") != "[":
                raise UsageError(f"{path.name}: no HAR: it has no log.entries", TODO)
            text.at += 1
            while (begin := text.peek()) != "]":
                if begin == ",":
                    text.at += 1
                entry = text.value()
                count += 1
                yield entry
                progress.update(file.tell())
        except (ValueError, RecursionError) as error:
            where = f"in entry {count + 1}" if count else "before the first entry ends"
            if text.is_at_end and isinstance(error, json.JSONDecodeError):
                raise UsageError(f"{path.name}: the file ends {where}: it is not complete", TODO) from None
            why = getattr(
                error, "msg", "a number is too large" if isinstance(error, ValueError) else "nested too deeply"
            )
            raise UsageError(f"{path.name}: no JSON {where} ({why})", TODO) from None


def _opened(path: Path) -> BinaryIO:
    try:
        return regular(path, math.inf).open("rb")
    except OSError as error:
        raise UsageError(f"{path.name}: cannot be read ({error.strerror})", "name a HAR file") from None


class _Text:
    """A JSON text that is read in chunks; `at` is the position in the present one."""

    def __init__(self, file: io.TextIOWrapper) -> None:
        self._file, self._text, self._decoder = file, "", json.JSONDecoder()
        self.at, self.is_at_end = 0, False

    def peek(self) -> str:
        """Return the next character that is not blank; empty at the end."""
        while True:
            self.at = _BLANK.match(self._text, self.at).end()  # type: ignore[union-attr]  # it always matches
            if self.at < len(self._text) or not self._more():
                return self._text[self.at : self.at + 1]

    def value(self) -> Any:
        """Return the next value. JSONDecodeError when there is none."""
        self.peek()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self.at)
            except json.JSONDecodeError as error:
                is_cut = error.msg.startswith("Unterminated") or error.pos > len(self._text) - _NEAR_END
                if not is_cut or not self._more():
                    raise
            else:
                if end < len(self._text) - _NEAR_END or self.is_at_end:
                    self.at = end
                    return value
                self._more()  # 1. may go on as 1.5

    def enter(self, name: str) -> str:
        """Go to the value of a key of the next object, and return its first character; empty without that key."""
        if self.peek() != "{":
            return ""
        self.at += 1
        while self.peek() not in ("}", ""):
            key = self.value()
            self.peek()
            self.at += 1  # the colon
            if key == name:
                return self.peek()
            self.value()
            if self.peek() == ",":
                self.at += 1
        return ""

    def _more(self) -> bool:
        """Read a chunk, as large as what is left of the last one; return whether there was one."""
        left = self._text[self.at :]
        chunk = self._file.read(max(_CHUNK, len(left)))
        self._text, self.at = left + chunk, 0
        self.is_at_end = not chunk
        return bool(chunk)
