"""Makes summary.schema.json from the types of a run's JSON; `make generated` writes it.

The types define the keys and what may be null; fields.toml describes each key and narrows its values.
"""

from __future__ import annotations

import dataclasses
import enum
import json
import tomllib
import types
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.base.records import key_of, plain_types, types_of
from harness.cloudwatch.queries import KIND_TITLES, METRICS
from harness.judge.summary import FORMAT_VERSION, RunSummary
from harness.judge.warnings import warning_kinds
from harness.metrics.metric import all_metrics, elapsed_metrics
from harness.plan.goal import Goal, GoalRule, limit_keys
from harness.plan.load.groups import TRANSACTION
from harness.run.record import FORMAT_VERSION as RUN_VERSION

FIELDS = Path(__file__).with_name("fields.toml")
SCHEMA = Path(__file__).with_name("summary.schema.json")
_WIDTH = 160
_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", types.NoneType: "null"}
_KINDS = list(KIND_TITLES)
_METRICS = [metric.name for metrics in METRICS.values() for metric in metrics]
# What is known in the code, or cannot be written in TOML.
_CONSTANTS: Mapping[str, Mapping[str, Any]] = {
    "RunSummary.format_version": {"const": FORMAT_VERSION},
    "RunRecord.format_version": {"const": RUN_VERSION},
    "LoadRecord.is_auto": {"enum": [True, None]},
    "LoadRecord.is_paced": {"enum": [True, None]},
    "GroupLoad.is_paced": {"enum": [True, None]},
    "GroupLoad.users_return": {"enum": [True, None]},
    "LoadRecord.think_time_per": {"enum": [TRANSACTION, None]},
    "GroupLoad.think_time_per": {"enum": [TRANSACTION, None]},
    "Resource.kind": {"enum": _KINDS},
    "CloudMetric.kind": {"enum": _KINDS},
    "CloudMetric.metric": {"enum": list(dict.fromkeys(_METRICS))},
}


def summary_schema() -> dict[str, Any]:
    """Return the JSON Schema of a run's JSON."""
    schema = _Schema(tomllib.loads(FIELDS.read_text(encoding="utf-8")))
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "run-<series>_<n>.json"}
    return {**head, **schema.of(RunSummary), "$defs": schema.definitions}


def schema_text() -> str:
    """Return the text of the JSON Schema file: what fits on one line is on one line."""
    return _text(summary_schema(), "") + "\n"


def _text(value: Any, margin: str) -> str:
    flat = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or (len(margin) + len(flat) < _WIDTH and '"properties": {' not in flat):
        return flat
    if isinstance(value, list):
        lines = [_text(item, margin + " ") for item in value]
    else:
        lines = [f'"{key}": {_text(item, margin + " ")}' for key, item in value.items()]
    opening, closing = "[]" if isinstance(value, list) else "{}"
    return f"{opening}\n" + ",\n".join(f"{margin} {line}" for line in lines) + f"\n{margin}{closing}"


class _Schema:
    """Schemas of types; `definitions` are those of classes that fields.toml gives a `$ref`."""

    def __init__(self, fields: Mapping[str, Mapping[str, Any]]) -> None:
        self._fields = fields
        self._constants = {**_CONSTANTS, "RunWarning.code": {"enum": list(warning_kinds())}}
        self.definitions: dict[str, Any] = {}

    def of(self, hint: Any, without: Sequence[str] = ()) -> dict[str, Any]:
        """Return the schema of a type; of a dataclass `without` some of its fields."""
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if plain := plain_types(hint):
            names = [name for kind, name in _TYPES.items() if kind in plain and not (kind is int and float in plain)]
            return {"type": names[0] if len(names) == 1 else names}
        if origin in (typing.Union, types.UnionType):
            return _or_null(self.of(next(one for one in arguments if one is not types.NoneType)))
        if origin is tuple and arguments[1:] != (...,):
            inner = [self.of(one) for one in arguments]
            return {"type": "array", "prefixItems": inner, "items": False, "minItems": len(inner)}
        if origin is tuple:
            return {"type": "array", "items": self.of(arguments[0])}
        if origin is Mapping:
            return {"type": "object", "additionalProperties": self.of(arguments[1])}
        if isinstance(hint, type) and issubclass(hint, enum.Enum):
            return {"enum": [one.value for one in hint]}
        if hint is Goal:
            return self._goal()
        return self._object(hint, without) if hint.__name__ in self._fields else {}

    def _goal(self) -> dict[str, Any]:
        about = dict(self._fields["Goal"])
        times = [metric for metric in all_metrics() if metric.is_time]
        schemas = {key: self.of(float | None) for key in limit_keys()}
        schemas |= {"rules": self.of(tuple[GoalRule, ...]), "has_default_errors": self.of(bool)}
        known = {metric.key: f"Limit of the {metric.phrase}, ms" for metric in times} | about
        properties = {key: {**_about(known[key]), **schema} for key, schema in schemas.items()}
        return _object_schema(about["about"], properties)

    def _object(self, kind: Any, without: Sequence[str]) -> dict[str, Any]:
        about = self._fields[kind.__name__]
        hints = types_of(kind)
        spread = getattr(kind, "spread", "")
        properties: dict[str, Any] = {}
        for name in (field.name for field in dataclasses.fields(kind) if field.name not in without):
            if name == spread:
                values = self.of(typing.get_args(hints[name])[1])
                texts = {metric.key: about[name].format(metric.phrase) for metric in elapsed_metrics()}
                properties |= {key: {**_about(text), **values} for key, text in texts.items()}
            else:
                key = key_of(kind, name)
                properties[key] = self._property(kind.__name__, key, hints[name])
        schema = _object_schema(about["about"], properties)
        if "$ref" not in about:
            return schema
        self.definitions[about["$ref"]] = schema
        return {"$ref": f"#/$defs/{about['$ref']}"}

    def _property(self, kind: str, key: str, hint: Any) -> dict[str, Any]:
        about = _about(self._fields[kind].get(key, {}))
        schema = self.of(hint, about.get("without", ()))
        if not {"$ref", "description"} & {*schema, *about}:
            raise KeyError(f"{kind}.{key} has no description in {FIELDS.name}")
        about = {key: value for key, value in about.items() if key != "without"}
        return _merged(_merged(about, schema), {**about, **self._constants.get(f"{kind}.{key}", {})})


def _about(about: Mapping[str, Any] | str) -> Mapping[str, Any]:
    return {"description": about} if isinstance(about, str) else about


def _object_schema(about: str, properties: dict[str, Any]) -> dict[str, Any]:
    schema = {"description": about, "type": "object", "additionalProperties": False}
    return {**schema, "required": list(properties), "properties": properties}


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    if "anyOf" in schema:
        return {"anyOf": [*schema["anyOf"], {"type": "null"}]}
    if "$ref" in schema or "properties" in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    return {**schema, "type": [schema["type"], "null"]}


def _merged(base: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Return both, what is in `other` over `base`, objects in them likewise."""
    both = {key: _merged(base[key], other[key]) for key in base if isinstance(base[key], dict) and key in other}
    return {**base, **other, **both}
