"""Lets a fresh clone check a command before it downloads anything: stand-ins for packages that are not installed yet.

This module runs before .venv exists: standard library only.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any
from xml.etree import ElementTree
from xml.parsers import expat

_PACKAGES = {
    "boto3", "botocore", "defusedxml", "jinja2", "junitparser", "markdown_it", "markupsafe", "mdit_py_plugins", "numpy",
    "pandas", "prometheus_client", "psutil", "rich",
}  # fmt: skip
_is_ahead = False


class SetUpNeededError(BaseException):
    """The command is correct so far, and what follows needs the set-up; no handler of errors may take it for one."""


def needs_set_up() -> None:
    """Raise SetUpNeededError while a command is only checked."""
    if _is_ahead:
        raise SetUpNeededError


@contextmanager
def checking() -> Iterator[None]:
    """Check commands in the block: a call of what a missing package has ends the check, as does `needs_set_up`."""
    global _is_ahead
    finder = _Finder()
    sys.meta_path.insert(0, finder)  # also where this Python has some of the packages
    _is_ahead = True
    try:
        yield
    except SetUpNeededError:
        pass
    finally:
        _is_ahead = False
        sys.meta_path.remove(finder)


class _StandIn(type):
    """The type of a class for any name of a missing package."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _StandIn(name, (), {})

    def __getitem__(cls, _: object) -> Any:
        return cls

    def __call__(cls, *_: object, **__: object) -> Any:
        if sys._getframe(1).f_code.co_name == "<module>":
            return cls  # a constant of a module; whoever uses it calls something of it
        raise SetUpNeededError


class _Module(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _StandIn(name, (), {})


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name: str, *_: object) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] not in _PACKAGES:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = _Module(spec.name)
        module.__path__ = []
        if spec.name.startswith("defusedxml"):  # a plan of one's own is read by the standard library
            vars(module).update(DefusedXmlException=ElementTree.ParseError, DefusedXMLParser=_XmlParser)
            vars(module).update(ParseError=ElementTree.ParseError, parse=ElementTree.parse, fromstring=_fromstring)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: the module is complete."""


def _refuse(*_: object) -> None:
    raise SetUpNeededError


def _fromstring(text: str | bytes, **_: object) -> ElementTree.Element:
    """Return the root of plain XML, as defusedxml does, which takes further arguments."""
    return ElementTree.fromstring(text)


class _XmlParser:
    """A parser with the lines of its elements, as that of defusedxml; what is no plain XML is left to that one."""

    def __init__(self, target: ElementTree.TreeBuilder, **_: object) -> None:
        self._target = target
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler, self.parser.EndElementHandler = target.start, target.end
        self.parser.CharacterDataHandler = target.data
        self.parser.StartDoctypeDeclHandler = _refuse

    def feed(self, data: bytes) -> None:
        self._parse(data, is_last=False)

    def close(self) -> ElementTree.Element:
        self._parse(b"", is_last=True)
        return self._target.close()

    def _parse(self, data: bytes, *, is_last: bool) -> None:
        try:
            self.parser.Parse(data, is_last)
        except expat.ExpatError:
            raise SetUpNeededError from None
