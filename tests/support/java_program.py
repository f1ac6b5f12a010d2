"""Java programs of tests, compiled once: to start one from its source, java would start the compiler each time."""

from __future__ import annotations

import atexit
import functools
import shutil
import subprocess
import tempfile
from pathlib import Path


@functools.cache
def _classes(name: str, source: str) -> Path:
    """Return a folder with the compiled class `name`."""
    folder = Path(tempfile.mkdtemp(prefix=f"{name}-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / f"{name}.java").write_text(source, encoding="utf-8")
    quick = ["-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC"]
    subprocess.run(["javac", *quick, "-d", folder, folder / f"{name}.java"], check=True, capture_output=True)
    return folder


def java_command(name: str, source: str, *options: str) -> list[str]:
    """Return the command that runs the class `name` of a source text in a JVM with these options."""
    return ["java", *options, "-cp", str(_classes(name, source)), name]
