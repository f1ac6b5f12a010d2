"""Stores the data of JMeter's classes as Java has them in memory (class-data sharing), so that JMeter starts faster.

Java shares only the data of classes on the application class path. So JMeter starts with a jar whose manifest names all
its jars: JMeter's own class loader then finds every class in its parent. `jmeter/bin/jmeter` uses the jar and the data.
Java takes all data into memory, also those of unused classes: there are data with Groovy and, 12 MB smaller, without.
Java ignores data that are not those of its version and of these jars. A checkout that links to JMeter in another one
uses the data there.

This module runs before .venv exists: standard library only.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from harness.base.errors import HarnessError, StartError
from harness.base.install import integrity, setup_step
from harness.base.interrupts import Interrupts
from harness.base.java import jmeter_environment, jmeter_java_path
from harness.base.once import has_stamp, lock, stamp_of
from harness.base.project import BUILD, PACKAGE, SHIPPED

_NAME = "class-data"
_PLAN = SHIPPED / "jmeter" / f"{_NAME}.jmx"
_JAR, _STAMP = "start.jar", ".stamp"
_DATA, _SMALL_DATA = "classes.jsa", "no-groovy.jsa"
# Where a plan has none of these, no script and no function of it is one of Groovy.
_GROOVY = re.compile(b"groovy|JSR223", re.IGNORECASE)
_FOLDERS = ("lib", "lib/ext", "lib/junit")  # the order of JMeter's own class loader
_LINE_LENGTH = 70  # a line of a manifest has at most 72 bytes
# Java 17 may crash while it stores the class of a lambda whose own class cannot be stored
# (https://github.com/openjdk/jdk/pull/6205, which it lacks). With this property it stores none of them.
_NO_LAMBDAS = "-Djdk.internal.lambda.disableEagerInitialization=true"


_NULL, _NICE = subprocess.DEVNULL, ("nice", "-n", "19")
# What stores the data in another process; a checkout is on no path of Python.
_STORE = """\
import sys; sys.path.insert(0, sys.argv[1])
from pathlib import Path
from harness.base.install.class_data import store_class_data
store_class_data(Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4])
"""

# What is stored when the command has printed its results.
_wanted: list[tuple[Path, Path, str]] = []


def want_class_data(home: Path, agent: Path, java_version: str) -> None:
    """Have the data of JMeter's classes stored at the end of the command, unless this is the first start of JMeter.

    Once they cost more than they save. Where nothing can be written there are none: JMeter also starts without them.
    """
    if not _is_ours(home) or (home / _NAME).is_dir():
        _wanted.append((home, agent, java_version))
    else:
        with suppress(OSError):
            (home / _NAME).mkdir()


def store_wanted_class_data() -> None:
    """Store the data that the command wanted; Ctrl-C and a closed terminal leave them to the next command."""
    with suppress(KeyboardInterrupt), Interrupts():
        while _wanted:
            store_class_data(*_wanted.pop())


def leave_wanted_class_data() -> None:
    """Store the data that the command wanted: of a terminal in another process, which leaves it free at once.

    That process yields to all others, so that a run that is started meanwhile has the cores.
    """
    if not (sys.stdout.isatty() and sys.stderr.isatty()):
        store_wanted_class_data()
        return
    while _wanted:
        words = map(str, _wanted.pop())
        command = [*_NICE, sys.executable, "-c", _STORE, str(PACKAGE.parent), *words]
        with suppress(OSError):
            subprocess.Popen(command, start_new_session=True, stdin=_NULL, stdout=_NULL, stderr=_NULL, cwd="/")


def data_for(jmx: bytes) -> dict[str, str]:
    """Return the environment variable with which JMeter's start script takes the data for a plan."""
    return {"CLASS_DATA": Path(_DATA if _GROOVY.search(jmx) else _SMALL_DATA).stem}


def store_class_data(home: Path, agent: Path, java_version: str) -> None:
    """Store the data of the classes of build/jmeter, for this version of Java and runs with this agent.

    No effect on another JMeter home, and where nothing can be written.
    """
    if not _is_ours(home):
        return
    home, agent = home.resolve(), agent.resolve()  # the paths that the start script and Java see
    with suppress(OSError, HarnessError):
        jars = [home / "bin" / "ApacheJMeter.jar"]
        jars += [jar for folder in _FOLDERS for jar in sorted((home / folder).glob("*.jar"))]
        stamp = _stamp(home, agent, jars, java_version)
        if has_stamp(home / _NAME / _STAMP, stamp):
            return
        with _lock(home):
            if not has_stamp(home / _NAME / _STAMP, stamp):
                _store(home, agent, jars)
                (home / _NAME / _STAMP).write_text(stamp)


