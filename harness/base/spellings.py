"""Finds a secret in every spelling in which programs write it: XML, JSON, URL, CSV, Java, base64."""

from __future__ import annotations

import base64
import contextlib
import functools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from mmap import mmap

MASK = "•••"
# Shorter values occur in any text by chance.
LEAST_LENGTH = 4
_XML_NAMES = {"&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos"}
_JSON_NAMES = {"\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}
# Spellings of \\, %, & and ; within an escape that was escaped again. Each begins with a literal: see `_sequence`.
# The number of repetitions is small so that the search is fast on any text.
_BACKSLASH = rb"\\\\{0,7}"
_PERCENT = rb"%(?:25){0,3}"
_BACKSLASHES = (_BACKSLASH, _PERCENT + rb"5[cC](?:%(?:25){0,3}5[cC]){0,7}")
_AMPERSANDS = (rb"&(?:amp;){0,3}", _PERCENT + rb"26(?:amp(?:;|%(?:25){0,3}3[bB])){0,3}", _BACKSLASH + rb"u0026")
_SEMICOLON = rb"(?:;|%(?:25){0,3}3[bB])"
_BASE64 = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_")
_BITS_PER_BYTE, _BITS_PER_LETTER = 8, 6
# Unknown bytes before the secret within a group of three, which base64 writes as four letters.
_OFFSETS = (0, 1, 2)
_LINE_END = re.compile("\r\n|\r|\n")
_PLAIN = re.compile("[A-Za-z0-9]+")
# A character between & and z: programs escape these only when they must, or when they escape everything.
_ESCAPED_LETTER = re.compile(rb"&(?:amp;)*#|%(?:25)*(?:26|[3-7][0-9A-Fa-f])|\\\\*[ux]")

Mask = Callable[[int], bytes]
IsHarmless = Callable[[bytes, int, int], bool]


@dataclass(frozen=True)
class _Finder:
    """Finds one line of a secret. Its expression is slow, and takes some 10 ms to compile: call `may_contain` first.

    `cores` are the letters of its base64.
    """

    line: str
    anchor: bytes
    cores: tuple[tuple[bytes, str], ...]

    def may_contain(self, data: bytes | mmap) -> bool:
        """Return False for data without any spelling of the line: every unescaped spelling contains the anchor."""
        return data.find(self.anchor) >= 0 or any(data.find(anchor) >= 0 for anchor, _ in self.cores)

    def replaced(self, data: bytes, mask: Mask, is_harmless: IsHarmless) -> bytes:
        """Return the data with every spelling of the line masked."""
        data = _replaced(_expression(self.line), data, mask, is_harmless, 0)
        for anchor, core in self.cores:
            if anchor in data:
                data = _replaced(_in_base64(core), data, mask, is_harmless, 1)
        return data


class Spellings:
    """Finds values in UTF-8 data in any spelling.

    Every character may be written as itself, as a character reference, as a percent escape, as a \\u or \\x escape or
    after backslashes, also when that was escaped again. The whole value may be part of base64, as in basic
    authentication. Each line of a multi-line value, such as a private key, is a secret. Longer values are masked before
    values that they contain. A value of digits is not found within a longer number.
    """

    def __init__(self, values: Iterable[str]) -> None:
        lines = {line for value in values for line in _LINE_END.split(value) if len(line) >= LEAST_LENGTH}
        self._finders = [_finder(line) for line in sorted(lines, key=lambda line: (-len(line), line))]

    def __bool__(self) -> bool:
        return bool(self._finders)

    def may_be_in(self, data: bytes | mmap) -> bool:
        """Return False for data, of any size, that contains none of the values."""
        is_escaped = bool(self._finders) and _ESCAPED_LETTER.search(data) is not None
        return is_escaped or any(finder.may_contain(data) for finder in self._finders)

    def masked(
        self, data: bytes, mask: Mask = lambda _: MASK.encode(), is_harmless: IsHarmless = lambda *_: False
    ) -> bytes:
        """Return the data with `mask(length)` in place of every value, except where `is_harmless` returns True."""
        is_escaped = bool(self._finders) and _ESCAPED_LETTER.search(data) is not None
        for finder in self._finders:
            if is_escaped or finder.may_contain(data):
                data = finder.replaced(data, mask, is_harmless)
        return data


def _replaced(expression: re.Pattern[bytes], data: bytes, mask: Mask, is_harmless: IsHarmless, extra: int) -> bytes:
    parts, position = [], 0
    for match in expression.finditer(data):
        start, end = match.span()
        if extra and start > position and data[start - 1] in _BASE64:
            start -= extra  # this letter contains bits of the secret
        if not is_harmless(data, start, end):
            parts += [data[position:start], mask(end - start)]
            position = end
    return b"".join([*parts, data[position:]]) if parts else data


@functools.cache
def _finder(line: str) -> _Finder:
    cores = [_base64_core(data, offset) for data in dict.fromkeys(_encoded(line)) for offset in _OFFSETS]
    return _Finder(line, _anchor(line), tuple((_anchor(core), core) for core in cores))


@functools.cache
def _expression(line: str) -> re.Pattern[bytes]:
    # A log in another encoding contains ? for missing characters. The rest must be enough to recognise the line.
    is_ascii_enough = sum(character.isascii() for character in line) >= LEAST_LENGTH
    first, *others = (_of_character(character, is_ascii_enough) for character in line)
    is_number = line.isascii() and line.isdigit()
    if is_number:
        first = tuple(rb"%s(?<![0-9]%s)(?<![0-9][.]%s)" % (one, one, one) if one.isdigit() else one for one in first)
    text = _sequence(first, others) + (b"(?![0-9]|[.][0-9])" if is_number else b"")
    return re.compile(text)


@functools.cache
def _in_base64(core: str) -> re.Pattern[bytes]:
    letters = [_of_base64(letter) for letter in core]
    # The last letter contains bits of the following text.
    return re.compile(_sequence(letters[0], letters[1:]) + rb"[A-Za-z0-9+/_-]?=?=?")


def _anchor(text: str) -> bytes:
    """Return the longest part of a text that no program escapes: letters and digits."""
    return max(_PLAIN.findall(text), key=len, default="").encode()


def _sequence(first: Sequence[bytes], others: Iterable[Sequence[bytes]]) -> bytes:
    """Return an expression that begins with a set of bytes: the search jumps to the next of them."""
    tails: dict[bytes, list[bytes]] = {}
    for spelling in first:
        cut = 2 if spelling.startswith(b"\\") else 1
        tails.setdefault(spelling[:cut], []).append(spelling[cut:])
    starts = b"|".join(b"(?<=%s)(?:%s)" % (lead, b"|".join(rest)) for lead, rest in tails.items())
    body = b"".join(b"(?:%s)" % b"|".join(spellings) for spellings in others)
    return b"[%s](?:%s)%s" % (b"".join(b"\\-" if lead == b"-" else lead for lead in tails), starts, body)


def _encoded(text: str) -> Iterator[bytes]:
    yield text.encode("utf-8", errors="surrogatepass")
    with contextlib.suppress(UnicodeEncodeError):
        yield text.encode("latin-1")


def _base64_core(data: bytes, offset: int) -> str:
    """Return the base64 letters that depend on `data` alone, where it follows `offset` unknown bytes."""
    text = base64.b64encode(b"\0" * offset + data).decode()
    first = -(-offset * _BITS_PER_BYTE // _BITS_PER_LETTER)
    return text[first : (offset + len(data)) * _BITS_PER_BYTE // _BITS_PER_LETTER]


def _of_base64(letter: str) -> tuple[bytes, ...]:
    """Return the spellings of a base64 letter: + and / have URL-safe forms and may be escaped."""
    if letter.isalnum():
        return (letter.encode(),)
    return (*_of_character(letter), b"-" if letter == "+" else b"_")


@functools.cache
def _of_character(character: str, is_ascii_enough: bool = False) -> tuple[bytes, ...]:
    """Return regular expressions for the spellings of one character; each begins with a literal."""
    spellings, raw = _escapes(character), character.encode("utf-8", errors="surrogatepass")
    is_special = character.isascii() and not character.isalnum()
    if is_special:  # escaped for Java, JSON or a shell, possibly twice
        # Doubled in a CSV file, and once more when that text is in another one.
        quoted = (b'""""', b'""', re.escape(raw)) if character == '"' else (re.escape(raw),)
        escaped = b"(?:%s)" % b"|".join((*spellings, *quoted))
        spellings = [*(backslashes + escaped for backslashes in _BACKSLASHES), *spellings, *quoted]
    if character == "\\":
        spellings += _BACKSLASHES
    elif character == "&":
        spellings += _AMPERSANDS
    elif character == " ":
        spellings.append(rb"\+")
    if not is_special:
        spellings += [re.escape(data) for data in _encoded(character)]
    if is_ascii_enough and not character.isascii():
        spellings += [rb"\?", "\ufffd".encode()]
    return tuple(dict.fromkeys(spellings))


def _escapes(character: str) -> list[bytes]:
    """Return regular expressions for the character as a reference, a percent escape, \\u, \\x and \\n."""
    number = ord(character)
    escapes: list[bytes] = []
    for ampersand in _AMPERSANDS:
        escapes += [
            rb"%s(?:#|%%23)0*%d%s" % (ampersand, number, _SEMICOLON),
            rb"%s(?:#|%%23)[xX]0*%s%s" % (ampersand, _hex(f"{number:x}"), _SEMICOLON),
        ]
        if name := _XML_NAMES.get(character):
            escapes.append(rb"%s%s%s" % (ampersand, name.encode(), _SEMICOLON))
    utf_16 = character.encode("utf-16-be", errors="surrogatepass").hex()
    escapes.append(b"".join(_BACKSLASH + b"u" + _hex(utf_16[index : index + 4]) for index in range(0, len(utf_16), 4)))
    for data in dict.fromkeys(_encoded(character)):
        escapes.append(b"".join(_PERCENT + _hex(f"{byte:02x}") for byte in data))
        escapes.append(b"".join(_BACKSLASH + b"x" + _hex(f"{byte:02x}") for byte in data))
    if name := _JSON_NAMES.get(character):
        escapes.append(_BACKSLASH + name.encode())
    return escapes


def _hex(digits: str) -> bytes:
    """Return the regular expression for hexadecimal digits of either case."""
    return "".join(f"[{d}{d.upper()}]" if d.isalpha() else d for d in digits).encode()
