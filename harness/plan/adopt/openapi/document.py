"""Reads an OpenAPI file, in YAML or JSON, and follows the references in it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote, unquote

import yaml

from harness.base.errors import UsageError
from harness.base.paths import shown
from harness.base.regular import regular
from harness.plan.adopt.own_files import is_own, top_of

_VERSIONS = ("3.0", "3.1")
# Braces begin a text of YAML, too: its keys are without quotes.
_JSON = re.compile(r'\s*\{\s*["}]')
# The key of the other files in the document.
_FILES = "x-files"
# What is no text in YAML 1.2: a date, `yes`, `no` and 12:30 are texts. The tag, its pattern, its first characters.
_RESOLVED = (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", r"~|null|Null|NULL|", ("~", "n", "N", "")),
    ("int", r"[-+]?(?:0|[1-9]\d*)", "-+0123456789"),
    ("float", r"[-+]?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][-+]?\d+)?", "-+.0123456789"),
    ("merge", "<<", "<"),
)


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}


for _tag, _pattern, _first in _RESOLVED:
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"(?:{_pattern})$"), list(_first))


class NotMadeError(Exception):
    """No request can be made of an operation; the text is the cause."""


@dataclass(frozen=True)
class OpenApiDocument:
    """The content of an OpenAPI file, with the file's name for messages."""

    name: str
    root: Mapping[str, Any]

    def at(self, reference: str) -> Any:
        """Return what a reference such as #/components/schemas/Pet names. NotMadeError when it is in no local file."""
        if "://" in reference:
            raise NotMadeError(f"$ref {reference} is at another address: download it and refer to the file")
        if not reference.startswith("#/"):
            raise NotMadeError(f"$ref {reference} does not exist")
        node: Any = self.root
        for part in reference[2:].split("/"):
            key = unquote(part).replace("~1", "/").replace("~0", "~")
            try:
                node = node[int(key)] if isinstance(node, list) else node[key]
            except (KeyError, IndexError, TypeError, ValueError):
                raise NotMadeError(f"$ref {reference} does not exist") from None
        return node

    def resolved(self, node: Any) -> Mapping[str, Any]:
        """Return an object after all references. NotMadeError for a cycle, and for what is no object."""
        seen: list[str] = []
        while isinstance(node, Mapping) and isinstance(reference := node.get("$ref"), str):
            if reference in seen:
                raise NotMadeError(f"$ref {reference} refers to itself")
            seen.append(reference)
            node = self.at(reference)
        if not isinstance(node, Mapping):
            raise NotMadeError(f"{seen[-1] if seen else str(node)[:40]!r} is no object")
        return node


def read_document(path: Path) -> OpenApiDocument:
    """Return an OpenAPI file with the local files that it refers to.

    UsageError when one cannot be read, or the file is of another version than 3.0 or 3.1.
    """
    root = _parsed(path)
    if isinstance(root, Mapping) and "swagger" in root:
        raise UsageError(f"{path.name}: is Swagger {root['swagger']}", "convert it to OpenAPI 3: npx swagger2openapi")
    version = str(root.get("openapi", "")) if isinstance(root, Mapping) else ""
    if not version:
        raise UsageError(f"{path.name}: is no OpenAPI file", "give one with the key openapi")
    if version[:3] not in _VERSIONS:
        raise UsageError(f"{path.name}: OpenAPI {version} is not supported", f"give {' or '.join(_VERSIONS)}")
    _add_files(root, path.resolve())
    return OpenApiDocument(path.name, root)


def _add_files(root: dict[str, Any], path: Path) -> None:
    """Add the contents of the local files that a document refers to, and make their references refer into it."""
    added: dict[str, Any] = {}
    prefixes = {path: "#"}
    left: list[tuple[Path, Any]] = [(path, root)]
    # Aliases of YAML give an object several places. Each of these objects lives as long as the document: the id of one
    # that is freed would be that of another.
    seen = set[int]()
    while left:
        file, node = left.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        nodes = node.values() if isinstance(node, dict) else node
        left += [(file, one) for one in nodes if isinstance(one, dict | list)]
        reference = node.get("$ref") if isinstance(node, dict) else None
        if not isinstance(reference, str) or "://" in reference:
            continue
        name, _, pointer = reference.partition("#")
        target = (file.parent / unquote(name)).resolve() if name else file
        if target not in prefixes and not is_own(target, path):
            todo = "only files below it are read: copy the file there"
            where = f"outside of {shown(top_of(path))}, or hidden there"
            raise UsageError(f"{path.name}: $ref {reference[:200]!r} is {where}", todo)
        if target not in prefixes and target.is_file():
            key = target.name if target.name not in added else f"{len(added)}-{target.name}"
            prefixes[target] = f"#/{_FILES}/{quote(key.replace('~', '~0'))}"
            added[key] = _parsed(target)
            if isinstance(added[key], dict | list):
                left.append((target, added[key]))
        if target in prefixes:
            node["$ref"] = prefixes[target] + pointer
    if added:
        root[_FILES] = added


def _parsed(path: Path) -> Any:
    try:
        text = regular(path).read_text(encoding="utf-8-sig")
        return json.loads(text) if _JSON.match(text) else yaml.load(text, _Loader)
    except FileNotFoundError:
        raise UsageError(f"{path}: there is no such file", "name an OpenAPI file, YAML or JSON") from None
    except (OSError, ValueError, yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else getattr(error, "lineno", "")
        causes = (getattr(error, name, None) for name in ("strerror", "problem", "msg"))
        reason = next(filter(None, causes), str(error).partition("\n")[0])
        raise UsageError(f"{path.name}{f':{line}' if line else ''}: cannot be read ({reason})", "repair it") from None
