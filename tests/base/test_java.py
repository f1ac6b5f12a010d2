"""Which Java runs JMeter, and which runs everything else that the harness starts."""

import json
import os
from pathlib import Path

import pytest

from harness.base.errors import UsageError
from harness.base.java import java_context, java_version, jmeter_java_version
from tests.support.paths import FAKE_JMETER


def fake_jdk(folder: Path, version: str) -> Path:
    """Return a JAVA_HOME whose `java -version` prints that version as OpenJDK does."""
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2026-03-17' >&2\n")
    java.chmod(0o755)
    return folder


@pytest.fixture(autouse=True)
def _no_java_named(monkeypatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv("JAVA_HOME_FOR_JMETER", raising=False)


@pytest.mark.parametrize("version", ["17.0.15", "21.0.8", "25.0.2"])
def test_jmeter_runs_on_a_java_from_17_to_25(monkeypatch, tmp_path, version):
    monkeypatch.setenv("JAVA_HOME", str(fake_jdk(tmp_path, version)))
    assert jmeter_java_version() == version


def test_the_version_is_that_of_the_release_file_and_no_java_is_started(monkeypatch, tmp_path):
    jdk = fake_jdk(tmp_path, "17.0.15")
    (jdk / "release").write_text('IMPLEMENTOR="Debian"\nJAVA_RUNTIME_VERSION="21.0.8+9"\nJAVA_VERSION="21.0.8"\n')
    monkeypatch.setenv("JAVA_HOME", str(jdk))
    assert jmeter_java_version() == "21.0.8"
    (jdk / "release").write_text('JAVA_VERSION="16.0.2"\n')
    with pytest.raises(UsageError, match=r"Java 16\.0\.2 is too old"):
        java_version()
    (jdk / "release").write_text('IMPLEMENTOR="nobody"\n')
    assert java_version() == "17.0.15"


def test_an_unsupported_java_is_refused_with_reason_and_remedy(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(fake_jdk(tmp_path, "26")))
    with pytest.raises(UsageError) as refused:
        jmeter_java_version()
    assert refused.value.what == "Java 26 is too new for JMeter 5.6.3 (https://github.com/apache/jmeter/issues/6659)"
    assert "a JDK of Java 17 to 25" in refused.value.todo
    assert "JAVA_HOME_FOR_JMETER=/path/to/jdk" in refused.value.todo


def test_a_java_that_is_too_old_is_refused_for_jmeter_and_for_systems(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(fake_jdk(tmp_path, "16.0.2")))
    for version in (jmeter_java_version, java_version):
        with pytest.raises(UsageError, match=r"Java 16\.0\.2 is too old"):
            version()


def test_java_home_for_jmeter_applies_only_to_jmeter(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(fake_jdk(tmp_path / "26", "26")))
    monkeypatch.setenv("JAVA_HOME_FOR_JMETER", str(fake_jdk(tmp_path / "21", "21.0.8")))
    assert jmeter_java_version() == "21.0.8"
    assert java_version() == "26"
    assert java_context()["java"] == str(tmp_path / "26" / "bin" / "java")


def test_a_java_home_for_jmeter_without_java_is_named_in_the_error(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME_FOR_JMETER", str(tmp_path))
    with pytest.raises(UsageError) as refused:
        jmeter_java_version()
    assert refused.value.what == f"JAVA_HOME_FOR_JMETER={tmp_path}: has no bin/java"


def test_make_run_refuses_java_26_before_anything_is_measured(refused, target, tmp_path):
    jdk = fake_jdk(tmp_path / "jdk", "26.0.1")
    text = refused("--target", target, JAVA_HOME=str(jdk))
    assert "Java 26.0.1 is too new for JMeter 5.6.3" in text


@pytest.mark.real
def test_jmeter_runs_on_the_java_that_is_set_for_it(run, target, tmp_path):
    jdk = fake_jdk(tmp_path / "jdk", "21.0.8")
    jmeter = tmp_path / "jmeter" / "bin" / "jmeter"
    jmeter.parent.mkdir(parents=True)
    real = FAKE_JMETER / "bin" / "jmeter"
    jmeter.write_text(f'#!/bin/sh\necho "java: $JAVA_HOME"\nexec {real} "$@"\n')
    jmeter.chmod(0o755)
    variables = {"JMETER_HOME": str(jmeter.parents[1]), "JAVA_HOME_FOR_JMETER": str(jdk)}
    assert run("--target", target, "--duration", "1", **variables).returncode == 0
    directory = tmp_path / "reports" / "tiny" / "run-01_1"
    assert f"java: {jdk}" in (directory / "jmeter.out").read_text()
    assert json.loads((directory / "run.json").read_text())["versions"]["java"] == "21.0.8"
    assert os.environ.get("JAVA_HOME") is None
