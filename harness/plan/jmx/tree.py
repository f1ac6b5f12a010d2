"""Parses a JMeter test plan (JMX): its tree and its properties."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree  # types only; defusedxml reads files

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser
from defusedxml.ElementTree import parse as parse_safely

from harness.base.config import NO_YAML, YAML, address_meant
from harness.base.errors import UsageError
from harness.base.paths import as_given
from harness.base.regular import regular
from harness.base.secrecy import is_secret_name, secret_values, secrets_in, secrets_in_code, secrets_of_header

# The name of the main thread group: every threadName of the load's samples begins with it.
LOAD_GROUP = "Users"
SIDE_GROUPS = ("SetupThreadGroup", "PostThreadGroup")

# JMeter's editor shows no plan of more levels, of two elements each, and none is so large.
_DEPTH_MOST, _SIZE_MOST_BYTES = 400, 100_000_000
# The signs of a function's parameters, one by one; an escaped comma is one of them.
_SIGNS = re.compile(r"\\,|[(),]|[^(),\\]+|\\")
READS = re.compile(r"\$\{__(P|property)\(")
# Objects that JMeter and its plugins keep in a JMX: what a listener saves.
_SAVED = re.compile(r"([\w.]+\.)?SampleSaveConfiguration")
_COMMENT = re.compile("<!--(.*?)-->", re.DOTALL)
_EXPRESSIONS = re.compile("Extractor|Assertion|PostProcessor")
VARIABLE_TABLES = ("TestPlan", "Arguments")
CODE = re.compile("JSR223|BeanShell|BSF")
SAMPLER = re.compile(r"Sampler(Proxy)?$")
VARIABLE = re.compile(r"\$\{([\w.-]+)\}")


@dataclass(frozen=True)
class Node:
    """An element of the plan with its children in JMeter's tree; `line` is where it begins in the file, from 1."""

    element: ElementTree.Element
    parent: Node | None
    children: list[Node] = field(default_factory=list)
    line: int | None = None

    @property
    def kind(self) -> str:
        """Return JMeter's class: HTTPSamplerProxy, RegexExtractor, …"""
        return self.element.tag

    @property
    def name(self) -> str:
        """Return the element's name in JMeter: a sampler's label."""
        return self.element.get("testname", "")

    @property
    def path(self) -> str:
        """Return the names from the Test Plan down to the element: `Test Plan > Users > GET /items`."""
        own = self.name or self.kind
        return f"{self.parent.path} > {own}" if self.parent else own

    @property
    def is_enabled(self) -> bool:
        """Return False for an element that is disabled, or that has a disabled ancestor."""
        return is_own_enabled(self.element) and (self.parent is None or self.parent.is_enabled)

    @property
    def is_thread_group(self) -> bool:
        """Return True for thread groups of JMeter and of plugins."""
        return self.kind.endswith("ThreadGroup")

    @property
    def thread_group(self) -> Node | None:
        """Return the thread group that contains the element; None for elements outside of thread groups."""
        return self if self.is_thread_group else self.parent.thread_group if self.parent else None

    def value(self, name: str) -> str:
        """Return the text of the element's property `name`, nested ones included; empty when it is missing."""
        found = (prop for prop in self.element.iter() if prop.get("name") == name and not len(prop))
        return next((prop.text or "" for prop in found), "")

    def and_above(self) -> Iterator[Node]:
        """Yield the element and its ancestors, up to the Test Plan."""
        yield self
        if self.parent:
            yield from self.parent.and_above()

    def in_scope(self) -> Iterator[Node]:
        """Yield the enabled children of the element and of its ancestors: what JMeter applies to it, nearest first."""
        return (child for level in self.and_above() for child in level.children if child.is_enabled)

    def walk(self) -> Iterator[Node]:
        """Yield the enabled descendants in file order."""
        for child in self.children:
            if child.is_enabled:
                yield child
                yield from child.walk()

    def walk_all(self) -> Iterator[Node]:
        """Yield all descendants in file order, also the disabled ones."""
        for child in self.children:
            yield child
            yield from child.walk_all()


def is_own_enabled(element: ElementTree.Element) -> bool:
    """Return whether JMeter enables an element whose ancestors are: a property of that name wins over the attribute."""
    own = [prop.text or "" for prop in element if prop.get("name") == "TestElement.enabled"]
    return own[-1].strip().lower() != "false" if own else element.get("enabled", "true").lower() == "true"


class PropertyRead(NamedTuple):
    """A property that a plan reads with ${__P(…)} or ${__property(…)}; `default` is None when it names none."""

    name: str
    default: str | None


class FunctionParameters(NamedTuple):
    """The parameters of a function, and the index of its closing parenthesis in the text."""

    texts: list[str]
    end: int


class _TooDeepError(Exception):
    """An element is within too many others; the argument is its line."""


