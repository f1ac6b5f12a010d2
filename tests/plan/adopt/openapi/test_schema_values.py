"""Values that are made of the schemas of an OpenAPI file: another validator finds them valid."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openapi_schema_validator import OAS30Validator
from openapi_spec_validator import validate

from harness.plan.adopt.openapi.document import NotMadeError, OpenApiDocument, read_document
from harness.plan.adopt.openapi.samples import Samples
from tests.plan.adopt.openapi.test_requests import BOOKS, OK, get, made, written

TEXTS = st.builds(
    lambda least, more: {"type": "string", "minLength": least, "maxLength": least + more},
    st.integers(0, 30),
    st.integers(0, 9),
)
PATTERNS = st.sampled_from([r"^[A-Z]{3}-\d+$", "^[^x]{3}$", r"^\+?[1-9]\d{1,14}$", "^(a|bb)*$"])
NUMBERS = st.builds(
    lambda kind, low, more, low_open, high_open: {
        "type": kind, "minimum": low, "maximum": low + more, "exclusiveMinimum": low_open, "exclusiveMaximum": high_open
    },
    st.sampled_from(["integer", "number"]), st.integers(-50, 50), st.integers(2, 20), st.booleans(), st.booleans(),
)  # fmt: skip
STEPS = st.builds(
    lambda low, step: {"type": "integer", "minimum": low, "multipleOf": step}, st.integers(-9, 99), st.integers(1, 9)
)
LEAVES = (
    TEXTS | NUMBERS | STEPS | PATTERNS.map(lambda pattern: {"type": "string", "pattern": pattern})
    | st.sampled_from(["date", "date-time", "uuid", "email"]).map(lambda kind: {"type": "string", "format": kind})
    | st.sampled_from([{"type": "boolean"}, {"type": "string", "nullable": True, "enum": ["b", "a"]}, {}])
)  # fmt: skip


def objects(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    properties = st.dictionaries(st.sampled_from("abcdef"), inner, max_size=4)
    return st.builds(
        lambda table, count, is_open: {
            "type": "object", "properties": table, "required": sorted(table)[:count] or ["z"],
            "additionalProperties": is_open or not sorted(table)[:count],
        },
        properties, st.integers(0, 4), st.booleans(),
    )  # fmt: skip


SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: (
        objects(inner)
        | st.builds(lambda item, least: {"type": "array", "items": item, "minItems": least}, inner, st.integers(0, 3))
        | st.lists(inner, min_size=1, max_size=3).map(lambda branches: {"anyOf": branches})
        | st.builds(
            lambda one, other: {
                "allOf": [{**one, "additionalProperties": True}, {"properties": {"y": other}, "required": ["y"]}]
            },
            objects(LEAVES),
            inner,
        )
    ),
    max_leaves=8,
)


@pytest.mark.real
@settings(max_examples=150, deadline=None)
@given(SCHEMAS)
def test_values_are_valid_by_another_validator_and_survive_json(schema) -> None:
    value = Samples(OpenApiDocument("a", {})).value(schema, name="body")
    assert list(OAS30Validator(schema).iter_errors(json.loads(json.dumps(value)))) == []
    assert Samples(OpenApiDocument("a", {})).value(schema, name="body") == value


@pytest.mark.counterpart
@settings(max_examples=50, deadline=None)
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda one: st.lists(one) | st.dictionaries(
    st.sampled_from(["type", "properties", "items", "allOf", "anyOf", "required", "$ref", "enum", "pattern", "x"]), one
), max_leaves=9))  # fmt: skip
def test_any_text_as_a_schema_leaves_the_operation_out_at_most(tmp_path_factory, schema) -> None:
    path = written(tmp_path_factory.mktemp("any"), {**get(schema), "/good": {"get": OK}})
    assert made(path).requests[-1].label == "GET /good"


def test_an_example_that_its_schema_refuses_is_not_sent() -> None:
    samples = Samples(OpenApiDocument("a", {}))
    assert samples.value({"type": "integer", "example": "seven"}, ["eight"], "n") == 1
    with pytest.raises(NotMadeError):
        samples.value({"not": {}}, [], "n")


def test_schemas_of_books_are_yaml_that_another_library_accepts() -> None:
    validate(read_document(BOOKS).root)
