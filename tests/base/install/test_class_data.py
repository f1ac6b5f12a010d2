"""How JMeter's start script uses stored class data, and the jar that starts it; see also test_real_rows."""

import io
import shutil
import subprocess
import sys
import time
import zipfile

import pytest

from harness.base.install import class_data, integrity
from harness.base.install.class_data import (
    data_for,
    leave_wanted_class_data,
    remove_changed,
    start_jar,
    store_class_data,
    store_wanted_class_data,
    want_class_data,
)
from tests.support.paths import ROOT

ALL = ("start.jar", "classes.jsa", "no-groovy.jsa")


@pytest.fixture
def started(tmp_path):
    """Return the arguments that the start script of a JMeter home gives to Java, with the home as HOME."""
    home, java = tmp_path / "a home", tmp_path / "jdk" / "bin" / "java"
    for folder in (home / "bin", home / "class-data", java.parent):
        folder.mkdir(parents=True)
    shutil.copy(ROOT / "jmeter" / "bin" / "jmeter", home / "bin")
    java.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    java.chmod(0o755)

    def arguments(*given, stored=ALL, **more):
        for name in ALL:
            (home / "class-data" / name).unlink(missing_ok=True)
        for name in stored:
            (home / "class-data" / name).touch()
        variables = {"PATH": "/usr/bin:/bin", "JAVA_HOME": str(java.parents[1]), **more}
        done = subprocess.run(
            [home / "bin" / "jmeter", *given], capture_output=True, text=True, check=True, env=variables
        )
        return done.stdout.replace(str(home), "HOME").splitlines()

    return arguments


def test_a_load_starts_with_the_data_and_its_arguments_stay_as_they_are(started):
    found = started("-n", "-t", "two words.jmx", "-Jusers=2")
    assert found[-6:] == ["-jar", "HOME/class-data/start.jar", "-n", "-t", "two words.jmx", "-Jusers=2"]
    assert "-XX:SharedArchiveFile=HOME/class-data/classes.jsa" in found


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("<HTTPSamplerProxy/>${__jexl3(1 > 0,)}", "no-groovy"),
        ("<BeanShellSampler/>", "no-groovy"),
        ("${__groovy(1)}", "classes"),
        ('<JSR223Timer/><stringProp name="scriptLanguage"></stringProp>', "classes"),  # Groovy is its default
        ("<ScriptSampler>Groovy</ScriptSampler>", "classes"),
    ],
)
def test_only_a_plan_with_groovy_starts_with_its_data(started, text, data):
    found = started("-n", "-t", "plan.jmx", **data_for(text.encode()))
    assert f"-XX:SharedArchiveFile=HOME/class-data/{data}.jsa" in found


def test_where_the_data_without_groovy_are_missing_jmeter_starts_without_data(started):
    found = started("-n", "-t", "plan.jmx", stored=("start.jar", "classes.jsa"), **data_for(b""))
    assert "HOME/class-data/start.jar" in found
    assert not [option for option in found if option.startswith("-XX:SharedArchiveFile")]


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        (("-t", "plan.jmx"), ALL),  # the window
        (("-n", "-Jsearch_paths=/plugins"), ALL),
        (("-n", "-Juser.classpath=/driver.jar"), ALL),
        (("-n", "-Jplugin_dependency_paths=/plugins"), ALL),
        (("-n", "-t", "plan.jmx"), ()),
    ],
)
def test_without_data_or_with_jars_of_the_plan_jmeter_starts_as_ever(started, given, stored):
    found = started(*given, stored=stored)
    assert found[-len(given) - 2 :] == ["-jar", "HOME/bin/ApacheJMeter.jar", *given]
    assert not [option for option in found if option.startswith("-XX:SharedArchiveFile")]


def test_the_manifest_names_every_jar_in_lines_of_at_most_72_bytes():
    jars = ["../bin/ApacheJMeter.jar", *(f"../lib/a-library-{number}.jar" for number in range(150))]
    with zipfile.ZipFile(io.BytesIO(start_jar(jars))) as jar:
        text = jar.read("META-INF/MANIFEST.MF").decode()
    assert max(len(line) for line in text.split("\r\n")) <= 70
    assert f"\r\nClass-Path: {' '.join(jars)}\r\n" in text.replace("\r\n ", "")
    assert text.endswith("\r\n")


@pytest.mark.parametrize("store", [want_class_data, store_class_data])
def test_another_jmeter_home_is_left_as_it_is(tmp_path, store):
    store(tmp_path, tmp_path / "agent.jar", "17.0.15")
    store_wanted_class_data()
    assert list(tmp_path.iterdir()) == []


def test_the_data_are_stored_when_the_second_command_has_ended_and_not_before(tmp_path, monkeypatch):
    home, stored = tmp_path / "jmeter", []
    home.mkdir()
    monkeypatch.setattr(class_data, "BUILD", tmp_path)
    monkeypatch.setattr(class_data, "store_class_data", lambda *given: stored.append(given))
    want_class_data(home, tmp_path / "agent.jar", "17.0.15")
    store_wanted_class_data()
    assert stored == []
    want_class_data(home, tmp_path / "agent.jar", "17.0.15")
    assert stored == []
    store_wanted_class_data()
    assert stored == [(home, tmp_path / "agent.jar", "17.0.15")]
    store_wanted_class_data()
    assert len(stored) == 1


