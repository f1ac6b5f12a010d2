"""Collects what the extractors, assertions and scripts of a sampler expect of its response."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from bench.plans.json_document import COUNT, Choice, Document
from harness.plan.jmx.tree import Node

_MATCH, _CONTAINS, _NOT, _EQUALS, _SUBSTRING, _OR = 1, 2, 4, 8, 16, 32
_CODES = (200, 201, 202, 204)
_KEY = re.compile(r'"?(\w+)"\s*:?\s*"?')
_HEADER = re.compile(r"\^?(?:\(\?i\))?([A-Za-z][\w-]*):(?:\s|\\s[*+]?)*(.+)")
_GROUP = re.compile(r"\((?!\?i)[^()]*\)")
_PARSED = re.compile(r"(\w+)\s*=\s*new\s+(?:groovy\.json\.)?JsonSlurper\(\)\s*\.\s*parseText\(([^;\n]*)")
_COMPILED = re.compile(r"JsonPath\.(?:compile|read)\([^\"']*[\"']\\?(\$[^\"]*)[\"']")
_VARIABLE = r"(?:\"\$\{(\w+)\}\"|vars\.get\([\"'](\w+)[\"']\)(?:\.toInteger\(\))?|\$\{(\w+)\})"
_COMPARED = re.compile(_VARIABLE + r"\s*(==|!=|=|\.equals\()\s*[\"']?([\w -]+?)[\"']?\s*(?=[)&|,}]|$)")
_PUT = re.compile(r"vars\.put(?:Object)?\(\s*[\"'](\w+)[\"']\s*,\s*[\"']([^\"'$]+)[\"']")
_FAILED = re.compile(r"(?i)fail|error|not_?found|cancel")
# What FOLIO answers to a log-in: the token as a header and as a cookie.
_TOKEN = "stand-in-token"
_LOGIN = {
    "x-okapi-token": _TOKEN,
    "Set-Cookie folioAccessToken": f"folioAccessToken={_TOKEN}; Path=/; HttpOnly",
    "Set-Cookie folioRefreshToken": f"folioRefreshToken={_TOKEN}; Path=/; HttpOnly",
}
_NULL = Choice((None,))


@dataclass(frozen=True)
class TextAssertion:
    """A Response Assertion: texts or patterns, and JMeter's bits for how they are compared."""

    texts: tuple[str, ...]
    kind: int

    def accepts(self, text: str) -> bool:
        """Return whether a response with this text or code passes."""
        found = [self._finds(expected, text) is not bool(self.kind & _NOT) for expected in self.texts]
        return any(found) if self.kind & _OR else all(found)

    def _finds(self, expected: str, text: str) -> bool:
        if self.kind & _EQUALS:
            return expected == text
        if self.kind & _SUBSTRING:
            return expected in text
        try:
            return bool(re.search(expected, text) if self.kind & _CONTAINS else re.fullmatch(expected, text))
        except re.error:
            return expected in text


class Body(NamedTuple):
    """The body of a response."""

    content_type: str
    text: str


