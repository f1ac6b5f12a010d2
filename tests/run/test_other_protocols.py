"""Plans of other protocols against real servers: what a run counts is what plain JMeter and the server count."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from harness.metrics.amounts import FILE_NAME, read_amounts
from harness.metrics.interval import IntervalMs
from tests.support.markdown_rows import cells_of, rows_of
from tests.support.off_host import ALIAS, ENDS, element, flag, text
from tests.support.paths import jmeter_home
from tests.support.protocol_servers import EchoServer, jars_of, sampler_jar, serving_java, serving_nginx
from tests.support.tiny import Run, run_json
from tests.system.test_postgresql import ask as ask_postgresql
from tests.system.test_postgresql import serve as serve_postgresql

USERS, LOOPS = 2, 5
H2 = "com.h2database:h2:2.5.252"
PAHO = "org.eclipse.paho:org.eclipse.paho.client.mqttv3:1.2.5"
KAFKA = "org.apache.kafka:kafka-clients:4.1.1"
GRPC = ("io.grpc:grpc-netty-shaded:1.85.1", "io.grpc:grpc-stub:1.85.1")


def plan(*elements: str) -> str:
    """A test plan with elements in its thread group."""
    group = element(
        "ThreadGroup",
        "Users",
        text("ThreadGroup.num_threads", "${__P(users,1)}"),
        text("ThreadGroup.ramp_time", "${__P(ramp_s,0)}"),
        '<elementProp name="ThreadGroup.main_controller" elementType="LoopController" testclass="LoopController">'
        f"{text('LoopController.loops', '${__P(loops,1)}')}{ENDS}</elementProp>",
        below="".join(elements),
    )
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<jmeterTestPlan version="1.2" properties="5.0" jmeter="5.6.3"><hashTree>
<TestPlan guiclass="TestPlanGui" testclass="TestPlan" testname="Other protocols">
<boolProp name="TestPlan.tearDown_on_shutdown">true</boolProp></TestPlan>
<hashTree>{group}</hashTree>
</hashTree></jmeterTestPlan>
"""


def java_request(name: str, class_name: str, **arguments: str) -> str:
    rows = "".join(
        f'<elementProp name="{key}" elementType="Argument">{text("Argument.name", key)}'
        f"{text('Argument.value', value)}{text('Argument.metadata', '=')}</elementProp>"
        for key, value in arguments.items()
    )
    table = f'<collectionProp name="Arguments.arguments">{rows}</collectionProp>'
    given = f'<elementProp name="arguments" elementType="Arguments">{table}</elementProp>'
    return element("JavaSampler", name, text("classname", class_name), given)


def jdbc(url: str, driver: str, statement: str, user: str = "sa", **more: str) -> str:
    """Return a pool, and below it the request Sale of a statement and those of `more`, by their labels."""
    pool = {
        "dataSource": "pool", "dbUrl": url, "driver": driver, "username": user, "password": "", "checkQuery": "",
        "poolMax": "0", "timeout": "10000", "trimInterval": "60000", "connectionAge": "5000", "initQuery": "",
        "transactionIsolation": "DEFAULT", "connectionProperties": "",
    }  # fmt: skip
    query = {"dataSource": "pool", "queryType": "Update Statement", "queryTimeout": "10"}
    own = '<boolProp name="autocommit">true</boolProp><boolProp name="keepAlive">true</boolProp>'
    samplers = [
        element("JDBCSampler", label, text("query", asked), *(text(*one) for one in kind(asked, query).items()))
        for label, asked in {"Sale": statement, **more}.items()
    ]
    return "".join((element("JDBCDataSource", "Pool", own, *(text(*one) for one in pool.items())), *samplers))


def kind(statement: str, query: dict[str, str]) -> dict[str, str]:
    """Return the fields of a request, with the kind that its statement needs."""
    return query | ({"queryType": "Select Statement"} if statement.startswith("select") else {})


