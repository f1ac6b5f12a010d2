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


def java_of(release: int) -> str | None:
    """Return the newest Java of this machine if it is of this release or newer: virtual threads need 21."""
    found: list[tuple[int, str]] = []
    for path in Path("/usr/lib/jvm").glob("*/release"):
        version = re.search(r'^JAVA_VERSION="(\d+)', path.read_text(encoding="utf-8"), re.MULTILINE)
        if version and (path.parent / "bin" / "java").is_file():
            found.append((int(version[1]), str(path.parent / "bin" / "java")))
    newest = max(found, default=(0, ""))
    return newest[1] if newest[0] >= release else None


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
