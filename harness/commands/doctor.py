"""`lth doctor`: print what is installed, whether it is intact, and whether this machine is fit for load tests.

It installs and writes nothing, and runs before .venv exists: standard library only.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import importlib.metadata
import os
import resource
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from harness.base.errors import EXIT_OK, EXIT_USAGE, HarnessError
from harness.base.git import version_text
from harness.base.install import integrity, toolchain
from harness.base.install.python_packages import pinned
from harness.base.java import java_path, jmeter_java_path, jmeter_java_version
from harness.base.log import print_text
from harness.base.project import (
    BUILD,
    CHECKOUT,
    FILE_NAME,
    NAME,
    OWN_NAME,
    PACKAGE,
    SHIPPED,
    current_project,
    folder_with,
)

_EPILOG = """\
It hashes all jars and Python packages, which takes some seconds. A PROBLEM prevents runs, a warning does not.

exit codes: 0 nothing prevents a run; 2 something does.
"""
_MB = 1_000_000
# What a project has besides its files and reports.
_OF_PROJECT = {
    OWN_NAME: "diffs of init, recordings with what was typed, logs of lth system",
    "site": "what lth site wrote",
    "secrets.toml": "values of secrets",
}
_LEAST_FREE_MB, _LEAST_MEMORY_MB, _LEAST_FILES = 200, 2_000, 4_096
_CLOCK_S, _JUMP_S = 0.2, 0.01


class DoctorFact(NamedTuple):
    """A line of the answer."""

    name: str
    text: str


class Problem(NamedTuple):
    """What is wrong, why it matters, and what to do. One that `prevents` runs sets the exit code."""

    what: str
    why: str
    todo: str
    prevents: bool = True


Findings = Iterator[DoctorFact | Problem]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `doctor`: none."""
    parser.description = (
        "Print what is installed, whether it is intact, and whether this machine is fit for load tests."
    )
    parser.epilog = _EPILOG


def run(_: argparse.Namespace) -> int:
    """Print the facts, then the problems, and return the exit code."""
    problems = []
    for look in (_folders, _java, _maven, _python, _jars, _machine, _disk, _clock):
        for finding in look():
            if isinstance(finding, DoctorFact):
                print_text(f"{finding.name:<12}{finding.text}", flush=True)
            else:
                problems.append(finding)
    print_text()
    for problem in problems:
        kind = "PROBLEM" if problem.prevents else "warning"
        print_text(f"{kind}: {problem.what}; {problem.why}; {problem.todo}")
    if not problems:
        print_text("no problems found")
    return EXIT_USAGE if any(problem.prevents for problem in problems) else EXIT_OK


def _folders() -> Findings:
    yield DoctorFact("version", version_text())
    yield DoctorFact("tool", f"{CHECKOUT or PACKAGE} ({'checkout' if CHECKOUT else 'installed'}), {_size_of(PACKAGE)}")
    try:
        project = current_project()
    except HarnessError as error:
        yield Problem(error.what, "no command works in this folder", error.todo)
    else:
        kind = FILE_NAME if project.file else f"no {FILE_NAME}"
        yield DoctorFact("project", f"{project.folder} ({kind}), reports {_size_of(project.reports)}")
        for name, what in _OF_PROJECT.items():
            if (project.folder / name).exists():
                yield DoctorFact("", f"{name}: {what}, {_size_of(project.folder / name)}, not for git")
    yield DoctorFact("cache", f"{BUILD}, {_size_of(BUILD)}")
    if not _is_writable(BUILD) and not (BUILD / "jmeter").is_dir():
        todo = "give yourself write permission, or set XDG_CACHE_HOME to a folder that you may write"
        yield Problem(f"{BUILD} cannot be written", "JMeter is not installed there yet", todo)


def _java() -> Findings:
    try:
        version = jmeter_java_version()
    except HarnessError as error:
        yield Problem(error.what, "JMeter needs it", error.todo)
        return
    path = os.path.realpath(shutil.which(jmeter_java_path()) or "")
    javac = Path(os.path.realpath(shutil.which(java_path()) or "")).with_name("javac")
    yield DoctorFact("Java", f"{version}, {path}; javac {'beside it' if javac.is_file() else 'missing'}")
    if not javac.is_file():
        is_compiled = (BUILD / "connections").is_dir()
        why = "new Java classes cannot be compiled" if is_compiled else "runs need classes that it compiles"
        yield Problem("javac is missing next to Java", why, "install a JDK, such as openjdk-17-jdk", not is_compiled)


def _maven() -> Findings:
    try:
        yield DoctorFact("Maven", toolchain.check_maven())
    except HarnessError as error:
        needed = not (os.environ.get("JMETER_HOME") or (BUILD / "jmeter").is_dir())
        why = "it downloads JMeter" if needed else "it downloads systems and plugins that are not here yet"
        yield Problem(error.what, why, error.todo, needed)


def _python() -> Findings:
    yield DoctorFact("Python", f"{sys.version.split()[0]}, {sys.executable}")
    if CHECKOUT and sys.prefix == sys.base_prefix:
        yield DoctorFact("packages", "not installed yet; lth setup installs them, as does the first command")
        return
    pins, wrong = pinned(), []
    for name, version in pins.items():
        try:
            distribution = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            wrong.append(f"{name} {version} is not installed")
            continue
        if distribution.version != version:
            wrong.append(f"{name} {distribution.version} is installed, not {version}")
        wrong += [f"{name}: {path} is not as it was installed" for path in _changed_files(distribution)]
    yield DoctorFact("packages", f"{len(pins)} pinned, {'not intact' if wrong else 'intact'}")
    todo = "remove .venv, and run lth setup" if CHECKOUT else f"pipx reinstall {NAME}, or install it again with pip"
    for what in wrong:
        yield Problem(what, "results could be wrong, or code of others could run", todo)


