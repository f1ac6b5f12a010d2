"""Finds the Java classes that a JMX needs and no jar of JMeter has: JMeter would end at once, or fail every request."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from harness.base.errors import UsageError
from harness.plan.checks.runnable import plugin_todo
from harness.plan.jmx.tree import Node, plan_tree

# The attributes in which an element names a class of the user.
_ATTRIBUTES = {
    "JavaSampler": "classname", "BackendListener": "classname", "JUnitSampler": "junitsampler.classname",
    "JDBCDataSource": "driver",
}  # fmt: skip
_CLASS = re.compile(r"[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)+")
_OF_JAVA = ("java.", "javax.", "jdk.", "sun.")
# Several names of a class are separated by commas.
_LINE = re.compile(r"\s*([\w.$,]+)\s*=\s*([\w.$]+)\s*")


def check_classes(jmx: Path, home: Path, plugins: Path | None = None, class_path: str = "") -> None:
    """Raise a UsageError that names each class that the JMX needs and that is in no jar.

    Searched are the JMeter home, the folder of the plan's plugins, and `class_path`, JMeter's user.classpath.
    """
    if not (home / "bin" / "saveservice.properties").is_file():
        return
    aliases = {**_names(home / "bin" / "upgrade.properties"), **_names(home / "bin" / "saveservice.properties")}
    needed = dict[str, Node]()
    for node, name in needed_classes(plan_tree(jmx), aliases):
        needed.setdefault(name, node)
    jars = [*(home / "lib" / "ext").glob("*.jar"), *(plugins.glob("*.jar") if plugins else ())]
    absent = set(needed) - _present(needed, [*map(Path, filter(None, class_path.split(os.pathsep))), *jars])
    absent -= _present(absent, (home / "lib").glob("*.jar"))
    if absent:
        _refuse(f"{jmx.parent.name}/{jmx.name}", {name: node for name, node in needed.items() if name in absent})


def needed_classes(tree: Node, aliases: Mapping[str, str]) -> Iterator[tuple[Node, str]]:
    """Yield each element with the classes that it needs; JMeter reads disabled elements, too, but does not run them.

    `aliases` are JMeter's short names of classes. A name without a class of its own is yielded as it is.
    """
    for node in tree.walk_all():
        name = node.kind.replace("_-", "$").replace("__", "_")
        name = aliases.get(name, name)
        yield node, aliases.get(name, name)
        value = node.value(_ATTRIBUTES[node.kind]) if node.kind in _ATTRIBUTES and node.is_enabled else ""
        if _CLASS.fullmatch(value) and not value.startswith(_OF_JAVA):
            yield node, value


def _names(file: Path) -> dict[str, str]:
    """Return the pairs of a properties file whose names and values are names of classes."""
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines() if file.is_file() else []
    pairs = [match.groups() for line in lines if (match := _LINE.fullmatch(line)) and not match[1].startswith("_")]
    return {name: value for names, value in pairs for name in names.split(",")}


def _present(names: Iterable[str], paths: Iterable[Path]) -> set[str]:
    """Return the names of classes that are in a jar or in a folder of classes or jars."""
    wanted = {f"{name.replace('.', '/')}.class": name for name in names}
    present_names: set[str] = set()
    for path in paths:
        if len(present_names) == len(wanted):
            break
        if path.is_dir():
            present_names |= {name for file, name in wanted.items() if (path / file).is_file()}
            present_names |= _present(names, path.glob("*.jar"))
        elif zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as jar:
                present_names |= {wanted[file] for file in wanted.keys() & set(jar.namelist())}
    return present_names


def _refuse(file: str, absent: Mapping[str, Node]) -> None:
    texts = {
        f"{file}{f':{node.line}' if node.line else ''}: {node.path}: needs the Java class {name}": plugin_todo(name)
        for name, node in absent.items()
    }
    if len(texts) == 1:
        raise UsageError(*(f"{text}, which is in no jar of JMeter" for text in texts), *texts.values())
    lines = "\n".join(f"{text}; {todo}" for text, todo in texts.items())
    raise UsageError(f"{file}: {len(texts)} Java classes that it needs are in no jar of JMeter", "", lines)
