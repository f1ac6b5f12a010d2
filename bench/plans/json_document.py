"""Builds a JSON document in which JSON paths find values: what a plausible server would answer."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import NAMESPACE_DNS, uuid5

# How many elements a list has, and so how many records a response reports.
COUNT = 3
_STEP = re.compile(
    r"(?P<deep>\.\.)?\.?(?:"
    r"\[\s*\?\s*\((?P<filter>.*?)\)\s*\]|\[\s*(?P<index>\d+)\s*\]|\[\s*'(?P<quoted>[^']*)'\s*\]|(?P<any>\[\s*\*\s*\]|\*)|"
    r"(?P<name>[\w@-]+))"
)
_CONDITION = re.compile(r"@\.(?P<path>[\w.\[\]]+)(?:\s*(?P<sign>==|!=|>=|<=|>|<)\s*(?P<value>'[^']*'|\"[^\"]*\"|\S+))?")
_NUMBER = re.compile(
    r"(?i)^total|(?<!ac)count$|num(ber)?(of|$)|size$|quantity|^progress$|^current$|version$|exported$|amount$"
)
_DATE = re.compile(r"(?i)(start|end|expiration|timestamp)$|date(?!d)")
_ID = re.compile(r"(?i)ids?$|uuid")
_LINK = re.compile(r"(?i)link|url|^files?$|path$")
_FLAG = re.compile(r"^(is|has)[A-Z]|^active$")
_NOT_PLURAL = re.compile(r"(?i)(status|progress|address|class|access|ss|us|is)$")


@dataclass(frozen=True)
class Choice:
    """A value that differs from response to response: one of these, at random."""

    values: tuple[Any, ...]


@dataclass
class Document:
    """A JSON document that grows by paths; `known` returns the values that a text with variables can have."""

    known: Callable[[str], Sequence[str]] = lambda text: () if "${" in text else (text,)
    root: Any = None

    def add(self, path: str, value: Any = None) -> None:
        """Make the path find `value`, or a made-up value without one; an unknown kind of path is ignored."""
        if steps := _steps(path):
            self.root = self._grown(self.root, steps, "", "", value)

    def text(self, *, is_compact: bool = False) -> str:
        """Return the document as JSON, in the spacing of FOLIO, `"id" : "…"`, or without spaces."""
        separators = (",", ":") if is_compact else (", ", " : ")
        return json.dumps(self.root, separators=separators, default=lambda choice: random.choice(choice.values))

    def _grown(self, node: Any, steps: Sequence[re.Match[str]], name: str, location: str, value: Any) -> Any:
        """Return a node in which the steps find the value; lists get the same keys in every element."""
        if not steps:
            return value if value is not None else made_up(name, location) if node is None else node
        step, rest = steps[0], steps[1:]
        key = step["name"] if step["quoted"] is None else step["quoted"]
        if key is None and isinstance(node, dict) and step["index"] is None:
            if not (step["deep"] and step["filter"]):
                return node
            key, rest = "records", steps  # a filter over everything: any list will do
        if key is None:
            return self._list(node, step, rest, name, location, value)
        if isinstance(node, list):
            # Only `..name` finds something in the elements of a list.
            return (
                [self._grown(one, steps, name, f"{location}[{at}]", value) for at, one in enumerate(node)]
                if step["deep"]
                else node
            )
        found = node if isinstance(node, dict) else {}
        found[key] = self._grown(found.get(key), rest, key, f"{location}.{key}", value)
        return found

    def _list(
        self, node: Any, step: re.Match[str], rest: Sequence[re.Match[str]], name: str, location: str, value: Any
    ) -> list[Any]:
        elements = list(node) if isinstance(node, list) else []
        elements += [None] * (max(COUNT, int(step["index"] or 0) + 1) - len(elements))
        if step["filter"]:
            elements = self._filtered(elements, step["filter"], location)
        grown = []
        for index, element in enumerate(elements):
            below = f"{location}[{index}]"
            if not rest and element is None and value is None:
                element = _made_up_element(name, below)
            one = self._grown(element, rest, name, below, value)
            if isinstance(one, dict):
                one.setdefault("id", made_up("id", f"{below}.id"))
            grown.append(one)
        return grown

    def _filtered(self, elements: list[Any], text: str, location: str) -> list[Any]:
        """Return the elements so that one of them fulfils each condition of a filter."""
        for match in _CONDITION.finditer(text):
            steps = _steps(match["path"])
            values: Sequence[str] = ()
            if match["sign"] == "==" and match["path"] != "id":
                values = self.known((match["value"] or "").strip("'\""))
            elements += [None] * (len(values) - len(elements))
            for index, one in enumerate(elements):
                wanted = values[index] if index < len(values) else None
                elements[index] = self._grown(one, steps, "", f"{location}[{index}]", wanted)
        return elements


def made_up(name: str, location: str) -> Any:
    """Return a plausible value of a key; the same location always has the same one, so that ids fit together."""
    if name.endswith("s") and not (_NOT_PLURAL.search(name) or _NUMBER.search(name)):
        return [_made_up_element(name, f"{location}[{index}]") for index in range(COUNT)]
    if _ID.search(name):
        return str(uuid5(NAMESPACE_DNS, location))
    if _LINK.search(name):
        return f"/stand-in/{name}"
    if _NUMBER.search(name):
        return COUNT
    if _DATE.search(name):
        return "2030-01-01T00:00:00.000Z"
    if _FLAG.search(name):
        return True
    return f"{name}-1"


def _made_up_element(name: str, location: str) -> Any:
    """Return an element of a list with this name: a text for ids and links, else an object with an id."""
    if _ID.search(name):
        return str(uuid5(NAMESPACE_DNS, location))
    return f"/stand-in/{name}" if _LINK.search(name) else {"id": str(uuid5(NAMESPACE_DNS, f"{location}.id"))}


def _steps(path: str) -> list[re.Match[str]]:
    """Return the steps of a JSON path; none for one that is not understood."""
    text = path.strip().removeprefix("$")
    position, found = 0, []
    while position < len(text):
        match = _STEP.match(text, position)
        if not match:
            return []
        found.append(match)
        position = match.end()
    return found
