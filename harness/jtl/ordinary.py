"""Finds the lines of a CSV JTL that any CSV reader reads as ours does, so that a quick one can read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from harness.jtl.layout import WHOLE_COLUMNS, Layout

Numbers: TypeAlias = NDArray[np.int64]
_Flags: TypeAlias = NDArray[np.bool_]

_NEWLINE, _RETURN, _QUOTE, _NUL, _ZERO = b'\n\r"\x000'
# The first byte of a byte order mark, which is left out at the beginning of a line.
_MARK = 0xEF
# The numbers of a block of this size stay in the caches of a processor: that takes half the time.
_BLOCK_BYTES = 256 * 1024
# More digits than this may be beyond a Java long.
_DIGITS_MAX = 18
# A header line has this text.
_HEADER = b"timeStamp"


@dataclass(frozen=True)
class Lines:
    """The lines of a text: line `n` is text[starts[n]:starts[n + 1]]; `ordinary` has a truth per line.

    An ordinary line is a record of its own that any reader of CSV takes apart in the same way: it has as many fields
    as the columns, quotes only around whole fields, no NUL, and plain digits in every column of whole numbers.
    """

    starts: Numbers
    ordinary: _Flags

    def __len__(self) -> int:
        return len(self.ordinary)


def unknown_lines(text: bytes) -> Lines:
    """Return the lines of a text, none of them ordinary; the text ends with a newline."""
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == _NEWLINE)
    return Lines(_starts(ends), np.zeros(len(ends), dtype=bool))


def find_lines(text: bytes, delimiter: str, layout: Layout) -> Lines:
    """Return the lines of a text that has these columns, and which are ordinary; the text ends with a newline."""
    starts, ordinary, begin = [np.zeros(1, dtype=np.int64)], [np.zeros(0, dtype=bool)], 0
    while begin < len(text):
        end = text.index(b"\n", min(begin + _BLOCK_BYTES, len(text)) - 1) + 1
        block = _find_in_block(text[begin:end], ord(delimiter), layout)
        starts.append(begin + block.starts[1:])
        ordinary.append(block.ordinary)
        begin = end
    lines = Lines(np.concatenate(starts), np.concatenate(ordinary))
    _leave_out_headers(text, lines)
    return lines


def _find_in_block(text: bytes, delimiter: int, layout: Layout) -> Lines:
    data = np.frombuffer(text, np.uint8)
    is_mark = (data == _NEWLINE) | (data == delimiter)
    odd = [byte for byte in (_RETURN, _QUOTE, _NUL) if byte in text]
    for byte in odd:
        is_mark |= data == byte
    marks = np.flatnonzero(is_mark)
    kinds = data[marks]
    last = np.flatnonzero(kinds == _NEWLINE)
    ends = marks[last]
    ordinary = data[_starts(ends)[:-1]] != _MARK
    borders = marks
    if odd:
        _look_at_odd_bytes(data, marks, kinds, last, ordinary)
        is_border = (kinds == _NEWLINE) | (kinds == delimiter)
        is_border &= ~_check_quotes(data, marks, kinds, last, delimiter, ordinary)
        borders = marks[is_border]
        last = np.flatnonzero(kinds[is_border] == _NEWLINE)
    ordinary &= np.diff(last, prepend=-1) == layout.width
    _check_numbers(data, borders, last, layout, ordinary)
    return Lines(_starts(ends), ordinary)


def _starts(ends: Numbers) -> Numbers:
    return np.concatenate([np.zeros(1, dtype=np.int64), ends + 1])


def _look_at_odd_bytes(
    data: NDArray[np.uint8], marks: Numbers, kinds: NDArray[np.uint8], last: Numbers, ordinary: _Flags
) -> None:
    """Note the lines with a NUL, and those with a carriage return elsewhere than before the newline."""
    is_odd = kinds == _NUL
    returns = np.flatnonzero(kinds == _RETURN)
    is_odd[returns] = data[marks[returns] + 1] != _NEWLINE
    ordinary[np.searchsorted(last, np.flatnonzero(is_odd))] = False


def _check_quotes(
    data: NDArray[np.uint8], marks: Numbers, kinds: NDArray[np.uint8], last: Numbers, delimiter: int, ordinary: _Flags
) -> _Flags:
    """Return which marks are in quotes; note the lines whose quotes are not those around whole fields.

    Within a line quotes open and close alternately; a doubled quote closes and opens again.
    """
    quotes = np.flatnonzero(kinds == _QUOTE)
    passed = np.cumsum(kinds == _QUOTE)
    before = np.concatenate([np.zeros(1, dtype=np.int64), passed[last]])
    ordinary[np.diff(before) % 2 == 1] = False
    lines = np.searchsorted(last, quotes)
    is_opening = (passed[quotes] - before[lines]) % 2 == 1
    at = marks[quotes]
    after = data[at + 1]
    may_be_beside = np.zeros(256, dtype=bool)
    may_be_beside[[delimiter, _NEWLINE, _QUOTE]] = True
    is_end = may_be_beside[after]
    is_end |= (after == _RETURN) & (data[np.minimum(at + 2, len(data) - 1)] == _NEWLINE)
    is_begin = may_be_beside[data[at - 1]] | (at == 0)
    ordinary[lines[~np.where(is_opening, is_begin, is_end)]] = False
    inside: _Flags = (passed - np.repeat(before[:-1], np.diff(last, prepend=-1))) % 2 == 1
    inside[last] = False
    return inside


def _check_numbers(data: NDArray[np.uint8], borders: Numbers, last: Numbers, layout: Layout, ordinary: _Flags) -> None:
    """Note the lines in which a column of whole numbers has anything but digits, or too many."""
    lines = np.flatnonzero(ordinary)
    others = np.cumsum(~_is_digit(data), dtype=np.int32)  # how many bytes up to each one are no digits
    first = last[lines] - layout.width + 1
    for name in WHOLE_COLUMNS:
        index = layout.index_of.get(name)
        if index is None or not len(lines):
            continue
        ends = borders[first + index]
        begins = borders[first + index - 1] + 1
        if index == 0:
            begins[lines == 0] = 0
        if index == layout.width - 1:
            ends = ends - (data[ends - 1] == _RETURN)
        lengths = ends - begins
        is_whole = (lengths > 0) & (lengths <= _DIGITS_MAX) & (others[ends - 1] == others[begins])
        is_whole &= _is_digit(data[begins])
        is_whole &= (data[begins] != _ZERO) | (lengths == 1)
        ordinary[lines[~is_whole]] = False


def _is_digit(values: NDArray[np.uint8]) -> _Flags:
    return values - np.uint8(_ZERO) <= 9  # unsigned: what is less than 0 is large


def _leave_out_headers(text: bytes, lines: Lines) -> None:
    """Note the lines that may be headers."""
    at = text.find(_HEADER)
    while at >= 0:
        line = int(np.searchsorted(lines.starts, at, "right"))
        lines.ordinary[line - 1] = False
        at = text.find(_HEADER, int(lines.starts[line]))
