"""What the machine of a part may send: the fields of each message, and the most bytes of each and of all files."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import IO, Any

from harness.base.plain_text import one_line, short_line
from harness.base.strict_json import parse_object
from harness.base.units import BYTES_PER_MB

# A relay's message begins with this; what a shell prints at its start does not.
_SIGN = b'{"is": '
_LINE_BYTES = 64 * 1024
# What a shell and its profile may print before and between messages.
_OTHER_BYTES = 4 * BYTES_PER_MB
_ROWS_BYTES = 4 * BYTES_PER_MB
_RECORD_BYTES = 16 * BYTES_PER_MB
FILES_MB = 512
_FILES_BYTES = FILES_MB * BYTES_PER_MB
_FILES_MOST = 10_000
_NAME_CHARACTERS, _REASON_CHARACTERS = 200, 1000
_WHOLE_MOST = 2**31
# A clock later than the year 9999 is none.
_CLOCK_MOST_MS = 253_402_300_800_000.0
Head = Mapping[str, Any]
Message = tuple[Head, bytes]


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("not a text")
    return short_line(value)


def _reason(value: object) -> str:
    return short_line(_text(value) and str(value), _REASON_CHARACTERS)


def _texts(value: object) -> list[str]:
    if not isinstance(value, list):
        raise ValueError("not a list")
    return [_text(one) for one in value]


def _whole(value: object) -> int | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or abs(value) > _WHOLE_MOST):
        raise ValueError("not a whole number")
    return value


def _count(value: object) -> int | None:
    number = _whole(value)
    if number is not None and number < 0:
        raise ValueError("negative")
    return number


def _clock_ms(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("not a time")
    if not 0 <= value < _CLOCK_MOST_MS:
        raise ValueError("not a time")
    return float(value)


def _file_name(value: object) -> str:
    """Return the name of a file below the run directory, with / between folders."""
    if not isinstance(value, str) or not value or len(value) > _NAME_CHARACTERS or one_line(value) != value:
        raise ValueError("not the name of a file")
    path = PurePosixPath(value)
    if path.is_absolute() or ".." in path.parts or not path.parts or "\\" in value:
        raise ValueError(f"{value} is outside of the run")
    return path.as_posix()


# The fields of each message, and the most bytes that follow it.
KINDS: Mapping[str, tuple[Mapping[str, Callable[[object], object]], int]] = {
    "hello": ({"system": _text, "machine": _text, "tool": _text}, 0),
    "lacks": ({"names": _texts}, 0),
    "has": ({"name": _text}, 0),
    "pong": ({"ms": _clock_ms}, 0),
    "ready": ({}, _RECORD_BYTES),
    "held": ({}, 0),
    "gone": ({}, 0),
    "rows": ({}, _ROWS_BYTES),
    "beat": ({"users": _count}, 0),
    "file": ({"name": _file_name}, FILES_MB * BYTES_PER_MB),
    "ended": ({"code": _whole, "reason": _reason}, 0),
}


class PartMessages:
    """Reads the messages of a relay from a stream; ValueError, with what is wrong, for what is too large or false."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._other_bytes = self._file_bytes = self._file_count = 0

    def next(self) -> Message | None:
        """Return the next message; None at the end, also within a message."""
        while line := self._stream.readline(_LINE_BYTES):
            if not line.startswith(_SIGN):
                self._other_bytes += len(line)
                if self._other_bytes > _OTHER_BYTES:
                    raise ValueError(f"it printed more than {_OTHER_BYTES // BYTES_PER_MB} MB beside its messages")
            elif line.endswith(b"\n"):
                return self._message(line)
            elif len(line) >= _LINE_BYTES:
                raise ValueError(f"it sent a message of more than {_LINE_BYTES // 1024} KB")
        return None

    def _message(self, line: bytes) -> Message | None:
        try:
            head = parse_object(line)
        except ValueError as error:
            raise ValueError(f"it sent a message that is no JSON: {short_line(str(error))}") from None
        kind = head["is"]
        if not isinstance(kind, str) or kind not in KINDS:
            raise ValueError(f"it sent an unknown message: {short_line(str(kind), 40)}")
        fields, most_bytes = KINDS[kind]
        size = head.get("size")
        if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size <= most_bytes:
            raise ValueError(
                f"a message {kind} of {short_line(str(size), 40)} bytes, at most {most_bytes} are possible"
            )
        checked: dict[str, Any] = {"is": kind, "size": size}
        for name, check in fields.items():
            try:
                checked[name] = check(head.get(name))
            except ValueError as error:
                raise ValueError(f"it sent a message {kind} with a wrong {name}: {error}") from None
        if kind == "file":
            self._count_file(size)
        payload = self._stream.read(size)
        return (checked, payload) if len(payload) == size else None

    def _count_file(self, size: int) -> None:
        self._file_count += 1
        self._file_bytes += size
        if self._file_bytes > _FILES_BYTES or self._file_count > _FILES_MOST:
            raise ValueError(f"it sent more than {FILES_MB} MB or {_FILES_MOST} files")