def rows(samples: Path) -> Counter[tuple[str, str, str]]:
    """Count the samples by label, code and received bytes."""
    with samples.open(newline="") as lines:
        return Counter((row["label"], row["responseCode"], row["bytes"]) for row in csv.DictReader(lines))


def codes(counted: Counter[tuple[str, str, str]]) -> dict[tuple[str, str], int]:
    """Return the numbers of samples by label and code."""
    return Counter((label, code) for label, code, _ in counted.elements())


def reported(tmp_path: Path) -> tuple[list[list[str]], list[list[str]]]:
    """Return what the report of a run has: response codes, and errors by cause."""
    page = (tmp_path / "reports" / "tiny" / "run-01_1.md").read_text(encoding="utf-8")
    found = cells_of(rows_of(page, "<details><summary>Response codes</summary>"), "label", "code", "count", "errors")
    return found, cells_of(rows_of(page, "## Errors by cause"), "label", "code", "cause", "count")


def measured(tmp_path: Path) -> Any:
    """Return the load of the run from its JSON."""
    page = json.loads((tmp_path / "reports" / "tiny" / "run-01_1.json").read_text(encoding="utf-8"))
    return next(group for group in page["groups"] if group["name"] == "load")


def amounts(tmp_path: Path) -> dict[tuple[str, str], int]:
    """Return the messages, rows and sessions of the whole run, by label."""
    with (tmp_path / "reports" / "tiny" / "run-01_1" / FILE_NAME).open() as lines:
        return {(one.label, one.kind): one.count for one in read_amounts(lines, IntervalMs(0, 1 << 60))}


Driven = Callable[..., Counter[tuple[str, str, str]]]


@pytest.fixture
def driven(home: Path, tmp_path: Path, run: Run) -> Driven:
    """Run a plan with these plugins, then the same in plain JMeter; return the numbers of samples, which are equal."""

    def drive(jmx: str, target: str, *plugins: str) -> Counter[tuple[str, str, str]]:
        (home / "plans" / "tiny.jmx").write_text(jmx, encoding="utf-8")
        toml = home / "plans" / "tiny.toml"
        more = f"[allow]\nscripts = true\nother_protocols = true\n[jmeter]\nplugins = {json.dumps(plugins)}\n"
        toml.write_text(toml.read_text().replace("duration_s = 2", f"loops = {LOOPS}") + more)
        reports = tmp_path / "reports"
        done = run("--target", target, f"--users={USERS}", f"--loops={LOOPS}", JMETER_HOME=str(jmeter_home()))
        assert run_json(reports)["state"] == "finished", done.stdout + done.stderr
        found = reports / "tiny" / "run-01_1"
        assert json.loads(found.with_suffix(".json").read_text())["verdict"]["state"] != "INVALID", done.stdout
        jars = re.search(r"JMeter property: search_paths=(\S+)", (found / "jmeter.log").read_text())
        assert jars
        host, _, port = urlsplit(target).netloc.partition(":")
        given = {"users": USERS, "loops": LOOPS, "host": host, "port": port, "search_paths": jars[1]}
        command = [
            str(jmeter_home() / "bin" / "jmeter"),
            "-n",
            "-t",
            str(home / "plans" / "tiny.jmx"),
            "-l",
            "plain.jtl",
        ]
        command += [f"-J{name}={value}" for name, value in given.items()]
        command += ["-Jjmeter.save.saveservice.output_format=csv"]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
        counted = rows(found / "samples.jtl")
        assert counted == rows(tmp_path / "plain.jtl")
        return counted

    return drive


