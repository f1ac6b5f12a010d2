"""Finds Java for the harness, for JMeter and for manifests, and checks its version.

This module runs before .venv exists: standard library only.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from harness.base.errors import UsageError

JAVA_LEAST = 17
# JMeter 5.6.3 without its GUI was tested on 17, 21 and 25; 26 lacks java.applet, which its classes need.
_JMETER_JAVA_MOST = 25
_JMETER_JAVA_VARIABLE = "JAVA_HOME_FOR_JMETER"
_VERSION_TIMEOUT_S = 30


class _JavaVersion(NamedTuple):
    """A version of Java, such as 21.0.5, and its release: 21."""

    release: int
    text: str


def java_context() -> Mapping[str, str]:
    """Return `java`, `java_bin` (the JDK's bin folder) and `java_version` for manifests; nothing without Java.

    A manifest that needs no Java then still works; one that does fails with the name of the missing value.
    """
    java = _installed(java_path())
    if java is None:
        return {}
    version = _version_in_release_file(java) or "of unknown version"
    return {"java": str(java), "java_bin": str(java.parent), "java_version": version}


def _installed(java: str) -> Path | None:
    """Return the program that a path or a name on PATH leads to; None without one."""
    found = shutil.which(java)
    # /usr/bin/java is a chain of links into the JDK. The JDK's other tools may not be on PATH.
    return Path(os.path.realpath(found)) if found else None


def _version_in_release_file(java: Path) -> str:
    """Return the version that the `release` file of a Java contains; empty without one."""
    try:
        text = (java.parent.parent / "release").read_text(encoding="utf-8")
    except OSError:
        return ""
    match = re.search(r'^JAVA_VERSION="(.+)"$', text, re.MULTILINE)
    return match[1] if match else ""


def java_version() -> str:
    """Return the version of the Java in JAVA_HOME or on PATH. UsageError when it is missing or too old."""
    return _checked_version(java_path(), f"install a JDK of Java {JAVA_LEAST} or newer (openjdk-{JAVA_LEAST}-jdk)").text


def java_path() -> str:
    """Return the path of Java: from JAVA_HOME if set, else the one on PATH."""
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else "java"


def jmeter_java_version() -> str:
    """Return the version of the Java that runs JMeter. UsageError when it is missing, too old or too new.

    With JAVA_HOME_FOR_JMETER, the default Java is checked too: it runs the systems and the counter.
    """
    home = os.environ.get(_JMETER_JAVA_VARIABLE)
    if home and not os.access(Path(home) / "bin" / "java", os.X_OK):
        raise UsageError(f"{_JMETER_JAVA_VARIABLE}={home}: has no bin/java", "correct it, or unset it to use JAVA_HOME")
    todo = (
        f"install a JDK of Java {JAVA_LEAST} to {_JMETER_JAVA_MOST} (openjdk-{JAVA_LEAST}-jdk); if it is not the "
        f"default, {_JMETER_JAVA_VARIABLE}=/path/to/jdk selects it for JMeter only"
    )
    version = _checked_version(jmeter_java_path(), todo)
    if version.release > _JMETER_JAVA_MOST:
        issue = "https://github.com/apache/jmeter/issues/6659"
        raise UsageError(f"Java {version.text} is too new for JMeter 5.6.3 ({issue})", todo)
    if home:
        java_version()
    return version.text


def jmeter_java_path() -> str:
    """Return the Java for JMeter and its load generators: from JAVA_HOME_FOR_JMETER if set, else `java_path`."""
    home = os.environ.get(_JMETER_JAVA_VARIABLE)
    return str(Path(home) / "bin" / "java") if home else java_path()


def jmeter_environment() -> dict[str, str]:
    """Return the environment variable that selects Java for JMeter's start script; empty for the default Java."""
    home = os.environ.get(_JMETER_JAVA_VARIABLE)
    return {"JAVA_HOME": home} if home else {}


def _checked_version(java: str, todo: str) -> _JavaVersion:
    """Return the version of a Java; UsageError when it is missing or too old.

    A JDK has its version in a file. Only a Java without one is started, because that takes as long as many imports.
    """
    installed = _installed(java)
    known = _version_in_release_file(installed) if installed else ""
    text = f'version "{known}"' if known else version_output([java, "-version"], "Java", todo)
    match = re.search(r'version "(\d+)([^"]*)"', text)
    if match is None or int(match[1]) < JAVA_LEAST:
        found = match[1] + match[2] if match else text.splitlines()[0]
        raise UsageError(f"Java {found} is too old", todo)
    return _JavaVersion(int(match[1]), match[1] + match[2])


def version_output(command: Sequence[str], name: str, todo: str) -> str:
    """Return what a program prints of its version; UsageError when it is missing: `name`, and what to do."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_VERSION_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        raise UsageError(f"{name} is missing ({command[0]} does not run)", todo) from None
    return (done.stdout + done.stderr).strip() or "no version printed"
