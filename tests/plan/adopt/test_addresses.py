"""Addresses of samplers of other protocols: found in their fields, and made those of the run's TARGET."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.plan.adopt.adopt import Adoption, adopt
from harness.plan.jmx.addresses import address_in, address_of, scheme_of
from harness.plan.jmx.tree import enabled_nodes, plan_tree
from tests.support.off_host import element, jmx, request, text


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("jdbc:postgresql://db.example.org/shop?ssl=true", ("postgresql", "db.example.org", "5432")),
        ("jdbc:h2:tcp://127.0.0.1:9092/mem:shop", ("h2", "127.0.0.1", "9092")),
        ("jdbc:oracle:thin:@//db:1522/shop", ("oracle", "db", "1522")),
        ("jdbc:oracle:thin:@db:1522:shop", ("oracle", "db", "1522")),
        ("jdbc:sqlserver://db:1433;databaseName=shop", ("sqlserver", "db", "1433")),
        ("jdbc:mysql://[::1]:3307/shop", ("mysql", "[::1]", "3307")),
        ("tcp://broker:61616?a=b", ("tcp", "broker", "61616")),
        ("jdbc:postgresql://${host}:${__P(port,5432)}/shop", ("postgresql", "${host}", "${__P(port,5432)}")),
        ("broker:9092", ("tcp", "broker", "9092")),
    ],
)
def test_a_url_has_a_host_and_a_port(url: str, parts: tuple[str, str, str]) -> None:
    found = address_in(url)
    assert found is not None
    assert (found.scheme, found.host, found.port) == parts
    assert address_in(found.url("h", "1")) == found._replace(host="h", port="1")


@pytest.mark.parametrize(
    "url", ["jdbc:h2:mem:shop", "jdbc:sqlite:shop.db", "jdbc:postgresql://a:1,b:2/shop", "vm://broker", "", "${url}"]
)
def test_a_url_without_one_host_has_none(url: str) -> None:
    assert address_in(url) is None


JDBC = element("JDBCDataSource", "Pool", text("dbUrl", "jdbc:postgresql://db.example.org/shop"))
TCP = element("TCPSampler", "Send", text("TCPSampler.server", "other.example.org"), text("TCPSampler.port", "7"))


def without_http(in_group: str, beside: str = "") -> str:
    """A test plan without HTTP Request Defaults and their variables."""
    defaults = jmx("").partition('testname="Off host"/>\n<hashTree>')[2].partition("<ThreadGroup")[0]
    return jmx(in_group, beside).replace(defaults, "", 1)


def adopted(tmp_path: Path, plan: str) -> Adoption:
    (tmp_path / "shop.jmx").write_text(plan, encoding="utf-8")
    return adopt(tmp_path / "shop.jmx", "shop", tmp_path)


def test_the_most_common_address_is_the_targets_and_others_are_properties(tmp_path: Path) -> None:
    made = adopted(tmp_path, without_http(JDBC + JDBC + TCP))
    fixed = made.draft.text().decode()
    assert fixed.count("jdbc:postgresql://${__P(host,db.example.org)}:${__P(port,5432)}/shop") == 2
    assert ">${__P(server_1,other.example.org)}<" in fixed
    assert ">${__P(server_1_port,7)}<" in fixed
    assert made.target == "postgresql://db.example.org:5432"
    assert made.contents.hosts == ("db.example.org", "other.example.org")


def test_beside_http_a_database_has_an_address_of_its_own(tmp_path: Path) -> None:
    made = adopted(tmp_path, jmx(request() + JDBC))
    fixed = made.draft.text().decode()
    assert "jdbc:postgresql://${__P(server_1,db.example.org)}:${__P(server_1_port,5432)}/shop" in fixed
    assert made.target == ""


@pytest.mark.parametrize("name", ["config.KafkaProducer", "config.KafkaConsumer", "sampler.KafkaProducer"])
def test_a_kafka_client_has_its_broker_as_target(tmp_path: Path, name: str) -> None:
    client = element(f"com.di.jmeter.kafka.{name}Config", "Client", text("kafkaBrokers", "broker.example.org:9092"))
    made = adopted(tmp_path, without_http(client))
    assert "${__P(host,broker.example.org)}:${__P(port,9092)}" in made.draft.text().decode()
    assert made.target == "kafka://broker.example.org:9092"


@pytest.mark.parametrize("name", ["Connect", "EfficientConnect"])
def test_an_mqtt_client_has_its_broker_as_target(tmp_path: Path, name: str) -> None:
    fields = text("mqtt.server", "broker.example.org"), text("mqtt.port", "1883")
    made = adopted(tmp_path, without_http(element(f"net.xmeter.samplers.{name}Sampler", "Connect", *fields)))
    assert made.target == "mqtt://broker.example.org:1883"


def test_an_http_sampler_of_a_plugin_goes_to_the_target(tmp_path: Path) -> None:
    fields = {"domain": "shop.example.org", "port": "8443", "protocol": "https", "path": "/"}
    props = (text(f"HTTPSampler.{name}", value) for name, value in fields.items())
    made = adopted(tmp_path, without_http(element("com.blazemeter.jmeter.http2.sampler.HTTP2Sampler", "Get", *props)))
    fixed = made.draft.text().decode()
    for read in ("host,shop.example.org", "port,8443", "scheme,https"):
        assert f"${{__P({read})}}" in fixed


def test_a_url_in_a_variable_is_changed_where_it_is_defined(tmp_path: Path) -> None:
    variable = element(
        "Arguments",
        "V",
        '<collectionProp name="Arguments.arguments"><elementProp name="url" elementType="Argument">'
        f"{text('Argument.name', 'url')}{text('Argument.value', 'tcp://broker:61616')}</elementProp></collectionProp>",
    )
    made = adopted(
        tmp_path, without_http(element("PublisherSampler", "P", text("jms.provider_url", "${url}")), variable)
    )
    assert ">tcp://${__P(host,broker)}:${__P(port,61616)}<" in made.draft.text().decode()
    assert made.target == "tcp://broker:61616"


def test_what_init_has_written_is_read_again(tmp_path: Path) -> None:
    made = adopted(tmp_path, without_http(JDBC))
    (tmp_path / "again.jmx").write_text(made.draft.text().decode())
    node = next(one for one in enabled_nodes(plan_tree(tmp_path / "again.jmx")) if one.kind == "JDBCDataSource")
    found = address_of(node, lambda raw: raw)
    assert found is not None
    assert (found.host, found.port) == ("${__P(host,db.example.org)}", "${__P(port,5432)}")
    assert not [
        change for change in adopted(tmp_path, made.draft.text().decode()).draft.changes if "host, port" in change
    ]


@pytest.mark.parametrize(
    ("inside", "scheme"),
    [(JDBC, "postgresql"), (TCP + JDBC, "tcp"), (request() + JDBC, "http"), ("", "http")],
)
def test_a_target_has_the_scheme_of_the_plans_samplers(tmp_path: Path, inside: str, scheme: str) -> None:
    (tmp_path / "shop.jmx").write_text(without_http(inside), encoding="utf-8")
    assert scheme_of(enabled_nodes(plan_tree(tmp_path / "shop.jmx"))) == scheme
