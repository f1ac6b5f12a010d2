"""Computes the values of a test plan's texts in one run: variables and functions, as far as known before the run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from harness.plan.jmx.csv_data import KIND as CSV
from harness.plan.jmx.csv_data import column, variable_names
from harness.plan.jmx.tree import VARIABLE, VARIABLE_TABLES, Node, function_parameters, texts_of, user_defined

_READS_A_PROPERTY = ("__P", "__property", "__isPropDefined")
_ONLY_READ = ("__P", "__V", "__eval", "__evalVar", "__isVarDefined", "__isPropDefined", "__setProperty", "__log")
_FUNCTION = re.compile(r"\$\{\s*(__\w+)\s*([(}])")
# A part of a text: an escaped sign, the begin of a reference, or anything else.
_PART = re.compile(r"\\([$,\\])|\$\{|[^\\$]+|.", re.DOTALL)
_DEPTH_MOST = 50
_DEFAULT = re.compile(r"(?i)\.?default(_?values?)?$")
_ANY = "*"
# The properties in which elements name the variables that they set during the run.
_SETS = re.compile(
    r"(refname|referencenames?|variablenames?|returnval|inputvariable|resultvariable|variablename_?\w*|variable)$"
)


class UnknownValueError(Exception):
    """A value that only the run knows; its text gives the reason. `known_start` is the known text before it."""

    def __init__(self, reason: str, known_start: str = "", variable: str = "") -> None:
        super().__init__(reason)
        self.known_start = known_start
        self.variable = variable


class FunctionCall(NamedTuple):
    """A call of a function such as ${__P(users,1)}; one without parentheses has one empty parameter."""

    name: str
    parameters: list[str]


class _Reference(NamedTuple):
    """The value of a reference ${…} in a text, and the index after it."""

    value: str
    end: int


@dataclass(frozen=True)
class Values:
    """The properties of a run, the User Defined Variables of its plan, and what changes either during the run.

    `setters` are the elements that set a variable during the run; the key `*` means any variable.
    """

    properties: Mapping[str, str]
    variables: Mapping[str, tuple[str, ...]]
    setters: Mapping[str, tuple[Node, ...]]
    property_setters: Mapping[str, Node] = field(default_factory=dict)
    folder: Path = Path()

    @classmethod
    def of(cls, nodes: Sequence[Node], properties: Mapping[str, str], folder: Path) -> Values:
        """Return the values of a plan in `folder` with the elements `nodes`, for a run with these properties."""
        variables: dict[str, tuple[str, ...]] = {}
        tables = (node.element for node in nodes if node.kind in VARIABLE_TABLES)
        for name, value in (variable for table in tables for variable in user_defined(table)):
            if value not in variables.setdefault(name, ()):
                variables[name] += (value,)
        setters: dict[str, tuple[Node, ...]] = {}
        for node in nodes:
            for name in {*_set_by_element(node), *_set_by_functions(node)}:
                setters[name] = (*setters.get(name, ()), node)
        calls = ((call, node) for node in nodes for call in functions_in(node) if call.name == "__setProperty")
        property_setters = {call.parameters[0].strip(): node for call, node in calls}
        values = cls(properties, variables, setters, property_setters, folder)
        for node in nodes:
            if node.kind == CSV and not node.value("variableNames"):
                for name in variable_names(node, values.csv_file(node)) or (_ANY,):
                    setters[name] = (*setters.get(name, ()), node)
        return values

    def text(self, raw: str) -> str:
        """Return the text with variables and functions replaced. UnknownValueError when only the run knows one."""
        return self._text(raw, 0)

    def known(self, raw: str) -> str | None:
        """Return the text with variables and functions replaced; None when only the run knows one."""
        try:
            return self.text(raw)
        except UnknownValueError:
            return None

    def csv_file(self, node: Node) -> Path | None:
        """Return the file of a CSV Data Set; None when only the run knows it."""
        name = self.known(node.value("filename"))
        return None if name is None else self.folder / name

    def column(self, variable: str) -> list[str] | None:
        """Return all values of a variable that only CSV Data Sets set; None when they are not known."""
        setters = self.setters.get(variable, ())
        columns = [
            column(setter, self.csv_file(setter), variable) if setter.kind == CSV else None for setter in setters
        ]
        return None if None in columns or not setters else [text for rows in columns for text in rows or ()]

    def constants(self, variable: str) -> Sequence[str] | None:
        """Return all texts of a variable that only the plan and its CSV files set; None for another.

        Beside User Defined Variables these are User Parameters whose texts are known, and counters: 0 is their text.
        """
        setters = self.setters.get(variable, ())
        if _ANY in self.setters:
            return None
        if not setters:
            return self.variables.get(variable)
        texts = [self._set_by(setter, variable) for setter in setters]
        return None if None in texts else [text for given in texts for text in given or ()]

    def _set_by(self, setter: Node, variable: str) -> Sequence[str] | None:
        """Return the texts that an element gives a variable; None when only the run knows them."""
        if setter.kind == CSV:
            return column(setter, self.csv_file(setter), variable)
        if setter.kind == "CounterConfig":
            return None if setter.value("CounterConfig.format") else ["0"]
        texts = [self.known(raw) for raw in _user_parameters(setter)] if setter.kind == "UserParameters" else [None]
        return None if None in texts else [text for text in texts if text is not None]

    def rows(self, variable: str) -> list[str]:
        """Return the texts that User Parameters, CSV Data Sets and the defaults of extractors give a variable."""
        found = self.column(variable) or []
        for node in self.setters.get(variable, ()):
            found += _user_parameters(node)
            defaults = (prop for prop in node.element if _DEFAULT.search(prop.get("name", "")))
            found += [text for prop in defaults if not (text := prop.text or "").isidentifier()]
        return found

    def _text(self, raw: str, depth: int) -> str:
        if depth > _DEPTH_MOST:
            raise UnknownValueError("it refers to itself")
        done, position = "", 0
        while match := _PART.match(raw, position):
            position = match.end()
            if match[0] != "${":
                done += match[1] or match[0]
                continue
            try:
                reference = self._reference(raw, match.start(), depth)
            except UnknownValueError as error:
                raise UnknownValueError(str(error), done + error.known_start, error.variable) from None
            done, position = done + reference.value, reference.end
        return done

    def _reference(self, raw: str, start: int, depth: int) -> _Reference:
        """Return the reference at `start`."""
        function = _FUNCTION.match(raw, start)
        if function and function[2] == "(":
            parameters = function_parameters(raw, function.end())
            close = raw.find("}", parameters.end)
            if close < 0:
                raise UnknownValueError(f"{raw[start:]} is not closed")
            return _Reference(self._call(function[1], parameters.texts, depth + 1), close + 1)
        end = raw.find("}", start)
        name = raw[start + 2 : end] if end >= 0 else ""
        if not name or "$" in name:
            raise UnknownValueError(f"{raw[start:]} is not a variable")
        if name.startswith("__"):
            raise UnknownValueError(f"the function {name} is evaluated only at run time")
        return _Reference(self._variable(name.strip(), depth + 1), end + 1)

    def _call(self, name: str, parameters: list[str], depth: int) -> str:
        if name in ("__P", "__property"):
            default_at = 1 if name == "__P" else 2
            key = self._text(parameters[0], depth).strip()
            if key in self.property_setters:
                raise UnknownValueError(f"{self.property_setters[key].name} sets the property {key}")
            if key in self.properties:
                return self.properties[key]
            if len(parameters) > default_at:
                return self._text(parameters[default_at], depth)
            return "1" if name == "__P" else key
        if name in ("__V", "__evalVar"):
            value = self._variable(self._text(parameters[0], depth).strip(), depth)
            return value if name == "__V" else self._text(value, depth)
        if name == "__char" and all(re.fullmatch(r"\d{1,6}", one) for one in parameters):
            return "".join(chr(int(one)) for one in parameters)
        if name == "__eval":
            return self._text(self._text(parameters[0], depth), depth)
        raise UnknownValueError(f"the function {name} is evaluated only at run time")

    def _variable(self, name: str, depth: int) -> str:
        setters = (*self.setters.get(name, ()), *self.setters.get(_ANY, ()))
        if setters:
            raise UnknownValueError(f"{setters[0].name} sets the variable {name} at run time", variable=name)
        values = self.variables.get(name, ())
        if not values:
            raise UnknownValueError(f"there is no User Defined Variable {name}", variable=name)
        texts = {self._text(value, depth) for value in values}
        if len(texts) > 1:
            raise UnknownValueError(f"the variable {name} is defined as {' and as '.join(sorted(texts))}")
        return texts.pop()

    def properties_in(self, raw: str, depth: int = 0) -> set[str]:
        """Return the names of the properties that a text reads, directly or through variables."""
        if depth > _DEPTH_MOST:
            return set()
        properties = {call.parameters[0].strip() for call in functions_of(raw) if call.name in _READS_A_PROPERTY}
        for name in VARIABLE.findall(raw):
            for value in self.variables.get(name, ()):
                properties |= self.properties_in(value, depth + 1)
        return properties


def _user_parameters(node: Node) -> list[str]:
    """Return the texts of User Parameters, as they are in the plan; an empty list for another element."""
    tables = node.element.findall("collectionProp[@name='UserParameters.thread_values']")
    return [prop.text or "" for table in tables for prop in table.iter("stringProp")]


def functions_in(node: Node) -> Iterator[FunctionCall]:
    """Yield each call of a function in the texts of an element."""
    for text in texts_of(node.element):
        yield from functions_of(text)


def functions_of(text: str) -> Iterator[FunctionCall]:
    """Yield each call of a function in a text."""
    for match in _FUNCTION.finditer(text):
        yield FunctionCall(match[1], function_parameters(text, match.end()).texts if match[2] == "(" else [""])


def _set_by_element(node: Node) -> Iterator[str]:
    """Yield the variables that an element sets during the run."""
    if node.kind == "UserParameters":
        names = node.element.find("collectionProp[@name='UserParameters.names']")
        yield from (name.text or "" for name in (names if names is not None else ()))
    if node.kind == "CounterConfig":
        yield node.value("CounterConfig.name")
    for prop in node.element.iter():
        if prop.text and _SETS.search(prop.get("name", "").lower()):
            yield from (name.strip().strip('"') for name in re.split("[,;]", prop.text) if name.strip())


def _set_by_functions(node: Node) -> Iterator[str]:
    """Yield the variable names that functions in an element may set: many functions store their value in a variable."""
    for call in functions_in(node):
        if call.name not in _ONLY_READ:
            names = call.parameters[1:2] if call.name == "__property" else call.parameters
            yield from (name.strip() for name in names if re.fullmatch(r"\s*[A-Za-z_][\w.-]*\s*", name))
