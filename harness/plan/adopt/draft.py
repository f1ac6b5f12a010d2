"""Edits a JMX as text: the elements that are changed get new text, and every other byte stays as it is.

Its texts are those of a user's JMX and expressions of ours, so JMeter evaluates them. A foreign text comes into a JMX
only by `plan/jmx_writer.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from xml.etree import ElementTree  # builds XML; harness.plan.jmx reads files safely
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from harness.plan.jmx.tree import Node, parse, tree_of

_ENCODING = re.compile(rb"""^<\?xml[^>]*encoding=["']([\w.-]+)["']""")
_TAG = re.compile(rb"""<(?:[^>"']|"[^"]*"|'[^']*')*>""")
_INDENT = "  "


class Fix(StrEnum):
    """A kind of fix that `lth init` offers; its value is the title that people read."""

    TARGET = "host, port and protocol are those of --target, also for credentials and cookies"
    BASE_PATH = "paths begin with the path of --target"
    GROUPS = "thread groups have the kinds and names by which the report separates setUp and load"
    MODULES = "Module Controllers have the present name of the Test Plan in their paths"
    LOAD = "users, ramp-up, duration, loops and think time are those of the run"
    EMBEDDED = "embedded resources are not retrieved"
    CODES = "response codes are asserted: an HTTP request without an assertion must return 2xx, or 3xx if JMeter may"
    LISTENERS = "listeners are disabled: the harness writes the JTL"
    PROPERTIES = "properties have one default"
    LABELS = "each sampler of a thread group has its own label"
    PATHS = "characters that no URL can have are encoded"
    ASSERTIONS = "assertions of a variable without a name check the response"
    SECRETS = "passwords, tokens and keys are environment variables"
    DATA = "the files that the plan reads are in plans/data"


@dataclass(frozen=True)
class TextSpan:
    """Where an element is in the file, in bytes: start tag from `start` to `inner`, everything to `end`."""

    start: int
    inner: int
    end: int
    line: int


@dataclass(frozen=True)
class Edit:
    """A replacement of the bytes from `start` to `end`; `fix` names the kind of fix that made it."""

    start: int
    end: int
    new: bytes
    fix: str


@dataclass
class Draft:
    """A JMX that is being changed. Fixes change the tree; `edits` returns what changed in the text.

    `changes` has the kind of fix of each change.
    """

    data: bytes
    root: ElementTree.Element
    spans: Mapping[ElementTree.Element, TextSpan]
    parents: dict[ElementTree.Element, ElementTree.Element]
    changes: list[str] = field(default_factory=list)
    _touched: dict[ElementTree.Element, str] = field(default_factory=dict)
    _renamed: dict[ElementTree.Element, str] = field(default_factory=dict)
    _added: dict[ElementTree.Element, str] = field(default_factory=dict)

    @classmethod
    def read(cls, jmx: Path) -> Draft:
        """Return the draft of a file. UsageError when it is not a JMeter test plan."""
        root = parse(jmx).getroot()
        data = jmx.read_bytes()
        spans = dict(zip(root.iter(), _spans(data), strict=True))
        return cls(data, root, spans, {child: parent for parent in root.iter() for child in parent})

    @property
    def plan(self) -> Node:
        """Return the Test Plan with its present changes."""
        return tree_of(self.root, {element: span.line for element, span in self.spans.items()})

    def set_text(self, prop: ElementTree.Element, text: str, fix: str) -> None:
        """Change the text of a property."""
        if (prop.text or "") != text:
            prop.text = text
            self._touched.setdefault(prop, fix)
            self.changes.append(fix)

    def set_value(self, node: Node, name: str, text: str, fix: str, tag: str = "") -> None:
        """Change the property `name` of a test element, or add it; `tag` is its type, by default as it is."""
        prop = next((prop for prop in node.element.iter() if prop.get("name") == name and not len(prop)), None)
        if prop is None:
            prop = ElementTree.Element(tag or "stringProp", {"name": name})
            prop.text = text
            self.add(node.element, prop, fix)
        elif (prop.text or "") != text:
            prop.tag = tag or prop.tag
            self.set_text(prop, text, fix)

    def set_attribute(self, node: Node, name: str, text: str, fix: str) -> None:
        """Change an attribute of a test element, such as its name."""
        if node.element.get(name) != text:
            self.changes.append(fix)
            node.element.set(name, text)
            self._renamed.setdefault(node.element, fix)

    def set_kind(self, node: Node, kind: str, gui: str, fix: str) -> None:
        """Turn a test element into another kind that has the same properties."""
        node.element.tag = kind
        self.set_attribute(node, "testclass", kind, fix)
        self.set_attribute(node, "guiclass", gui, fix)

    def add(self, parent: ElementTree.Element, child: ElementTree.Element, fix: str, at: int = -1) -> None:
        """Add an element to `parent`, at an index or at its end."""
        self._insert(parent, len(parent) if at < 0 else at, child, fix)
        self.changes.append(fix)

    def add_below(self, node: Node, element: ElementTree.Element, fix: str) -> None:
        """Add a test element as the first one below another in JMeter's tree."""
        parent = self.parents[node.element]
        at = list(parent).index(node.element) + 1
        if at == len(parent) or parent[at].tag != "hashTree":
            self._insert(parent, at, ElementTree.Element("hashTree"), "")
        self._insert(parent[at], 0, ElementTree.Element("hashTree"), fix)
        self.add(parent[at], element, fix, at=0)

    def _insert(self, parent: ElementTree.Element, at: int, child: ElementTree.Element, fix: str) -> None:
        parent.insert(at, child)
        self.parents[child] = parent
        self._added[child] = fix

    def edits(self) -> list[Edit]:
        """Return the replacements that make the original text the changed one, in file order."""
        found = (edit for edit in self._edits() if self.data[edit.start : edit.end] != edit.new)
        return sorted(found, key=lambda edit: (edit.start, edit.end))

    def text(self) -> bytes:
        """Return the changed file."""
        parts, position = [], 0
        for edit in self.edits():
            parts += [self.data[position : edit.start], edit.new]
            position = edit.end
        return b"".join((*parts, self.data[position:]))

    def _edits(self) -> Iterator[Edit]:
        for element, fix in self._touched.items():
            if span := self.spans.get(element):
                yield Edit(span.start, span.end, self._encoded(_leaf(element)), fix)
        grown = dict.fromkeys(self.parents[element] for element in self._added)
        for element, fix in self._renamed.items():
            span = self.spans.get(element)
            if span and not (element in grown and self._is_bare(element)):
                is_one_tag = span.inner == span.end
                close = "/>" if is_one_tag else ">"
                yield Edit(span.start, span.inner, self._encoded(_start_tag(element) + close), fix)
                if not is_one_tag:
                    end = self.data.rindex(b"</", span.inner, span.end)
                    yield Edit(end, span.end, self._encoded(f"</{element.tag}>"), fix)
        for parent in grown:
            if parent in self.spans:
                yield from self._insertions(parent)

    def _is_bare(self, element: ElementTree.Element) -> bool:
        """Return whether an element has no children in the file, so that one with children replaces it."""
        return not any(child in self.spans for child in element)

    def _insertions(self, parent: ElementTree.Element) -> Iterator[Edit]:
        """Yield an edit per group of added children that follow each other."""
        span, indent = self.spans[parent], self._indent(parent)
        anchor, pending, fix = span.inner, "", ""
        for child in parent:
            if child in self.spans:
                if pending:
                    yield Edit(anchor, anchor, self._encoded(pending), fix)
                anchor, pending, fix = self.spans[child].end, "", ""
            else:
                pending += f"\n{indent}{_INDENT}{_xml(child, indent + _INDENT)}"
                fix = fix or self._added.get(child, "")
        if pending and self._is_bare(parent):
            new = f"{_start_tag(parent)}>{pending}\n{indent}</{parent.tag}>"
            yield Edit(span.start, span.end, self._encoded(new), fix)
        elif pending:
            yield Edit(anchor, anchor, self._encoded(pending), fix)

    def _indent(self, element: ElementTree.Element) -> str:
        start = self.spans[element].start
        before = self.data[self.data.rfind(b"\n", 0, start) + 1 : start]
        return before.decode("ascii") if not before.strip() else ""

    def _encoded(self, text: str) -> bytes:
        encoding = match[1].decode("ascii") if (match := _ENCODING.match(self.data)) else "utf-8"
        if b"\r\n" in self.data[:4096]:
            text = text.replace("\n", "\r\n")
        return text.encode(encoding, "xmlcharrefreplace")


def _leaf(element: ElementTree.Element) -> str:
    text = escape(element.text or "", {'"': "&quot;", "\r": "&#13;"})
    return f"{_start_tag(element)}>{text}</{element.tag}>"


def _start_tag(element: ElementTree.Element) -> str:
    attributes = "".join(f" {name}={quoteattr(value)}" for name, value in element.attrib.items())
    return f"<{element.tag}{attributes}"


def _xml(element: ElementTree.Element, indent: str) -> str:
    """Return an added element as text; its first line is not indented."""
    if not len(element):
        return f"{_start_tag(element)}/>" if element.text is None else _leaf(element)
    inner = "".join(f"\n{indent}{_INDENT}{_xml(child, indent + _INDENT)}" for child in element)
    return f"{_start_tag(element)}>{inner}\n{indent}</{element.tag}>"


def _spans(data: bytes) -> list[TextSpan]:
    """Return the spans of all elements in the order of their start tags."""
    spans: list[TextSpan] = []
    stack: list[int] = []
    parser = expat.ParserCreate()

    def start(_tag: str, _attributes: object) -> None:
        stack.append(len(spans))
        inner = _tag_end(data, parser.CurrentByteIndex)
        spans.append(TextSpan(parser.CurrentByteIndex, inner, inner, parser.CurrentLineNumber))

    def end(_tag: str) -> None:
        index = stack.pop()
        if not data.startswith(b"/>", spans[index].inner - 2):
            spans[index] = replace(spans[index], end=_tag_end(data, parser.CurrentByteIndex))

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.Parse(data, True)
    return spans


def _tag_end(data: bytes, start: int) -> int:
    """Return the index after the tag that begins at `start`; a `>` in quotes does not end it."""
    match = _TAG.match(data, start)
    assert match is not None  # expat has parsed the tag
    return match.end()