@pytest.mark.counterpart
def test_jdbc_on_h2_counts_what_plain_jmeter_and_the_database_count(driven: Driven, tmp_path: Path) -> None:
    with serving_java("H2Server", tmp_path, jars_of(tmp_path, H2)) as server:
        url = "jdbc:h2:tcp://${__P(host,127.0.0.1)}:${__P(port,9092)}/mem:shop"
        asked = {"Refund": "delete from refund", "List": "select 'a\nb' from system_range(1, 3)"}
        pool = jdbc(url, "org.h2.Driver", "insert into sale values (1), (2)", **asked)
        counted = driven(plan(pool), f"h2://127.0.0.1:{server.port}", H2)
        times = USERS * LOOPS
        assert codes(counted) == {("Sale", "200"): times, ("Refund", "42S02 42102"): times, ("List", "200"): times}
        assert server.count() == 2 * 2 * times
    found, errors = reported(tmp_path)
    assert found == [["Sale", "200", "10", "0"], ["Refund", "42S02 42102", "10", "10"], ["List", "200", "10", "0"]]
    assert amounts(tmp_path) == {("Sale", "rows"): 2 * times, ("Refund", "rows"): 0, ("List", "rows"): 3 * times}
    why = 'JdbcSQLSyntaxErrorException: Table "REFUND" not found; SQL statement: delete from refund \\[…-252\\]'
    assert errors == [["Refund", "42S02 42102", f"org.h2.jdbc.{why}", "10"]]


@pytest.mark.counterpart
def test_mqtt_by_a_sampler_of_the_project_counts_what_the_broker_got(
    driven: Driven, home: Path, tmp_path: Path
) -> None:
    sampler_jar(home / "plans" / "lib" / "mqtt.jar", "MqttSampler", jars_of(tmp_path, PAHO))
    with serving_java("MqttBroker", tmp_path, jars_of(tmp_path, "io.moquette:moquette-broker:0.17")) as broker:
        url = "tcp://${__P(host,127.0.0.1)}:${__P(port,1883)}"
        once = java_request("Publish", "com.acme.MqttSampler", url=url, wait_ms="100")
        exactly = java_request("Exactly once", "com.acme.MqttSampler", url=url, qos="2")
        counted = driven(plan(once, exactly), f"mqtt://127.0.0.1:{broker.port}", PAHO, "lib/mqtt.jar")
        assert codes(counted) == {("Publish", "OK"): USERS * LOOPS, ("Exactly once", "OK"): USERS * LOOPS}
        assert broker.count() == 2 * 2 * USERS * LOOPS
    # What the sampler waits before its sample is a pause of the user.
    (group,) = run_json(tmp_path / "reports")["groups"]
    assert USERS * LOOPS * 100 <= sum(group["pause_ms"]) < USERS * LOOPS * 150 + 1000


@pytest.mark.counterpart
def test_kafka_by_a_sampler_of_the_project_counts_what_the_topic_has(
    driven: Driven, home: Path, tmp_path: Path
) -> None:
    sampler_jar(home / "plans" / "lib" / "kafka.jar", "KafkaSampler", jars_of(tmp_path, KAFKA))
    with serving_java("KafkaBroker", tmp_path, jars_of(tmp_path, "org.apache.kafka:kafka_2.13:4.1.1")) as broker:
        sampler = java_request("Send", "com.acme.KafkaSampler", broker="${__P(host,h)}:${__P(port,1)}")
        counted = driven(plan(sampler), f"kafka://127.0.0.1:{broker.port}", KAFKA, "lib/kafka.jar")
        assert codes(counted) == {("Send", "OK"): USERS * LOOPS}
        assert broker.count() == 2 * USERS * LOOPS


