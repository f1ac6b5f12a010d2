"""Builds dataclasses from plain data such as parsed JSON, and makes plain data of them; the fields' types say how."""

from __future__ import annotations

import dataclasses
import enum
import importlib
import sys
import types
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar, cast

from harness.base.config import TYPE_NAMES, did_you_mean, type_text
from harness.base.errors import UsageError


class Record(Protocol):
    """A dataclass that is the content of a file: `what` is what that contains, such as a run; `version` its format."""

    what: ClassVar[str]
    version: ClassVar[int]


T = TypeVar("T")
R = TypeVar("R", bound=Record)
_Builder = Callable[[Any, str], Any]

_SHOWN_MOST = 60
# By the type of a field: the types that its value may have. A whole number stays one where any number may be.
_PLAIN: Mapping[Any, frozenset[type]] = {
    str: frozenset({str}),
    int: frozenset({int}),
    float: frozenset({int, float}),
    bool: frozenset({bool}),
    types.NoneType: frozenset({types.NoneType}),
}
_NAMES: Mapping[type, str] = {**TYPE_NAMES, types.NoneType: "null", dict: "an object", tuple: "a list"}


def read_record(kind: type[R], data: object, where: str) -> R:
    """Return the record that plain data describe; UsageError says why the file `where` does not contain one."""
    try:
        return build(kind, data)
    except (ValueError, KeyError) as error:  # a key that data of earlier versions must have is missing
        raise UsageError(f"{where}: not the JSON of {kind.what} ({error})", "use the harness that wrote it") from None


def build(kind: type[T], data: object, where: str = "") -> T:
    """Return the dataclass that plain data describe; ValueError names the first key that is wrong.

    `where` is the path of the data in their file. A key may be missing where its field has a default; no key may be
    unknown, but for those in the class attribute `not_read`, and for a class with `reads_part`. A class with
    `of_earlier(data)` gets data of earlier versions from it as they are written today. A class with
    `from_plain(data, where)` builds itself. A part that is a dataclass already stays as it is.
    """
    hint: Any = kind
    built: T = _builder(hint)(data, where)
    return built


def to_plain(value: Any, *, is_short: bool = False) -> Any:
    """Return plain data, from which `build` makes the value again; keys are in the order of the fields.

    The class attribute `optional` names the fields that are left out when they are empty; with `is_short` all are left
    out that have their default. A class with `to_plain` makes its data itself, of `fields_to_plain` for example.
    """
    kind = type(value)
    if kind in _PLAIN:
        return value
    if hasattr(kind, "to_plain"):
        return value.to_plain()
    if dataclasses.is_dataclass(kind):
        return fields_to_plain(value, is_short=is_short)
    if isinstance(value, Mapping):
        return {key: to_plain(item, is_short=is_short) for key, item in value.items()}
    if isinstance(value, list | tuple):  # most values are in lists of plain ones
        is_plain = _PLAIN.keys() >= set(map(type, value))
        return value if is_plain else [to_plain(item, is_short=is_short) for item in value]
    return value.value if isinstance(value, enum.Enum) else value


def fields_to_plain(record: Any, *, is_short: bool = False) -> dict[str, Any]:
    """Return the fields of a dataclass as plain data, also of one with `to_plain`."""
    kind: Any = type(record)
    written = _written(kind)
    data: dict[str, Any] = {}
    for name, key in written.keys:
        value = getattr(record, name)
        if is_short and written.is_default(name, value):
            continue
        if type(value) not in _PLAIN:
            value = to_plain(value, is_short=is_short)
        if name == written.spread:
            data.update(value)
        elif value or name not in written.optional:
            data[key] = value
    return data


def key_of(kind: type, field: str) -> str:
    """Return the key of a field in JSON: that of the class attribute `json_keys`, else the name of the field."""
    keys: Mapping[str, str] = getattr(kind, "json_keys", {})
    return keys.get(field, field)


class _Written(NamedTuple):
    """How a dataclass is written: name and key of each field, what its class attributes are, and defaults by name."""

    keys: tuple[tuple[str, str], ...]
    spread: str
    optional: tuple[str, ...]
    defaults: Mapping[str, Any]

    def is_default(self, name: str, value: Any) -> bool:
        """Return whether a field has its default, which is plain or empty: true is not that of 1."""
        default = self.defaults.get(name, dataclasses.MISSING)
        is_simple = type(default) in _PLAIN or not default
        return is_simple and type(default) is type(value) and bool(default == value)