@dataclass
class Expectations:
    """What a response must contain: codes, parts of the text, JSON paths with their values, headers.

    A path with the value None needs any value. `different` are the values that a path must not have.
    """

    known: Callable[[str], Sequence[str]]
    codes: list[TextAssertion] = field(default_factory=list)
    paths: dict[str, Any] = field(default_factory=dict)
    different: dict[str, str] = field(default_factory=dict)
    absent: set[str] = field(default_factory=set)
    parts: list[str] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    is_compact: bool = False
    _document: Document | None = None

    def add_login(self) -> None:
        """Add the token of a log-in."""
        self.headers |= _LOGIN

    def agrees(self, other: Expectations) -> bool:
        """Return whether one response can be what both expect."""
        fixed = {path: value for path, value in self.paths.items() if value is not None}
        their = {path: value for path, value in other.paths.items() if value is not None}
        return (
            all(their.get(path, value) == value for path, value in fixed.items())
            and not any(other.different.get(path) == value for path, value in fixed.items())
            and not any(self.different.get(path) == value for path, value in their.items())
            and not (self.absent & other.paths.keys() or other.absent & self.paths.keys())
            and bool(self._codes(other.codes))
            and bool(self.parts) is bool(other.parts)
        )

    def add(self, other: Expectations) -> None:
        """Expect also what another sampler of the same request expects."""
        self.codes += [one for one in other.codes if one not in self.codes]
        self.parts += [one for one in other.parts if one not in self.parts]
        for path, value in other.paths.items():
            self._expect(path, value)
        self.different |= other.different
        self.absent |= other.absent
        self.headers |= other.headers
        self.is_compact = self.is_compact or other.is_compact

    def read(self, element: Node, loops: Mapping[str, Sequence[str]]) -> None:
        """Add what an element beside or below the sampler expects; `loops` are the values that end loops."""
        if element.value("Sample.scope") == "variable" or element.value("Assertion.scope") == "variable":
            return
        if element.kind == "ResponseAssertion":
            self._assertion(element)
        elif element.kind == "JSONPostProcessor":
            names = element.value("JSONPostProcessor.referenceNames").split(";")
            for index, path in enumerate(element.value("JSONPostProcessor.jsonPathExprs").split(";")):
                name = names[index].strip() if index < len(names) else ""
                self._expect(path.strip(), _choice(loops[name]) if name in loops else None)
        elif element.kind == "JSONPathAssertion":
            self._json_assertion(element)
        elif element.kind == "RegexExtractor":
            self._pattern(element.value("RegexExtractor.regex"), element.value("RegexExtractor.useHeaders"))
        elif element.kind == "BoundaryExtractor":
            sides = [element.value(f"BoundaryExtractor.{side}boundary") for side in "lr"]
            if element.value("BoundaryExtractor.useHeaders") == "true":
                self._pattern(f"{re.escape(sides[0])}(.*){re.escape(sides[1])}", "true")
            elif key := re.search(r'(\w+)":"?$', sides[0]):
                self._expect(f"$.{key[1]}", None)
                self.is_compact = True
        elif element.kind.startswith(("JSR223", "BeanShell")):
            for path in _paths_of_script(element.value("script") or element.value("BeanShellPostProcessor.query")):
                self._expect(path, None)

    def code(self) -> int:
        """Return a response code that all assertions accept."""
        return (self._codes(()) or [200])[0]

    def body(self) -> Body:
        """Return a body that has all parts or paths."""
        if self.parts and not self.paths:
            content_type = "application/xml" if "xml version" in self.parts[0] else "text/html"
            return Body(content_type, "\n".join(self.parts))
        if self._document is None:
            self._document = self._built()
        return Body("application/json", self._document.text(is_compact=self.is_compact))

    def _built(self) -> Document:
        document = Document(self.known)
        for path, value in self.paths.items():
            if path not in self.absent:
                document.add(path, value)
        if document.root is None:
            document.add("$.id")
        if isinstance(document.root, dict):
            document.root.setdefault("totalRecords", COUNT)
            if self.parts:
                document.root["text"] = " ".join(self.parts)
        return document

    def _codes(self, more: Iterable[TextAssertion]) -> list[int]:
        """Return the codes that all assertions accept, the usual ones first."""
        asserted = [*self.codes, *more]
        named = {int(text) for one in asserted for text in one.texts if re.fullmatch(r"[1-5]\d\d", text)}
        candidates = [*_CODES, *sorted(named - set(_CODES))]
        return [code for code in candidates if all(one.accepts(str(code)) for one in asserted)]

    def _assertion(self, element: Node) -> None:
        texts = element.element.find("collectionProp[@name='Asserion.test_strings']")
        found = tuple(
            known[0] for text in (texts if texts is not None else ()) if (known := self.known(text.text or ""))
        )
        assertion = TextAssertion(found, int(element.value("Assertion.test_type") or _CONTAINS))
        where = element.value("Assertion.test_field")
        if where == "Assertion.response_code" and found:
            self.codes.append(assertion)
        elif where == "Assertion.response_data" and found and not assertion.kind & _NOT:
            for text in found:
                if key := _KEY.fullmatch(text):
                    self._expect(f"$.{key[1]}", None)
                else:
                    self.parts.append(text if assertion.kind & (_EQUALS | _SUBSTRING) else _example(text))

    def _json_assertion(self, element: Node) -> None:
        path, expected = element.value("JSON_PATH").strip(), element.value("EXPECTED_VALUE")
        flags = {name: element.value(name) == "true" for name in ("JSONVALIDATION", "EXPECT_NULL", "INVERT", "ISREGEX")}
        if not flags["JSONVALIDATION"]:
            if flags["INVERT"]:
                self.absent.add(path)
            else:
                self._expect(path, None)
            return
        values = self.known(expected)
        wanted: Any = _of_pattern(expected) if flags["ISREGEX"] else _json_value(values[0]) if values else None
        if flags["EXPECT_NULL"]:
            self._expect(path, None if flags["INVERT"] else _NULL)
        elif flags["INVERT"]:
            self._expect(path, None)
            self.different[path] = wanted
        elif wanted == [] and re.search(r"\.\.|[?*]", path):
            self.absent.add(path)
        else:
            self._expect(path, wanted)

    def _expect(self, path: str, value: Any) -> None:
        if path and self.paths.get(path) is None:
            self.paths[path] = value

    def _pattern(self, pattern: str, where: str) -> None:
        """Add a header, a cookie or a text in which a pattern is found."""
        if where == "true":
            header = _HEADER.fullmatch(pattern)
            if header:
                self.headers[header[1]] = _example(header[2])
            elif cookie := re.match(r"(\w+)=", pattern):
                self.headers[f"Set-Cookie {cookie[1]}"] = f"{_example(pattern).rstrip(';')}; Path=/"
        elif where in ("", "false"):
            self.parts.append(_example(pattern))


