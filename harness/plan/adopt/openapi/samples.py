"""Makes sample values of schemas: of their examples and defaults, else simple ones. jsonschema confirms each value."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from random import Random
from typing import Any, NamedTuple

from jsonschema import Draft202012Validator
from jsonschema.exceptions import UnknownType
from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012
from rstr import Rstr

from harness.base.errors import UsageError
from harness.base.secrecy import is_secret_name
from harness.plan.adopt.openapi.document import NotMadeError, OpenApiDocument

_URI = "urn:openapi"
# Below so many references only required properties get a value.
_DEPTH = 5
# The largest public files have a million.
_NODES_MOST = 20_000_000
# The largest values that are made.
_ITEMS_MOST, _SIZE_MOST = 1000, 1_000_000
# As many texts are made of a pattern.
_TRIES = 50
_FORMATS = {
    "date": "2026-01-01", "date-time": "2026-01-01T12:00:00Z", "time": "12:00:00Z", "duration": "PT1H",
    "email": "user@example.org", "idn-email": "user@example.org", "uuid": "3fa85f64-5717-4562-b3fc-2c963f66afa6",
    "uri": "http://example.invalid/", "url": "http://example.invalid/", "uri-reference": "/", "hostname": "localhost",
    "ipv4": "127.0.0.1", "ipv6": "::1", "byte": "dGV4dA==", "password": "sample-password",
}  # fmt: skip
_KIND_OF = {
    "properties": "object", "additionalProperties": "object", "items": "array", "minimum": "number",
    "maximum": "number",
}  # fmt: skip


class _Flat(NamedTuple):
    schema: dict[str, Any]
    above: tuple[str, ...]


class Samples:
    """Makes values of the schemas of a document; the same schema gives the same value."""

    def __init__(self, document: OpenApiDocument) -> None:
        self._is_old = str(document.root.get("openapi", "")).startswith("3.0")
        self.document, self._node_count = document, 0
        try:
            root = self._converted(document.root)
        except RecursionError:
            raise UsageError(f"{document.name}: contains itself by an alias", "use $ref") from None
        self._schemas = OpenApiDocument(document.name, root)
        self._registry: Any = Registry().with_resource(_URI, DRAFT202012.create_resource(root))

    def flat(self, schema: Any) -> dict[str, Any]:
        """Return a schema with what its $ref and its allOf contain. NotMadeError when it contains itself."""
        return self._flat(self._converted(schema or {}), ())[0]

    def value(self, schema: Any, examples: Iterable[Any] = (), name: str = "") -> Any:
        """Return the first valid example, else a value of the schema. NotMadeError when none is found."""
        schema = self._converted(schema)
        for one in examples:
            if self._is_valid(one, schema):
                return one
        made = self._made(schema, name, ())
        if not self._is_valid(made, schema):
            raise NotMadeError(f"no value is known for the schema of {name}")
        return made

    def _converted(self, node: Any) -> Any:
        """Return a copy as JSON Schema: references are absolute, and what only OpenAPI 3.0 has is translated."""
        self._node_count += 1
        if self._node_count > _NODES_MOST:
            raise UsageError(f"{self.document.name}: is too large with its aliases expanded", "use $ref")
        if isinstance(node, list):
            return [self._converted(one) for one in node]
        if not isinstance(node, Mapping):
            return node
        made = {str(key): self._converted(value) for key, value in node.items()}
        if isinstance(reference := made.get("$ref"), str) and reference.startswith("#"):
            made["$ref"] = _URI + reference
        if made.get("nullable") is True and isinstance(made.get("type"), str):
            made["type"] = [made["type"], "null"]
            if isinstance(made.get("enum"), list):
                made["enum"] = [*made["enum"], None]
        for limit in ("Minimum", "Maximum"):  # booleans in OpenAPI 3.0
            if isinstance(is_exclusive := made.get(f"exclusive{limit}"), bool):
                del made[f"exclusive{limit}"]
                if is_exclusive and limit.lower() in made:
                    made[f"exclusive{limit}"] = made.pop(limit.lower())
        properties, required = made.get("properties"), made.get("required")
        if self._is_old and isinstance(properties, Mapping) and isinstance(required, list):  # readOnly: in responses
            read_only = [
                key for key, one in properties.items() if isinstance(one, Mapping) and one.get("readOnly") is True
            ]
            made["required"] = [key for key in required if key not in read_only]
        return made

    def _is_valid(self, value: Any, schema: Any) -> bool:
        try:
            return bool(Draft202012Validator(schema, registry=self._registry).is_valid(value))
        except UnknownType as error:
            raise NotMadeError(f"a schema has the unknown type {error.type}") from None
        except (Unresolvable, re.error, RecursionError, TypeError, ValueError, AttributeError) as error:
            raise NotMadeError(f"a schema is wrong ({str(error) or type(error).__name__})") from None

    def _first(self, values: Iterable[Any], schema: Any, name: str) -> Any:
        for value in values:
            if self._is_valid(value, schema):
                return value
        raise NotMadeError(f"no value is known for the schema of {name}")

    def _made(self, schema: Any, name: str, above: tuple[str, ...]) -> Any:
        """Return a value; `above` are the references that led here."""
        if not isinstance(schema, Mapping):
            return name
        flat, above = self._flat(schema, above)
        given = [flat[key] for key in ("const", "example", "default") if key in flat]
        for key in ("examples", "enum"):
            given += flat[key] if isinstance(flat.get(key), list) else []
        with suppress(NotMadeError):
            return self._first((one for one in given if one is not None), flat, name)
        for key in ("oneOf", "anyOf"):
            if branches := flat.get(key):
                return self._of_branch(branches, {one: flat[one] for one in flat if one != key}, flat, name, above)
        kinds = flat.get("type") or next((kind for key, kind in _KIND_OF.items() if key in flat), "string")
        kind = next((one for one in ([kinds] if isinstance(kinds, str) else kinds) if one != "null"), "null")
        if kind == "object":
            return self._object(flat, above)
        if kind == "array":
            return self._array(flat, name, above)
        if kind in ("integer", "number"):
            return self._first(_numbers(flat, kind == "integer"), flat, name)
        return {"boolean": True, "null": None}[kind] if kind in ("boolean", "null") else _text(flat, name)

    def _flat(self, schema: Mapping[str, Any], above: tuple[str, ...]) -> _Flat:
        """Return a schema with what its $ref and its allOf contain. NotMadeError when it contains itself."""
        flat: dict[str, Any] = {}
        parts = [*schema.get("allOf", ()), {key: schema[key] for key in schema if key not in ("$ref", "allOf")}]
        if reference := schema.get("$ref"):
            if reference in above:
                raise NotMadeError(f"{reference.removeprefix(_URI)} contains itself")
            above = (*above, reference)
            parts.insert(0, self._schemas.at(reference.removeprefix(_URI)))
        for part in parts:
            if "$ref" in part or "allOf" in part:
                part, above = self._flat(part, above)
            joined: dict[str, Any] = {"properties": {**flat.get("properties", {}), **part.get("properties", {})}}
            joined["required"] = [*flat.get("required", ()), *part.get("required", ())]
            flat = {**flat, **part, **{key: value for key, value in joined.items() if value}}
        return _Flat(flat, above)

    def _of_branch(self, branches: list[Any], rest: Any, whole: Any, name: str, above: tuple[str, ...]) -> Any:
        error = NotMadeError(f"no value is known for the schema of {name}")
        for branch in branches:
            try:
                return self._first([self._made({**rest, "allOf": [branch]}, name, above)], whole, name)
            except NotMadeError as reason:
                error = reason
        raise error

    def _object(self, schema: Mapping[str, Any], above: tuple[str, ...]) -> dict[str, Any]:
        """Return an object with all properties; only with the required ones where that is not valid."""
        required = schema.get("required", ())
        properties = {key: {} for key in required} | schema.get("properties", {})
        value: dict[str, Any] = {}
        for key, schema_of_key in properties.items():
            is_left_out = key not in required and len(above) > _DEPTH
            if is_left_out or (
                isinstance(schema_of_key, Mapping) and schema_of_key.get("readOnly") and key not in required
            ):
                continue
            try:
                value[key] = self._first([self._made(schema_of_key, key, above)], schema_of_key, key)
            except NotMadeError:
                if key in required:
                    raise
        return value if self._is_valid(value, schema) else {key: value[key] for key in value if key in required}

    def _array(self, schema: Mapping[str, Any], name: str, above: tuple[str, ...]) -> list[Any]:
        least = schema.get("minItems", 0)
        if least > _ITEMS_MOST:
            raise NotMadeError(f"{name} has at least {least} items, more than {_ITEMS_MOST}")
        try:
            item = self._made(schema.get("items", {}), name, above)
            if least * _size(item) > _SIZE_MOST:
                raise NotMadeError(f"{name} would be larger than {_SIZE_MOST} characters")
            made = [item] * max(1, least)
        except NotMadeError:
            if least:
                raise
            return []
        return made if self._is_valid(made, schema) or least else []


def _size(value: Any) -> int:
    """Return about how long a value is as JSON; a value that is at several places counts at each."""
    if isinstance(value, dict):
        return sum(_size(key) + _size(one) for key, one in value.items()) + 2
    if isinstance(value, list):
        # Lists are one value, repeated.
        return len(value) * _size(value[0]) + 2 if value else 2
    return len(value) + 2 if isinstance(value, str) else 8


def _numbers(schema: Mapping[str, Any], is_integer: bool) -> Iterable[float]:
    """Yield numbers that a schema may permit, simple ones first."""
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    step = schema.get("multipleOf", 1)
    limits = [one for one in (low, high) if one is not None]
    found = [1, 0, *limits, *(one + sign * step for one in limits for sign in (1, -1))]
    found += [math.ceil(one / step) * step for one in (1, *limits)]
    found += [math.floor(one / step) * step for one in limits]
    found += [sum(limits) / 2] if len(limits) > 1 else []
    return [int(one) for one in found if one == int(one)] if is_integer else found


def _text(schema: Mapping[str, Any], name: str) -> str:
    least, most = schema.get("minLength", 0), schema.get("maxLength", math.inf)
    if least > _SIZE_MOST:
        raise NotMadeError(f"{name} has at least {least} characters, more than {_SIZE_MOST}")
    if pattern := schema.get("pattern"):
        return _of_pattern(pattern, least, most)
    text = _FORMATS.get(schema.get("format", "")) or (f"sample-{name}" if is_secret_name(name) else name) or "text"
    return text.ljust(least, "x")[: int(min(most, _SIZE_MOST))]


@cache
def _of_pattern(pattern: str, least: float, most: float) -> str:
    """Return the shortest of some texts with a pattern. NotMadeError when none of them fits."""
    try:
        tried = (Rstr(Random(seed)).xeger(pattern) for seed in range(_TRIES))
        found = [text for text in tried if least <= len(text) <= most and text.isprintable()]
        shortest: str = min((text for text in found if re.search(pattern, text)), key=len)
        return shortest
    except (ValueError, KeyError, re.error, RecursionError, OverflowError):
        raise NotMadeError(f"no text is known for the pattern {pattern}") from None
