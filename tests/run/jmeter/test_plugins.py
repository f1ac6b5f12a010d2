"""Plugins of a plan, and Java classes that its JMX needs: found, or refused in one line before anything starts."""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.base.errors import UsageError
from harness.run.jmeter.java_classes import check_classes
from tests.support.paths import FAKE_JMETER, jmeter_home
from tests.support.protocol_servers import sampler_jar
from tests.support.tiny import DUMMY_JMX, Run, report, run_json

SAVE_SERVICE = """_version=5.0
TestPlan=org.apache.jmeter.testelement.TestPlan
ThreadGroup,OldThreadGroup=org.apache.jmeter.threads.ThreadGroup
JavaSampler=org.apache.jmeter.protocol.java.sampler.JavaSampler
FtpSampler=org.apache.jmeter.protocol.ftp.sampler.FTPSampler
"""
CORE = ("testelement.TestPlan", "threads.ThreadGroup", "protocol.java.sampler.JavaSampler")


def class_file(version: int = 52) -> bytes:
    """A class that extends Object, for Java 8 by default."""
    texts = [b"\x01" + struct.pack(">H", len(text)) + text for text in (b"java/lang/Void", b"java/lang/Object")]
    constants = b"\x07\0\x02" + texts[0] + b"\x07\0\x04" + texts[1]
    return struct.pack(">IHHH", 0xCAFEBABE, 0, version, 5) + constants + struct.pack(">HHHHHHH", 1, 1, 3, 0, 0, 0, 0)


def jar(path: Path, *names: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n")
        for name in names:
            archive.writestr(f"{name.replace('.', '/')}.class", class_file())


@pytest.fixture
def jmeter(tmp_path: Path) -> Path:
    """A JMeter home with the classes of a few elements; its start script is the fake one."""
    home = tmp_path / "jmeter"
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "saveservice.properties").write_text(SAVE_SERVICE)
    (home / "bin" / "upgrade.properties").write_text("old.pack.Group=org.apache.jmeter.threads.ThreadGroup\n")
    shutil.copy(FAKE_JMETER / "bin" / "jmeter", home / "bin" / "jmeter")
    jar(home / "lib" / "ext" / "core.jar", *(f"org.apache.jmeter.{name}" for name in CORE))
    jar(home / "lib" / "driver.jar", "com.acme.Driver")
    return home


def jmx(element: str) -> str:
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<jmeterTestPlan version="1.2" properties="5.0" jmeter="5.6.3"><hashTree>
  <TestPlan testname="Shop"/>
  <hashTree>
    <ThreadGroup testname="Users"/>
    <hashTree>
{element}
      <hashTree/>
    </hashTree>
  </hashTree>