@cache
def _written(kind: type) -> _Written:
    # In the order of the parameters: a base class may have keyword-only fields, which come after those of the class.
    fields = sorted(dataclasses.fields(kind), key=lambda field: field.kw_only is True)
    keys = tuple((field.name, key_of(kind, field.name)) for field in fields)
    made = {field.name: field.default_factory() for field in fields if callable(field.default_factory)}
    defaults = made | {field.name: field.default for field in fields if field.name not in made}
    return _Written(keys, getattr(kind, "spread", ""), getattr(kind, "optional", ()), defaults)


@cache
def _builder(hint: Any) -> _Builder:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return lambda value, _: value
    if plain := plain_types(hint):
        return _of_type(plain)
    if origin in (typing.Union, types.UnionType):
        (kind,) = (one for one in arguments if one is not types.NoneType)
        inner = _builder(kind)
        return lambda value, where: None if value is None else inner(value, where)
    if origin is tuple and arguments[1:] != (...,):
        return _fixed(tuple(map(_builder, arguments)))
    if origin in (tuple, Sequence):
        return _repeated(arguments[0])
    if origin is Mapping:
        return _mapping(arguments[1])
    if hasattr(hint, "from_plain"):
        own: _Builder = hint.from_plain
        return own
    return _choice(hint) if issubclass(hint, enum.Enum) else _object(hint)


def plain_types(hint: Any) -> frozenset[type]:
    """Return the types that values of a text, a number, a truth value or one of several of them may have; else none."""
    if typing.get_origin(hint) not in (typing.Union, types.UnionType):
        return _PLAIN.get(hint, frozenset())
    found = [_PLAIN.get(one, frozenset()) for one in typing.get_args(hint)]
    return frozenset().union(*found) if all(found) else frozenset()


def types_of(kind: type) -> dict[str, Any]:
    """Return the types of the fields of a dataclass.

    A module that does not import some of them, because that takes longer than it needs otherwise, has their modules by
    their names in `LATE_TYPES`.
    """
    return typing.get_type_hints(kind, localns=_Late(kind))


class _Late(dict[str, Any]):
    """The types that the module of a class does not import, by name; each is imported when it is asked for."""

    def __init__(self, kind: type) -> None:
        super().__init__()
        self._modules: Mapping[str, str] = getattr(sys.modules[kind.__module__], "LATE_TYPES", {})

    def __missing__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._modules[name]), name)


class _Field(NamedTuple):
    """How a value of a key is read: the name of its field, the types of a plain value, and the builder of another."""

    name: str
    plain: frozenset[type]
    build: _Builder


class _Fields(dict[str, _Field]):
    """The fields of a dataclass by their keys; the type of one is looked up when data have it for the first time."""

    def __init__(self, kind: type) -> None:
        super().__init__()
        self._kind = kind
        self.names = {key_of(kind, field.name): field.name for field in dataclasses.fields(cast(Any, kind))}

    def __missing__(self, key: str) -> _Field:
        name = self.names[key]
        owner = next(base for base in self._kind.__mro__ if name in vars(base).get("__annotations__", ()))
        one: Any = types.SimpleNamespace(__annotations__={name: owner.__annotations__[name]})
        hint = typing.get_type_hints(one, vars(sys.modules[owner.__module__]), _Late(owner))[name]
        # Most values are texts and numbers, which need no builder.
        self[key] = field = _Field(name, plain_types(hint), _builder(hint))
        return field


def _shown(key: object) -> str:
    """Return a key as a message shows it: on one line, and of a long one the beginning."""
    return repr(key)[1:-1][:_SHOWN_MOST]


def _wrong(value: object, where: str, expected: str) -> ValueError:
    return ValueError(f"{where or 'it'} is {_NAMES.get(type(value), type(value).__name__)}, not {expected}")


def _of_type(plain: frozenset[type]) -> _Builder:
    expected = type_text(plain, _NAMES)

    def build_plain(value: Any, where: str) -> Any:
        if type(value) not in plain:
            raise _wrong(value, where, expected)
        return value

    return build_plain


def _choice(kind: type[enum.Enum]) -> _Builder:
    def build_choice(value: Any, where: str) -> Any:
        try:
            return kind(value)
        except ValueError:
            there = ", ".join(str(one.value) for one in kind)
            raise ValueError(f"{where} = {repr(value)[:_SHOWN_MOST]} is not one of {there}") from None

    return build_choice


