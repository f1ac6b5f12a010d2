"""`lth doctor` of an installed tool, with a fake Java, Maven and Python package; and of a fresh clone."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness import __version__
from tests.support.paths import ROOT

JAVA = "echo 'openjdk version \"17.0.15\"' >&2"
MAVEN = "echo Apache Maven 3.9.9 '(8e8579a9e76f7d015ee5ec7bfcdc97d260186937)'"
NAMES = "version tool project cache Java Maven Python packages jars cores memory open files disk free disk free clock"
POWERS = "-dac_override,-dac_read_search"  # what lets root write everywhere

Doctor = Callable[..., "subprocess.CompletedProcess[str]"]


def program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def package(site: Path, name: str, version: str, metadata: str = "") -> None:
    """Install a package of one file, with the record that pip writes."""
    (site / f"{name}.py").write_text(f"version = '{version}'\n")
    digest = base64.urlsafe_b64encode(hashlib.sha256((site / f"{name}.py").read_bytes()).digest()).decode().rstrip("=")
    info = site / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{metadata}")
    (info / "RECORD").write_text(f"{name}.py,sha256={digest},20\n{name}-{version}.dist-info/RECORD,,\n")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """The cache of the installed tool, with a JMeter of one jar that is as locked."""
    folder = tmp_path / "home" / ".cache" / "load-test-harness" / __version__
    jar = folder / "jmeter" / "lib" / "ext" / "core.jar"
    jar.parent.mkdir(parents=True)
    jar.write_text("good")
    return folder


@pytest.fixture
def doctor(tmp_path: Path, cache: Path) -> Doctor:
    """Return a function that runs `lth doctor` of an installed tool in an empty folder."""
    site, home = tmp_path / "site", cache.parents[2]
    shutil.copytree(ROOT / "harness", site / "harness", ignore=shutil.ignore_patterns("__pycache__"))
    shipped = site / "harness" / "shipped" / "jmeter"
    shipped.mkdir(parents=True)
    (shipped / "jars.lock").write_text(f"{hashlib.sha256(b'good').hexdigest()}  lib/ext/core.jar\n")
    package(site, "load_test_harness", __version__, "Requires-Dist: shopkit==1.2\nRequires-Dist: x==1; extra == 'x'\n")
    package(site, "shopkit", "1.2")
    (tmp_path / "project").mkdir()

    def run(
        java: str = JAVA, maven: str = MAVEN, before: tuple[str, ...] = (), **more: str
    ) -> subprocess.CompletedProcess[str]:
        tools = tmp_path / "tools"
        for name, text in (("java", java), ("javac", ":"), ("mvn", maven)):
            if text:
                program(tools / name, text)
        variables = {
            "HOME": str(home),
            "PATH": str(tools),
            "PYTHONPATH": str(site),
            "PYTHONDONTWRITEBYTECODE": "1",
            **more,
        }
        code = "from harness.cli.entry import lth; lth()"
        return subprocess.run(
            [*before, sys._base_executable, "-S", "-c", code, "doctor"],
            env=variables, cwd=tmp_path / "project", capture_output=True, text=True, check=False,
        )  # fmt: skip

    return run


def problems(done: subprocess.CompletedProcess[str]) -> list[str]:
    assert done.stderr == ""
    return [line for line in done.stdout.splitlines() if line.startswith(("PROBLEM", "warning"))]


def files(folder: Path) -> list[str]:
    return sorted(str(path) for path in folder.rglob("*"))


@pytest.mark.real
def test_a_healthy_installation_has_all_facts_and_no_problem(doctor: Doctor, cache: Path, tmp_path: Path) -> None:
    before = files(tmp_path)
    done = doctor()
    assert (done.returncode, problems(done)) == (0, []), done.stdout
    lines = done.stdout.splitlines()
    assert " ".join(line[:12].strip() for line in lines[:-2]) == NAMES
    assert lines[0] == f"version     {__version__}"
    assert f"cache       {cache}, 0 MB" in lines
    assert f"project     {tmp_path}/project (no loadtest.toml), reports 0 MB" in lines
    assert "Maven       3.9.9" in lines
    assert "packages    1 pinned, intact" in lines
    assert "jars        jmeter: intact, 0 MB" in lines
    assert lines[-1] == "no problems found"
    assert [path for path in files(tmp_path) if path not in before and "/tools" not in path] == []


@pytest.mark.real
def test_the_version_has_the_commit_that_pip_installed(doctor: Doctor, tmp_path: Path) -> None:
    info = tmp_path / "site" / f"load_test_harness-{__version__}.dist-info"
    commit = "0123456789abcdef0123456789abcdef01234567"
    url = {"url": "https://example.org/tool.git", "vcs_info": {"vcs": "git", "commit_id": commit}}
    (info / "direct_url.json").write_text(json.dumps(url))
    assert doctor().stdout.startswith(f"version     {__version__} (commit 0123456789)\n")


@pytest.mark.real
def test_a_folder_whose_loadtest_toml_is_wrong_is_a_problem(doctor: Doctor, tmp_path: Path) -> None:
    (tmp_path / "project" / "loadtest.toml").write_text('requires = ">=99"\n')
    done = doctor()
    assert done.returncode == 2
    assert problems(done)[0].startswith(f"PROBLEM: {tmp_path}/project/loadtest.toml requires load-test-harness >=99")


@pytest.mark.real
def test_a_changed_jar_prevents_runs_and_is_named(doctor: Doctor, cache: Path) -> None:
    (cache / "jmeter" / "lib" / "ext" / "core.jar").write_text("evil")
    done = doctor()
    assert done.returncode == 2
    (line,) = problems(done)
    assert line == (
        f"PROBLEM: {cache}/jmeter/lib/ext/core.jar: changed, its SHA-256 is not that of jars.lock; it could run other "
        f"code than that of its release; remove {cache}/jmeter"
    )


@pytest.mark.real
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("version = 'evil'\n", "shopkit: {site}/shopkit.py is not as it was installed"),
        (None, "shopkit 1.2 is not installed"),
    ],
)
def test_a_changed_or_missing_package_prevents_runs(
    doctor: Doctor, tmp_path: Path, text: str | None, message: str
) -> None:
    site = tmp_path / "site"
    if text:
        (site / "shopkit.py").write_text(text)
    else:
        shutil.rmtree(site / "shopkit-1.2.dist-info")
    done = doctor()
    assert done.returncode == 2
    (line,) = problems(done)
    assert line.startswith(f"PROBLEM: {message.format(site=site)}; ")
    assert "packages    1 pinned, not intact" in done.stdout


@pytest.mark.real
def test_an_old_java_prevents_runs(doctor: Doctor) -> None:
    done = doctor(java="echo 'openjdk version \"11.0.2\"' >&2")
    assert done.returncode == 2
    assert problems(done)[0].startswith("PROBLEM: Java 11.0.2 is too old; JMeter needs it; install a JDK of Java 17")


@pytest.mark.real
def test_without_maven_only_what_is_not_downloaded_yet_cannot_run(doctor: Doctor, cache: Path) -> None:
    done = doctor(maven="")
    assert done.returncode == 0
    assert problems(done)[0].startswith("warning: Maven is missing (mvn does not run); it downloads systems")
    shutil.rmtree(cache / "jmeter")
    done = doctor(maven="")
    assert done.returncode == 2
    assert problems(done)[0].startswith("PROBLEM: Maven is missing (mvn does not run); it downloads JMeter; install")


@pytest.mark.real
def test_a_jmeter_of_the_user_is_named_as_not_locked(doctor: Doctor, cache: Path) -> None:
    (cache / "jmeter" / "lib" / "ext" / "core.jar").write_text("evil")
    done = doctor(JMETER_HOME="/opt/apache-jmeter")
    assert (done.returncode, problems(done)) == (0, [])
    assert "jars        JMETER_HOME=/opt/apache-jmeter: a JMeter of your own, which is not locked\n" in done.stdout


@pytest.mark.real
@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="root may write everywhere")
def test_a_read_only_home_prevents_runs_only_while_jmeter_is_not_there(doctor: Doctor, cache: Path) -> None:
    before = (
        (shutil.which("setpriv") or "", f"--inh-caps={POWERS}", f"--bounding-set={POWERS}") if os.geteuid() == 0 else ()
    )
    home = cache.parents[2]
    cache.chmod(0o555)
    assert doctor(before=before).returncode == 0
    cache.chmod(0o755)
    shutil.rmtree(home / ".cache")
    home.chmod(0o555)
    done = doctor(before=before)
    home.chmod(0o755)
    assert done.returncode == 2
    assert problems(done)[0].startswith(f"PROBLEM: {cache} cannot be written; JMeter is not installed there yet; give")


@pytest.mark.real
@pytest.mark.parametrize("command", ["scripts/lth doctor", "make doctor"])
def test_a_fresh_clone_is_examined_and_nothing_is_installed(tmp_path: Path, command: str) -> None:
    for name in ("harness", "scripts", "plans", "env", "systems", "jmeter"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("Makefile", "requirements.txt", "loadtest.toml"):
        shutil.copy(ROOT / name, tmp_path)
    variables = {**os.environ, "PATH": f"{Path(sys.base_prefix) / 'bin'}:{os.environ['PATH']}", "PYTHONNOUSERSITE": "1"}
    done = subprocess.run(command.split(), cwd=tmp_path, env=variables, capture_output=True, text=True, check=False)
    assert "packages    not installed yet; lth setup installs them" in done.stdout, done.stderr
    assert "jars        jmeter: not downloaded yet" in done.stdout
    assert not {".venv", "build"} & {path.name for path in tmp_path.iterdir()}
