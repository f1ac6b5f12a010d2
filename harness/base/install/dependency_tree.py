"""Reads Maven's tree of dependencies: which jars a list of plugins needs, and where two of them disagree.

This module runs before .venv exists: standard library only.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

# A line such as `|  +- (g:a:jar:1.0:compile - omitted for conflict with 2.0)`; the scope may have a remark behind it.
_LINE = re.compile(
    r"(?P<indent>[| ]*)[+\\]- \(?(?P<group>[\w.-]+):(?P<artifact>[\w.-]+):(?P<kind>[\w.-]+)"
    r"(?::(?P<classifier>[\w.-]+))?:(?P<version>[\w.+-]+):(?:compile|runtime)\b(?P<rest>.*)"
)
_INDENT = 3  # characters per level
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class Dependency:
    """A jar that a plugin needs, by way of the listed plugin `needed_by`; it is not `used` if another version is."""

    group: str
    artifact: str
    version: str
    classifier: str
    needed_by: str
    used: bool

    @property
    def library(self) -> str:
        """Return group and artifact."""
        return f"{self.group}:{self.artifact}"

    @property
    def coordinate(self) -> str:
        """Return the Maven coordinate."""
        end = f":{self.classifier}" if self.classifier else ""
        return f"{self.library}:{self.version}{end}"


@dataclass(frozen=True)
class Conflict:
    """A library of which two plugins need different versions: the newer and the older, and the plugins."""

    newer: Dependency
    older: Dependency

    @property
    def is_breaking(self) -> bool:
        """Return whether the versions differ in their first number, or for 0.x in the second."""
        return _major(self.newer.version) != _major(self.older.version)


def dependencies_in(tree: str) -> Iterator[Dependency]:
    """Yield the dependencies in the output of `mvn dependency:tree -Dverbose`, the listed plugins included."""
    top = ""
    for line in tree.splitlines():
        match = _LINE.match(line)
        if not match or match["kind"] != "jar":
            continue
        used = " - omitted for " not in match["rest"]
        given = (match["group"], match["artifact"], match["version"], match["classifier"] or "")
        if len(match["indent"]) < _INDENT:
            top = f"{match['group']}:{match['artifact']}:{match['version']}"
        yield Dependency(*given, top, used)


def conflicts(found: Sequence[Dependency], settled: Collection[str]) -> Iterator[Conflict]:
    """Yield the libraries of which two plugins need different versions, but for the `settled`, group:artifact.

    Versions that differ within what one plugin needs are its author's choice.
    """
    newest: dict[str, dict[str, Dependency]] = {}
    for needed in found:
        by_plugin = newest.setdefault(needed.library, {})
        there = by_plugin.get(needed.needed_by)
        if there is None or version_key(needed.version) > version_key(there.version):
            by_plugin[needed.needed_by] = needed
    for library, by_plugin in newest.items():
        ordered = sorted(by_plugin.values(), key=lambda one: version_key(one.version))
        if library not in settled and ordered[0].version != ordered[-1].version:
            yield Conflict(ordered[-1], ordered[0])


def jars_of(found: Sequence[Dependency], listed: Collection[str], present: Mapping[str, str]) -> list[str]:
    """Return the coordinates of the jars to fetch; JMeter has what is `present`, versions by artifact."""
    needed = (one for one in found if one.used and (one.coordinate in listed or one.artifact not in present))
    return list(dict.fromkeys(one.coordinate for one in needed))


def version_key(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, by which versions are ordered."""
    return tuple(int(number) for number in _NUMBER.findall(version))


def _major(version: str) -> tuple[int, ...]:
    numbers = version_key(version)
    return numbers[:2] if numbers[:1] == (0,) else numbers[:1]