@pytest.mark.real
def test_a_terminal_is_free_at_once_while_the_data_are_stored(tmp_path, monkeypatch):
    home, done = tmp_path / "jmeter", tmp_path / "done"
    (home / "class-data").mkdir(parents=True)
    monkeypatch.setattr(class_data, "BUILD", tmp_path)
    monkeypatch.setattr(class_data, "_NICE", ())
    slow = f"import sys, time; time.sleep(1); open({str(done)!r}, 'w').write(' '.join(sys.argv[2:]))"
    monkeypatch.setattr(class_data, "_STORE", slow)
    monkeypatch.setattr("sys.stdout", io.StringIO())
    monkeypatch.setattr("sys.stderr", io.StringIO())
    for stream in (sys.stdout, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    want_class_data(home, tmp_path / "agent.jar", "17.0.15")
    began = time.monotonic()
    leave_wanted_class_data()
    assert time.monotonic() - began < 0.9 and not done.exists()
    while not (done.exists() and done.read_text()):
        assert time.monotonic() - began < 60
        time.sleep(0.05)
    assert done.read_text() == f"{home} {tmp_path / 'agent.jar'} 17.0.15"


def test_without_a_terminal_the_command_stores_them_itself(tmp_path, monkeypatch):
    stored = []
    (tmp_path / "jmeter" / "class-data").mkdir(parents=True)
    monkeypatch.setattr(class_data, "BUILD", tmp_path)
    monkeypatch.setattr(class_data, "store_class_data", lambda *given: stored.append(given))
    want_class_data(tmp_path / "jmeter", tmp_path / "agent.jar", "17.0.15")
    leave_wanted_class_data()
    assert len(stored) == 1


JAVA = """#!/bin/sh
case "$JDK_JAVA_OPTIONS" in
*disableEagerInitialization=true*) ;;
*) echo "SIGSEGV"; exit 134 ;;
esac
data=${JDK_JAVA_OPTIONS#*ArchiveClassesAtExit=}
echo "without lambdas$(printf ' %s' "$@" | grep -o ' -Jgroovy=.*')" >"${data%%\\"*}"
"""


@pytest.fixture
def linked(tmp_path, monkeypatch):
    """Return a function that stores the data of a checkout; `other` has a link to the JMeter of `one`."""
    home, agent = tmp_path / "one" / "jmeter", tmp_path / "agent.jar"
    (home / "bin").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "jmeter").symlink_to(home)
    for path in (agent, home / "bin" / "ApacheJMeter.jar"):
        path.touch()
    (home / "bin" / "jmeter").write_text(JAVA)
    (home / "bin" / "jmeter").chmod(0o755)

    def store(checkout):
        monkeypatch.setattr(class_data, "BUILD", tmp_path / checkout)
        store_class_data(tmp_path / checkout / "jmeter", agent, "17.0.15")
        return home / "class-data"

    return store


def test_where_java_crashes_over_a_lambda_the_data_are_stored_without_lambdas(linked, capsys):
    folder = linked("one")
    assert (folder / "classes.jsa").read_text() == "without lambdas\n"
    assert (folder / "no-groovy.jsa").read_text() == "without lambdas -Jgroovy=false\n"
    assert sorted(path.name for path in folder.iterdir()) == [".stamp", "classes.jsa", "no-groovy.jsa", "start.jar"]
    assert "ended with exit code 134; storing them without lambdas\n" in capsys.readouterr().err


def test_where_java_stores_no_data_the_jar_stays_for_a_jmeter_that_is_about_to_open_it(linked, tmp_path, capsys):
    (tmp_path / "one" / "jmeter" / "bin" / "jmeter").write_text("#!/bin/sh\nexit 134\n")
    folder = linked("one")
    assert sorted(path.name for path in folder.iterdir()) == [".stamp", "start.jar"]  # it is not tried each time
    assert "ended with exit code 134; JMeter starts without them\n" in capsys.readouterr().err


def test_a_jar_is_not_removed_while_another_harness_replaces_it(linked, monkeypatch):
    folder = linked("one")
    sums = iter([False, True])  # seen before and after the other one has the lock
    monkeypatch.setattr(integrity, "has_sum", lambda _: next(sums))
    remove_changed(folder.parent)
    assert sorted(path.name for path in folder.iterdir()) == [".stamp", "classes.jsa", "no-groovy.jsa", "start.jar"]
    monkeypatch.setattr(integrity, "has_sum", lambda _: False)
    remove_changed(folder.parent)
    assert not folder.exists()


def test_a_checkout_with_a_link_to_the_jmeter_of_another_one_uses_its_data(linked, tmp_path):
    stored = (linked("one") / "classes.jsa").stat()
    assert (linked("other") / "classes.jsa").stat() == stored
    assert not (tmp_path / "other" / "class-data.log").exists()