@pytest.mark.counterpart
@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        ("false", {("OK", "100"): 8, ("RESOURCE_EXHAUSTED", "0"): 2}),
        ("true", {("OK", "1000"): USERS * LOOPS}),  # ten messages of 100 bytes
    ],
)
def test_grpc_by_a_sampler_of_the_project_counts_each_status(
    driven: Driven, home: Path, tmp_path: Path, stream: str, expected: dict[tuple[str, str], int]
) -> None:
    jars = jars_of(tmp_path, *GRPC)
    sampler_jar(home / "plans" / "lib" / "grpc.jar", "GrpcSampler", jars)
    with serving_java("GrpcServer", tmp_path, jars, more=("-Dmedian.ms=100",)) as server:
        address = {"host": "${__P(host,h)}", "port": "${__P(port,1)}"}
        sampler = java_request("Buy", "com.acme.GrpcSampler", stream=stream, **address)
        counted = driven(plan(sampler), f"grpc://127.0.0.1:{server.port}", *GRPC, "lib/grpc.jar")
        assert counted == {("Buy", *one): count for one, count in expected.items()}
        assert server.count() == 2 * USERS * LOOPS
    each = 10 if stream == "true" else 1
    successes = sum(count for (code, _), count in expected.items() if code == "OK")
    assert amounts(tmp_path) == {("Buy", "messages"): each * successes, ("Buy", "messages sent"): USERS * LOOPS}
    if stream == "false":
        assert reported(tmp_path) == (
            [["Buy", "OK", "8", "0"], ["Buy", "RESOURCE_EXHAUSTED", "2", "2"]],
            [["Buy", "RESOURCE_EXHAUSTED", "sold out", "2"]],
        )
        return
    load = measured(tmp_path)
    # The first of ten messages, each of which takes the server about 10 ms.
    assert 1 < load["total"]["first_byte_percentiles_ms"]["50"] < load["total"]["percentiles_ms"]["50"] / 2


JMS = ("org.apache.jmeter:ApacheJMeter_jms:5.6.3", "jakarta.jms:jakarta.jms-api:2.0.3")
ARTEMIS = "org.apache.activemq:artemis-jms-client:2.31.2"


def jms(url: str) -> str:
    fields = {
        "jms.jndi_properties": "false", "jms.provider_url": url,
        "jms.initial_context_factory": "org.apache.activemq.artemis.jndi.ActiveMQInitialContextFactory",
        "jms.connection_factory": "ConnectionFactory", "jms.topic": "dynamicQueues/sale", "jms.iterations": "1",
        "jms.text_message": "sold", "jms.config_choice": "jms_use_text", "jms.config_msg_type": "jms_text_message",
        "jms.authenticate": "false",
    }  # fmt: skip
    return element("PublisherSampler", "Send", *(text(*one) for one in fields.items()))


@pytest.mark.counterpart
def test_jms_on_artemis_counts_what_the_queue_got(driven: Driven, tmp_path: Path) -> None:
    with serving_java("JmsBroker", tmp_path, jars_of(tmp_path, "org.apache.activemq:artemis-server:2.31.2")) as broker:
        sampler = jms("tcp://${__P(host,h)}:${__P(port,1)}")
        counted = driven(plan(sampler), f"tcp://127.0.0.1:{broker.port}", *JMS, ARTEMIS)
        assert codes(counted) == {("Send", "200"): USERS * LOOPS}
        assert broker.count() == 2 * USERS * LOOPS


@pytest.mark.counterpart
def test_jdbc_on_postgresql_counts_what_the_database_has(driven: Driven, tmp_path: Path) -> None:
    found = shutil.which("pg_ctl") or next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))), None)
    if not found:
        pytest.skip("NOT CHECKED: no PostgreSQL is installed")
    with tempfile.TemporaryDirectory(prefix="postgresql-", ignore_cleanup_errors=True) as folder:
        for url in serve_postgresql(Path(found).parent, Path(folder)):
            ask_postgresql(url, "CREATE TABLE sale(n int)")
            target = url.replace("perf@", "")
            there = "jdbc:postgresql://${__P(host,h)}:${__P(port,1)}${__P(base_path,/postgres)}"
            driver = "org.postgresql.util.PSQLException"
            wrong = "insert into sale values ('one')"
            pool = jdbc(there, "org.postgresql.Driver", "insert into sale values (1)", "perf", Wrong=wrong)
            counted = driven(plan(pool), target, "org.postgresql:postgresql:42.7.14")
            assert codes(counted) == {("Sale", "200"): USERS * LOOPS, ("Wrong", "22P02 0"): USERS * LOOPS}
            assert reported(tmp_path)[1] == [
                [
                    "Wrong",
                    "22P02 0",
                    f'{driver}: ERROR: invalid input syntax for type integer: "one" Position: 26',
                    "10",
                ]
            ]
            asked = ["psql", "-At", "-c", "SELECT count(*) FROM sale", url]
            assert int(subprocess.run(asked, capture_output=True, check=True).stdout) == 2 * USERS * LOOPS


