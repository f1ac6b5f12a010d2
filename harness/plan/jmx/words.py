"""Describes the elements of a JMX in the words of JMeter's GUI: their kinds, their properties and their values."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from xml.etree import ElementTree  # types only

from harness.plan.jmx.environment import as_in_plan
from harness.plan.jmx.tree import Node, is_own_enabled

_TABLE = Path(__file__).parent / "gui_names.toml"
# The first pattern that is in the name of a class gives its noun.
_NOUNS = {
    "TestPlan$": "test plan",
    "ThreadGroup$": "thread group",
    "Assertion": "assertion",
    "Timer$": "timer",
    "Extractor|JSONPostProcessor": "extractor",
    "PreProcessor|Modifier$|UserParameters": "pre-processor",
    "PostProcessor|ResultAction": "post-processor",
    "Controller$": "controller",
    r"Sampler(Proxy|2)?$": "request",
    r"ResultCollector|ResultSaver|Summariser|Listener|\.vizualizers\.": "listener",
    "CSVDataSet": "data set",
    "TestAction$": "action",
    "Manager$|Config|Arguments$": "configuration",
}
# The properties that name an item of a list, and what such items are.
_ITEMS = {
    "Argument.name": "variable",
    "Header.name": "header",
    "Cookie.name": "cookie",
    "File.path": "file",
    "Authorization.url": "authorization",
}
_PARAMETER = "HTTPArgument"
# The values that text_lines leaves out: empty, the default of most flags, and the = of each parameter.
_UNTOLD = ("", "false", "=")


@dataclass(frozen=True)
class Property:
    """A property of an element: its text, or the properties that it contains.

    `key` is unique among those beside it, and `label` is its name in the GUI. `is_list` is whether the order of
    `parts` matters; other parts are sorted by their keys. `name_key` is the key of the part that names an item.
    """

    key: str
    label: str
    text: str
    parts: tuple[Property, ...] = ()
    is_list: bool = False
    name_key: str = ""

    @property
    def rest(self) -> tuple[Property, ...]:
        """The parts without the one that names the item."""
        return tuple(part for part in self.parts if part.key != self.name_key)


def properties_of(element: ElementTree.Element) -> tuple[Property, ...]:
    """Return the properties of an element, sorted by their keys."""
    return tuple(sorted(_unique(_property(child) for child in element), key=lambda one: one.key))


def noun_of(node: Node) -> str:
    """Return what an element is: request, assertion, timer, …; the name of its class when that is not known."""
    found = (noun for pattern, noun in _NOUNS.items() if re.search(pattern, node.kind))
    return next(found, node.kind.rpartition(".")[2])


def title_of(node: Node) -> str:
    """Return what an element is, with its name: `request *Pay*`."""
    return f"{noun_of(node)} {name_of(node)}"


def name_of(node: Node) -> str:
    """Return the name of an element, of one without a name its kind: `*Pay*`, `*HTTPSamplerProxy*`."""
    return f"*{one_line(node.name) or node.kind}*"


def one_line(text: str) -> str:
    """Return a text in one line."""
    return " ".join(text.split())


def text_lines(tree: Node) -> Iterator[str]:
    """Yield a line per element of a plan, indented by its depth, with its properties that are neither empty nor false.

    Parameters, variables, headers and the lines of long texts have lines of their own below it.
    """
    pending = [(tree, "")]
    while pending:
        node, indent = pending.pop()
        properties = properties_of(node.element)
        off = "" if is_own_enabled(node.element) else " (disabled)"
        yield from _lines(f"{indent}{title_of(node)}{off}", properties, indent)
        for one in _items(properties):
            yield from _lines(f"{indent}  - {one.label}", one.rest, f"{indent}  ")
        pending += [(child, f"{indent}  ") for child in reversed(node.children)]


def _lines(title: str, properties: Sequence[Property], indent: str) -> Iterator[str]:
    pairs = [(one.label, one.text) for one in _leaves(properties) if one.text not in _UNTOLD]
    brief = ", ".join(f"{label}={text}" for label, text in pairs if "\n" not in text)
    yield f"{title}: {brief}" if brief else title
    for label, text in pairs:
        if "\n" in text:
            yield f"{indent}  {label}:"
            yield from (f"{indent}  | {line}" for line in text.split("\n"))


def _leaves(properties: Sequence[Property]) -> Iterator[Property]:
    for one in properties:
        yield one
        yield from _leaves(() if one.is_list else one.parts)


def _items(properties: Sequence[Property]) -> Iterator[Property]:
    for one in properties:
        yield from one.parts if one.is_list else _items(one.parts)


def _property(element: ElementTree.Element) -> Property:
    name = element.get("name") or element.tag
    if element.tag == "collectionProp" and not any(child.tag == "elementProp" for child in element):
        return Property(name, _label(name), _listed(element))
    if not len(element):
        return Property(name, _label(name), as_in_plan(element.text or ""))
    if element.tag == "collectionProp":
        items = tuple(_unique(_item(child) for child in element))
        return Property(name, _label(name), "", items, is_list=True)
    return Property(name, _label(name), "", properties_of(element))


def _item(element: ElementTree.Element) -> Property:
    """Return an item of a list, such as a request parameter or a header; its key is its name."""
    parts = properties_of(element)
    named = next((part for part in parts if part.key in _ITEMS), None)
    name, name_key = (named.text, named.key) if named else (element.get("name", ""), "")
    noun = "parameter" if element.get("elementType") == _PARAMETER else _ITEMS.get(name_key, "entry")
    label = f"{noun} *{one_line(name)}*" if name else "body" if noun == "parameter" else noun
    return Property(
        f"{noun} {name}", label, as_in_plan(element.text or "") if not parts else "", parts, name_key=name_key
    )


def _listed(element: ElementTree.Element) -> str:
    """Return the texts of a list, and of lists in it, as one text; lists that differ have different texts."""
    texts = [f"({_listed(child)})" if len(child) else as_in_plan(child.text or "") for child in element]
    is_plain = all(text and not re.search('[",]', text) for text in texts)
    return ", ".join(texts) if is_plain else json.dumps(texts, ensure_ascii=False)


def _unique(properties: Iterator[Property]) -> Iterator[Property]:
    """Yield properties, those with a key that was there before with a number."""
    seen: Counter[str] = Counter()
    for item in properties:
        seen[item.key] += 1
        again = f"{item.key} ({seen[item.key]})"
        yield (
            item
            if seen[item.key] == 1
            else Property(again, item.label, item.text, item.parts, item.is_list, item.name_key)
        )


def _label(name: str) -> str:
    return _labels().get(name, name)


@cache
def _labels() -> dict[str, str]:
    return tomllib.loads(_TABLE.read_text(encoding="utf-8"))
