"""Provides the jars of a plan's own plugins: from Maven with what they need, files of the project, and addresses.

What Maven resolves is locked in plans/<plan>.lock: later starts, and other machines, fetch the same jars. This module
runs before .venv exists: standard library only.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from harness.base.errors import StartError, UsageError
from harness.base.install import integrity, setup_step, toolchain
from harness.base.install.dependency_tree import Conflict, Dependency, conflicts, dependencies_in, jars_of
from harness.base.install.plugin_list import PluginList, jar_name, lock_text, locked_jars
from harness.base.once import sum_of_file
from harness.base.project import BUILD
from harness.base.writable import inside

_WHAT = "JMeter plugins of the plan"
# How Maven names an artifact that no repository has: the first time, and when it has searched for it before.
_COORDINATES = r"([\w.-]+):([\w.-]+):(?:jar|pom):([\w.+-]+)"
_ABSENT_ARTIFACT = re.compile(
    f"(?:Could not find artifact|Failure to find) {_COORDINATES}|{_COORDINATES} was not found in"
)
_JAR = re.compile(r"(.+?)-(\d[\w.+-]*)\.jar")
_NEEDS_NOTHING = "<exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion>"
# Plugins name the JMeter that they were written for.
_NEEDS_NO_JMETER = "<exclusion><groupId>org.apache.jmeter</groupId><artifactId>*</artifactId></exclusion>"
_TREE = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:tree"
_TRUSTED = "trusted"
_ADDRESS_TIMEOUT_S = 60.0
_NEWEST = "RELEASE"


def ensure_plugins(plugins: PluginList, home: Path) -> Path | None:
    """Return the folder with the jars of a plan's plugins, for the JMeter in `home`; None without any.

    It has also what they need and JMeter has not. UsageError when one of them cannot be had, or two do not fit.
    """
    if not plugins.listed:
        return None
    plugins.check()
    given = lock_file(plugins)
    locked = locked_jars(given, plugins.coordinates) if given else None
    resolved: _Resolved | None = None
    if locked is None and plugins.coordinates:
        resolved = _Resolved.by_maven(plugins, home)
        locked = resolved.locked
    if locked and given != plugins.lock:
        _store_lock(plugins, locked)
    sums = {jar_name(coordinate): digest for coordinate, digest in (locked or {}).items()}
    sums |= {name: sum_of_file(file) for name, file in plugins.files.items()}
    sums |= {name: digest for name, (_, digest) in plugins.addresses.items()}
    jars = "".join(f"{digest}  {name}\n" for name, digest in sorted(sums.items()))
    stamp = hashlib.sha256(jars.encode()).hexdigest()
    name = f"plugins-{stamp[:12]}"
    trusted = BUILD / _TRUSTED / name
    trusted.mkdir(parents=True, exist_ok=True)
    (trusted / integrity.LOCK_NAME).write_text(jars, encoding="utf-8")

    def assemble(draft: Path) -> None:
        if resolved:
            resolved.folder.rename(draft)
        else:
            _copy_by_maven(draft, plugins, list(locked or ()), _NEEDS_NOTHING)
            _check_sums(draft, plugins, locked or {})
        for file_name, file in plugins.files.items():
            shutil.copyfile(file, draft / file_name)
        for file_name, (url, digest) in plugins.addresses.items():
            _download(url, digest, draft / file_name, plugins.where)

    try:
        return toolchain.fetched(name, stamp, _WHAT, assemble, trusted)
    finally:
        if resolved:
            shutil.rmtree(resolved.folder, ignore_errors=True)


def _check_sums(folder: Path, plugins: PluginList, locked: Mapping[str, str]) -> None:
    """Raise a UsageError when Maven has another jar than the lock file."""
    for coordinate, digest in locked.items():
        file = folder / jar_name(coordinate)
        if file.is_file() and sum_of_file(file) != digest:
            lock = f"plans/{plugins.lock.name}"
            todo = f"if you trust Maven's, delete {lock}: it is written again; else ask who changed it, or serves Maven"
            raise UsageError(f"{coordinate} from Maven is another jar than that of {lock}: its SHA-256 differs", todo)


def lock_file(plugins: PluginList) -> Path | None:
    """Return the lock file of these plugins: that beside the plan, or this machine's copy; None when there is none."""
    files = (plugins.lock, _own_lock(plugins))
    return next((one for one in files if locked_jars(one, plugins.coordinates) is not None), None)


def is_own_lock(plugins: PluginList) -> bool:
    """Return whether this machine has written the plan's lock file, or there is none: nobody else chose its jars."""
    given, own = plugins.lock, _own_lock(plugins)
    return not given.is_file() or (own.is_file() and own.read_bytes() == given.read_bytes())


