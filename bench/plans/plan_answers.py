"""Derives from a test plan what its server answers: for each request a response that its own elements accept.

The plan's extractors, assertions and scripts name what they expect of a response. Requests are recognised by method,
path, query and body, because nothing in a request names its sampler.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import unquote_plus

from bench.plans.plan_expectations import Body, Expectations, put_by_scripts, wanted_by_loops
from harness.plan.checks.lint import text_parts
from harness.plan.jmx.csv_data import KINDS as CSV_KINDS
from harness.plan.jmx.csv_data import column
from harness.plan.jmx.tree import Node, enabled_nodes, plan_tree
from harness.plan.jmx.values import UnknownValueError, Values

_VALUES_MOST = 50
_VARIABLE = re.compile(r"\$\{(\w+)\}")


@dataclass(frozen=True)
class Answer:
    """A response: its code, its headers besides those of every response, and its body."""

    code: int
    headers: tuple[tuple[str, str], ...]
    content_type: str
    body: str


@dataclass
class Route:
    """The requests that look the same: `target` matches their decoded path and query.

    `weight` counts the known characters of the target, `body` are the known parts of a body. `variants` are responses
    to requests that look the same but expect something else.
    """

    method: str
    path: re.Pattern[str]
    target: re.Pattern[str]
    weight: int
    body: tuple[str, ...]
    variants: list[Expectations]
    _count: Iterator[int] = field(default_factory=count)

    def add(self, expected: Expectations) -> None:
        """Add what a further sampler expects: to a response that can be both, else as one more response."""
        for variant in self.variants:
            if variant.agrees(expected):
                variant.add(expected)
                return
        self.variants.append(expected)

    def next(self) -> Expectations:
        """Return what the next response contains; different ones take turns, in the order of the plan."""
        return self.variants[next(self._count) % len(self.variants)]

    def fits(self, body: str) -> int:
        """Return how many known characters a body has; -1 when a part is missing."""
        position = known = 0
        for part in self.body:
            position = body.find(part, position)
            if position < 0:
                return -1
            position, known = position + len(part), known + len(part)
        return known


class _RouteKey(NamedTuple):
    """What distinguishes routes: method, pattern of the target, and the known parts of the body."""

    method: str
    target: str
    body: tuple[str, ...]


class _Target(NamedTuple):
    """The pattern of a decoded path and query, and how many of its characters are known."""

    pattern: re.Pattern[str]
    weight: int


class _Piece(NamedTuple):
    """A part of a text: its value, or the reference to a variable that only the run knows."""

    text: str
    is_known: bool


@dataclass
class Answers:
    """The routes of a plan; requests that no sampler sends get an empty JSON object."""

    routes: list[Route] = field(default_factory=list)

    @classmethod
    def of(cls, jmx: Path, properties: Mapping[str, str] = MappingProxyType({})) -> Answers:
        """Return the answers that the samplers of a JMX expect in a run with these properties."""
        tree = plan_tree(jmx)
        nodes = enabled_nodes(tree)
        values = Values.of(nodes, properties, jmx.parent)
        loops, puts = wanted_by_loops(nodes), put_by_scripts(nodes)
        routes: dict[_RouteKey, Route] = {}
        for node in nodes:
            if node.kind.startswith("HTTPSampler"):
                route = _route(node, values, loops, puts)
                key = _RouteKey(route.method, route.target.pattern, route.body)
                before = routes.setdefault(key, route)
                if before is not route:
                    before.add(route.variants[0])
        return cls(list(routes.values()))

    def answer(self, method: str, target: str, body: str) -> Answer:
        """Return the response to a request; `target` is its path with the query."""
        route = self.route(method, unquote_plus(target), " ".join(body.split()))
        return _answer(route.next()) if route else Answer(200, (), "application/json", "{}")

    def route(self, method: str, target: str, body: str) -> Route | None:
        """Return the route that fits best: by path and query, else by path; among equals by body."""
        same = [route for route in self.routes if route.method == method]
        path = target.partition("?")[0]
        found = [route for route in same if route.target.fullmatch(target)]
        found = found or [route for route in same if route.path.fullmatch(path)]
        return max(found, key=lambda route: (route.weight, route.fits(body)), default=None)


def _answer(expected: Expectations) -> Answer:
    code, headers = expected.code(), tuple(expected.headers.items())
    body = Body("", "") if code == 204 else expected.body()
    return Answer(code, headers, body.content_type, body.text)


def _route(node: Node, values: Values, loops: Mapping[str, Sequence[str]], puts: Mapping[str, Sequence[str]]) -> Route:
    expected = Expectations(lambda text: _known_values(values, text, puts))
    path = node.value("HTTPSampler.path").strip()
    if "login" in path:
        expected.add_login()
    for element in _in_scope(node):
        expected.read(element, loops)
    target, parts = path, _arguments(node)
    is_raw = node.value("HTTPSampler.postBodyRaw") == "true"
    body: list[str] = []
    if is_raw or _method(node) in ("POST", "PUT", "PATCH"):
        for _, value in parts:
            known = (piece.text for piece in _pieces(value, values) if piece.is_known)
            body += [part for text in known if (part := " ".join(text.split()))]
    else:
        for name, value in parts:
            target += ("&" if "?" in target else "?") + (f"{name}={value}" if name else value)
    whole, plain = _target(target, values), _target(path.partition("?")[0], values)
    return Route(_method(node), plain.pattern, whole.pattern, whole.weight, tuple(body), [expected])


def _method(node: Node) -> str:
    return node.value("HTTPSampler.method") or "GET"


def _arguments(node: Node) -> list[tuple[str, str]]:
    """Return the parameters of a request, or its body as one without a name."""
    return [
        (argument.findtext("stringProp[@name='Argument.name']") or "", text)
        for argument in node.element.iter("elementProp")
        if argument.get("elementType") == "HTTPArgument"
        and (text := argument.findtext("stringProp[@name='Argument.value']") or "") is not None
    ]


def _in_scope(node: Node) -> Iterator[Node]:
    """Yield the elements that JMeter applies to a sampler: its own, and those beside it and its ancestors."""
    level: Node | None = node
    while level is not None:
        yield from (child for child in level.children if child.element.get("enabled", "true") == "true")
        level = level.parent


def _target(raw: str, values: Values) -> _Target:
    """Return the pattern of a path, with or without a query, as the plan has it."""
    pattern, weight = "", 0
    for piece in _pieces(raw, values):
        decoded = unquote_plus(piece.text)
        pattern += r"\s+".join(map(re.escape, re.split(r"\s+", decoded))) if piece.is_known else ".*"
        weight += len(decoded) if piece.is_known else 0
    return _Target(re.compile(pattern, re.DOTALL), weight)


def _pieces(raw: str, values: Values) -> Iterator[_Piece]:
    """Yield the parts of a text in order."""
    for part in text_parts(raw):
        try:
            yield _Piece(values.text(part.text) if part.is_reference else part.text, True)
        except UnknownValueError:
            yield _Piece(part.text, False)


def _known_values(values: Values, text: str, puts: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """Return the values that a text can have: its own, those of a CSV column, and those that scripts put."""
    found: list[str] = []
    try:
        found.append(values.text(text))
    except UnknownValueError as error:
        rows: list[str] = []
        for setter in values.setters.get(error.variable, ()):
            if setter.kind in CSV_KINDS:
                rows += column(setter, values.csv_file(setter), error.variable) or ()
        found += [text.replace(f"${{{error.variable}}}", row) for row in dict.fromkeys(rows)]
    for name in _VARIABLE.findall(text):
        found += [text.replace(f"${{{name}}}", value) for value in puts.get(name, ())]
    return found[:_VALUES_MOST]
