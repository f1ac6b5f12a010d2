r"""Writes elements and texts of a JMX: the only module that does, beside `adopt/draft.py`, which edits a user's JMX.

JMeter (5.6.3) evaluates the text of each property and each `testname` once. In a text with a reference `\\`, `\$` and
`\,` are escapes; a text without one, also one with only `\${`, is used as it is written. In a parameter of a function
they are escapes always, and `,` and `)` end it. So a text is either an `Expression`, which is ours, or foreign: any
other text is written so that JMeter reads that very text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from xml.etree import ElementTree  # builds and writes XML; jmx.parse reads files
from xml.etree.ElementTree import Element

# What XML 1.0 cannot contain. A half of a surrogate pair is no text that could be sent.
_NOT_IN_XML = "\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff"
_SPECIAL = re.compile(f"[{_NOT_IN_XML}]|\\$(?=\\$*(?:\\{{|\\Z))")
_EVALUATED = re.compile(rf"\$\{{|[{_NOT_IN_XML}]")
_IN_PARAMETER = re.compile(rf"[{_NOT_IN_XML}\\$,(){{}}]")
_SURROGATE = re.compile("[\ud800-\udfff]")


class Expression(str):
    """A text that JMeter evaluates. Only constants of ours and `call` and `joined` make one, never a foreign text.

    What is made of one with str's own methods or in an f-string is a plain text again, and is escaped.
    """

    __slots__ = ()


def of_jmx(text: str) -> Expression:
    """Return a text of a JMX, which is evaluated already, for the same JMX."""
    return Expression(text)


def joined(*parts: str) -> Expression:
    """Return the parts in a row: an Expression is evaluated, another text is sent as it is."""
    merged: list[str] = []
    for part in parts:
        if merged and not isinstance(part, Expression) and not isinstance(merged[-1], Expression):
            merged[-1] += part
        else:
            merged.append(part)
    if not any(isinstance(part, Expression) for part in merged):
        return Expression(_written("".join(merged)))
    return Expression("".join(part if isinstance(part, Expression) else _escaped(part) for part in merged))


def call(function: str, *parameters: str) -> Expression:
    """Return a call of a function; a parameter that is no Expression is passed as it is."""
    texts = (one if isinstance(one, Expression) else anywhere(one) for one in parameters)
    return Expression(f"${{{function}({','.join(texts)})}}")


def anywhere(text: str) -> Expression:
    """Return a text such that JMeter reads that very text wherever it is, also within a parameter or another text."""
    return Expression(_IN_PARAMETER.sub(_char, _valid(text)))


def variable(name: str) -> Expression:
    """Return the read of a variable. Its name is one of ours: letters, digits, `.`, `_` and `-`."""
    assert re.fullmatch(r"[\w.-]+", name), name
    return Expression(f"${{{name}}}")


def _written(text: str) -> str:
    """Return how a JMX spells a text."""
    if isinstance(text, Expression):
        return text
    text = _valid(text)
    return _escaped(text) if _EVALUATED.search(text) else text


def _escaped(text: str) -> str:
    """Return how a text is spelled beside a reference."""
    return _SPECIAL.sub(_char, _valid(text).replace("\\", "\\\\"))


def _char(match: re.Match[str]) -> str:
    return f"${{__char({ord(match[0])})}}"


def _valid(text: str) -> str:
    return _SURROGATE.sub("\ufffd", text)


def xml_element(tag: str, **attributes: str) -> Element:
    """Return an XML element without a text."""
    return Element(tag, {name: _written(value) for name, value in attributes.items()})


def child(parent: Element, tag: str, **attributes: str) -> Element:
    """Add an XML element without a text."""
    added = xml_element(tag, **attributes)
    parent.append(added)
    return added


def new_element(kind: str, gui: str, name: str) -> Element:
    """Return a test element as JMeter writes it, without properties."""
    return xml_element(kind, guiclass=gui, testclass=kind, testname=name, enabled="true")


def add_element(tree: Element, kind: str, gui: str, name: str) -> Element:
    """Add a test element to a hashTree, with a hashTree for its children."""
    added = new_element(kind, gui, name)
    tree.extend((added, xml_element("hashTree")))
    return added


def insert_first(children: Element, test_element: Element) -> None:
    """Insert a test element as the first one of a hashTree."""
    children[:0] = [test_element, xml_element("hashTree")]


def add_string(parent: Element, name: str, value: str) -> None:
    """Add a text property to an element."""
    set_text(child(parent, "stringProp", name=name), value)


def add_bool(parent: Element, name: str, value: bool) -> None:
    """Add a property that is true or false."""
    set_text(child(parent, "boolProp", name=name), str(value).lower())


def add_int(parent: Element, name: str, value: int) -> None:
    """Add a whole number."""
    set_text(child(parent, "intProp", name=name), str(value))


def set_text(prop: Element, value: str) -> None:
    """Replace the text of a property."""
    prop.text = _written(value)


def set_attribute(test_element: Element, name: str, value: str) -> None:
    """Replace an attribute of a test element, such as its name."""
    test_element.set(name, _written(value))


def renew(test_element: Element, kind: str, gui: str, **preserved: str) -> None:
    """Turn a test element into another kind without properties; `preserved` are attributes of the JMX."""
    test_element.clear()
    test_element.tag = kind
    test_element.attrib.update(guiclass=gui, testclass=kind, **preserved)


def add_header(table: Element, name: str, value: str) -> None:
    """Add a header to the table of a Header Manager."""
    header = child(table, "elementProp", name="", elementType="Header")
    add_string(header, "Header.name", name)
    add_string(header, "Header.value", value)


def header_manager(title: str, headers: Iterable[tuple[str, str]]) -> Element:
    """Return a Header Manager with these headers."""
    manager = new_element("HeaderManager", "HeaderPanel", title)
    table = child(manager, "collectionProp", name="HeaderManager.headers")
    for name, value in headers:
        add_header(table, name, value)
    return manager


def add_variables(tree: Element, variables: Mapping[str, str]) -> None:
    """Add an element that sets variables of a thread before each of its samples."""
    parameters = new_element("UserParameters", "UserParametersGui", f"Set {', '.join(variables)}")
    names = child(parameters, "collectionProp", name="UserParameters.names")
    all_values = child(parameters, "collectionProp", name="UserParameters.thread_values")
    values = child(all_values, "collectionProp", name="1")
    for number, (name, value) in enumerate(variables.items(), 1):
        add_string(names, str(number), name)
        add_string(values, str(number), value)
    add_bool(parameters, "UserParameters.per_iteration", False)
    insert_first(tree, parameters)


def written(tree: ElementTree.ElementTree[Element]) -> bytes:
    """Return a tree as the bytes of a JMX."""
    ElementTree.indent(tree, "  ")
    return jmx_bytes(tree.getroot())


def jmx_bytes(root: Element) -> bytes:
    """Return the root of a JMX as bytes, unlike ElementTree with the carriage returns of its texts."""
    text: bytes = ElementTree.tostring(root, encoding="UTF-8", xml_declaration=True)
    return text.replace(b"\r", b"&#13;") + b"\n"