def _changed_files(package: importlib.metadata.Distribution) -> Iterator[Path]:
    """Yield the files of a package that differ from its own record; its tests may be absent."""
    for file in package.files or ():
        if file.hash is None or file.hash.mode != "sha256":
            continue
        path = Path(str(package.locate_file(file)))
        try:
            digest = hashlib.sha256(path.read_bytes()).digest()
        except FileNotFoundError:
            if "tests" not in file.parts:
                yield path
            continue
        if base64.urlsafe_b64encode(digest).decode().rstrip("=") != file.hash.value:
            yield path


def _jars() -> Findings:
    if own := os.environ.get("JMETER_HOME"):
        yield DoctorFact("jars", f"JMETER_HOME={own}: a JMeter of your own, which is not locked")
    for name, folder, lock in _locked_folders():
        if not folder.is_dir() or (name == "jmeter" and own):
            continue
        if not lock.is_file():
            yield DoctorFact("jars", f"{name}: has no {integrity.LOCK_NAME}, nothing is checked")
            continue
        found = integrity.differences(folder, lock.read_text(encoding="utf-8"))
        yield DoctorFact("jars", f"{name}: {'not intact' if found else 'intact'}, {_size_of(folder)}")
        for what in found:
            yield Problem(what, "it could run other code than that of its release", f"remove {folder}")
    if not own and not (BUILD / "jmeter").is_dir():
        yield DoctorFact("jars", "jmeter: not downloaded yet; lth setup does it, as does the first run")


def _locked_folders() -> Iterator[tuple[str, Path, Path]]:
    """Yield name, folder and lock file of all that Maven may have brought."""
    for name, locked in (("jmeter", SHIPPED / "jmeter"), ("site-charts", PACKAGE / "site")):
        yield name, BUILD / name, locked / integrity.LOCK_NAME
    yield "flame-graphs", BUILD / "flame-graphs", PACKAGE / "system" / integrity.LOCK_NAME
    for lock in sorted((BUILD / "trusted").glob(f"*/{integrity.LOCK_NAME}")):
        yield lock.parent.name, BUILD / lock.parent.name, lock
    for folder in sorted((BUILD / "systems").glob("*/")):
        lock = folder_with(_home(), "systems", folder.name) / folder.name / integrity.LOCK_NAME
        yield f"system {folder.name}", folder, lock


def _machine() -> Findings:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    yield DoctorFact("cores", f"{cores} of {os.cpu_count()}")
    if cores < 2:
        yield Problem("1 core", "JMeter and the system wait for each other", "use a machine with 2 or more", False)
    memory_mb = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // _MB
    yield DoctorFact("memory", f"{memory_mb:,} MB")
    if memory_mb < _LEAST_MEMORY_MB:
        why = "JMeter's heap alone may have 1,000 MB"
        yield Problem(f"{memory_mb:,} MB of memory", why, f"use a machine with {_LEAST_MEMORY_MB:,} MB or more", False)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    yield DoctorFact("open files", "no limit" if most == resource.RLIM_INFINITY else f"at most {most:,}")
    if most != resource.RLIM_INFINITY and most < _LEAST_FILES:
        todo = f"sudo prlimit --pid $$ --nofile={_LEAST_FILES}:{_LEAST_FILES}"
        yield Problem(f"at most {most:,} open files", "each user needs one, and a run 1,000 more", todo, False)


def _disk() -> Findings:
    reports = _home() / "reports"
    for name, folder in (("reports", reports), ("cache", BUILD)):
        there = _nearest(folder)
        free_mb = shutil.disk_usage(there).free // _MB
        yield DoctorFact("disk free", f"{free_mb:,} MB for the {name}")
        if free_mb < _LEAST_FREE_MB:
            yield Problem(f"{there}: {free_mb} MB are free", f"a run needs {_LEAST_FREE_MB} MB", "free disk space")
    if not _is_writable(reports):
        yield Problem(f"{reports} cannot be written", "a run writes its results there", "choose another --reports")


def _clock() -> Findings:
    wall_s, steady_s = time.time(), time.monotonic()
    time.sleep(_CLOCK_S)
    jump_s = (time.time() - wall_s) - (time.monotonic() - steady_s)
    yield DoctorFact("clock", time.strftime("%Y-%m-%d %H:%M:%S %z (%Z)"))
    if abs(jump_s) > _JUMP_S:
        why = "JMeter's time stamps jump with it"
        yield Problem(f"the clock was set by {1000 * jump_s:.0f} ms just now", why, "check NTP of this machine", False)
    if wall_s < (PACKAGE / "__init__.py").stat().st_mtime - 86_400:
        why = "certificates look invalid, and new runs look older than others"
        yield Problem("the clock is more than a day older than the tool", why, "set the clock", False)


def _home() -> Path:
    """Return the folder of the project; the current folder where it is not readable, which is a problem already."""
    try:
        return current_project().folder
    except HarnessError:
        return Path.cwd()


def _nearest(folder: Path) -> Path:
    """Return the folder, or the nearest one above it that exists."""
    return next(one for one in (folder, *folder.parents) if one.is_dir())


def _is_writable(folder: Path) -> bool:
    return os.access(_nearest(folder), os.W_OK)


def _size_of(folder: Path) -> str:
    if folder.is_file():
        return f"{folder.stat().st_size:,} bytes"
    files = (Path(parent, name) for parent, _, names in os.walk(folder) for name in names)
    return f"{sum(file.lstat().st_size for file in files) / _MB:,.0f} MB"
