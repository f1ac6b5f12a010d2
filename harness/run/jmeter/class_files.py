"""Reads class files in jars: for which Java they are, and which classes they name that are in no jar."""

from __future__ import annotations

import re
import struct
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from harness.base.errors import UsageError

_MANIFEST = "META-INF/MANIFEST.MF"
# The version of class files for Java 1.
_FIRST_JAVA = 44
_MAGIC = b"\xca\xfe\xba\xbe"
# The sizes of the constants of a class file by their tags, without the tag; that of a text follows from its length.
_UTF8, _CLASS, _LONG = 1, 7, (5, 6)
_SIZES = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}
# Of the classes that Java or JMeter's own jars have, or had: of javax only what was never a part of Java may be absent.
_OF_JAVA = re.compile(
    r"(java|jdk|sun|com/sun|org/w3c|org/xml|org/ietf|netscape)/.*|"
    r"javax/(?!jms|mail|servlet|persistence|inject|websocket|ws|ejb|cache|money)\w+/.*"
)


@dataclass(frozen=True)
class Lacking:
    """A class that is in no jar, and the class of a jar that uses it."""

    name: str
    user: str
    jar: str


def check_jars(jars: Sequence[Path], java: str) -> None:
    """Raise a UsageError for a jar that is built for a newer Java than JMeter's, such as 17.0.15, or has no manifest.

    Because of one such jar JMeter 5.6.3 finds none of its functions, and starts no thread.
    """
    for path in jars:
        if not zipfile.is_zipfile(path):
            raise UsageError(f"{path.name} is no jar", "get it again")
        with zipfile.ZipFile(path) as jar:
            if _MANIFEST not in jar.NameToInfo:
                raise UsageError(
                    f"{path.name} has no {_MANIFEST}", "without one JMeter knows no function: pack it with jar"
                )
            first = next((name for name in jar.namelist() if _is_plain_class(name)), None)
            with_head = jar.open(first).read(8) if first else b""
        _check_java(path.name, with_head, java)


def _check_java(name: str, data: bytes, java: str) -> None:
    """Raise a UsageError for a jar one of whose classes is for a newer Java."""
    ours = int(match[0]) if (match := re.match(r"\d+", java)) else None
    needed = struct.unpack(">H", data[6:8])[0] - _FIRST_JAVA if data[:4] == _MAGIC and len(data) >= 8 else 0
    if ours and needed > ours:
        todo = f"install Java {needed} or newer, or take a jar that is built for Java {ours}"
        raise UsageError(f"{name} is built for Java {needed}, and JMeter runs with Java {ours}", todo)


def _is_plain_class(name: str) -> bool:
    return name.endswith(".class") and not name.startswith("META-INF/") and "module-info" not in name


class Jars:
    """The classes in the jars of plugins, which are read, and in those of JMeter, which are only looked up."""

    def __init__(self, of_user: Sequence[Path], of_jmeter: Sequence[Path], java: str = "") -> None:
        self._java = java
        self._of_user = [zipfile.ZipFile(path) for path in of_user if zipfile.is_zipfile(path)]
        self._of_jmeter, self._names = of_jmeter, set[str]()

    def __enter__(self) -> Jars:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for jar in self._of_user:
            jar.close()

    def lacking(self, name: str) -> Lacking | None:
        """Return a class in no jar that the class `name` of a plugin uses, or one there that it extends.

        UsageError where one of these classes is torn, or for a newer Java: a jar may have others of an older one.
        """
        seen: set[str] = set()
        waiting = [name.replace(".", "/")]
        while waiting:
            at = waiting.pop()
            jar = next((one for one in self._of_user if f"{at}.class" in one.NameToInfo), None)
            if jar is None or at in seen:
                continue
            seen.add(at)
            data, file = jar.read(f"{at}.class"), Path(jar.filename or "").name
            _check_java(file, data, self._java)
            content = read_class(data)
            if content is None:
                raise UsageError(f"{at.replace('/', '.')}, in {file}, is no class file, or torn", "build the jar again")
            if absent := next((one for one in content.uses if not self._has(one)), None):
                return Lacking(absent.replace("/", "."), at.replace("/", "."), file)
            waiting += [*content.above, *(one for one in content.uses if one.startswith(f"{at}$"))]
        return None

    def _has(self, name: str) -> bool:
        if _OF_JAVA.fullmatch(name) or any(f"{name}.class" in jar.NameToInfo for jar in self._of_user):
            return True
        if not self._names:
            self._names = {name for path in self._of_jmeter for name in _names(path)}
        return f"{name}.class" in self._names


def _names(path: Path) -> list[str]:
    if not zipfile.is_zipfile(path):
        return []
    with zipfile.ZipFile(path) as jar:
        return jar.namelist()


@dataclass(frozen=True)
class ClassFile:
    """What a class file names: all classes that it uses, and those that it extends and implements."""

    uses: tuple[str, ...]
    above: tuple[str, ...]


def read_class(data: bytes) -> ClassFile | None:
    """Return the classes that a class file names, as org/lib/Client; None for something else."""
    if data[:4] != _MAGIC:
        return None
    try:
        texts: dict[int, str] = {}
        classes: dict[int, int] = {}
        count, at, number = struct.unpack_from(">H", data, 8)[0], 10, 1
        while number < count:
            tag = data[at]
            if tag == _UTF8:
                size = struct.unpack_from(">H", data, at + 1)[0]
                texts[number] = data[at + 3 : at + 3 + size].decode("utf-8", errors="replace")
                at += 3 + size
            else:
                if tag == _CLASS:
                    classes[number] = struct.unpack_from(">H", data, at + 1)[0]
                at += 1 + _SIZES[tag]
            number += 2 if tag in _LONG else 1
        extends, interfaces = struct.unpack_from(">HH", data, at + 4)
        above = [extends, *struct.unpack_from(f">{interfaces}H", data, at + 8)]
        names = {one: name for one, text in classes.items() if (name := _class_in(texts[text]))}
        return ClassFile(tuple(dict.fromkeys(names.values())), tuple(names[one] for one in above if one in names))
    except (KeyError, IndexError, struct.error):
        return None


def _class_in(text: str) -> str:
    """Return the class of a constant: that of an array's elements; empty for an array of numbers."""
    if not text.startswith("["):
        return text
    element = text.lstrip("[")
    return element[1:-1] if element.startswith("L") else ""
