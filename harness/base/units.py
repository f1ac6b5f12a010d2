"""Converts units and formats numbers: text to seconds and counts on input, metrics to text on output."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence

from harness.base.errors import UsageError

_DURATION_PARTS = re.compile(r"(\d+(?:\.\d+)?)\s*(h|min|ms|m|s|)\s*", re.IGNORECASE)
# As reports print times: 31:00, 1:09:20.
_CLOCK = re.compile(r"(?:(\d+):)?(\d{1,2}):([0-5]\d)")
_SECONDS_PER = {"h": 3600.0, "min": 60.0, "m": 60.0, "ms": 0.001, "s": 1.0, "": 1.0}
BYTES_PER_KB = 1024
BYTES_PER_MB = 1024 * 1024
MS_PER_S = 1000
# From here on, two decimals would round an average to 10.00.
_WHOLE_FROM_MS = 9.995


def parse_date(text: str, where: str) -> str:
    """Return a date such as 2026-11-20; UsageError, with `where` in front of the text, when it is none."""
    try:
        return datetime.date.fromisoformat(text.strip()).isoformat()
    except ValueError:
        raise UsageError(f"{where} {text}: not a date", "give one such as 2026-11-20") from None


def parse_duration_s(text: str, name: str) -> float:
    """Return the seconds of `90`, `90s`, `500ms`, `2m`, `1h30m`, `1:30` (a minute and a half) or `1:30:00`.

    UsageError, which calls the value `name`, for any other text.
    """
    position, total_s, seen = 0, 0.0, False
    stripped = text.strip()
    if clock := _CLOCK.fullmatch(stripped):
        hours, minutes, seconds = (float(part or 0) for part in clock.groups())
        return hours * 3600 + minutes * 60 + seconds
    while position < len(stripped):
        match = _DURATION_PARTS.match(stripped, position)
        if match is None or match.end() == position:
            seen = False
            break
        total_s += float(match[1]) * _SECONDS_PER[match[2].lower()]
        position, seen = match.end(), True
    if not seen:
        raise UsageError(f"{name}={text}: not a duration", "give seconds or 90s, 2m, 1h30m")
    return total_s


def checked_duration(text: str, name: str) -> str:
    """Return the text of a duration as it is; UsageError for any other text."""
    parse_duration_s(text, name)
    return text


def parse_whole_number(text: str, name: str, least: int, most: int) -> int:
    """Return the whole number in `text`. UsageError unless least <= number <= most."""
    if not re.fullmatch(r"[+-]?\d+", text.strip()) or not least <= int(text) <= most:
        raise UsageError(f"{name}={text}: not a whole number from {least} to {most}")
    return int(text)


def parse_number(text: str, name: str, above: float, most: float) -> float:
    """Return the number in `text`. UsageError unless above < number <= most."""
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not above < number <= most:
        raise UsageError(f"{name}={text}: not a number above {above:g} and up to {most:g}")
    return number


def parse_percent_ratio(text: str, name: str) -> float:
    """Return the ratio of `1%` or `0.5 %`. UsageError without the % sign, because 1 could mean 100 %."""
    number = text.strip().removesuffix("%").strip()
    if not text.strip().endswith("%"):
        raise UsageError(f"{name}={text}: has no % sign", f"give {name}=1% for one in a hundred")
    return 0.0 if re.fullmatch(r"0+(\.0*)?", number) else parse_number(number, name, 0.0, 100.0) / 100


def number_text(value: float) -> str:
    """Return the shortest text of a number, such as 25 or 0.5 (never 25.0), for JMeter properties and commands."""
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def plural(count: int, noun: str) -> str:
    """Return a count with its noun: 1 user, 2 users."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def first_two(texts: Sequence[str]) -> str:
    """Return the first two texts, and how many more there are."""
    return "; ".join([*texts[:2], *([f"{len(texts) - 2} more"] if len(texts) > 2 else [])])


def duration_text(seconds: float) -> str:
    """Return a duration for people: 45 s, 1 min 40 s, 4 h 0 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{number_text(round(seconds, 1))} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def clock_text(seconds: float) -> str:
    """Return a stopwatch reading: 0:07, 1:40, 1:02:03."""
    whole = int(seconds)
    hours, rest = divmod(whole, 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}" if hours else f"{rest // 60}:{rest % 60:02d}"


def percent_text(ratio: float | None, decimals: int = 2) -> str:
    """Return a ratio (0-1) as the number before a % sign: 0.19357 -> 19.36."""
    return "" if ratio is None else f"{ratio * 100:.{decimals}f}"


def signed_percent(ratio: float | None, decimals: int = 2) -> str:
    """Return a change as the number before a % sign, with its sign: 0.1087 -> +10.87; no change is 0.00."""
    text = "" if ratio is None else f"{ratio * 100:+.{decimals}f}"
    return text[1:] if text[1:].strip("0.") == "" else text


def ms_text(value_ms: float | None, decimals: int = 0) -> str:
    """Return milliseconds, without decimals by default; half a millisecond rounds to the even neighbour."""
    return "" if value_ms is None else f"{value_ms:.{decimals}f}"


def average_text(value_ms: float | None) -> str:
    """Return an average in ms: two decimals below 10 ms (three significant digits), else a whole number.

    Response times are whole milliseconds; only computed values have decimals.
    """
    decimals = 2 if value_ms is not None and abs(value_ms) < _WHOLE_FROM_MS else 0
    return ms_text(value_ms, decimals)


def rate_text(rate_per_s: float | None) -> str:
    """Return a rate per second with two decimals."""
    return "" if rate_per_s is None else f"{rate_per_s:.2f}"


def kb_text(byte_rate_per_s: float | None) -> str:
    """Return bytes per second as KB/s (1 KB = 1024 bytes) with two decimals."""
    return "" if byte_rate_per_s is None else f"{byte_rate_per_s / BYTES_PER_KB:.2f}"


def mb_text(size_bytes: float | None, decimals: int = 0) -> str:
    """Return bytes as MB (1 MB = 1024 * 1024 bytes), without decimals by default."""
    return "" if size_bytes is None else f"{size_bytes / BYTES_PER_MB:.{decimals}f}"
