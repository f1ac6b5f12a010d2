"""Options of JMeter's JVM that could lead its connections past their check are refused before anything starts."""

import pytest

from harness.base.errors import UsageError
from harness.plan.jvm_options import check_jvm_options

DOORS = (
    "-Djdk.net.usePlainSocketImpl=true", "-Djdk.net.usePlainSocketImpl", "-DsocksProxyHost=127.0.0.1",
    "-Djava.net.useSystemProxies=true", "-Dhttps.proxyHost=127.0.0.1", "-javaagent:/a.jar", "-agentpath:/a.so",
    "-agentlib:jdwp=x", "-Xbootclasspath/a:/a.jar", "-cp /a.jar", "--patch-module=java.base=/a.jar", "@options",
    "-XX:Flags=/a", "-XX:OnOutOfMemoryError=curl", "-Djdk.net.hosts.file=/a",
)  # fmt: skip


@pytest.mark.parametrize("door", DOORS)
def test_an_option_of_the_profile_that_opens_a_door_is_one_line(refused, home, door):
    profile = home / "env" / "local.toml"
    profile.write_text(profile.read_text().replace("[generator]", f'[generator]\njvm_args = "-Dshop.a=1 {door}"'))
    assert refused() == (
        f"scripts/run: env/local.toml [generator] jvm_args: with {door.split()[0]} JMeter's connections could go past "
        "the check of its hosts; remove it\n"
    )


@pytest.mark.parametrize("name", ["JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JMETER_OPTS"])
def test_so_is_one_of_the_environment_however_it_is_quoted(refused, monkeypatch, name):
    monkeypatch.setenv(name, "-Dshop.a='b c' -Dsocks\"Proxy\"Host=127.0.0.1")
    assert refused().startswith(f"scripts/run: {name}: with -DsocksProxyHost=127.0.0.1 JMeter's connections could go")


def test_a_quotation_mark_that_is_not_closed_is_one_line(refused, monkeypatch):
    monkeypatch.setenv("JDK_JAVA_OPTIONS", "-Dshop.a='b")
    assert refused() == "scripts/run: JDK_JAVA_OPTIONS: a quotation mark is not closed; close it\n"


@pytest.mark.parametrize(
    "options", ["", "-Xmx2g -XX:+UseZGC -Dshop.http.proxyHostess=1 --add-opens java.base/java.lang=ALL-UNNAMED"]
)
def test_other_options_are_not_refused(options):
    check_jvm_options(options, "JVM_ARGS", is_quoted=False)
    with pytest.raises(UsageError):
        check_jvm_options(f"{options} @more", "JVM_ARGS")
