"""Reads JSON that may come from anybody: too deep, too large and not finite is refused, and so is a wrong type."""

from __future__ import annotations

import dataclasses
import json
import math
import re
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any

# Ours is 12 levels deep at most; what writes it again goes down as many levels as there are.
_DEPTH_MAX = 50
_WHOLE_MAX = 2**63 - 1
_WHOLE_DIGITS_MAX = 19
# The types of each dataclass's fields, as finding them takes long.
_hints: dict[type, Mapping[str, Any]] = {}
# Numbers are looked at one by one only where a text has such digits.
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_SUSPICIOUS = re.compile(rb"[0-9]{20}|[0-9][eE]\+?[0-9]{3}")


def parse(text: bytes) -> Any:
    """Return what the JSON says; ValueError with the reason when it is none, or cannot be computed with."""
    hooks: dict[str, Any] = {"parse_int": _whole, "parse_float": _finite} if _SUSPICIOUS.search(text) else {}
    try:
        data = json.loads(text.decode("utf-8-sig"), parse_constant=_no_constant, **hooks)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    _check_depth(data)
    if _SURROGATE.search(text):  # half a character cannot be written again
        json.dumps(data, ensure_ascii=False).encode()
    return data


def parse_object(text: bytes) -> dict[str, Any]:
    """Return the object that the JSON holds; ValueError with the reason when it holds none."""
    data = parse(text)
    if not isinstance(data, dict):
        raise ValueError("not an object")
    return data


def check_types(value: Any) -> None:
    """Raise TypeError naming the first field of a dataclass, or of one within it, that has another type than it says.

    A whole number may be in the place of any number, and a list in that of a tuple.
    """
    wrong = _mismatch(value, type(value), type(value).__name__)
    if wrong:
        raise TypeError(wrong)


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
    raise ValueError(f"{name} is no number")


def _check_depth(data: Any) -> None:
    level = [[data]]
    for _ in range(_DEPTH_MAX + 1):
        level = [item for one in level for item in (one.values() if isinstance(one, dict) else one)]
        level = [item for item in level if isinstance(item, dict | list)]
        if not level:
            return
    raise ValueError("nested too deeply")


def _hints_of(kind: type) -> Mapping[str, Any]:
    if kind not in _hints:
        _hints[kind] = typing.get_type_hints(kind)
    return _hints[kind]


def _mismatch(value: Any, hint: Any, where: str) -> str:
    """Return what is wrong with a value; empty when it is of the type."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return ""
    if origin in (typing.Union, types.UnionType):
        found = [_mismatch(value, one, where) for one in arguments]
        return "" if "" in found else found[0]
    if origin is tuple and isinstance(value, tuple | list):
        if arguments[1:] != (...,) and len(arguments) != len(value):
            return f"{where} has {len(value)} values"
        kinds = (arguments[0],) * len(value) if arguments[1:] == (...,) else arguments
        return _first(_mismatch(item, kind, where) for item, kind in zip(value, kinds, strict=True))
    if isinstance(origin, type) and issubclass(origin, Mapping) and isinstance(value, Mapping):
        return _first(
            _mismatch(key, arguments[0], where) or _mismatch(item, arguments[1], f"{where}.{key}")
            for key, item in value.items()
        )
    if isinstance(origin, type) and issubclass(origin, Sequence) and isinstance(value, list | tuple):
        return _first(_mismatch(item, arguments[0], where) for item in value)
    kind = origin or hint
    if not isinstance(kind, type) or not _is_of(value, kind):
        return f"{where} is {type(value).__name__}" if isinstance(kind, type) else ""
    if dataclasses.is_dataclass(kind):
        hints = _hints_of(type(value))
        return _first(
            _mismatch(getattr(value, field.name), hints[field.name], field.name) for field in dataclasses.fields(value)
        )
    return ""


def _first(found: typing.Iterable[str]) -> str:
    return next(filter(None, found), "")


def _is_of(value: Any, kind: type) -> bool:
    if isinstance(value, bool):
        return kind is bool or kind is object
    return isinstance(value, kind) or (kind is float and isinstance(value, int))
