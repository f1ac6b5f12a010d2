"""Writes foreign texts into TOML: the only module that does."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

# What TOML cannot contain, and json.dumps writes as it is.
_DELETE, _SURROGATE = "\x7f", re.compile("[\ud800-\udfff]")


def toml_string(text: str) -> str:
    """Return a text as a TOML string."""
    return json.dumps(_SURROGATE.sub("\ufffd", text), ensure_ascii=False).replace(_DELETE, "\\u007f")


def toml_strings(texts: Iterable[str]) -> str:
    """Return texts as a TOML array."""
    return f"[{', '.join(map(toml_string, texts))}]"


def toml_comment(text: str) -> str:
    """Return a text as a part of a TOML comment: on one line, without signs that are not printable."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
