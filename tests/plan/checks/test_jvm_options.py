"""Options of JMeter's JVM that are not known to be harmless are refused before anything starts."""

import pytest

from harness.base.errors import UsageError
from harness.plan.checks.jvm_options import check_jvm_options

# Past the watched JVM or its connections, into it from outside, or code, programs and files that it starts with.
DOORS = (
    "-Djdk.net.usePlainSocketImpl=true", "-Djdk.net.usePlainSocketImpl", "-DsocksProxyHost=127.0.0.1",
    "-Djava.net.useSystemProxies=true", "-Dhttps.proxyHost=127.0.0.1", "-javaagent:/a.jar", "-agentpath:/a.so",
    "-agentlib:jdwp=x", "-Xbootclasspath/a:/a.jar", "-cp /a.jar", "--patch-module=java.base=/a.jar", "@options",
    "-XX:Flags=/a", "-XX:OnOutOfMemoryError=curl", "-Djdk.net.hosts.file=/a", "-Dcom.sun.management.jmxremote",
    "-Dcom.sun.management.jmxremote.port=9010", "-Dcom.sun.management.config.file=a", "-XX:+ManagementServer",
    "-XX:VMOptionsFile=1", "-XX:Flags=1", "-XX:OnOutOfMemoryError=1", "-XX:OnError=1", "-XX:SharedArchiveFile=1",
    "-XX:CompileCommandFile=1", "-XX:JVMCILibPath=1", "-XX:AOTLibrary=1", "-XX:CRaCRestoreFrom=1", "-XX:LogFile=1",
    "-XX:+ReadVMOptionsFile", "-XX:VMOptionsFile=a", "-Dlog4j2.configurationFile=a.xml",
    "-Dlog4j.configurationFile=a.xml", "-Dlog4j2.contextSelector=a", "-Djava.security.properties=a",
    "-Djava.security.manager=a", "-Djava.security.policy=a", "-Djava.security.auth.login.config=a",
    "-Djava.rmi.server.codebase=http://127.0.0.1/", "-Djava.system.class.loader=a", "-Djava.class.path=a",
    "-Djava.library.path=a", "-Djava.ext.dirs=a", "-Djava.endorsed.dirs=a", "-Djava.protocol.handler.pkgs=a",
    "-Djava.naming.factory.initial=a", "-Djava.util.logging.config.class=a", "-Djava.io.tmpdir=a",
    "-Djava.net.preferIPv4Stack.proxy=a", "-Djava.util.prefs.PreferencesFactory=a",
    "-Djavax.xml.parsers.DocumentBuilderFactory=a",
    "-Djmeter.home=a", "-Duser.dir=a", "-Duser.home=a", "-Dharness.sampler=a", "-Dshop.amount=1",
    "-Dgroovy.source.encoding=a",
    "-XX:CompileCommandFile=a", "-XX:CompilerDirectivesFile=a", "-XX:SharedArchiveFile=a", "-XX:AOTCache=a",
    "-XX:ArchiveClassesAtExit=a", "-XX:CRaCRestoreFrom=a", "-XX:+UseJVMCICompiler", "-XX:+EnableJVMCI",
    "-XX:+LogVMOutput", "-XX:LogFile=a", "-XX:HeapDumpPath=/etc/a.hprof",
    "-XX:ErrorFile=../a.log", "-Xlog:all:file=user.properties", "-Xlog:gc:file=/tmp/gc.log", "-Xlog:gc:jmeter.log",
    "-Xloggc:../gc.log", "-XX:StartFlightRecording=settings=/a.jfc", "-XX:StartFlightRecording=filename=run.json",
    "-XX:FlightRecorderOptions=repository=/a", "-Xrunhprof", "-Xdebug", "-Xverify:none", "-jar", "--add-modules=a",
    "--source=17", "--upgrade-module-path=a", "--module-path=a", "-Xshare:dump", "Main", "-XX:PerfDataSaveFile=/a",
)  # fmt: skip
HARMLESS = (
    "", "-Xmx2g", "-Xms512m", "-Xmn1g", "-Xss256k", "-XX:+UseZGC", "-XX:+UseG1GC", "-XX:-UseParallelGC",
    "-XX:MaxGCPauseMillis=50", "-XX:MaxRAMPercentage=75.0", "-XX:MaxDirectMemorySize=1g", "-XX:ActiveProcessorCount=2",
    "-XX:+AlwaysPreTouch", "-XX:TieredStopAtLevel=1", "-XX:+HeapDumpOnOutOfMemoryError", "-XX:HeapDumpPath=oom.hprof",
    "-Xlog:gc", "-Xlog:gc*:file=gc.log", "-Xlog:gc*,safepoint=info:gc.log:time,uptime:filecount=5,filesize=10m",
    "-Xlog:disable", "-Xloggc:gc.log", "-verbose:gc", "-XX:NativeMemoryTracking=summary", "-server", "-ea",
    "-XX:StartFlightRecording=filename=generator.jfr,settings=profile,duration=60s", "-XX:+ExitOnOutOfMemoryError",
    "-Dfile.encoding=UTF-8", "-Duser.timezone=UTC", "-Djava.net.preferIPv4Stack=true", "-Djava.awt.headless=true",
    "-Dsun.net.inetaddr.ttl=0", "-Dsun.net.client.defaultConnectTimeout=1000", "-Djdk.tls.client.protocols=TLSv1.2",
    "-Dhttps.protocols=TLSv1.3", "-Djavax.net.ssl.keyStore=client.p12", "-Djava.security.egd=file:/dev/urandom",
    "--add-opens java.base/java.lang=ALL-UNNAMED", "--add-opens=java.base/java.lang=ALL-UNNAMED",
)  # fmt: skip


