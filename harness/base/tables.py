"""Reads tables of TOML into dataclasses; the types of the fields say which values a key may have.

`harness/base/records.py` does the same for JSON. A table is written by people: messages say what to write instead.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from harness.base.config import check_keys, texts, within
from harness.base.errors import UsageError
from harness.base.records import key_of, plain_types, types_of

T = TypeVar("T")
# The types that a value of TOML may have by the type of its field; others have the type itself.
_ANY = (str, int, float, bool, list, dict)


def toml_key(
    default: Any = dataclasses.MISSING,
    *,
    least: float | None = None,
    most: float | None = None,
    missing: str = "",
    each: str = "",
) -> Any:
    """Return the field of a key of TOML: a number has limits; a key that is needed says what to do when it is missing.

    `each` says how the tables of a list are written, for a value that is none.
    """
    return dataclasses.field(default=default, metadata={"least": least, "most": most, "missing": missing, "each": each})


def read_table(kind: type[T], table: Mapping[str, Any], where: str, more: Mapping[str, Any] | None = None) -> T:
    """Return the dataclass that a table describes; UsageError for an unknown, missing or wrong key.

    Names of keys are those of the fields, or those in the class attribute `json_keys`. A field that is a dataclass is a
    table in it, a tuple of dataclasses a list of tables. A whole number stays one where any number may be. `more` are
    further keys with the types of their values: they get into the field that the class attribute `spread` names. In
    messages the tables of a class with `is_file` are [table], those of any other class are words behind its own name.
    """
    of_kind: Any = kind
    keys: Mapping[str, _Key] = _keys(of_kind)
    further = {name: _values(hint, False, "") for name, hint in (more or {}).items() if name not in keys}
    accepted = {name: values.accepted for name, values in further.items()}
    check_keys(table, {**accepted, **{name: key.accepted for name, key in keys.items()}}, where)
    for name, key in keys.items():
        if key.is_needed and table.get(name, "") in ("", []):
            raise UsageError(f"{where}: {name} is {'empty' if name in table else 'missing'}", key.missing)
    fields: dict[str, Any] = {}
    spread: dict[str, Any] = {}
    for name, value in table.items():
        if name in further:
            spread[name] = further[name].read(value, where, name)
            continue
        if keys[name].least is not None and isinstance(value, int | float):
            within(value, keys[name].least or 0, keys[name].most, where, name)
        fields[keys[name].field] = keys[name].read(value, where, name)
    if spread:
        fields[of_kind.spread] = spread
    return kind(**fields)


def read_tables(
    kind: type[T], tables: Sequence[Any], where: str, more: Mapping[str, Any] | None = None, each: str = ""
) -> tuple[T, ...]:
    """Return the dataclasses of a list of tables, as `read_table`; UsageError with the hint `each` for other values.

    In messages a table has its name: the values of the keys in the class attribute `named_by`, such as `shop (small)`.
    """
    for table in tables:
        if not isinstance(table, Mapping):
            raise UsageError(f"{where}: {table!r}", each or f"write each as {where.rpartition(' ')[2]}")
    return tuple(read_table(kind, table, f"{where} {_name_of(kind, table)}".strip(), more) for table in tables)


def _name_of(kind: Any, table: Mapping[str, Any]) -> str:
    """Return the name of a table in a list: `a (b)` for a class that is named by two keys; empty without one."""
    first, *others = [str(table[key]) for key in getattr(kind, "named_by", ()) if table.get(key)] or [""]
    return " ".join((first, *(f"({other})" for other in others)))


_Reader = Callable[[Any, str, str], Any]


class _Values(NamedTuple):
    """The types of TOML that the values of a key may have, and their reader."""

    accepted: tuple[type, ...]
    read: _Reader


class _Key(NamedTuple):
    """A key of a table: its field, the types of its values, its limits, and the reader of a value."""

    field: str
    accepted: tuple[type, ...]
    read: _Reader
    is_needed: bool
    missing: str
    least: float | None
    most: float | None


@functools.cache
def _keys(kind: Any) -> Mapping[str, _Key]:
    hints, is_file = types_of(kind), getattr(kind, "is_file", False)
    keys = {}
    for field in dataclasses.fields(kind):
        if field.name == getattr(kind, "spread", ""):
            continue
        accepted, read = _values(_without_none(hints[field.name]), is_file, field.metadata.get("each", ""))
        is_needed = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        limits = field.metadata.get("least"), field.metadata.get("most")
        keys[key_of(kind, field.name)] = _Key(
            field.name, accepted, read, is_needed, field.metadata.get("missing", ""), *limits
        )
    return keys


def _without_none(hint: Any) -> Any:
    """Return a type without None: TOML has no such value."""
    if typing.get_origin(hint) not in (typing.Union, types.UnionType):
        return hint
    return functools.reduce(operator.or_, (one for one in typing.get_args(hint) if one is not types.NoneType))


def _values(hint: Any, is_file: bool, each: str) -> _Values:
    """Return which values a field of this type may have."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return _Values(_ANY, _as_it_is)
    if plain := plain_types(hint):
        return _Values(tuple(plain), _as_it_is)
    if origin in (typing.Union, types.UnionType):
        return _one_of([_values(argument, is_file, each) for argument in arguments])
    if origin is tuple:
        return _Values((list,), _list_of(arguments[0], is_file, each))
    if origin is Mapping:
        return _Values((dict,), _mapping_of(arguments[1], is_file))
    if dataclasses.is_dataclass(hint):
        table: Any = hint
        return _Values((dict,), lambda value, where, name: read_table(table, value, _at(where, name, is_file)))
    return _Values((origin or hint,), _as_it_is)  # list or dict: who has it reads what is in it


def _as_it_is(value: Any, _where: str, _name: str) -> Any:
    return value


def _one_of(choices: Sequence[_Values]) -> _Values:
    """Return the values of several types, each with the reader of its own type."""
    readers = {kind: choice.read for choice in choices for kind in choice.accepted}
    return _Values(tuple(readers), lambda value, where, name: readers[type(value)](value, where, name))


def _at(where: str, name: str, is_file: bool) -> str:
    """Return how messages name a table: [name] of a file, [other.name] in a table of one, else behind its name."""
    if where.endswith("]") and not where.endswith("]]"):
        return f"{where[:-1]}.{name}]"
    return f"{where} [{name}]" if is_file else f"{where} {name}"


def _list_of(hint: Any, is_file: bool, each: str) -> _Reader:
    if not dataclasses.is_dataclass(hint):
        return lambda value, where, name: texts(value, f"{where} {name}")
    kind: Any = hint

    def read(value: Any, where: str, name: str) -> Any:
        at = f"{where} [[{name}]]" if is_file else f"{where} {name}"
        return read_tables(kind, value, at, None, each)

    return read


def _mapping_of(hint: Any, is_file: bool) -> _Reader:
    inner = _values(hint, False, "")

    def read(value: Any, where: str, name: str) -> Any:
        at = _at(where, name, is_file)
        check_keys(value, dict.fromkeys(value, inner.accepted), at)
        return {key: inner.read(item, at, key) for key, item in value.items()}

    return read
