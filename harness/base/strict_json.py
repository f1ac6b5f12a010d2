"""Reads untrusted JSON: rejects deep nesting and huge or infinite numbers."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any

# Our files have at most 12 levels. Code that writes them again recurses once per level.
_DEPTH_MAX = 50
_WHOLE_MAX = 2**63 - 1
_WHOLE_DIGITS_MAX = 19
# Numbers are checked one by one only when a text contains this many digits.
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_SUSPICIOUS = re.compile(rb"[0-9]{20}|[0-9][eE]\+?[0-9]{3}")


def parse(text: bytes, *, with_unique_keys: bool = False) -> Any:
    """Return the value of the JSON; ValueError with the reason when it is none, or cannot be computed with.

    With `with_unique_keys` an object that has a key twice is an error; else the last value counts.
    """
    hooks: dict[str, Any] = {"parse_int": _whole, "parse_float": _finite} if _SUSPICIOUS.search(text) else {}
    if with_unique_keys:
        hooks["object_pairs_hook"] = _unique
    try:
        data = json.loads(text.decode("utf-8-sig"), parse_constant=_no_constant, **hooks)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    _check_depth(data)
    if _SURROGATE.search(text):  # half a character cannot be written again
        json.dumps(data, ensure_ascii=False).encode()
    return data


def parse_object(text: bytes, *, with_unique_keys: bool = False) -> dict[str, Any]:
    """Return the object in the JSON, as `parse`; ValueError with the reason when it contains none."""
    data = parse(text, with_unique_keys=with_unique_keys)
    if not isinstance(data, dict):
        raise ValueError("not an object")
    return data


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r:.60} occurs twice")
    return data


def _whole(text: str) -> int:
    if len(text) > _WHOLE_DIGITS_MAX + 1 or abs(value := int(text)) > _WHOLE_MAX:
        raise ValueError(f"a number of {len(text)} digits")
    return value


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number that is not finite")
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not valid JSON")


def _check_depth(data: Any) -> None:
    level = [[data]]
    for _ in range(_DEPTH_MAX + 1):
        level = [item for one in level for item in (one.values() if isinstance(one, dict) else one)]
        level = [item for item in level if isinstance(item, dict | list)]
        if not level:
            return
    raise ValueError("nested too deeply")