def _repeated(hint: Any) -> _Builder:
    plain, inner = plain_types(hint), _builder(hint)

    def build_repeated(value: Any, where: str) -> Any:
        if not isinstance(value, list | tuple):
            raise _wrong(value, where, "a list")
        if plain and plain.issuperset(map(type, value)):  # most values are in such lists
            return tuple(value)
        return tuple([inner(item, f"{where}[{index}]") for index, item in enumerate(value)])

    return build_repeated


def _fixed(inner: Sequence[_Builder]) -> _Builder:
    def build_fixed(value: Any, where: str) -> Any:
        if not isinstance(value, list | tuple) or len(value) != len(inner):
            raise _wrong(value, where, f"a list of {len(inner)}")
        return tuple(one(item, where) for one, item in zip(inner, value, strict=True))

    return build_fixed


def _mapping(hint: Any) -> _Builder:
    plain, inner = plain_types(hint), _builder(hint)

    def build_mapping(value: Any, where: str) -> Any:
        if not isinstance(value, Mapping):
            raise _wrong(value, where, "an object")
        if plain and plain.issuperset(map(type, value.values())):  # most values are in such objects
            return dict(value)
        return {key: inner(item, f"{where}.{_shown(key)}") for key, item in value.items()}

    return build_mapping


def _object(kind: type) -> _Builder:
    """Return the builder of a dataclass.

    The class attribute `spread` names a field, a mapping, whose entries are keys of the object itself in JSON: those in
    the class attribute `spread_keys`. The class attribute `json_keys` has the keys of fields with another name in JSON.
    """
    fields = _Fields(kind)
    names = fields.names
    reads_part = getattr(kind, "reads_part", False)
    not_read: Collection[str] = getattr(kind, "not_read", ())
    spread: str = getattr(kind, "spread", "")
    spread_keys: frozenset[str] = getattr(kind, "spread_keys", frozenset())
    of_earlier = getattr(kind, "of_earlier", None)
    required = {
        key_of(kind, field.name)
        for field in dataclasses.fields(kind)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    }

    made = _maker(kind)

    def build_object(value: Any, where: str) -> Any:
        if type(value) is not dict:
            if type(value) is kind:
                return value
            if not isinstance(value, Mapping):
                raise _wrong(value, where, "an object")
        if of_earlier:
            value = of_earlier(value)
        prefix = f"{where}." if where else ""
        if spread:
            entries = {key: value[key] for key in value if key in spread_keys}
            value = {spread: entries, **{key: item for key, item in value.items() if key not in entries}}
        for key in () if reads_part or names.keys() >= value.keys() else value:
            if key not in names and key not in not_read:
                near = did_you_mean(_shown(key), names).rstrip()
                raise ValueError(f"{prefix}{_shown(key)} is unknown{near and f'; {near}'}")
        if not required <= value.keys():
            raise ValueError(f"{prefix}{next(key for key in names if key in required - value.keys())} is missing")
        given = {}
        for key, item in value.items():
            if key in names:
                name, plain, inner = fields[key]
                given[name] = item if type(item) in plain else inner(item, where if key == spread else prefix + key)
        return made(given)

    return build_object


def _maker(kind: type) -> Callable[[dict[str, Any]], Any]:
    """Return the function that makes a dataclass of its fields by name.

    The generated `__init__` of a frozen dataclass takes half of the time of reading a run: it sets each field, also
    those that have their default, by a call. So the fields of a simple one are set as a whole.
    """
    every = dataclasses.fields(kind)
    setup: Any = kind.__dict__["__dataclass_params__"]
    if not setup.init or not kind.__dictoffset__ or not all(one.init for one in every):
        return lambda given: kind(**given)
    names = [one.name for one in every]
    defaults = dict.fromkeys(names) | {one.name: one.default for one in every if one.default is not dataclasses.MISSING}
    factories = [(one.name, one.default_factory) for one in every if one.default_factory is not dataclasses.MISSING]
    check: Callable[[Any], None] | None = getattr(kind, "__post_init__", None)

    def make(given: dict[str, Any]) -> Any:
        value: Any = object.__new__(kind)
        for name, factory in factories:
            if name not in given:
                given[name] = factory()
        object.__setattr__(value, "__dict__", defaults | given)
        if check:
            check(value)
        return value

    return make
