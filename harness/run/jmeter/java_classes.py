"""Finds the Java classes that a JMX needs and no jar of JMeter has: JMeter would end at once, or fail every request."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from harness.base.errors import UsageError
from harness.plan.checks.runnable import plugin_todo
from harness.plan.jmx.elements import class_named_in, library_with
from harness.plan.jmx.tree import Node, plan_tree
from harness.run.jmeter.class_files import Jars, check_jars

_OF_JAVA = ("java.", "javax.", "jdk.", "sun.")
# Several names of a class are separated by commas.
_LINE = re.compile(r"\s*([\w.$,]+)\s*=\s*([\w.$]+)\s*")


def check_classes(jmx: Path, home: Path, plugins: Path | None = None, class_path: str = "", java: str = "") -> None:
    """Raise a UsageError that names each class that the JMX needs and that is in no jar, or cannot be loaded.

    Searched are the JMeter home, the folder of the plan's plugins, and `class_path`, JMeter's user.classpath. Those of
    plugins and class path must be for the version of Java, and what the classes of the JMX use must be there, too.
    """
    if not (home / "bin" / "saveservice.properties").is_file():
        return
    aliases = {**_names(home / "bin" / "upgrade.properties"), **_names(home / "bin" / "saveservice.properties")}
    needed = dict[str, Node]()
    for node, name in needed_classes(plan_tree(jmx), aliases):
        needed.setdefault(name, node)
    where = f"{jmx.parent.name}/{jmx.name}"
    of_user = [*(plugins.glob("*.jar") if plugins else ()), *_jars_of(class_path)]
    check_jars(of_user, java)
    of_jmeter = [*(home / "lib" / "ext").glob("*.jar"), *(home / "lib").glob("*.jar")]
    absent = set(needed) - _present(needed, [*_folders_of(class_path), *of_user, *of_jmeter])
    if absent:
        _refuse(where, {name: node for name, node in needed.items() if name in absent})
    if not of_user:
        return
    with Jars(of_user, of_jmeter, java) as jars:
        for name, node in needed.items():
            if lacking := jars.lacking(name):
                at = f"{where}{f':{node.line}' if node.line else ''}: {node.path}"
                what = f"{at}: its class {lacking.user}, in {lacking.jar}, needs {lacking.name}, which is in no jar"
                known = library_with(lacking.name)
                jar = f'"{known}"' if known else "the jar or the coordinate that has it"
                raise UsageError(what, f"list {jar} in [jmeter] plugins of the plan")


def needed_classes(tree: Node, aliases: Mapping[str, str]) -> Iterator[tuple[Node, str]]:
    """Yield each element with the classes that it needs; JMeter reads disabled elements, too, but does not run them.

    `aliases` are JMeter's short names of classes. A name without a class of its own is yielded as it is.
    """
    for node in tree.walk_all():
        name = node.kind.replace("_-", "$").replace("__", "_")
        name = aliases.get(name, name)
        yield node, aliases.get(name, name)
        value = class_named_in(node)
        if value and not value.startswith(_OF_JAVA):
            yield node, value


def _names(file: Path) -> dict[str, str]:
    """Return the pairs of a properties file whose names and values are names of classes."""
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines() if file.is_file() else []
    pairs = [match.groups() for line in lines if (match := _LINE.fullmatch(line)) and not match[1].startswith("_")]
    return {name: value for names, value in pairs for name in names.split(",")}


def _folders_of(class_path: str) -> list[Path]:
    """Return the folders of a class path; UsageError for a relative path, as JMeter runs in another folder."""
    paths = [Path(one) for one in filter(None, class_path.split(os.pathsep))]
    if relative := next((one for one in paths if not one.is_absolute()), None):
        what = f"--properties: user.classpath has the relative path {relative}"
        raise UsageError(what, f'list it, relative to the plan: plugins = ["{relative}"] under [jmeter] in its TOML')
    return [one for one in paths if one.is_dir()]


def _jars_of(class_path: str) -> Iterator[Path]:
    folders = _folders_of(class_path)
    yield from (jar for folder in folders for jar in folder.glob("*.jar"))
    yield from (Path(one) for one in class_path.split(os.pathsep) if zipfile.is_zipfile(one))


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
