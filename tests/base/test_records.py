"""Dataclasses of plain data: types, missing and unknown keys, and messages that name the key."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from harness.base.errors import UsageError
from harness.base.records import build, read


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Wheel:
    size: float
    colour: Colour | None = None


@dataclass(frozen=True)
class Car:
    name: str
    wheels: tuple[Wheel, ...] = ()
    pairs: tuple[tuple[str, int], ...] = ()
    sizes: Mapping[str, tuple[int | None, ...]] | None = None
    is_fast: bool = False


@dataclass(frozen=True)
class Name:
    reads_part = True
    name: str


def test_nested_data_become_dataclasses_tuples_and_enums():
    data = {"name": "a", "wheels": [{"size": 1, "colour": "red"}], "pairs": [["x", 1]], "sizes": {"y": [1, None]}}
    expected = Car("a", (Wheel(1, Colour.RED),), (("x", 1),), {"y": (1, None)})
    assert build(Car, data) == expected
    assert type(build(Car, data).wheels[0].size) is int  # written again it is 1, not 1.0


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "it is a list, not an object"),
        ({}, "name is missing"),
        ({"name": 5}, "name is a whole number, not a text"),
        ({"name": "a", "wheel": []}, "wheel is unknown; did you mean wheels?"),
        ({"name": "a", "x\ny" + "z" * 100: 1}, "x\\ny" + "z" * 56 + " is unknown"),
        ({"name": "a", "is_fast": 1}, "is_fast is a whole number, not true or false"),
        ({"name": "a", "wheels": {}}, "wheels is an object, not a list"),
        ({"name": "a", "wheels": [{"size": 1}, {"size": True}]}, "wheels[1].size is true or false, not a number"),
        (
            {"name": "a", "wheels": [{"size": 1, "colour": "green"}]},
            "wheels[0].colour = 'green' is not one of red, blue",
        ),
        ({"name": "a", "pairs": [["x"]]}, "pairs[0] is a list, not a list of 2"),
        ({"name": "a", "sizes": {"y": [1.5]}}, "sizes.y[0] is a number, not a whole number or null"),
    ],
)
def test_the_first_wrong_key_is_named(data, message):
    with pytest.raises(ValueError) as raised:
        build(Car, data)
    assert str(raised.value) == message


def test_an_unreadable_file_is_named_with_the_reason():
    with pytest.raises(UsageError, match=r"car\.json: not a car \(name is missing\)"):
        read(Car, {}, "car.json", "a car")


def test_other_keys_are_ignored_only_when_part_of_a_file_is_read():
    assert build(Name, {"name": "a", "wheels": 5}) == Name("a")