def _own_lock(plugins: PluginList) -> Path:
    """Return the copy of the lock file that this machine keeps, also for plans in a folder that it may not write."""
    key = hashlib.sha256("\n".join(plugins.coordinates).encode()).hexdigest()
    return BUILD / _TRUSTED / f"{key[:16]}.lock"


def _store_lock(plugins: PluginList, locked: Mapping[str, str]) -> None:
    text = lock_text(plugins.coordinates, [(digest, coordinate) for coordinate, digest in locked.items()])
    own = _own_lock(plugins)
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text(text, encoding="utf-8")
    with suppress(OSError):  # in a folder that this user may not write the own copy has to do
        inside(plugins.lock, plugins.lock.parent).write_text(text, encoding="utf-8")
        setup_step.log(f"plans/{plugins.lock.name}: written, with the SHA-256 of each jar; commit it")


@dataclass(frozen=True)
class _Resolved:
    """What Maven found: a folder with the jars, and the SHA-256 of each, by its coordinate."""

    folder: Path
    locked: dict[str, str]

    @classmethod
    def by_maven(cls, plugins: PluginList, home: Path) -> _Resolved:
        """Return the jars that the plugins need and the JMeter in `home` has not."""
        present = _jars_by_artifact(home)
        listed = plugins.coordinates
        settled = {*(_library(one) for one in listed), *(f":{artifact}" for artifact in present)}
        folder = BUILD / f"plugins.{os.getpid()}.new"  # another process may resolve others
        found = _tree(folder, plugins, {})
        newer = {one.newer.library: one.newer.version for one in _compatible(found, settled, plugins)}
        if newer:
            found = _tree(folder, plugins, newer)
        jars = jars_of(found, listed, present)
        _copy_by_maven(folder, plugins, jars, _NEEDS_NOTHING)
        copies = _jars_in_another(folder, [jar_name(one) for one in jars if one not in listed])
        for name in copies:
            (folder / name).unlink()
        return cls(folder, {one: sum_of_file(folder / jar_name(one)) for one in jars if jar_name(one) not in copies})


def _compatible(found: Sequence[Dependency], settled: set[str], plugins: PluginList) -> list[Conflict]:
    """Return the conflicts in which the newer version will do; UsageError for another one."""
    of_plugins = [one for one in found if f":{one.artifact}" not in settled]
    listed = list(conflicts(of_plugins, settled))
    if breaking := next((one for one in listed if one.is_breaking), None):
        newer, older = breaking.newer, breaking.older
        what = f"{plugins.where}: {newer.needed_by} needs {newer.coordinate}, and {older.needed_by} {older.version}"
        todo = f'JMeter can load one of them: list it, such as "{newer.coordinate}", or remove a plugin'
        raise UsageError(what, todo)
    return listed


def _tree(folder: Path, plugins: PluginList, newer: Mapping[str, str]) -> list[Dependency]:
    """Return what Maven finds that the plugins need; of the libraries in `newer` it takes that version."""
    tree = folder / "tree.txt"
    options = [_TREE, "-Dverbose", "-Dscope=runtime", f"-DoutputFile={tree}"]
    _maven(folder, plugins, _pom(plugins.coordinates, _NEEDS_NO_JMETER, newer), options)
    return list(dependencies_in(tree.read_text(encoding="utf-8", errors="replace")))


