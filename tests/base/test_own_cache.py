"""Only what this tool has built, in a folder of this user, is run from the cache."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness.base import project
from harness.base.errors import UsageError
from harness.base.install import toolchain
from tests.support.paths import ROOT


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    (tmp_path / "build").mkdir(mode=0o755)
    monkeypatch.setattr(toolchain, "BUILD", tmp_path / "build")
    return tmp_path / "build"


@pytest.mark.counterpart
@pytest.mark.real
@pytest.mark.usefixtures("build")
def test_a_changed_agent_sampler_or_counter_is_built_again(monkeypatch):
    compiled = list[str]()
    run = toolchain.setup_step.run
    monkeypatch.setattr(toolchain.setup_step, "run", lambda *words: (compiled.append(words[0][0]), run(*words)))
    agent = toolchain.ensure_agent()
    classes = toolchain.ensure_counter()
    assert toolchain.ready_counter() == classes
    assert toolchain.ensure_agent() == agent
    assert len(compiled) == 2
    for changed in (agent, next(iter(sorted(classes.glob("*.class"))))):
        good = changed.read_bytes()
        changed.write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
        assert (toolchain.ready_counter() is None) == (changed.parent == classes)
        toolchain.ensure_agent()
        toolchain.ensure_counter()
        assert toolchain.ready_counter() == classes
        assert changed.read_bytes() != good[:-1] + bytes([good[-1] ^ 1])
    (classes / "Added.class").write_bytes(b"x")  # a class that nobody compiled
    toolchain.ensure_counter()
    assert not (classes / "Added.class").exists()


def test_a_folder_of_another_user_is_refused(build, monkeypatch):
    stat = Path.stat

    class Foreign:
        def __init__(self, real: os.stat_result) -> None:
            self.st_uid, self.st_gid, self.st_mode = 12345, real.st_gid, real.st_mode

    monkeypatch.setattr(Path, "stat", lambda path, **more: Foreign(stat(path)) if path == build else stat(path, **more))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(UsageError, match="belongs to another user, and programs in it would be run; remove"):
        toolchain.ensure_agent()


@pytest.mark.parametrize("name", ["", "connections"])
def test_a_folder_that_others_may_write_is_refused(build, name):
    (build / name).mkdir(exist_ok=True)
    (build / name).chmod(0o777)
    with pytest.raises(UsageError, match=r"other users may write .*, and programs in it would be run; chmod go-w"):
        toolchain.ensure_agent()


@pytest.mark.real
def test_a_changed_start_script_or_starting_jar_of_jmeter_is_replaced(monkeypatch, tmp_path):
    assert project.CHECKOUT == ROOT
    home = toolchain.ensure_jmeter()
    copy = tmp_path / "build" / "jmeter"
    (copy / "bin").mkdir(parents=True)
    (copy / "class-data").mkdir()
    for script in (ROOT / "jmeter" / "bin").iterdir():
        (copy / "bin" / script.name).write_bytes((home / "bin" / script.name).read_bytes())
    monkeypatch.setattr(toolchain, "BUILD", tmp_path / "build")
    fetched = list[bool]()

    def fetch(*_: object) -> Path:
        fetched.append(toolchain.stamp_file(copy, "jmeter").is_file())  # built again without it
        return copy

    monkeypatch.setattr(toolchain, "fetched", fetch)
    start = copy / "class-data" / "start.jar"
    start.write_bytes(b"jar")
    toolchain.integrity.store_sum(start, b"jar")
    toolchain.stamp_file(copy, "jmeter").write_text("x")
    toolchain.ensure_jmeter()
    assert fetched == [True]
    assert start.is_file()
    start.write_bytes(b"other")
    toolchain.ensure_jmeter()
    assert not start.exists()
    (copy / "bin" / "jmeter").write_text("#!/bin/sh\ntouch /tmp/x\n")
    toolchain.ensure_jmeter()
    assert fetched == [True, True, False]
