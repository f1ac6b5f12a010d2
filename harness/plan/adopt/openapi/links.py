"""Finds the value of a parameter in a response before: by a link of the file, or in the header Location."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote

from harness.plan.adopt.openapi.document import OpenApiDocument
from harness.plan.adopt.openapi.operations import Operation
from harness.plan.har.extract import json_path

_BODY = re.compile(r"\$response\.body#((?:/[\w.-]+)+)", re.ASCII)
_HEADER = re.compile(r"\$response\.header\.([\w-]+)", re.ASCII)
_LOCATION = "location"
# What has no other spelling in a URL.
_SEGMENTS = {"integer": r"-?\d+", "string": r"[\w.~-]+"}


class ValuePlace(NamedTuple):
    """Where a response has a value: at a JSON path, or in a header, whose value a group of `pattern` matches."""

    json_path: str = ""
    header: str = ""
    pattern: str = ""


def linked_place(
    document: OpenApiDocument, source: Operation, target: Operation, parameter: Mapping[str, Any]
) -> ValuePlace | None:
    """Return where the response of `source` has the value of a parameter of `target`, by a link; None without one."""
    for one in (source.success(document).get("links") or {}).values():
        link = document.resolved(one)
        if not _leads_to(link, target):
            continue
        names = (parameter["name"], f"{parameter['in']}.{parameter['name']}")
        values = [value for name, value in (link.get("parameters") or {}).items() if name in names]
        return next(filter(None, map(_place, map(str, values))), None)
    return None


def location_place(document: OpenApiDocument, source: Operation, kind: str | None) -> ValuePlace | None:
    """Return that the header Location of a POST that creates something ends with its id; None if it has none.

    `kind` is the type of the id.
    """
    headers = map(str.lower, map(str, source.success(document).get("headers") or ()))
    segment = _SEGMENTS.get(kind or "string")
    if source.method != "POST" or source.codes()[:1] != ("201",) or _LOCATION not in headers or not segment:
        return None
    return ValuePlace(header="Location", pattern=rf"(?i)\nLocation: *[^\r\n?#]*/({segment})/? *(?=[\r\n?#])")


def _leads_to(link: Mapping[str, Any], target: Operation) -> bool:
    if "operationId" in link:
        return bool(link["operationId"] == target.node.get("operationId"))
    *_, path, method = ["", "", *str(link.get("operationRef", "")).split("/")]
    return (method.upper(), unquote(path).replace("~1", "/").replace("~0", "~")) == (target.method, target.path)


def _place(expression: str) -> ValuePlace | None:
    """Return the place that a runtime expression of OpenAPI names; None for one that is not of the response."""
    if body := _BODY.fullmatch(expression):
        return ValuePlace(json_path([int(key) if key.isdigit() else key for key in body[1].split("/")[1:]]))
    if header := _HEADER.fullmatch(expression):
        return ValuePlace(header=header[1], pattern=rf"(?i)\n{header[1]}: *([^\r\n]+)")
    return None
