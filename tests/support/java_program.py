"""Java programs of tests, compiled once: to start one from its source, java would start the compiler each time."""

from __future__ import annotations

import atexit
import functools
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path


@functools.cache
def _classes(name: str, source: str, others: tuple[tuple[str, str], ...] = (), jars: str = "") -> Path:
    """Return a folder with the compiled class `name`, and other classes of packages: pairs of path and source."""
    folder = Path(tempfile.mkdtemp(prefix=f"{name}-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / f"{name}.java").write_text(source, encoding="utf-8")
    for path, text in others:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    quick = ["-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC"]
    sources = [folder / f"{name}.java", *(folder / path for path, _ in others)]
    subprocess.run(["javac", *quick, "-cp", jars, "-d", folder, *sources], check=True, capture_output=True)
    return folder


# The environment variable with the folder of another Java, such as one of 21, with which virtual threads are tested.
VIRTUAL_JAVA = "HARNESS_VIRTUAL_JAVA"


def java_of(release: int) -> str | None:
    """Return the newest Java of this machine if it is of this release or newer: virtual threads need 21."""
    chosen = os.environ.get(VIRTUAL_JAVA)
    folders = [Path(chosen)] if chosen else Path("/usr/lib/jvm").glob("*")
    found = [str(folder / "bin" / "java") for folder in folders if (folder / "bin" / "java").is_file()]
    newest = max(found, default=None, key=release_of)
    return newest if newest and release_of(newest) >= release else None


def release_of(java: str) -> int:
    """Return the release of a Java, such as 21; 0 when it does not say."""
    path = Path(java).parent.parent / "release"
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    version = re.search(r'^JAVA_VERSION="(\d+)', text, re.MULTILINE)
    return int(version[1]) if version else 0


def java_command(
    name: str,
    source: str,
    *options: str,
    java: str = "java",
    others: tuple[tuple[str, str], ...] = (),
    jars: str = "",
) -> list[str]:
    """Return the command that runs the class `name` of a source text in a JVM with these options and `jars`."""
    return [java, *options, "-cp", f"{_classes(name, source, others, jars)}{os.pathsep}{jars}", name]