class _NumberedLines(ElementTree.TreeBuilder):
    """Builds the tree, and notes the line at which each element begins."""

    def __init__(self, lines: dict[ElementTree.Element, int]) -> None:
        super().__init__()
        self._depth = 0
        self._lines = lines
        self.parser = DefusedXMLParser(target=self, forbid_dtd=True)

    def start(self, tag: str, attrs: dict[str, str]) -> ElementTree.Element:
        """Add an element. _TooDeepError within too many others."""
        self._depth += 1
        if self._depth > _DEPTH_MOST:
            raise _TooDeepError(self.parser.parser.CurrentLineNumber)
        element = super().start(tag, attrs)
        self._lines[element] = self.parser.parser.CurrentLineNumber
        return element

    def end(self, tag: str) -> ElementTree.Element:
        """End an element."""
        self._depth -= 1
        return super().end(tag)


def parse(
    jmx: Path, lines: dict[ElementTree.Element, int] | None = None
) -> ElementTree.ElementTree[ElementTree.Element]:
    """Return the plan's XML. UsageError when the file is not a JMeter test plan.

    `lines` gets the line at which each element begins.
    """
    where, todo = as_given(jmx), "save it from JMeter again, or name another file"
    if jmx.suffix in YAML:
        raise UsageError(f"{where}: {NO_YAML[0]}", NO_YAML[1])
    parser = _NumberedLines({} if lines is None else lines).parser
    try:
        if regular(jmx).stat().st_size > _SIZE_MOST_BYTES:
            most = f"{_SIZE_MOST_BYTES // 1_000_000} MB"
            raise UsageError(f"{where}: is larger than {most}", "put large texts into files that the plan reads")
        tree: ElementTree.ElementTree[ElementTree.Element] = parse_safely(jmx, parser)
    except FileNotFoundError:
        address = address_meant(str(jmx))
        todo = f"did you mean {address}?" if address else "name a file that exists"
        raise UsageError(f"{where}: there is no such file", todo) from None
    except OSError as error:
        raise UsageError(f"{where}: cannot be read ({error.strerror})", "name a .jmx file") from None
    except _TooDeepError as error:
        raise UsageError(f"{where}:{error}: nested too deeply: more than {_DEPTH_MOST} elements", todo) from None
    except ElementTree.ParseError as error:
        raise UsageError(f"{where}: not XML: {error}", todo) from None
    except DefusedXmlException:
        raise UsageError(f"{where}: declares a document type or entities, which no test plan needs", todo) from None
    root = tree.getroot()
    if root.tag != "jmeterTestPlan" or root.find("hashTree/TestPlan") is None:
        raise UsageError(f"{where}: XML, but not a JMeter test plan", todo)
    for element, what in _hidden(root):
        line = f":{lines[element]}" if lines and element in lines else ""
        raise UsageError(f"{where}{line}: {what}, which JMeter never writes", todo)
    return tree


def _hidden(root: ElementTree.Element) -> Iterator[tuple[ElementTree.Element, str]]:
    """Yield elements that JMeter would read otherwise than they look: of another class, or beside the Test Plan."""
    for element in root.iter():
        kind = element.get("class")
        if kind is not None and not (element.tag == "value" and _SAVED.fullmatch(kind)):
            yield element, f"{element.tag} has the class {kind}"
    trees = root.findall("hashTree")
    top = [element for element in trees[0] if element.tag != "hashTree"]
    for element in top[1:] if top[0].tag == "TestPlan" and len(trees) == 1 else top:
        if element.tag != "WorkBench":
            yield element, f"{element.tag} is not within the only Test Plan"
    is_bench = False
    for tree in trees[0]:
        is_bench = tree.tag == "WorkBench" or (is_bench and tree.tag == "hashTree")
        for element in tree.iter() if is_bench else ():
            if element.tag.endswith("ThreadGroup"):  # JMeter runs it
                yield element, f"{element.tag} is within the WorkBench"


def plan_tree(jmx: Path) -> Node:
    """Return the Test Plan element with all its descendants."""
    lines: dict[ElementTree.Element, int] = {}
    return tree_of(parse(jmx, lines).getroot(), lines)


def tree_of(root: ElementTree.Element, lines: Mapping[ElementTree.Element, int]) -> Node:
    """Return the Test Plan element of a parsed JMX with all its descendants; `lines` are where elements begin."""
    tree = root.find("hashTree")
    assert tree is not None  # the parser has checked it
    return _nodes(tree, None, lines)[0]


def _nodes(tree: ElementTree.Element, parent: Node | None, lines: Mapping[ElementTree.Element, int]) -> list[Node]:
    """Return the nodes of a hashTree: JMeter writes an element, then a hashTree with its children."""
    nodes: list[Node] = []
    for element in tree:
        if element.tag != "hashTree":
            nodes.append(Node(element, parent, line=lines.get(element)))
        elif nodes:
            nodes[-1].children.extend(_nodes(element, nodes[-1], lines))
    return nodes


def has_http(node: Node) -> bool:
    """Return True for an element with properties of HTTP requests, such as HTTP Request Defaults."""
    return any(prop.get("name", "").startswith("HTTPSampler.") for prop in node.element)


def enabled_nodes(tree: Node) -> list[Node]:
    """Return the elements that JMeter may run, the Test Plan first.

    A Module Controller runs elements of a disabled thread group or test fragment; in a plan with one, these are
    included.
    """
    nodes = [tree, *tree.walk()]
    if any(node.kind == "ModuleController" for node in nodes):
        return [tree, *(node for node in tree.walk_all() if is_own_enabled(node.element))]
    return nodes


