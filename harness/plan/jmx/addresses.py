"""Knows in which fields the samplers of other protocols have their address: host and port, or a URL such as JDBC's."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from harness.plan.jmx.tree import Node, has_http

# The ports that servers of a protocol have by default, by the scheme of an address; None where there is none.
PORTS: dict[str, int | None] = {
    "amqp": 5672, "amqps": 5671, "bolt": 7687, "ftp": 21, "grpc": None, "h2": 9092, "kafka": 9092, "ldap": 389,
    "ldaps": 636, "mariadb": 3306, "mongodb": 27017, "mqtt": 1883, "mqtts": 8883, "mysql": 3306, "oracle": 1521,
    "postgresql": 5432, "redis": 6379, "smtp": 25, "sqlserver": 1433, "ssl": None, "tcp": None, "udp": None, "ws": 80,
    "wss": 443,
}  # fmt: skip
_WSS = "eu.luminis.jmeter.wssampler"
# The fields with host and port, by the class of the element, and the scheme that its addresses have.
_HOST_FIELDS = {
    "TCPSampler": ("TCPSampler.server", "TCPSampler.port", "tcp"),
    "FTPSampler": ("FTPSampler.server", "FTPSampler.port", "ftp"),
    "LDAPSampler": ("servername", "port", "ldap"),
    "LDAPExtSampler": ("servername", "port", "ldap"),
    "SmtpSampler": ("SMTPSampler.server", "SMTPSampler.serverPort", "smtp"),
    "MailReaderSampler": ("host", "port", "tcp"),
    "kg.apc.jmeter.samplers.UDPSampler": ("hostname", "port", "udp"),
    "kg.apc.jmeter.samplers.HTTPRawSampler": ("hostname", "port", "tcp"),
    "net.xmeter.samplers.ConnectSampler": ("mqtt.server", "mqtt.port", "mqtt"),
    "net.xmeter.samplers.EfficientConnectSampler": ("mqtt.server", "mqtt.port", "mqtt"),
    "vn.zalopay.benchmark.GRPCSampler": ("GRPCSampler.host", "GRPCSampler.port", "grpc"),
    **{f"{_WSS}.{name}WebSocketSampler": ("server", "port", "ws") for name in (
        "Open", "RequestResponse", "SingleRead", "SingleWrite",
    )},
}  # fmt: skip
# The field with a URL or a list of host:port, by the class of the element.
_URL_FIELDS = {
    "JDBCDataSource": "dbUrl",
    "JMSSampler": "JMSSampler.contextProviderUrl",
    "PublisherSampler": "jms.provider_url",
    "SubscriberSampler": "jms.provider_url",
    "org.apache.jmeter.protocol.bolt.config.BoltConnectionElement": "boltUri",
    "org.apache.jmeter.protocol.mongodb.config.MongoSourceElement": "connection",
    **{f"com.di.jmeter.kafka.{name}Config": "kafkaBrokers" for name in (
        "config.KafkaConsumer", "config.KafkaProducer", "sampler.KafkaProducer",
    )},
}  # fmt: skip
_HOST, _PORT = r"\$\{[^{}]+\}|[\w.-]+|\[[0-9a-fA-F:.]+\]", r"\$\{[^{}]+\}|\d+"
# jdbc:h2:tcp://host:9092/mem:shop, jdbc:oracle:thin:@host:1521:shop, tcp://host:61616
_URL = re.compile(
    rf"(?P<start>(?:jdbc:)?(?P<scheme>[a-z][\w+.-]*):(?:\w+:)*(?:@?//|@))(?P<host>{_HOST})(?::(?P<port>{_PORT}))?"
    r"(?P<end>(?:[/;?].*|:[A-Za-z]\w*)?)",
    re.DOTALL,
)
# host:9092 alone; of several only the first would be read.
_PLAIN = re.compile(rf"(?P<start>)(?P<scheme>)(?P<host>{_HOST}):(?P<port>{_PORT})(?P<end>)")


class ServerAddress(NamedTuple):
    """The host and the port of an element, as in the JMX; for one in a URL `url_field` is the field, and `start` and
    `end` are what is around them there.
    """

    scheme: str
    host: str
    port: str
    host_field: str = ""
    port_field: str = ""
    url_field: str = ""
    start: str = ""
    end: str = ""

    def url(self, host: str, port: str) -> str:
        """Return the URL with another host and port."""
        return f"{self.start}{host}:{port}{self.end}"


def address_of(node: Node, known: Callable[[str], str | None]) -> ServerAddress | None:
    """Return the address of an element of another protocol than HTTP; None without one that can be read.

    `known` returns the value of a text before the run: a URL may be a variable.
    """
    name = next(
        (one for one in (node.kind, node.kind.rpartition(".")[2]) if one in _HOST_FIELDS or one in _URL_FIELDS), ""
    )
    if name in _HOST_FIELDS:
        host, port, scheme = _HOST_FIELDS[name]
        is_given = bool(node.value(host).strip())
        return (
            ServerAddress(scheme, node.value(host).strip(), node.value(port).strip(), host, port) if is_given else None
        )
    if not name:
        return None
    text = node.value(_URL_FIELDS[name]).strip()
    found = address_in(text, _URL_FIELDS[name]) or address_in(known(text) or "", _URL_FIELDS[name])
    return found._replace(scheme="kafka") if found and "kafka" in name else found


def address_in(text: str, field: str = "") -> ServerAddress | None:
    """Return the address in a URL; None for one without a host, such as jdbc:h2:mem:shop, or with several."""
    match = _URL.fullmatch(text) or _PLAIN.fullmatch(text)
    if not match:
        return None
    port = match["port"] or str(PORTS.get(match["scheme"]) or "")
    if not port:
        return None
    return ServerAddress(match["scheme"] or "tcp", match["host"], port, "", "", field, match["start"], match["end"])


def scheme_of(nodes: Sequence[Node]) -> str:
    """Return the scheme that a target of these elements has: http, unless they are all of other protocols."""
    if any(has_http(node) for node in nodes):
        return "http"
    addresses = (address_of(node, lambda _: None) for node in nodes)
    return next((one.scheme for one in addresses if one and one.scheme in PORTS), "http")
