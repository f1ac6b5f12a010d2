"""The table of element classes: it has every one of the installed JMeter, and says what each does."""

import pytest

from harness.base.install import toolchain
from harness.plan.jmx.elements import Effect, class_of, library_with
from tests.support.jar_classes import concrete_classes

HARMLESS, HTTP, SCRIPTS, CONNECTS = Effect.HARMLESS, Effect.HTTP, Effect.SCRIPTS, Effect.CONNECTS


@pytest.mark.real
def test_every_test_element_of_the_installed_jmeter_is_in_the_table_as_included():
    jars = sorted((toolchain.ensure_jmeter() / "lib" / "ext").glob("*.jar"))
    elements = concrete_classes(jars, "org.apache.jmeter.testelement.TestElement")
    assert {"org.apache.jmeter.control.RunTime", "kg.apc.jmeter.samplers.DummySampler"} <= elements
    assert len(elements) > 130
    unknown = sorted(name for name in elements if not (found := class_of(name)) or found.plugin)
    assert unknown == []


@pytest.mark.real
def test_every_short_name_of_the_installed_jmeter_means_the_same_class():
    lines = (toolchain.ensure_jmeter() / "bin" / "saveservice.properties").read_text().splitlines()
    pairs = [line.split("=") for line in lines if "=org.apache.jmeter." in line and not line.startswith("_")]
    known = [(names, name) for names, name in pairs if class_of(name)]
    assert len(known) > 100
    for names, name in known:
        for short in names.removesuffix("_").split(","):
            found = class_of(short.rstrip("_"))
            # JMeter reads the old HTTP elements as their successor.
            assert found is not None and (found.name == name or short.startswith("HTTPSampler")), short


@pytest.mark.parametrize(
    ("kind", "effect", "plugin"),
    [
        ("RunTime", HARMLESS, ""),
        ("org.apache.jmeter.control.InterleaveControl", HARMLESS, ""),
        ("AnchorModifier", HARMLESS, ""),
        ("JDBCDataSource", CONNECTS, ""),
        ("HTTPSampler2", HTTP, ""),
        ("JSR223Listener", SCRIPTS, ""),
        ("FTPSampler", CONNECTS, "org.apache.jmeter:ApacheJMeter_ftp:5.6.3"),
        ("kg.apc.jmeter.perfmon.PerfMonCollector", CONNECTS, "kg.apc:jmeter-plugins-perfmon:2.1"),
        ("com.blazemeter.jmeter.controller.ParallelSampler", HARMLESS, "com.blazemeter:jmeter-parallel:0.12"),
        ("net.xmeter.samplers.PubSampler", CONNECTS, "mqtt-xmeter"),
        ("org.h2.Driver", Effect.LIBRARY, "com.h2database:h2:2.5.252"),
    ],
)
def test_a_class_has_an_effect_and_the_plugin_that_contains_it(kind, effect, plugin):
    found = class_of(kind)
    assert found is not None
    assert (found.effect, found.plugin, found.is_in_maven) == (effect, plugin, plugin.count(":") == 2)


@pytest.mark.parametrize("kind", ["com.shop.GraphSampler", "GraphSampler", "SoapSampler"])
def test_another_class_is_not_known(kind):
    assert class_of(kind) is None


@pytest.mark.parametrize(
    ("name", "coordinate"),
    [
        ("org.apache.kafka.clients.producer.KafkaProducer", "org.apache.kafka:kafka-clients"),
        ("org.eclipse.paho.client.mqttv3.MqttClient", "org.eclipse.paho:org.eclipse.paho.client.mqttv3"),
        ("io.grpc.ManagedChannel", "io.grpc:grpc-api"),
        ("io.grpc.stub.ClientCalls", "io.grpc:grpc-stub"),
        ("io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder", "io.grpc:grpc-netty-shaded"),
        ("io.grpcs.Other", ""),
        ("com.acme.Buy", ""),
    ],
)
def test_a_class_of_a_clients_library_has_its_coordinate(name: str, coordinate: str) -> None:
    assert library_with(name).rpartition(":")[0] == coordinate