def remove_changed(home: Path) -> None:
    """Remove jar and data of a JMeter home when the jar is not the one that was stored; they are made again."""
    start = home / _NAME / _JAR
    if start.is_file() and not integrity.has_sum(start):
        with _lock(home):  # who stores them anew replaces the sum first, and the jar then
            if start.is_file() and not integrity.has_sum(start):
                shutil.rmtree(start.parent, ignore_errors=True)


def _lock(home: Path) -> AbstractContextManager[None]:
    return lock(home.with_name(f"{_NAME}.lock"), "JMeter's class data", setup_step.log)


def start_jar(jars: Sequence[str]) -> bytes:
    """Return a jar that starts JMeter with these jars, whose paths are relative to it."""
    import io  # here, because every start would wait for them
    import zipfile

    text = f"Class-Path: {' '.join(jars)}"
    lines = [text[:_LINE_LENGTH]]
    lines += [f" {text[at : at + _LINE_LENGTH - 1]}" for at in range(_LINE_LENGTH, len(text), _LINE_LENGTH - 1)]
    manifest = ["Manifest-Version: 1.0", "Main-Class: org.apache.jmeter.NewDriver", *lines, "", ""]
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as jar:
        jar.writestr(zipfile.ZipInfo("META-INF/MANIFEST.MF"), "\r\n".join(manifest))  # the same bytes each time
    return file.getvalue()


def _is_ours(home: Path) -> bool:
    return home.resolve() == (BUILD / "jmeter").resolve()


def _stamp(home: Path, agent: Path, jars: Sequence[Path], java_version: str) -> str:
    """Return the stamp of everything on which the data depend."""
    java = os.path.realpath(shutil.which(jmeter_java_path()) or "")
    files = [f"{jar} {jar.stat().st_size} {int(jar.stat().st_mtime)}" for jar in (*jars, agent)]
    return stamp_of([_PLAN, home / "bin" / "jmeter"], _NO_LAMBDAS, java, java_version, *files)


def _store(home: Path, agent: Path, jars: Sequence[Path]) -> None:
    """Write the jar and the data; JMeter also starts with the jar alone. Why Java stores no data is in the log."""
    folder = home / _NAME
    folder.mkdir(exist_ok=True)
    for name in (_STAMP, _DATA, _SMALL_DATA):
        (folder / name).unlink(missing_ok=True)
    draft = (folder / _JAR).with_suffix(".new")
    jar = start_jar([os.path.relpath(one, folder) for one in jars])
    draft.write_bytes(jar)
    integrity.store_sum(folder / _JAR, jar)
    draft.replace(folder / _JAR)  # a JMeter of another harness may be about to open the jar: there is always one
    try:
        try:
            _store_both(home, agent)
        except StartError as error:
            setup_step.log(f"JMeter's class data: {error.what}; storing them without lambdas")
            _store_both(home, agent, _NO_LAMBDAS)
    except StartError as error:
        setup_step.log(f"JMeter's class data: {error.what}; JMeter starts without them")


def _store_both(home: Path, agent: Path, *options: str) -> None:
    _run_and_store(home, agent, home / _NAME / _DATA, options)
    _run_and_store(home, agent, home / _NAME / _SMALL_DATA, options, "-Jgroovy=false")


def _run_and_store(home: Path, agent: Path, data: Path, more: Sequence[str], *properties: str) -> None:
    """Run a plan that uses what most plans use, with `more` options; Java stores the classes that it loaded.

    StartError if it cannot.
    """
    draft = data.with_suffix(".new")
    draft.unlink(missing_ok=True)
    # The agent's jar is on the boot class path of a run, which must be that of the data.
    options = " ".join([f'"-XX:ArchiveClassesAtExit={draft}" "-Xbootclasspath/a:{agent}"', *more])
    # The load is a moment: the quick compiler does, and any collector can use the data.
    quick = {"HEAP": "-Xmx512m", "GC_ALGO": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1", "JVM_ARGS": ""}
    # Java cannot store the data of a start that itself uses data, of which there are none by this name.
    variables = {**quick, "JDK_JAVA_OPTIONS": options, "CLASS_DATA": "none", **jmeter_environment()}
    command = ["env", *(f"{name}={value}" for name, value in variables.items())]
    command += [str(home / "bin" / "jmeter"), "-n", "-t", str(_PLAN), "-l", "samples.jtl", "-j", "jmeter.log"]
    command += ["-q", str(SHIPPED / "jmeter" / "jmeter.properties"), *properties]
    log_file = BUILD / f"{_NAME}.log"
    with tempfile.TemporaryDirectory() as folder, setup_step.step("JMeter's class data", log_file) as step:
        setup_step.run(command, step, Path(folder), f"see build/{log_file.name}")
        if not draft.is_file():
            raise StartError("Java stored none", f"see build/{log_file.name}")
        draft.rename(data)