def _copy_by_maven(folder: Path, plugins: PluginList, coordinates: Sequence[str], exclusion: str) -> None:
    """Have Maven copy these jars, and nothing that they need, into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    if coordinates:
        _maven(folder, plugins, _pom(coordinates, exclusion, {}), ["package"])


def _maven(folder: Path, plugins: PluginList, pom: str, goals: Sequence[str]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "pom.xml").write_text(pom, encoding="utf-8")
    log = "plugins.log"
    try:
        toolchain.package(folder / "pom.xml", f"-Dplugins.home={folder}", _WHAT, log, goals)
    except StartError as error:
        shutil.rmtree(folder, ignore_errors=True)
        text = (BUILD / log).read_text(errors="replace")
        absent = _ABSENT_ARTIFACT.search(text)
        if absent is None:
            if error.what.startswith(_WHAT):
                raise  # the disk is full
            todo = f"check the network or Maven's settings (log: build/{log})"
            raise UsageError(f"{plugins.where}: {', '.join(plugins.coordinates)} cannot be fetched", todo) from None
        coordinate = ":".join(next(found for found in (absent.groups()[:3], absent.groups()[3:]) if found[0]))
        raise _absent(coordinate, plugins, folder) from None


def _absent(coordinate: str, plugins: PluginList, folder: Path) -> UsageError:
    """Return the error for an artifact that no repository has, with the version that they have."""
    is_listed = coordinate in plugins.coordinates
    needed = "" if is_listed else f", which {' or '.join(plugins.coordinates)} needs,"
    what = f"{plugins.where}: {coordinate}{needed} is in none of Maven's repositories"
    newest = _newest(_library(coordinate), folder)
    if newest and is_listed:
        return UsageError(what, f'they have "{newest}"')
    if newest:
        return UsageError(what, f'they have "{newest}": list it')
    return UsageError(what, 'correct it, or get its jar and list that: plugins = ["lib/NAME.jar"]')


def _newest(library: str, folder: Path) -> str:
    """Return the coordinate of the newest version that Maven's repositories have; empty when there is none."""
    folder.mkdir(parents=True)
    try:
        (folder / "pom.xml").write_text(_pom((f"{library}:{_NEWEST}",), _NEEDS_NOTHING, {}), encoding="utf-8")
        toolchain.package(folder / "pom.xml", f"-Dplugins.home={folder}", "the newest version", "newest.log")
        start = f"{library.partition(':')[2]}-"
        found = (path.stem.removeprefix(start) for path in folder.glob("*.jar") if path.stem.startswith(start))
        return next((f"{library}:{version}" for version in found), "")
    except StartError:
        return ""
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _pom(coordinates: Sequence[str], exclusion: str, newer: Mapping[str, str]) -> str:
    """Return a POM that depends on these jars and copies them; of the libraries in `newer` it takes that version."""
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>harness</groupId><artifactId>jmeter-plugins</artifactId><version>1</version><packaging>pom</packaging>
  <dependencyManagement><dependencies>{_dependencies([f"{one}:{newer[one]}" for one in newer])}
  </dependencies></dependencyManagement>
  <dependencies>{_dependencies(coordinates, f"<exclusions>{exclusion}</exclusions>")}
  </dependencies>
  <build><plugins><plugin>
    <groupId>org.apache.maven.plugins</groupId><artifactId>maven-dependency-plugin</artifactId><version>3.6.1</version>
    <executions><execution><phase>package</phase><goals><goal>copy-dependencies</goal></goals>
      <configuration><outputDirectory>${{plugins.home}}</outputDirectory></configuration>
    </execution></executions>
  </plugin></plugins></build>
</project>
"""


def _dependencies(coordinates: Iterable[str], more: str = "") -> str:
    lines = []
    for group, artifact, version, *classifier in (one.split(":") for one in coordinates):
        own = "".join(f"<classifier>{one}</classifier>" for one in classifier)
        names = f"<groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>{own}"
        lines.append(f"\n    <dependency>{names}{more}</dependency>")
    return "".join(lines)


def _library(coordinate: str) -> str:
    return ":".join(coordinate.split(":")[:2])


def _jars_by_artifact(home: Path) -> dict[str, str]:
    """Return the versions of JMeter's own jars, by artifact."""
    jars = (_JAR.fullmatch(path.name) for path in (*(home / "lib").glob("*.jar"), *(home / "lib/ext").glob("*.jar")))
    return {match[1]: match[2] for match in jars if match}


def _jars_in_another(folder: Path, names: Sequence[str]) -> set[str]:
    """Return the jars all of whose classes a greater one has, such as an older interface by another name."""
    classes = {path.name: _classes(path) for path in folder.glob("*.jar")}
    return {
        name
        for name in names
        if classes[name] and any(classes[name] < other for another, other in classes.items() if another != name)
    }


def _classes(jar: Path) -> set[str]:
    try:
        with zipfile.ZipFile(jar) as archive:
            return {name for name in archive.namelist() if name.endswith(".class") and "module-info" not in name}
    except zipfile.BadZipFile:
        return set()


def _download(url: str, digest: str, file: Path, where: str) -> None:
    """Store the jar of an address; UsageError when it cannot be fetched, or is another one."""
    try:
        with urllib.request.urlopen(url, timeout=_ADDRESS_TIMEOUT_S) as answer, file.open("wb") as out:
            shutil.copyfileobj(answer, out)
    except urllib.error.HTTPError as error:
        raise UsageError(f"{where}: {url} is answered with {error.code}", "correct the address") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{where}: {url} cannot be fetched ({error})", "check the network or the address") from None
    if (found := sum_of_file(file)) != digest:
        raise UsageError(f"{where}: {url} has another SHA-256, {found}", "correct it if that is the jar that you mean")