def wanted_by_loops(nodes: Iterable[Node]) -> dict[str, list[str]]:
    """Return the variables on which While Controllers wait, with the values that end them."""
    ends: dict[str, list[str]] = {}
    waits: dict[str, set[str]] = {}
    for node in nodes:
        if node.kind == "WhileController":
            for match in _COMPARED.finditer(node.value("WhileController.condition")):
                name = match[1] or match[2] or match[3]
                if match[4] == "!=":
                    ends.setdefault(name, []).append(match[5])
                else:
                    waits.setdefault(name, set()).add(match[5])
    found = {}
    for name in sorted(ends.keys() | waits.keys()):
        values = list(dict.fromkeys(value for value in ends.get(name, ()) if not _FAILED.search(value)))
        if not values and name in ends:
            values = [] if name.lower().endswith("id") else ends[name][:1]
        if name in waits and set(values) <= waits[name]:
            values.append("COMPLETED")
        if values:
            found[name] = values
    return found


def put_by_scripts(nodes: Iterable[Node]) -> dict[str, list[str]]:
    """Return the variables to which scripts assign fixed texts, with these."""
    found: dict[str, list[str]] = {}
    for node in nodes:
        for name, value in _PUT.findall(node.value("script")):
            found.setdefault(name, []).append(value)
    return found


def _choice(values: Sequence[str]) -> Choice:
    return Choice(tuple(int(value) if value.isdigit() else value for value in values))


def _paths_of_script(script: str) -> list[str]:
    """Return the JSON paths that a script reads in the response."""
    paths = [match[1].replace("\\$", "$") for match in _COMPILED.finditer(script)]
    for parsed in _PARSED.finditer(script):
        if "prev" not in parsed[2] and "response" not in parsed[2].lower():
            continue
        for read in re.finditer(rf"\b{parsed[1]}((?:\??\.\w+(?:\[\d+\])?)+)(\s*[({{])?", script):
            path = read[1].replace("?", "")
            path = path.rpartition(".")[0] if read[2] else path
            if path:
                paths.append(f"${path}")
    return paths


def _json_value(text: str) -> Any:
    """Return the value that JMeter writes as this text: a number, a list, … or the text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _of_pattern(pattern: str) -> Any:
    """Return a value that a pattern of a JSON Assertion matches: a number, or the pattern as a text."""
    try:
        return COUNT if re.fullmatch(pattern, str(COUNT)) else _example(pattern)
    except re.error:
        return _json_value(pattern)


def _example(pattern: str) -> str:
    """Return a text that a simple pattern matches."""
    text = _GROUP.sub(lambda match: "1" if r"\d" in match[0] else _TOKEN, pattern)
    text = re.sub(r"\.[*+]\??", _TOKEN, text)
    return re.sub(r"\\(.)", r"\1", text)
