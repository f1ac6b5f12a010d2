"""Finds the characters of a path that no URL can have: JMeter encodes blanks only, and then sends nothing."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

_NEVER = frozenset('"<>\\^`|')


def encoded(raw: str) -> str:
    """Return the path of a request in which such characters outside of ${…} are percent-encoded."""
    return "".join(
        piece if is_reference else "".join(quote(sign) if sign in _NEVER else sign for sign in piece)
        for piece, is_reference in text_and_references(raw)
    )


def text_and_references(raw: str) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a text, each with whether it is a reference to a variable or a function."""
    position = 0
    while (start := raw.find("${", position)) >= 0:
        yield raw[position:start], False
        end, depth = start + 1, 0
        while end < len(raw):
            depth += (raw[end] == "{") - (raw[end] == "}")
            end += 1
            if depth == 0:
                break
        yield raw[start:end], True
        position = end
    yield raw[position:], False
