"""Splits a command line into words as bash does, except that variables stay references: $NAME, and $$ for a dollar."""

from __future__ import annotations

import re

from harness.base.errors import UsageError

_TOKEN = re.compile(
    r"""(?P<joined>\\\r?\n)|(?P<blank>[ \t\r\n]+)|'(?P<single>[^']*)'|\$'(?P<ansi>(?:[^'\\]|\\.)*)'"""
    r"""|\$?"(?P<double>(?:[^"\\]|\\.)*)"|\\(?P<escaped>.)|(?P<variable>\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\}))"""
    r"""|(?P<plain>[^ \t\r\n'"\\$`|&;<>()]+)|(?P<dollar>\$(?![({]))|(?P<other>.)""",
    re.ASCII | re.DOTALL,
)
# In double quotes a backslash escapes only these; a variable is read.
_IN_DOUBLE = re.compile(
    r"""\\(?P<joined>\n)|\\(?P<escaped>[$`"\\])|(?P<variable>\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\}))"""
    r"""|(?P<other>`|\$[({])|(?P<dollar>\$)|(?P<plain>.)""",
    re.ASCII | re.DOTALL,
)
_BYTE = r"\\x[89a-fA-F][0-9a-fA-F]|\\[23][0-7]{2}"
_ANSI = re.compile(
    rf"((?:{_BYTE})+)"
    r"|\\x([0-9a-fA-F]{1,2})|\\u([0-9a-fA-F]{1,4})|\\U([0-9a-fA-F]{1,8})"
    r"|\\([0-7]{1,3})|\\(.)",
    re.DOTALL,
)
_CONTROLS = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip
_TODO = "copy it as cURL (bash), and give it in quotes as one text"


def bash_words(line: str) -> list[str]:
    """Return the words of a command line. UsageError for one that does more than call a program, or is cut off."""
    words: list[str] = []
    word: str | None = None
    for match in _TOKEN.finditer(line):
        kind, text = match.lastgroup or "", match[match.lastgroup or 0]
        if kind == "blank":
            words += [] if word is None else [word]
            word = None
        elif kind != "joined":
            word = (word or "") + _value(kind, text)
    return words if word is None else [*words, word]


def _value(kind: str, text: str) -> str:
    if kind == "other":
        what = "a quote that is not closed" if text in "'\"\\" else f"{text} outside of single quotes"
        raise UsageError(f"--curl: the command has {what}", _TODO)
    if kind == "double":
        return "".join(_value(one.lastgroup or "", one[one.lastgroup or 0]) for one in _IN_DOUBLE.finditer(text))
    if kind in ("variable", "joined"):
        return text if kind == "variable" else ""
    return (_ansi(text) if kind == "ansi" else text).replace("$", "$$")


def _ansi(text: str) -> str:
    try:
        plain = _ANSI.sub(_ansi_character, text)
        return plain.encode("utf-16", "surrogatepass").decode("utf-16")  # joins what \ud83d\ude00 has in two parts
    except (ValueError, OverflowError):
        raise UsageError("--curl: $'…' has an escape that is no character", _TODO) from None


def _ansi_character(match: re.Match[str]) -> str:
    r"""Return the character of an escape; Firefox writes ü as \xfc, bash as \303\274."""
    if match[1]:
        found = re.findall(_BYTE, match[1])
        data = bytes(int(one[2:], 16) if one[1] == "x" else int(one[1:], 8) for one in found)
        try:
            return data.decode()
        except UnicodeDecodeError:
            return data.decode("latin-1")
    if digits := match[2] or match[3] or match[4]:
        return chr(int(digits, 16))
    return chr(int(match[5], 8) & 0xFF) if match[5] else _CONTROLS.get(match[6], match[0])
