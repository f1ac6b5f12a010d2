"""Knows the classes of test elements: what each does in a run, and which plugin has it. The table is elements.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

from harness.plan.jmx.tree import Node

_TABLE = Path(__file__).parent / "elements.toml"
_INCLUDED = "included"
_JMETER = "org.apache.jmeter:"
_GROUP = re.compile(r"([\w.$]+)\.(?:\{([\w,$]+)\}|([\w$]+))")
# JMeter's short names in a JMX that are not the class without its package.
_SHORT = {
    "JDBCDataSource": "DataSourceElement",
    "SMIMEAssertion": "SMIMEAssertionTestElement",
    "HTTPSampler2": "HTTPSamplerProxy",
}
_JAVA_TESTS = tuple(f"org.apache.jmeter.protocol.java.test.{name}" for name in ("JavaTest", "SleepTest"))


# The attributes in which an element names a class of the user: a test, a driver, a factory of connections.
_CLASS_ATTRIBUTES = {
    "JavaSampler": "classname", "BackendListener": "classname", "JUnitSampler": "junitsampler.classname",
    "JDBCDataSource": "driver", "JMSSampler": "JMSSampler.initialContextFactory",
    "PublisherSampler": "jms.initial_context_factory", "SubscriberSampler": "jms.initial_context_factory",
}  # fmt: skip
_CLASS = re.compile(r"[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)+")
# With it JMS reads the factory's name from a file.
_JNDI_FILE = "jms.jndi_properties"


class Effect(StrEnum):
    """What an element does in a run."""

    HARMLESS = "harmless"
    HTTP = "http"
    SCRIPTS = "scripts"
    CONNECTS = "connects"
    INCLUDE = "include"
    UNKNOWN = "unknown"
    LIBRARY = "library"


@dataclass(frozen=True)
class ElementClass:
    """A class of test elements; `plugin` is empty for those of the harness's JMeter.

    `needs` are the Maven coordinates of jars beside those that Maven finds that the plugin needs.
    """

    name: str
    effect: Effect
    plugin: str
    needs: tuple[str, ...] = ()

    @property
    def is_in_maven(self) -> bool:
        """Return whether `plugin` is a Maven coordinate, not a name of JMeter's Plugins Manager."""
        return self.plugin.count(":") == 2

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Return the Maven coordinates to list for the plugin; empty when it has none."""
        return (self.plugin, *self.needs) if self.is_in_maven else ()


def class_of(kind: str) -> ElementClass | None:
    """Return the class of an element by its tag in a JMX; None for one that is not in the table."""
    return _classes().get(kind.replace("_-", "$").replace("__", "_"))


def effect_of(node: Node) -> Effect:
    """Return what an element does in a run."""
    if node.kind.rpartition(".")[2] == "JavaSampler" and node.value("classname") in _JAVA_TESTS:
        return Effect.HARMLESS
    found = class_of(node.kind)
    return found.effect if found else Effect.UNKNOWN


def class_named_in(node: Node) -> str:
    """Return the class of the user that an element names, such as a driver; empty for none, or one only a run knows."""
    name = node.kind.rpartition(".")[2]
    value = node.value(_CLASS_ATTRIBUTES[name]) if name in _CLASS_ATTRIBUTES and node.is_enabled else ""
    return value if _CLASS.fullmatch(value) and node.value(_JNDI_FILE) != "true" else ""


@cache
def _classes() -> Mapping[str, ElementClass]:
    """Return all classes of the table by their names; JMeter's own also by their short names."""
    classes: dict[str, ElementClass] = {}
    for plugin, effects in tomllib.loads(_TABLE.read_text(encoding="utf-8")).items():
        needs = tuple(effects.pop("needs", "").split())
        effects.pop("packages", "")
        for effect, text in effects.items():
            for name in _names(text):
                described = ElementClass(name, Effect(effect), "" if plugin == _INCLUDED else plugin, needs)
                classes[name] = described
                if plugin == _INCLUDED or plugin.startswith(_JMETER):
                    classes[name.rpartition(".")[2]] = described
    return classes | {short: classes[name] for short, name in _SHORT.items()}


def library_with(name: str) -> str:
    """Return the Maven coordinate of the library that has a class, by its package; empty for an unknown one."""
    table = tomllib.loads(_TABLE.read_text(encoding="utf-8"))
    packages = {package: plugin for plugin, one in table.items() for package in one.get("packages", "").split()}
    found = max((package for package in packages if name.startswith(f"{package}.")), key=len, default="")
    return packages.get(found, "")


def _names(text: str) -> Iterator[str]:
    """Yield the names in a text such as `a.{B,C} a.D`."""
    for match in _GROUP.finditer(text):
        yield from (f"{match[1]}.{name}" for name in (match[2] or match[3]).split(","))
