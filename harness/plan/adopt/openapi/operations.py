"""Lists the operations of an OpenAPI file, chooses those for a plan, and finds the ids that lists answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from harness.base.config import did_you_mean
from harness.base.errors import UsageError
from harness.plan.adopt.openapi.document import NotMadeError, OpenApiDocument
from harness.plan.adopt.openapi.samples import Samples
from harness.plan.har.extract import json_path

_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
_SAFE = ("GET", "HEAD")
_JSON = re.compile(r"application/(?:[\w.-]+\+)?json(?:;.*)?")
# As many members of an answer are looked for.
_PARTS_MOST = 10
_SUCCESS = re.compile(r"[23](?:\d\d|XX)")


@dataclass(frozen=True)
class Operation:
    """A method of a path, with the objects of the file that describe it."""

    method: str
    path: str
    node: Mapping[str, Any]
    parameters: tuple[Mapping[str, Any], ...]

    @property
    def title(self) -> str:
        """Return method and path, such as GET /pets/{id}."""
        return f"{self.method} {self.path}"

    @property
    def label(self) -> str:
        """Return the operationId, else method and path, as people can read it."""
        return "".join(filter(str.isprintable, str(self.node.get("operationId") or self.title)))

    def success(self, document: OpenApiDocument) -> Mapping[str, Any]:
        """Return the response of the first documented success; empty without one."""
        responses = {str(code): one for code, one in (self.node.get("responses") or {}).items()}
        return document.resolved(responses[self.codes()[0]]) if self.codes() else {}

    def codes(self) -> tuple[str, ...]:
        """Return the codes of the documented successes, such as 200 or 2XX."""
        return tuple(code for code in map(str, self.node.get("responses") or ()) if _SUCCESS.fullmatch(code.upper()))


@dataclass(frozen=True)
class Choice:
    """The chosen operations in the order of the plan, and those that were not asked for."""

    chosen: tuple[Operation, ...]
    others: tuple[Operation, ...]


def choose(document: OpenApiDocument, only: Sequence[str]) -> Choice:
    """Return the operations that patterns such as 'GET /pets*' name, without any GET and HEAD; lists come first.

    UsageError for a pattern that names none.
    """
    all_operations = list(_operations(document))
    if not all_operations:
        raise UsageError(f"{document.name}: has no operation", "give a file with paths")
    for pattern in only:
        if not any(_is_named(one, pattern) for one in all_operations):
            titles = [one.title for one in all_operations]
            more = did_you_mean(pattern, titles) or f"there are: {', '.join(titles[:5])}"
            raise UsageError(f"--only: {pattern!r} is no operation of {document.name}", more)
    is_chosen = [
        any(_is_named(one, pattern) for pattern in only) if only else one.method in _SAFE for one in all_operations
    ]
    chosen = [one for one, is_one in zip(all_operations, is_chosen, strict=True) if is_one]
    others = [one for one, is_one in zip(all_operations, is_chosen, strict=True) if not is_one]
    return Choice(tuple(sorted(chosen, key=_order)), tuple(others))


def _operations(document: OpenApiDocument) -> Iterator[Operation]:
    paths = document.root.get("paths") or {}
    if not isinstance(paths, Mapping):
        raise UsageError(f"{document.name}: paths is no object", "repair the file")
    for path, item in paths.items():
        try:
            item = document.resolved(item)
            shared = [document.resolved(one) for one in item.get("parameters", ())]
            for method in _METHODS:
                if method.lower() in item:
                    node = document.resolved(item[method.lower()])
                    own = [document.resolved(one) for one in node.get("parameters", ())]
                    named = {(one.get("in"), one.get("name")): one for one in [*shared, *own]}
                    node = {"servers": item.get("servers"), **node}
                    yield Operation(method, str(path), node, tuple(named.values()))
        except NotMadeError as error:
            raise UsageError(f"{document.name}: {path}: {error}", "repair the file") from None


def _is_named(operation: Operation, pattern: str) -> bool:
    method, _, path = pattern.partition(" ")
    texts = (operation.title, f"{method.upper()} {path.strip()}"), (operation.path, pattern), (operation.label, pattern)
    return any(fnmatchcase(text, one) for text, one in texts)


def _order(operation: Operation) -> tuple[bool, int]:
    """Sort lists before what they list, and DELETE last, what is deepest first."""
    depth = operation.path.count("{")
    return operation.method == "DELETE", -depth if operation.method == "DELETE" else depth


def json_content(content: Any) -> str:
    """Return the JSON type among the types of a body; empty without one."""
    return next((kind for kind in content or () if _JSON.fullmatch(kind)), "")


def id_path(samples: Samples, source: Operation, name: str, kind: str | None) -> str:
    """Return the JSON path of the values for a path parameter in the answer of an operation; empty without any.

    A GET lists them, a POST answers the one of what it has made. `kind` is the type of the parameter, which that of the
    values must equal; a text may also be an integer.
    """
    try:
        flat = _answer(samples, source)
        names = (key for key in flat.get("properties", {}) if ";" not in key)  # JMeter takes it for the end of a path
        inside = {json_path([key]): samples.flat(flat["properties"][key]) for key in names}
        for path, node in {"$": flat, **inside}.items():
            item, where = (
                (node, path) if source.method == "POST" else (samples.flat(node.get("items", {})), f"{path}[*]")
            )
            for key in sorted(item.get("properties", {}), key=len, reverse=True):
                is_same = (
                    len(_bare(key)) > 1 and _bare(name).endswith(_bare(key)) and re.fullmatch(r"\w+", key, re.ASCII)
                )
                found = samples.flat(item["properties"][key]).get("type")
                if is_same and (found == kind or (kind == "string" and found == "integer")):
                    return f"{where}.{key}"
    except (NotMadeError, KeyError):
        pass  # the answer is not JSON, or its schema contains itself
    return ""


def _answer(samples: Samples, operation: Operation) -> Mapping[str, Any]:
    """Return the schema of the JSON that a success has. KeyError without one."""
    content = operation.success(samples.document).get("content") or {}
    return samples.flat(content[json_content(content)].get("schema"))


def required_parts(samples: Samples, operation: Operation) -> tuple[str, ...]:
    """Return regular expressions for what each success has by its schema: required members, or the start of a list."""
    if operation.method == "HEAD" or len(operation.codes()) != 1:
        return ()
    try:
        flat = _answer(samples, operation)
        members = flat.get("properties", {})
        if flat.get("type") == "array":
            return (r"^\s*\[",)
        names = [str(name) for name in flat.get("required", ()) if not samples.flat(members.get(name)).get("writeOnly")]
    except (NotMadeError, KeyError):
        return ()
    return tuple(rf'"{name}"\s*:' for name in names[:_PARTS_MOST] if re.fullmatch(r"[\w-]{1,60}", name, re.ASCII))


def _bare(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
