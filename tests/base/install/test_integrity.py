"""Jars are used only as the lock file has them; Maven is a fake, the jars are small files."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from harness.base.errors import HarnessError, StartError, UsageError
from harness.base.install import integrity, plugins, toolchain
from harness.base.install.plugin_list import PluginList
from harness.base.install.plugins import ensure_plugins
from tests.support.paths import ROOT


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with two jars and a part that no lock is about."""
    folder = tmp_path / "jmeter"
    for name in ("lib/ext/core.jar", "lib/driver.jar", "class-data/start.jar", "bin/notes.txt"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return folder


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    """The lock of the two jars, and of one in a part that was not installed."""
    file = tmp_path / integrity.LOCK_NAME
    names = {"lib/driver.jar": "lib/driver.jar", "lib/ext/core.jar": "lib/ext/core.jar", "mariadb/server.jar": "x"}
    file.write_text("".join(f"{hashlib.sha256(text.encode()).hexdigest()}  {name}\n" for name, text in names.items()))
    return file


def refusal(home: Path, lock: Path) -> str:
    try:
        integrity.check(home, lock)
    except UsageError as error:
        assert error.todo == f"remove {home} to download it again; after a change of pom.xml run scripts/lock jars"
        return error.what
    return ""


def test_the_jars_of_the_lock_are_accepted(home: Path, lock: Path) -> None:
    assert refusal(home, lock) == ""
    assert refusal(home, lock) == ""


def test_a_changed_jar_is_refused_with_its_name_also_after_a_full_check(home: Path, lock: Path) -> None:
    integrity.check(home, lock)
    (home / "lib" / "driver.jar").write_text("evil")
    for _ in range(2):
        assert refusal(home, lock) == f"{home}/lib/driver.jar: changed, its SHA-256 is not that of jars.lock"


def test_a_jar_that_maven_did_not_bring_is_refused_with_its_name(home: Path, lock: Path) -> None:
    integrity.check(home, lock)
    (home / "lib" / "ext" / "evil.jar").write_text("evil")
    assert refusal(home, lock) == f"{home}/lib/ext/evil.jar: unknown, it is not in jars.lock"


def test_a_missing_jar_is_refused_with_its_name(home: Path, lock: Path) -> None:
    (home / "lib" / "driver.jar").unlink()
    assert refusal(home, lock) == f"{home}/lib/driver.jar: missing"


def test_another_lock_file_is_compared_with_all_jars_again(home: Path, lock: Path) -> None:
    integrity.check(home, lock)
    lock.write_text(lock.read_text().replace(hashlib.sha256(b"lib/driver.jar").hexdigest(), "0" * 64))
    assert refusal(home, lock).startswith(f"{home}/lib/driver.jar: changed")


def test_a_jar_with_another_time_is_read_and_the_same_content_accepted(home: Path, lock: Path) -> None:
    integrity.check(home, lock)
    os.utime(home / "lib" / "driver.jar", (1, 1))
    assert refusal(home, lock) == ""


def test_unchanged_jars_are_not_read_again(home: Path, lock: Path) -> None:
    """A file with another content but the same size and time is found by the full check only."""
    integrity.check(home, lock)
    jar = home / "lib" / "driver.jar"
    before = jar.stat()
    jar.write_text("lib/drivel.jar")
    os.utime(jar, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert refusal(home, lock) == ""
    assert integrity.differences(home, lock.read_text()) == [f"{jar}: changed, its SHA-256 is not that of jars.lock"]


def test_the_lock_of_a_folder_is_what_sha256sum_checks(home: Path) -> None:
    (home / "lib" / "native").write_bytes(b"\x7fELF program")
    text = integrity.locked(home)
    names = [line.split("  ")[1] for line in text.splitlines()]
    assert names == ["class-data/start.jar", "lib/driver.jar", "lib/ext/core.jar", "lib/native"]
    subprocess.run(["sha256sum", "--check", "--status"], input=text, text=True, cwd=home, check=True)


@pytest.mark.parametrize("lock", sorted(ROOT.glob("**/jars.lock")), ids=lambda path: path.parent.name)
def test_a_lock_file_has_hashes_of_relative_paths_in_order(lock: Path) -> None:
    entries = [line.split("  ") for line in lock.read_text().splitlines()]
    assert entries
    assert all(len(digest) == 64 and not Path(name).is_absolute() for digest, name in entries)


@pytest.mark.real
def test_every_pom_has_a_lock_file() -> None:
    poms = [path for path in ROOT.glob("*/**/pom.xml") if not path.is_relative_to(ROOT / "build")]
    assert [pom for pom in poms if "tests" not in pom.parts and not (pom.parent / integrity.LOCK_NAME).is_file()] == []


@pytest.fixture
def maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file whose content is that of the jar that Maven brings; its calls are beside it.

    The lock file of JMeter has one jar, with the content `good`.
    """
    content = tmp_path / "content"
    content.write_text("good")
    program = tmp_path / "bin" / "mvn"
    program.parent.mkdir()
    program.write_text(f"""#!/bin/sh
[ "$1" = -v ] && echo "Apache Maven 3.8.7" && exit
echo "$*" >> {tmp_path}/calls
for word; do case $word in
-Dplugins.home=*) cp {content} "${{word#*=}}/shop-plugin-1.2.jar";;
-DoutputFile=*) echo '+- com.acme:shop-plugin:jar:1.2:compile' > "${{word#*=}}";;
-Djmeter.home=*) mkdir -p "${{word#*=}}/bin" "${{word#*=}}/lib/ext"; cp {content} "${{word#*=}}/lib/ext/core.jar";;
esac; done
""")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    for module in (toolchain, plugins):
        monkeypatch.setattr(module, "BUILD", tmp_path / "build")
    monkeypatch.delenv("JMETER_HOME", raising=False)
    folder = tmp_path / "shipped" / "jmeter"
    shutil.copytree(ROOT / "jmeter", folder)
    (folder / integrity.LOCK_NAME).write_text(f"{hashlib.sha256(b'good').hexdigest()}  lib/ext/core.jar\n")
    monkeypatch.setattr(toolchain, "SHIPPED", folder.parent)
    return content


@pytest.mark.real
def test_a_download_that_is_not_as_locked_is_refused_and_not_kept(maven: Path, tmp_path: Path) -> None:
    maven.write_text("evil")
    with pytest.raises(StartError) as error:
        toolchain.ensure_jmeter()
    assert "lib/ext/core.jar: changed" in error.value.what
    assert not [path for path in (tmp_path / "build").iterdir() if path.is_dir()]
    maven.write_text("good")
    home = toolchain.ensure_jmeter()
    assert (home / "lib" / "ext" / "core.jar").read_text() == "good"
    calls = (tmp_path / "calls").read_text().splitlines()
    assert len(calls) == 2
    assert all(" -C " in call for call in calls)  # Maven's own check of what the repository says


@pytest.mark.usefixtures("maven")
def test_a_start_with_a_changed_jar_is_refused() -> None:
    jar = toolchain.ensure_jmeter() / "lib" / "ext" / "core.jar"
    jar.write_text("evil")
    with pytest.raises(UsageError, match=r"lib/ext/core\.jar: changed"):
        toolchain.ensure_jmeter()


def test_a_jmeter_of_the_user_is_not_locked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own = tmp_path / "own"
    (own / "bin").mkdir(parents=True)
    (own / "bin" / "jmeter").touch(0o755)
    monkeypatch.setenv("JMETER_HOME", str(own))
    assert toolchain.ensure_jmeter() == own


def test_a_plugin_of_a_plan_must_stay_as_it_was_first_downloaded(maven: Path, tmp_path: Path) -> None:
    listed = PluginList(("com.acme:shop-plugin:1.2",), tmp_path / "shop.toml")
    folder = ensure_plugins(listed, tmp_path)
    assert folder
    (folder / "shop-plugin-1.2.jar").write_text("evil")
    with pytest.raises(UsageError, match=r"shop-plugin-1\.2\.jar: changed"):
        ensure_plugins(listed, tmp_path)
    shutil.rmtree(folder)
    maven.write_text("other")
    with pytest.raises(HarnessError, match=r"shop-plugin:1\.2 from Maven is another jar than that of plans/shop\.lock"):
        ensure_plugins(listed, tmp_path)
    maven.write_text("good")
    assert ensure_plugins(listed, tmp_path) == folder


def test_jmeters_http_client_5_has_the_core_that_it_needs() -> None:
    """Maven alone takes an older core, which Saxon brings: HTTP/2 then fails with a NoSuchMethodError."""
    lines = (ROOT / "jmeter" / integrity.LOCK_NAME).read_text().splitlines()
    found = [re.search(r"lib/httpcore5(?:-h2)?-(\d[\d.]*)\.jar$", line) for line in lines]
    assert len([match for match in found if match]) == 2
    assert len({match[1] for match in found if match}) == 1
