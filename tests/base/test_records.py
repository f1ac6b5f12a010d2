"""Dataclasses of plain data: types, missing and unknown keys, and messages that name the key."""

from __future__ import annotations

import ast
import enum
import importlib
import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, is_dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import pytest

from harness.base.errors import UsageError
from harness.base.records import build, fields_to_plain, read_record, to_plain, types_of

if TYPE_CHECKING:
    from tests.base.no_such_module import Owner


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
    what: ClassVar = "a car"
    not_read: ClassVar = ("worth",)


@dataclass(frozen=True)
class Garage:
    cars: tuple[Car, ...] = ()
    owner: Owner | None = None
    places: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        if len(self.cars) > 1:
            raise ValueError("it has one place")


LATE_TYPES = {"Owner": "tests.base.no_such_module"}


@dataclass(frozen=True)
class Weight:
    """Written as one text."""

    kg: int

    def to_plain(self) -> str:
        return f"{self.kg} kg"

    @classmethod
    def from_plain(cls, data: object, where: str) -> Weight:
        assert where == "weight"
        return cls(int(str(data).removesuffix(" kg")))


@dataclass(frozen=True)
class Trip:
    weight: Weight
    stops: Mapping[str, float | None]
    note: str = ""
    driver: str = ""
    spread: ClassVar = "stops"
    spread_keys: ClassVar = frozenset({"first_km", "last_km"})
    optional: ClassVar = ("note",)


@dataclass(frozen=True)
class Engine:
    json_keys: ClassVar = {"power_kw": "power"}
    name: str
    power_kw: float


@dataclass(frozen=True)
class Name:
    reads_part = True
    name: str


def test_nested_data_become_dataclasses_tuples_and_enums():
    data = {"name": "a", "wheels": [{"size": 1, "colour": "red"}], "pairs": [["x", 1]], "sizes": {"y": [1, None]}}
    expected = Car("a", (Wheel(1, Colour.RED),), (("x", 1),), {"y": (1, None)})
    assert build(Car, data) == expected
    assert type(build(Car, data).wheels[0].size) is int  # written again it is 1, not 1.0


def test_a_field_may_have_another_key_in_json():
    engine = Engine("a", 75.0)
    assert to_plain(engine) == {"name": "a", "power": 75.0}
    assert build(Engine, {"name": "a", "power": 75.0}) == engine
    with pytest.raises(ValueError, match="power_kw is unknown"):
        build(Engine, {"name": "a", "power_kw": 75.0})
    with pytest.raises(ValueError, match="power is missing"):
        build(Engine, {"name": "a"})


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
    with pytest.raises(UsageError, match=r"car\.json: not the JSON of a car \(name is missing\)"):
        read_record(Car, {}, "car.json")


def test_other_keys_are_ignored_only_when_part_of_a_file_is_read():
    assert build(Name, {"name": "a", "wheels": 5}) == Name("a")


def test_results_that_are_computed_again_are_not_read():
    assert build(Car, {"name": "a", "worth": 5}) == Car("a")


def test_a_dataclass_becomes_plain_data_of_which_it_is_built_again():
    car = Car("a", (Wheel(1, Colour.RED), Wheel(2.5)), (("x", 1),), {"y": (1, None)}, is_fast=True)
    plain = to_plain(car)
    assert json.loads(json.dumps(plain)) == {
        "name": "a",
        "wheels": [{"size": 1, "colour": "red"}, {"size": 2.5, "colour": None}],
        "pairs": [["x", 1]],
        "sizes": {"y": [1, None]},
        "is_fast": True,
    }
    assert list(plain) == ["name", "wheels", "pairs", "sizes", "is_fast"]
    assert build(Car, plain) == car


def test_spread_and_optional_fields_and_classes_that_write_themselves():
    trip = Trip(Weight(5), {"first_km": 1.5, "last_km": None})
    plain = {"weight": "5 kg", "first_km": 1.5, "last_km": None, "driver": ""}
    assert to_plain(trip) == plain
    assert list(to_plain(trip)) == list(plain)
    assert build(Trip, plain) == trip
    assert to_plain(Trip(Weight(5), {}, note="far"))["note"] == "far"
    assert fields_to_plain(Weight(5)) == {"kg": 5}


def test_short_data_leave_out_what_has_its_default():
    car = Car("a", (Wheel(1), Wheel(2.5, Colour.RED)), is_fast=True)
    plain = to_plain(car, is_short=True)
    assert plain == {"name": "a", "wheels": [{"size": 1}, {"size": 2.5, "colour": "red"}], "is_fast": True}
    assert build(Car, plain) == car
    assert to_plain(Car("a", is_fast=0), is_short=True) == {"name": "a", "is_fast": 0}  # 0 is not the default, False


def test_a_type_that_is_imported_late_is_imported_when_data_have_it():
    assert build(Garage, {"cars": []}) == Garage()
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        build(Garage, {"owner": {}})


@pytest.mark.parametrize("name", ["harness.judge.summary", "harness.report.run_result", "harness.run.record"])
def test_types_that_are_imported_late_are_those_that_the_type_checker_sees(name):
    module = importlib.import_module(name)
    blocks = [one for one in ast.parse(inspect.getsource(module)).body if isinstance(one, ast.If)]
    [imports] = [one.body for one in blocks if ast.unparse(one.test) == "TYPE_CHECKING"]
    checked = {alias.name: one.module for one in imports for alias in one.names}
    assert module.LATE_TYPES.items() <= checked.items()
    kinds = [one for one in vars(module).values() if is_dataclass(one) and one.__module__ == name]
    assert kinds and all(types_of(kind) for kind in kinds)


def test_what_is_built_is_as_what_its_class_makes():
    built, made = build(Garage, {"cars": [{"name": "a"}]}), Garage((Car("a"),))
    assert (built, repr(built), hash(built.cars), vars(built)) == (made, repr(made), hash(made.cars), vars(made))
    assert list(vars(built)) == list(vars(made))
    assert replace(built, cars=()) == Garage()
    assert build(Garage, {}).places is not build(Garage, {}).places
    with pytest.raises(ValueError, match="one place"):
        build(Garage, {"cars": [{"name": "a"}, {"name": "b"}]})


def test_a_part_that_was_built_before_stays():
    car = Car("a")
    assert build(Garage, {"cars": [car]}).cars[0] is car
    with pytest.raises(ValueError, match=r"cars\[0\] is Wheel, not an object"):
        build(Garage, {"cars": [Wheel(1.0)]})