LUMINIS = "eu.luminis.jmeter.wssampler."
WEBSOCKET = "net.luminis.jmeter:jmeter-websocket-samplers:1.3.1"


def websocket(name: str, host: str, port: str, sent: str = "sold", label: str = "") -> str:
    fields = {
        "server": host, "port": port, "path": "/echo", "connectTimeout": "5000", "readTimeout": "5000",
        "payloadType": "Text", "requestData": sent,
    }  # fmt: skip
    more = '<boolProp name="TLS">false</boolProp><boolProp name="createNewConnection">false</boolProp>'
    return element(f"{LUMINIS}{name}WebSocketSampler", label or name, more, *(text(*one) for one in fields.items()))


@pytest.mark.counterpart
def test_websocket_samplers_count_what_the_server_got(driven: Driven, tmp_path: Path) -> None:
    closed = element(
        f"{LUMINIS}CloseWebSocketSampler", "Close", text("statusCode", "1000"), text("readTimeout", "5000")
    )
    with EchoServer() as server:
        samplers = [websocket(one, "${__P(host,h)}", "${__P(port,1)}") for one in ("Open", "RequestResponse")]
        counted = driven(plan(*samplers, closed), f"ws://127.0.0.1:{server.port}", WEBSOCKET)
    times = USERS * LOOPS
    assert amounts(tmp_path) == {("RequestResponse", "messages"): times, ("Open", "sessions"): times}
    assert codes(counted) == {("Open", "101"): times, ("RequestResponse", "200"): times, ("Close", "1000"): times}
    assert (server.opened, server.messages) == (2 * times, 2 * times)


@pytest.mark.counterpart
def test_a_websocket_session_has_its_duration_and_the_servers_close_its_code(driven: Driven, tmp_path: Path) -> None:
    address = "${__P(host,h)}", "${__P(port,1)}"
    pause = element("ConstantTimer", "Pause", text("ConstantTimer.delay", "200"))
    ends = text("statusCode", "1000"), text("readTimeout", "5000")
    session = element(
        "TransactionController",
        "Session",
        flag("TransactionController.includeTimers"),
        below=websocket("Open", *address) + element(f"{LUMINIS}CloseWebSocketSampler", "Close", *ends, below=pause),
    )
    with EchoServer() as server:
        left = websocket("Open", *address), websocket("RequestResponse", *address, "leave", "Leave")
        driven(plan(session, *left), f"ws://127.0.0.1:{server.port}", WEBSOCKET)
    codes_found, errors = reported(tmp_path)
    assert codes_found[:2] == [["Open", "101", "20", "0"], ["Close", "1000", "10", "0"]]
    why = "Sampler error: unexpected frame type (close)."
    assert errors == [["Leave", why, "Received: Close frame with status code 1008 and close reason 'null'", "10"]]
    load = measured(tmp_path)
    (found,) = (label for label in load["labels"] if label["label"] == "Session")
    assert (found["sample_count"], found["error_count"], found["min_ms"] >= 200) == (10, 0, True)
    # The server ends the second session of each round.
    assert amounts(tmp_path) == {("Open", "sessions"): 20, ("Leave", "messages"): 0}


