"""How JMeter is called: its arguments and environment, decided here and run elsewhere.

JMeter works inside the run directory, so that every path in its command but those of the tool itself is relative.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.jtl.csv import SAMPLES_NAME
from harness.plan.load import ClosedLoad, OpenLoad
from harness.plan.spec import Profile

LOG_NAME = "jmeter.log"
CONSOLE_NAME = "jmeter.out"
PLAN_NAME = "effective.jmx"
DUMP_DIR = "."
# JMeter 5.6 warns here that a Cookie Manager "superseded" itself, whenever a plan loops: harmless, and one line a
# request (https://github.com/apache/jmeter/issues/6235).
_QUIET = "org.apache.jmeter.protocol.http.sampler.HTTPSamplerBase=ERROR"


@dataclass(frozen=True)
class JMeterCommand:
    """How JMeter is called for one run; `properties` are what the plan reads, and all secrets are in the clear.

    JMeter listens at the UDP port `stop_port` for `stop_word`; its agent reports what is not in `allowed_connections`.
    """

    arguments: tuple[str, ...] = field(repr=False)
    environment: Mapping[str, str] = field(repr=False)
    properties: Mapping[str, str] = field(repr=False)
    stop_port: int
    stop_word: str
    allowed_connections: tuple[str, ...]


def stop_word(load: ClosedLoad | OpenLoad) -> str:
    """Return the word that ends JMeter gracefully when it is sent to its UDP port.

    Shutdown lets running samples finish. The Open Model Thread Group does not hear it (5.6.3); StopTestNow it does,
    at the price of running samples that are counted as failed. After both tearDown runs.
    """
    return "StopTestNow" if isinstance(load, OpenLoad) else "Shutdown"


def jmeter_arguments(
    home: Path, settings: Path, properties: Mapping[str, str], stop_port: int, more: Sequence[str] = ()
) -> list[str]:
    """Return the command that runs the plan in the working directory; `settings` is jmeter/jmeter.properties.

    JMeter listens on the UDP port `stop_port` for the stop word; it would try the next ones if that were taken.
    """
    command = [str(home / "bin" / "jmeter"), "-n", "-t", PLAN_NAME, "-l", SAMPLES_NAME, "-j", LOG_NAME]
    command += ["-q", str(settings), f"-L{_QUIET}"]
    command += [*more, *(f"-J{name}={value}" for name, value in properties.items())]
    return [*command, f"-Jjmeterengine.nongui.port={stop_port}", f"-Jjmeterengine.nongui.maxport={stop_port}"]


def environment(profile: Profile) -> dict[str, str]:
    """Return the variables that size JMeter's own JVM."""
    heap = f"-Xms{profile.generator_heap_mb}m -Xmx{profile.generator_heap_mb}m -XX:MaxMetaspaceSize=256m"
    return {"HEAP": heap, "JVM_ARGS": profile.generator_jvm_args}