def user_defined(root: ElementTree.Element) -> Iterator[tuple[str, str]]:
    """Yield name and value of each User Defined Variable in an element."""
    for argument in root.iter("elementProp"):
        if argument.get("elementType") == "Argument":
            name = argument.findtext("stringProp[@name='Argument.name']") or argument.get("name") or ""
            yield name.strip(), argument.findtext("stringProp[@name='Argument.value']") or ""


def load_groups(nodes: Iterable[Node]) -> list[Node]:
    """Return the enabled thread groups that are neither setUp nor tearDown."""
    return [node for node in nodes if node.is_thread_group and node.is_enabled and node.kind not in SIDE_GROUPS]


def read_properties(jmx: Path) -> Mapping[str, str | None]:
    """Return every property that the plan reads by ${__P(name,default)} or ${__property(name,,default)}.

    The value is the default, None without one. A property with two different defaults has the first one here;
    `reads_of` returns both.
    """
    properties: dict[str, str | None] = {}
    for read in reads_of(parse(jmx).getroot()):
        properties.setdefault(read.name, read.default)
    return properties


def reads_of(root: ElementTree.Element) -> Iterator[PropertyRead]:
    """Yield each read of a property in an element with all that it contains, in file order."""
    for text in texts_of(root):
        yield from reads_in(text)


def texts_of(root: ElementTree.Element) -> Iterator[str]:
    """Yield the texts and attributes of an element with all that it contains, in file order."""
    for element in root.iter():
        yield from (element.text or "", *element.attrib.values())


def reads_in(text: str) -> Iterator[PropertyRead]:
    """Yield each read of a property in a text, including those within another one's default."""
    for match in READS.finditer(text):
        parameters = function_parameters(text, match.end()).texts
        default_at = 1 if match[1] == "P" else 2
        default = parameters[default_at] if len(parameters) > default_at else None
        if "${" not in parameters[0]:
            yield PropertyRead(parameters[0].strip(), default)


def fixed_secrets(jmx: Path) -> tuple[str, ...]:
    """Return the passwords, tokens and keys that are written in the plan instead of a variable."""
    found = (secret for element in parse(jmx).getroot().iter() for secret in secrets_of_element(element))
    return tuple(dict.fromkeys((*secrets_of_comments(jmx), *found)))


def secrets_of_comments(jmx: Path) -> tuple[str, ...]:
    """Return the passwords, tokens and keys in the plan's XML comments."""
    comments = _COMMENT.findall(jmx.read_text(encoding="utf-8", errors="replace"))
    return secret_values(("password", value) for comment in comments for value in secrets_in_code(comment))


def secrets_of_element(element: ElementTree.Element) -> tuple[str, ...]:
    """Return the passwords, tokens and keys in one XML element, without those of its descendants."""
    found = _secrets_of_pair(element) if element.tag == "elementProp" else _secrets_of_properties(element)
    return secret_values(("password", value) for value in found)


def _secrets_of_pair(element: ElementTree.Element) -> tuple[str, ...]:
    """Return the secrets of a User Defined Variable, a header, a cookie, a request parameter or a body."""
    texts = {child.get("name", "").rpartition(".")[2]: child.text or "" for child in element}
    name, value = texts.get("name", ""), texts.get("value", "")
    if element.get("elementType") == "Cookie":
        return secrets_of_header("Cookie", f"{element.get('name', '')}={value}")
    named = secrets_of_header(name, value) if name else secrets_in_code(value) if "${__" in value else secrets_in(value)
    return named + _secrets_of_properties(element)


def _secrets_of_properties(element: ElementTree.Element) -> tuple[str, ...]:
    """Return the secrets in an element's own properties: passwords, URLs, scripts, paths and other texts."""
    if _EXPRESSIONS.search(element.tag) and not CODE.search(element.tag):
        return ()  # the text is searched for in a response
    secrets: list[str] = []
    for child in element:
        name, text = child.get("name", ""), child.text or ""
        if child.tag != "stringProp" or not text.strip() or name.endswith((".name", ".value")):
            continue
        if is_secret_name(name.rpartition(".")[2]) or name.lower().endswith("proxypass"):
            secrets += [] if "${" in text else [text]
        elif name == "connectionProperties":
            secrets += secrets_in(text)
        else:
            secrets += secrets_in_code(text)
    return tuple(secrets)


def function_parameters(text: str, start: int) -> FunctionParameters:
    r"""Return the parameters of a function; `start` is the index after its opening parenthesis.

    `\,` is not a separator, and parentheses nest.
    """
    parameters, depth = [""], 0
    for match in _SIGNS.finditer(text, start):
        sign = match[0]
        if sign == ")" and depth == 0:
            return FunctionParameters(parameters, match.start())
        depth += (sign == "(") - (sign == ")")
        if sign == "," and depth == 0:
            parameters.append("")
        else:
            parameters[-1] += "," if sign == "\\," else sign
    return FunctionParameters(parameters, len(text))
