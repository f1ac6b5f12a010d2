"""Finds the characters of a path that no URL can have: JMeter encodes blanks only, and then sends nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import quote

_NEVER = frozenset('"<>\\^`|')


def encoded(raw: str) -> str:
    """Return the path of a request in which such characters outside of ${…} are percent-encoded."""
    return "".join(
        part.text if part.is_reference else "".join(quote(sign) if sign in _NEVER else sign for sign in part.text)
        for part in text_parts(raw)
    )


class TextPart(NamedTuple):
    """A part of a text: a reference ${…} to a variable or a function, or what is between references."""

    text: str
    is_reference: bool


def text_parts(raw: str) -> Iterator[TextPart]:
    """Yield the parts of a text in their order."""
    position = 0
    while (start := raw.find("${", position)) >= 0:
        yield TextPart(raw[position:start], is_reference=False)
        end, depth = start + 1, 0
        while end < len(raw):
            depth += (raw[end] == "{") - (raw[end] == "}")
            end += 1
            if depth == 0:
                break
        yield TextPart(raw[start:end], is_reference=True)
        position = end
    yield TextPart(raw[position:], is_reference=False)
