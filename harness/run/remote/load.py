"""Parses REMOTES, divides the load among the generators, and creates the commands that start and control them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree  # types only

from harness.base import units
from harness.base.errors import UsageError
from harness.plan.allowed_targets import HOST_NAME, is_loopback
from harness.plan.division import part_of, parts, shares, users_each
from harness.plan.jmx.thread_groups import ROWS, ScheduleRow, add_row, tree_with_loads
from harness.plan.jmx_writer import of_jmx, set_text, written
from harness.plan.load.groups import GroupLoad, SeveralLoads
from harness.plan.load.model import ClosedLoad, Load, Part
from harness.plan.plan import effective_jmx
from harness.run.record import GeneratorRecord

REMOTES_MAX = 100
# The property of GeneratorServer.java with the allowed addresses of a run.
ALLOWED_CONNECTIONS = "allowed_connections"
KEY_STORE, KEY_PROPERTIES = "rmi_keystore.jks", "generators.properties"
# JMeter's own engine listens on the port after the registry's.
PORT_MAX = 65_534
DEFAULT_PORT = 1099
LOG_NAME = "generator.log"
READY_LINE = "generator: ready"
_JAR = "jar "
_NAMED = 3
# JMeter's own launcher opens these for non-GUI mode: XStream and the script engines read private fields.
_OPENS = ("java.lang", "java.lang.invoke", "java.lang.reflect", "java.util", "java.text")
# Samples arrive every second, so that progress, REQUESTS and a dead generator are detected in time.
_BATCH = {"mode": "StrippedBatch", "num_sample_threshold": "100", "time_threshold": "1000"}
_PROPERTY = "part_"
_NO_USERS = ScheduleRow(0, 0, 0, 0, 0)


@dataclass(frozen=True)
class Remote:
    """The address at which a generator listens."""

    host: str
    port: int

    @property
    def name(self) -> str:
        """The address as in REMOTES and in the thread names of the JTL, such as 10.0.0.7:1099."""
        return f"{self.host}:{self.port}"

    @property
    def is_local(self) -> bool:
        """Whether the address is a loopback address of this machine."""
        return is_loopback(self.host)


def parse_remotes(text: str, variable: str = "REMOTES") -> tuple[Remote, ...]:
    """Return the generators in host:port,host; UsageError for an invalid or repeated address."""
    remotes: list[Remote] = []
    for part in text.split(","):
        host, _, port = part.strip().partition(":")
        if not HOST_NAME.fullmatch(host):
            what = f"{variable}={text}: {part.strip() or 'an empty part'} is not host:port"
            raise UsageError(what, "give names or IPv4 addresses, such as 10.0.0.7:1099,10.0.0.8:1099")
        number = units.parse_whole_number(port or str(DEFAULT_PORT), f"the port in {variable}", 1, PORT_MAX)
        remote = Remote(host, number)
        if remote in remotes:
            raise UsageError(f"{variable}={text}: {remote.name} is repeated", "name each generator once")
        remotes.append(remote)
    if len(remotes) > REMOTES_MAX:
        raise UsageError(f"REMOTES: {len(remotes)} generators", f"give at most {REMOTES_MAX}")
    return tuple(remotes)


def far_first(remotes: Sequence[Remote]) -> Remote:
    """Return a generator on another machine if there is one; its route gives the address of this machine."""
    return next((remote for remote in remotes if not remote.is_local), remotes[0])


def plan_of_all(jmx_path: Path, load: Load, count: int) -> SharedPlan:
    """Return the plan for `count` generators, and the properties of each that contain its part of the load."""
    if isinstance(load, SeveralLoads):
        return shared_plan(jmx_path, load.loads, count)
    if isinstance(load, ClosedLoad):
        own = tuple({"users": str(users)} for users in users_each(load.users, count))
        return SharedPlan(effective_jmx(jmx_path, load), own)
    return SharedPlan(effective_jmx(jmx_path, part_of(load, Part(1, count))), ({"users": ""},) * count)


def records(
    remotes: Sequence[Remote], facts: Sequence[Mapping[str, str]], ahead_ms: Sequence[int], load: Load
) -> tuple[GeneratorRecord, ...]:
    """Return the record of each generator for run.json."""
    return tuple(
        GeneratorRecord(remote.name, *part, fact["jmeter"], fact["java"], ahead, remote.is_local)
        for remote, fact, ahead, part in zip(remotes, facts, ahead_ms, shares(load, len(remotes)), strict=True)
    )


def difference(own: Mapping[str, str], other: Mapping[str, str]) -> str:
    """Return how a generator's JMeter differs from this machine's; "" when they are equivalent.

    A Java of the same release is equivalent: its updates do not change the load.
    """
    if own["protocol"] != other.get("protocol"):
        return "it was started by another version of the harness"
    if own["jmeter"] != other["jmeter"]:
        return f"it has JMeter {other['jmeter']}, this machine has {own['jmeter']}"
    if _release(own["java"]) != _release(other["java"]):
        return f"it has Java {other['java']}, this machine has {own['java']}"
    jars = {name.removeprefix(_JAR) for name in own.keys() | other.keys() if name.startswith(_JAR)}
    missing = sorted(name for name in jars if f"{_JAR}{name}" not in other)
    more = sorted(name for name in jars if f"{_JAR}{name}" not in own)
    unlike = sorted(name for name in jars.difference(missing, more) if own[_JAR + name] != other[_JAR + name])
    parts = [
        f"{verb} {', '.join(names[:_NAMED])}{', …' if len(names) > _NAMED else ''}"
        for verb, names in (("it lacks", missing), ("it also has", more), ("it has a different", unlike))
        if names
    ]
    return "; ".join(parts)


def _release(java: str) -> str:
    return java.partition(".")[0]


def controller_options(remotes: Sequence[Remote], address: str, properties: Mapping[str, str]) -> list[str]:
    """Return the options with which JMeter controls generators.

    JMeter receives their samples at `address`; `properties` are those of the plan that all generators share.
    """
    options = ["-R", ",".join(remote.name for remote in remotes), "-q", KEY_PROPERTIES]
    options.append(f"-Djava.rmi.server.hostname={address}")
    options += [f"-J{name}={value}" for name, value in _BATCH.items()]
    return options + [f"-G{name}={value}" for name, value in properties.items()]


def server_command(
    java: str, home: Path, classpath: str, settings: Path, remote: Remote, jvm_options: Sequence[str]
) -> list[str]:
    """Return the command that starts a generator in a folder with the key store and its properties.

    `jvm_options` contain the heap size and the agent that watches its connections.
    """
    opens = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENS]
    jvm = [java, *opens, *jvm_options, "-Djava.awt.headless=true", f"-Djmeter.home={home}"]
    # Set here and not by JMeter, since RMI starts first and logs, too.
    jvm += [f"-Djmeter.logfile={LOG_NAME}", f"-Dlog4j2.configurationFile={home}/bin/log4j2.xml"]
    jvm += [f"-Djava.rmi.server.hostname={remote.host}", "-cp", classpath, "GeneratorServer"]
    arguments = [str(home), KEY_PROPERTIES, str(remote.port), LOG_NAME, "-q", str(settings), "-q", KEY_PROPERTIES]
    # The generator continues after the end of a load.
    return [*jvm, *arguments, "-Jjmeterengine.force.system.exit=false"]


def client_command(java: str, home: Path, classpath: str, who: str, remotes: Sequence[Remote]) -> list[str]:
    """Return the command that claims generators; it runs in the folder of the keys."""
    # A later answer counts as no answer; a full collection of a generator's heap takes about a second.
    jvm = [java, "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    jvm += ["-Dsun.rmi.transport.tcp.responseTimeout=15000", "-Dsun.rmi.transport.tcp.handshakeTimeout=5000"]
    jvm += ["-Dlog4j2.level=OFF", "-cp", classpath, "Generators"]
    return [*jvm, str(home), KEY_PROPERTIES, who, *(remote.name for remote in remotes)]


@dataclass(frozen=True)
class SharedPlan:
    """A test plan for several generators, and the properties of each that contain its part of the loads."""

    jmx: bytes
    properties: tuple[Mapping[str, str], ...]


def shared_plan(jmx: Path, loads: Sequence[GroupLoad], count: int) -> SharedPlan:
    """Return the plan with these loads for `count` generators: a number that differs among them is a property."""
    trees = [tree_with_loads(jmx, part) for part in parts(loads, count)]
    _fill_rows([tree.getroot() for tree in trees])
    properties: list[dict[str, str]] = [{} for _ in trees]
    for elements in zip(*(tree.getroot().iter() for tree in trees), strict=True):
        texts = [element.text or "" for element in elements]
        if len(set(texts)) > 1:
            name = f"{_PROPERTY}{len(properties[0]) + 1}"
            for own, text in zip(properties, texts, strict=True):
                own[name] = text
            set_text(elements[0], of_jmx(f"${{__P({name},{texts[0]})}}"))
    return SharedPlan(written(trees[0]), tuple(properties))


def _fill_rows(plans: Sequence[ElementTree.Element]) -> None:
    """Add rows without users to the Ultimate Thread Groups, at their ends, where JMeter does not reach them."""
    for tables in zip(*(plan.iterfind(f".//collectionProp[@name='{ROWS}']") for plan in plans), strict=True):
        most = max(map(len, tables))
        for table in tables:
            while len(table) < most:
                add_row(table, _NO_USERS)