</hashTree></jmeterTestPlan>
"""


def java_request(name: str, enabled: str = "true") -> str:
    value = f'<stringProp name="classname">{name}</stringProp>'
    return f'<JavaSampler testname="Buy" enabled="{enabled}">{value}</JavaSampler>'


@pytest.fixture
def checked(jmeter: Path, tmp_path: Path) -> Callable[..., str]:
    """Return the text of the error for a plan with an element; empty for none."""

    def check(element: str, **paths: object) -> str:
        file = tmp_path / "plans" / "shop.jmx"
        file.parent.mkdir(exist_ok=True)
        file.write_text(jmx(element), encoding="utf-8")
        try:
            check_classes(file, jmeter, **paths)
        except UsageError as error:
            return str(error)
        return ""

    return check


def test_a_class_of_the_user_that_is_absent_is_named_with_element_line_and_remedy(checked: Callable[..., str]) -> None:
    assert checked(java_request("com.acme.Buy")) == (
        "plans/shop.jmx:7: Shop > Users > Buy: needs the Java class com.acme.Buy, which is in no jar of JMeter; name "
        'its plugin, or put its jar beside the plan: plugins = ["lib/NAME.jar"] under [jmeter] in the plan\'s TOML'
    )


@pytest.mark.parametrize(
    "element",
    [
        java_request("com.acme.Buy", enabled="false"),  # is not run
        java_request("com.acme.Driver"),  # in lib/
        java_request("${class}"),  # known only during the run
        '<OldThreadGroup testname="second name"/>',
        '<old.pack.Group testname="renamed"/>',
    ],
)
def test_classes_that_are_there_or_not_needed_are_no_finding(checked: Callable[..., str], element: str) -> None:
    assert checked(element) == ""


def test_an_element_whose_plugin_or_protocol_is_absent_is_refused_even_when_disabled(
    checked: Callable[..., str],
) -> None:
    assert "Users > T: needs the Java class kg.apc.Gone$Inner," in checked('<kg.apc.Gone_-Inner testname="T"/>')
    disabled = '<FtpSampler testname="T" enabled="false"/>'
    assert "needs the Java class org.apache.jmeter.protocol.ftp.sampler.FTPSampler," in checked(disabled)


def test_an_absent_class_of_a_known_plugin_names_it_and_the_line_that_adds_it(checked: Callable[..., str]) -> None:
    name = "com.atlantbh.jmeter.plugins.jsonutils.jsonpathextractor.JSONPathExtractor"
    text = checked(f'<{name} testname="Token"/>')
    assert text == (
        f"plans/shop.jmx:7: Shop > Users > Token: needs the Java class {name}, which is in no jar of JMeter; "
        'add plugins = ["kg.apc:jmeter-plugins-json:2.7"] under [jmeter] in the plan\'s TOML'
    )
    assert "it is released as a file, mqtt-xmeter of JMeter's Plugins Manager: put its jar beside the plan" in checked(
        '<net.xmeter.samplers.PubSampler testname="Send"/>'
    )


def test_several_absent_classes_are_all_listed(checked: Callable[..., str]) -> None:
    text = checked('<a.One testname="x"/><hashTree/><a.Two testname="y"/>')
    assert text.startswith("plans/shop.jmx: 2 Java classes that it needs are in no jar of JMeter")


def test_a_class_of_a_plugin_of_the_plan_or_of_the_class_path_is_found(
    checked: Callable[..., str], tmp_path: Path
) -> None:
    jar(tmp_path / "plugins" / "buy-1.jar", "com.acme.Buy")
    assert checked(java_request("com.acme.Buy"), plugins=tmp_path / "plugins") == ""
    assert checked(java_request("com.acme.Buy"), class_path=str(tmp_path / "plugins" / "buy-1.jar")) == ""
    assert checked(java_request("com.acme.Buy"), class_path=f"/none{os.pathsep}{tmp_path / 'plugins'}") == ""


def test_a_run_of_a_plan_that_needs_an_absent_class_starts_nothing(
    refused: Callable[..., str], home: Path, jmeter: Path, target: str, tmp_path: Path
) -> None:
    plan = home / "plans" / "tiny.jmx"
    plan.write_text(
        plan.read_text().replace("<hashTree/>", f"<hashTree>{java_request('com.acme.Buy')}<hashTree/></hashTree>")
    )
    (home / "plans" / "tiny.toml").write_text(
        (home / "plans" / "tiny.toml").read_text() + "[allow]\nscripts = true\nother_protocols = true\n"
    )
    text = refused("--target", target, JMETER_HOME=str(jmeter))
    assert "Tiny > Users > Buy: needs the Java class com.acme.Buy, which is in no jar of JMeter" in text
    assert not (tmp_path / "reports" / "tiny").exists()


@pytest.mark.counterpart
def test_plugins_and_functions_of_the_project_are_on_the_search_path_of_a_run(
    run: Run, home: Path, target: str, tmp_path: Path
) -> None:
    (home / "plans" / "tiny.jmx").write_text(
        DUMMY_JMX.replace('testname="Pay"', 'testname="Pay ${__strLen(abcd)} ${__twice(21)}"')
    )
    own = home / "plans" / "lib" / "own.jar"
    sampler_jar(own, "Twice")
    plan = home / "plans" / "tiny.toml"
    more = (
        '[allow]\nother_protocols = true\n[jmeter]\nplugins = ["kg.apc:jmeter-plugins-functions:2.1", "lib/own.jar"]\n'
    )
    plan.write_text(plan.read_text() + more)
    done = run("--target", target, "--duration", "2", JMETER_HOME=str(jmeter_home()))
    assert "| Pay 4 42 |" in report(tmp_path / "reports"), done.stdout + done.stderr
    facts = run_json(tmp_path / "reports")
    assert facts["versions"]["jmeter-plugins-functions"] == "2.1"
    described = f"lib/own.jar sha256:{hashlib.sha256(own.read_bytes()).hexdigest()}"
    assert facts["plugins"] == ["kg.apc:jmeter-plugins-functions:2.1", described]
    assert f"- plugins: kg.apc:jmeter-plugins-functions:2.1, {described}\n" in report(tmp_path / "reports")


def compiled(folder: Path, jar_path: Path, sources: dict[str, str], packs: str = "", release: str = "") -> None:
    """Compile Java sources by the names of their classes, and pack the classes of the package `packs`."""
    for name, source in sources.items():
        file = folder / "src" / f"{name.replace('.', '/')}.java"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"package {name.rpartition('.')[0]};\n{source}")
    quick = ["-J-XX:TieredStopAtLevel=1", *(["--release", release] if release else [])]
    files = sorted((folder / "src").rglob("*.java"))
    subprocess.run(["javac", *quick, "-d", folder / "out", *files], check=True, capture_output=True)
    jar_path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(jar_path, "w") as archive:
        archive.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n")
        for path in sorted((folder / "out").rglob("*.class")):
            if (name := path.relative_to(folder / "out").as_posix()).startswith(packs):
                archive.write(path, name)


BUY = {
    "com.acme.Buy": "public class Buy extends Base { java.util.List<int[][]> a; Object x = new int[0][]; }",
    "com.acme.Base": "public class Base { double d = 1.5; Object send() { return new org.lib.Client[1]; } }",
    "org.lib.Client": "public class Client {}",
}


@pytest.mark.real
def test_a_plugin_whose_dependency_is_missing_is_refused_before_the_load(
    checked: Callable[..., str], tmp_path: Path
) -> None:
    plugins = tmp_path / "plugins"
    compiled(tmp_path, plugins / "own.jar", BUY, packs="com/acme")
    assert checked(java_request("com.acme.Buy"), plugins=plugins, java="17.0.1") == (
        "plans/shop.jmx:7: Shop > Users > Buy: its class com.acme.Base, in own.jar, needs org.lib.Client, which is in "
        "no jar; list the jar or the coordinate that has it in [jmeter] plugins of the plan"
    )
    jar(plugins / "client.jar", "org.lib.Client")
    assert checked(java_request("com.acme.Buy"), plugins=plugins) == ""
    known = {name: text.replace("org.lib", "org.apache.kafka.common") for name, text in BUY.items()}
    known["org.apache.kafka.common.Client"] = known.pop("org.lib.Client")
    compiled(tmp_path / "known", plugins / "own.jar", known, packs="com/acme")
    text = checked(java_request("com.acme.Buy"), plugins=plugins)
    assert text.endswith('in no jar; list "org.apache.kafka:kafka-clients:4.1.1" in [jmeter] plugins of the plan')
    assert checked(java_request("com.acme.Buy"), class_path=str(plugins / "own.jar")) != ""


def test_a_jar_for_another_java_is_refused(checked: Callable[..., str], tmp_path: Path) -> None:
    jar(tmp_path / "plugins" / "own.jar")
    with zipfile.ZipFile(tmp_path / "plugins" / "own.jar", "a") as archive:
        archive.writestr("META-INF/versions/99/com/acme/Buy.class", b"\xca\xfe\xba\xbe\0\0\0\x63")
        archive.writestr("com/acme/Buy.class", class_file(65))
    assert checked(java_request("com.acme.Buy"), plugins=tmp_path / "plugins", java="17.0.15") == (
        "own.jar is built for Java 21, and JMeter runs with Java 17; install Java 21 or newer, or take a jar that is "
        "built for Java 17"
    )
    assert checked(java_request("com.acme.Buy"), plugins=tmp_path / "plugins", java="21.0.2") == ""


def test_a_class_of_the_plan_for_another_java_or_torn_is_refused_whatever_comes_first_in_its_jar(
    checked: Callable[..., str], tmp_path: Path
) -> None:
    own = tmp_path / "plugins" / "own.jar"
    for content, said in (
        (class_file(69), "own.jar is built for Java 25, and JMeter runs with Java 17; install Java 25 or newer"),
        (class_file()[:20], "com.acme.Buy, in own.jar, is no class file, or torn; build the jar again"),
        (b"<html>not found</html>", "com.acme.Buy, in own.jar, is no class file, or torn; build the jar again"),
    ):
        jar(own, "com.acme.A")
        with zipfile.ZipFile(own, "a") as archive:
            archive.writestr("com/acme/Buy.class", content)
        assert checked(java_request("com.acme.Buy"), plugins=own.parent, java="17.0.15").startswith(said)
        assert checked(java_request("com.acme.A"), plugins=own.parent, java="17.0.15") == ""


def test_a_jar_without_a_manifest_is_refused(checked: Callable[..., str], tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "own.jar", "w") as archive:
        archive.writestr("com/acme/Buy.class", b"")
    assert checked(java_request("com.acme.Buy"), class_path=str(tmp_path / "own.jar")) == (
        "own.jar has no META-INF/MANIFEST.MF; without one JMeter knows no function: pack it with jar"
    )


def test_a_relative_class_path_is_refused_as_jmeter_runs_in_another_folder(checked: Callable[..., str]) -> None:
    assert checked(java_request("com.acme.Buy"), class_path="lib/own.jar") == (
        "--properties: user.classpath has the relative path lib/own.jar; list it, relative to the plan: "
        'plugins = ["lib/own.jar"] under [jmeter] in its TOML'
    )


@pytest.mark.parametrize(
    ("element", "todo"),
    [
        (
            '<JDBCDataSource><stringProp name="driver">org.postgresql.Driver</stringProp></JDBCDataSource>',
            'add plugins = ["org.postgresql:postgresql:',
        ),
        (
            '<PublisherSampler testname="P"><stringProp name="jms.initial_context_factory">'
            "org.apache.activemq.artemis.jndi.ActiveMQInitialContextFactory</stringProp></PublisherSampler>",
            'add plugins = ["org.apache.activemq:artemis-jms-client:',
        ),
    ],
)
def test_an_absent_driver_or_factory_of_connections_is_named_with_its_coordinate(
    checked: Callable[..., str], jmeter: Path, element: str, todo: str
) -> None:
    names = jmeter / "bin" / "saveservice.properties"
    names.write_text(f"{names.read_text()}JDBCDataSource=com.acme.Driver\nPublisherSampler=com.acme.Driver\n")
    assert todo in checked(element)