@pytest.mark.parametrize("door", DOORS)
def test_an_option_that_is_not_known_is_refused_with_its_name_and_what_to_do(door):
    with pytest.raises(UsageError) as caught:
        check_jvm_options(f"-Xmx1g {door}", "env/local.toml [generator] jvm_args", is_quoted=False)
    word = door.split()[0]
    assert (
        caught.value.what
        == f"env/local.toml [generator] jvm_args: {word} is not one of the options that JMeter's JVM may get"
    )
    assert caught.value.todo.startswith("remove it; heap, collector")


@pytest.mark.parametrize("door", ["-Dcom.sun.management.jmxremote", "-javaagent:/a.jar"])
def test_an_option_of_the_profile_that_opens_a_door_is_one_line(refused, home, door):
    profile = home / "env" / "local.toml"
    profile.write_text(profile.read_text().replace("[generator]", f'[generator]\njvm_args = "-Xmx1g {door}"'))
    assert refused().startswith(f"scripts/run: env/local.toml [generator] jvm_args: {door} is not one of the options")


@pytest.mark.parametrize("name", ["JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JMETER_OPTS", "GC_ALGO"])
def test_so_does_one_of_the_environment_however_it_is_quoted(refused, monkeypatch, name):
    monkeypatch.setenv(name, "-Duser.timezone='a b' -Dsocks\"Proxy\"Host=127.0.0.1")
    assert refused().startswith(f"scripts/run: {name}: -DsocksProxyHost=127.0.0.1 is not one of the options")


def test_a_quotation_mark_that_is_not_closed_is_one_line(refused, monkeypatch):
    monkeypatch.setenv("JDK_JAVA_OPTIONS", "-Duser.timezone='b")
    assert refused() == "scripts/run: JDK_JAVA_OPTIONS: a quotation mark is not closed; close it\n"


@pytest.mark.parametrize("options", HARMLESS)
def test_heap_collector_logs_limits_and_texts_can_be_set(options):
    check_jvm_options(options, "JVM_ARGS", is_quoted=False)
