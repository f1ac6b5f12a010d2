"""Tables of TOML are read by the types of the fields: what a message names, and which values a key may have."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest

from harness.base.errors import UsageError
from harness.base.tables import read_table, toml_key


@dataclass(frozen=True)
class Door:
    name: str = toml_key(missing="name the door")
    width_mm: float = toml_key(800.0, least=1, most=2000)


@dataclass(frozen=True)
class Room:
    named_by: ClassVar[tuple[str, ...]] = ("name", "floor")

    name: str
    floor: int = 0
    doors: tuple[Door, ...] = ()


@dataclass(frozen=True)
class Hotel:
    is_file: ClassVar[bool] = True
    spread: ClassVar[str] = "prices"

    rooms: tuple[Room, ...] = ()
    keys: str | tuple[str, ...] = ()
    doors: Mapping[str, str | Door] = field(default_factory=dict)
    prices: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class House:
    is_file: ClassVar[bool] = True
    json_keys: ClassVar[Mapping[str, str]] = {"source": "from"}

    title: str = toml_key(missing="give it one")
    source: str | None = None
    floors: int = toml_key(1, least=1)
    height: float | str = 3.0
    is_old: bool = False
    rooms: tuple[str, ...] = ()
    front: Door | None = None
    doors: tuple[Door, ...] = toml_key((), each="write [[doors]]")
    facts: Mapping[str, str] = field(default_factory=dict)
    systems: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    anything: Mapping[str, Any] = field(default_factory=dict)
    goal: dict[str, Any] | list[Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Street:
    door: Door | None = None


def read(**table):
    return read_table(House, {"title": "t", **table}, "env/x.toml")


def test_a_table_becomes_the_dataclass_and_what_is_not_given_its_defaults():
    assert read() == House(title="t")
    given = {"from": "a", "floors": 2, "height": "3m", "is_old": True, "rooms": ["r"], "facts": {"a": "b"}}
    tables = {"front": {"name": "f"}, "doors": [{"name": "d", "width_mm": 900}], "systems": {"s": {"x": 1}}}
    assert read(**given, **tables, anything={"a": [1]}, goal=[{"p": 1}]) == House(
        "t", "a", 2, "3m", True, ("r",), Door("f"), (Door("d", 900),), {"a": "b"}, {"s": {"x": 1}}, {"a": [1]},
        [{"p": 1}],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("table", "what", "todo"),
    [
        ({"flors": 1}, "env/x.toml: unknown key flors", "did you mean floors? there are: anything, doors, f"),
        ({"source": "a"}, "env/x.toml: unknown key source", "there are: anything, doors, f"),
        ({"floors": "1"}, "env/x.toml: floors = '1'", "give a whole number"),
        ({"floors": True}, "env/x.toml: floors = True", "give a whole number"),
        ({"floors": 0}, "env/x.toml: floors = 0", "give a number of at least 1"),
        ({"height": []}, "env/x.toml: height = []", "give a text or a number"),
        ({"is_old": 1}, "env/x.toml: is_old = 1", "give true or false"),
        ({"rooms": "a"}, "env/x.toml: rooms = 'a'", "give a list"),
        ({"rooms": [1]}, "env/x.toml rooms: 1", "give texts"),
        ({"front": 1}, "env/x.toml: front = 1", "give a table"),
        ({"front": {}}, "env/x.toml [front]: name is missing", "name the door"),
        ({"front": {"nam": "f"}}, "env/x.toml [front]: unknown key nam", "did you mean name? there are: name, w"),
        (
            {"doors": [{"name": "d", "width_mm": 2001}]},
            "env/x.toml [[doors]]: width_mm = 2001",
            "give a number from 1 to",
        ),
        ({"doors": ["d"]}, "env/x.toml [[doors]]: 'd'", "write [[doors]]"),
        ({"title": ""}, "env/x.toml: title is empty", "give it one"),
        ({"front": {"name": ""}}, "env/x.toml [front]: name is empty", "name the door"),
        ({"facts": {"a": 1}}, "env/x.toml [facts]: a = 1", "give a text"),
        ({"systems": {"s": 1}}, "env/x.toml [systems]: s = 1", "give a table"),
        ({"goal": "p"}, "env/x.toml: goal = 'p'", "give a list or a table"),
    ],
)
def test_a_wrong_key_or_value_is_named_with_what_to_write(table, what, todo):
    with pytest.raises(UsageError) as error:
        read(**table)
    assert str(error.value).startswith(what)
    assert error.value.todo.startswith(todo)


def test_a_missing_key_that_is_needed_says_what_to_do():
    with pytest.raises(UsageError, match=r"^env/x\.toml: title is missing") as error:
        read_table(House, {}, "env/x.toml")
    assert error.value.todo == "give it one"


def test_a_table_that_is_no_file_names_the_tables_in_it_behind_its_own_name():
    with pytest.raises(UsageError, match=r"^street door: width_mm = 0; "):
        read_table(Street, {"door": {"name": "d", "width_mm": 0}}, "street")


PRICES = {"single": float, "services": tuple[str, ...], "rooms": str}


def test_further_keys_get_into_the_field_for_them_and_a_value_has_one_of_its_types():
    table = {"rooms": [{"name": "1"}], "keys": ["a", "b"], "doors": {"in": "open", "out": {"name": "back"}}}
    read = read_table(Hotel, {**table, "single": 10, "services": ["wash"]}, "h.toml", PRICES)
    prices = {"single": 10, "services": ("wash",)}
    assert read == Hotel((Room("1"),), ("a", "b"), {"in": "open", "out": Door("back")}, prices)
    assert read_table(Hotel, {"keys": "a"}, "h.toml") == Hotel(keys="a")


@pytest.mark.parametrize(
    ("table", "what", "todo"),
    [
        ({"singel": 1}, "h.toml: unknown key singel", "did you mean single? there are: doors, keys, rooms, services, "),
        ({"prices": {}}, "h.toml: unknown key prices", ""),
        ({"single": "1"}, "h.toml: single = '1'", "give a number"),
        ({"services": [1]}, "h.toml services: 1", "give texts"),
        ({"keys": [1]}, "h.toml keys: 1", "give texts"),
        ({"keys": 1}, "h.toml: keys = 1", "give a text or a list"),
        ({"rooms": [1]}, "h.toml [[rooms]]: 1", "write each as [[rooms]]"),
        ({"rooms": [{}]}, "h.toml [[rooms]]: name is missing", ""),
        ({"rooms": [{"name": "1", "dors": 1}]}, "h.toml [[rooms]] 1: unknown key dors", "did you mean doors? "),
        ({"rooms": [{"name": "1", "floor": 2, "dors": 1}]}, "h.toml [[rooms]] 1 (2): unknown key dors", "did you "),
        ({"rooms": [{"name": "1", "doors": [{}]}]}, "h.toml [[rooms]] 1 doors: name is missing", "name the door"),
        ({"doors": {"in": 1}}, "h.toml [doors]: in = 1", "give a text or a table"),
        ({"doors": {"in": {"nam": 1}}}, "h.toml [doors.in]: unknown key nam", "did you mean name? "),
    ],
)
def test_a_wrong_further_key_or_named_table_is_named(table, what, todo):
    with pytest.raises(UsageError) as error:
        read_table(Hotel, table, "h.toml", PRICES)
    assert str(error.value).startswith(what)
    assert error.value.todo.startswith(todo)