@pytest.mark.counterpart
def test_http2_over_tls_counts_what_nginx_has_logged(driven: Driven, home: Path, tmp_path: Path) -> None:
    if not shutil.which("nginx"):
        pytest.skip("NOT CHECKED: no nginx is installed")
    sampler_jar(home / "plans" / "lib" / "http2.jar", "Http2Sampler")
    with serving_nginx(tmp_path) as port:
        url = "https://${__P(host,h)}:${__P(port,1)}/"
        counted = driven(
            plan(java_request("Get", "com.acme.Http2Sampler", url=url)), f"https://127.0.0.1:{port}", "lib/http2.jar"
        )
    assert codes(counted) == {("Get", "200"): USERS * LOOPS}
    assert (tmp_path / "access.log").read_text().split() == ["HTTP/2.0"] * (2 * USERS * LOOPS)


@pytest.mark.counterpart
def test_http2_without_tls_by_the_client_that_jmeter_has(driven: Driven, home: Path, tmp_path: Path) -> None:
    if not shutil.which("nginx"):
        pytest.skip("NOT CHECKED: no nginx is installed")
    sampler_jar(home / "plans" / "lib" / "h2c.jar", "H2cSampler")
    with serving_nginx(tmp_path, tls="") as port:
        request = java_request("Get", "com.acme.H2cSampler", url="http://${__P(host,h)}:${__P(port,1)}/")
        counted = driven(plan(request), f"http://127.0.0.1:{port}", "lib/h2c.jar")
    assert codes(counted) == {("Get", "200"): USERS * LOOPS}
    assert (tmp_path / "access.log").read_text().split() == ["HTTP/2.0"] * (2 * USERS * LOOPS)


@pytest.mark.counterpart
def test_no_protocol_reaches_an_address_that_is_not_allowed(home: Path, tmp_path: Path, run: Run) -> None:
    """One plan of all samplers, each with a port of its own at another address."""
    for name, jars in (
        ("Mqtt", jars_of(tmp_path, PAHO)),
        ("Grpc", jars_of(tmp_path, *GRPC)),
        ("Http2", tmp_path),
        ("Kafka", jars_of(tmp_path, KAFKA)),
    ):
        sampler_jar(home / "plans" / "lib" / f"{name}.jar", f"{name}Sampler", jars)
    samplers = (
        jdbc(f"jdbc:h2:tcp://{ALIAS}:7001/mem:shop", "org.h2.Driver", "select 1"),
        jms(f"tcp://{ALIAS}:7002"),
        websocket("Open", ALIAS, "7003"),
        java_request("Mqtt", "com.acme.MqttSampler", url=f"tcp://{ALIAS}:7004"),
        java_request("Grpc", "com.acme.GrpcSampler", host=ALIAS, port="7005"),
        java_request("Http2", "com.acme.Http2Sampler", url=f"https://{ALIAS}:7006/"),
        java_request("Kafka", "com.acme.KafkaSampler", broker=f"{ALIAS}:7007"),
    )
    (home / "plans" / "tiny.jmx").write_text(plan(*samplers), encoding="utf-8")
    plugins = [H2, *JMS, ARTEMIS, WEBSOCKET, PAHO, *GRPC, KAFKA]
    plugins += [f"lib/{name}.jar" for name in ("Mqtt", "Grpc", "Http2", "Kafka")]
    toml = home / "plans" / "tiny.toml"
    more = '[allow]\nscripts = true\nother_protocols = true\nhosts = ["127.0.0.2:1"]\n'
    toml.write_text(
        f"{toml.read_text().replace('duration_s = 2', 'loops = 1')}{more}[jmeter]\nplugins = {json.dumps(plugins)}"
    )
    with EchoServer() as server:
        done = run(f"--target=tcp://127.0.0.1:{server.port}", "--users=1", "--loops=1", JMETER_HOME=str(jmeter_home()))
    assert done.returncode == 3, done.stdout + done.stderr
    listed = (tmp_path / "reports" / "tiny" / "run-01_1" / "foreign-connections.txt").read_text()
    assert [port for port in range(7001, 7008) if f"{ALIAS}:{port}" not in listed] == []
    assert "hosts that are not allowed were refused" in done.stdout
