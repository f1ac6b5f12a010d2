"""Real servers and samplers of other protocols, from the Java sources in tests/support/other_protocols."""

from __future__ import annotations

import subprocess
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.base.install.plugin_list import PluginList
from harness.base.install.plugins import ensure_plugins
from tests.support.paths import jmeter_home

_SOURCES = Path(__file__).parent / "other_protocols"
_QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


def jars_of(folder: Path, *coordinates: str) -> Path:
    """Return the folder with these jars and what they need, from Maven."""
    jars = ensure_plugins(PluginList(coordinates, folder / "jars.toml"), jmeter_home())
    assert jars is not None
    return jars


def class_path(*folders: Path) -> str:
    return ":".join(f"{folder}/*" for folder in (*folders, jmeter_home() / "lib" / "ext", jmeter_home() / "lib"))


def sampler_jar(file: Path, source: str, *jars: Path) -> None:
    """Compile a sampler, and pack it as a jar of a project."""
    classes = file.with_suffix(".classes")
    command = ["javac", *(f"-J{one}" for one in _QUICK), "-d", classes, "-cp", class_path(*jars)]
    subprocess.run([*command, _SOURCES / f"{source}.java"], check=True, capture_output=True)
    file.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(file, "w") as archive:
        for path in classes.rglob("*.class"):
            archive.write(path, path.relative_to(classes))


@dataclass
class Serving:
    """A server on a port of this machine, which knows what it got."""

    port: int
    _process: subprocess.Popen[str]

    def count(self) -> int:
        """End the server, and return how many requests it got."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        return int(self._process.stdout.read().split()[-1])


@contextmanager
def serving_java(source: str, folder: Path, *jars: Path, more: Sequence[str] = ()) -> Iterator[Serving]:
    """Run a server, whose first line of output is its port."""
    classes = folder / f"{source}.classes"
    given = class_path(*jars)
    command = ["javac", *(f"-J{one}" for one in _QUICK), "-d", classes, "-cp", given, _SOURCES / f"{source}.java"]
    subprocess.run(command, check=True, capture_output=True)
    command = ["java", *_QUICK, *more, "-cp", f"{classes}:{given}", source]
    with (
        (folder / f"{source}.log").open("w") as log,
        subprocess.Popen(
            command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
        ) as process,
    ):
        try:
            yield Serving(_port(process), process)
        finally:
            process.kill()


def _port(process: subprocess.Popen[str]) -> int:
    assert process.stdout
    for line in process.stdout:  # a library may print lines of its own before
        if line.strip().isdigit():
            return int(line)
    raise AssertionError("the server ended")
