"""Creates the command that starts JMeter: its arguments and environment.

The working directory of JMeter is the run directory; all paths in its command are relative, except those of JMeter.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.jtl.sample import SAMPLES_NAME
from harness.plan.load.groups import SeveralLoads
from harness.plan.load.memory import Heap
from harness.plan.load.model import Load, OpenLoad
from harness.plan.spec import Profile
from harness.run.directory import PLAN_NAME

LOG_NAME = "jmeter.log"
CONSOLE_NAME = "jmeter.out"
# Beside the list of connections: the settings of JMeter's home, with the paths of further ones.
SETTINGS_NAME = "jmeter.properties"
# What JMeter obeys on its UDP port: it finishes its running samples, or breaks them off, which makes them fail.
STOP_GRACEFULLY, STOP_NOW = "Shutdown", "StopTestNow"
DUMP_DIR = "."
# JMeter 5.6 warns here that a Cookie Manager "superseded" itself, whenever a plan loops. The warning is harmless but
# appears once per request (https://github.com/apache/jmeter/issues/6235).
_QUIET = "org.apache.jmeter.protocol.http.sampler.HTTPSamplerBase=ERROR"
# Log4j keeps 13 KB in each thread that has written a line, for a thread's next one; a user's thread writes two.
_LOG_BUFFERS = "-Dlog4j2.enable.threadlocals=false -Dlog4j2.enable.direct.encoders=false"

# Java touches so many pages below the stack of each thread, for native code. Half of its 20 are the least it allows on
# these processors: the rest was for a buffer of sockets that Java 13 abolished. That is 40 KB per user.
_SHADOW, _SMALL_STACKS = "-XX:StackShadowPages=10", ("x86_64", "AMD64")
# Each thread would have one of 16 arenas of memory outside the heap, or more, which stay as large as they once were.
_ARENAS = "2"
# What Java's compilers have used goes back to the system then, in pieces of 32,752 bytes, and not into gaps of the
# arenas: 20 to 30 MB after the first seconds. Unzip.java spares the inflaters of responses that.
_MAPPED_BYTES = "32000"

# The part of the new objects that may be in use when they are collected. As many users start, Java would give a third
# to them, twice, and then it keeps objects of running requests as old ones, until all must be collected at once. For
# few users it gives them less, and collects more seldom.
_SURVIVORS = "-XX:-UsePSAdaptiveSurvivorSizePolicy -XX:InitialSurvivorRatio"

# On few cores Java has one optimising compiler, beside all users: after 10 s of 50 users on two cores it had done a
# third of its work. So many compilers are a quick one and two, as Java has them on so many cores; more delay the users.
_COMPILERS, _ENOUGH_CORES = "-XX:CICompilerCount=3", 4

# How large a method may be that the optimising compiler inlines: 1,000 bytes of machine code and 150 of bytecode, where
# Java's limits are 2,500 and 325. It has 0.6 × the bytecode to compile for a plan of one request then, and a request
# needs no more CPU once all is compiled.
_INLINING = "-XX:InlineSmallCode=1000 -XX:FreqInlineSize=150"

# Some starts of JMeter ask for a dump of the heap, 0.3 to 1 GB of each run that needs more. jvm_args may ask again.
_NO_DUMP = "-XX:-HeapDumpOnOutOfMemoryError"


@dataclass(frozen=True)
class JMeterCommand:
    """The command that starts JMeter for one run; `properties` are those of the plan, and secrets are not masked.

    JMeter listens on the UDP port `stop_port` for `stop_word`; its agent lists connections that are not in
    `allowed_connections` in the file `connections`. `group` is the folder for a cgroup of its own, which does not exist
    yet; None where there are no cgroups.
    """

    arguments: tuple[str, ...] = field(repr=False)
    environment: Mapping[str, str] = field(repr=False)
    properties: Mapping[str, str] = field(repr=False)
    stop_port: int
    stop_word: str
    allowed_connections: tuple[str, ...]
    connections: Path
    group: Path | None = None


def stop_word(load: Load) -> str:
    """Return the command that ends JMeter gracefully when it is sent to its UDP port.

    Shutdown lets running samples finish. The Open Model Thread Group ignores it (5.6.3) but obeys StopTestNow, which
    makes running samples fail; users of a Throughput Shaping Timer would wait for their turn first. tearDown runs after
    both.
    """
    is_now = load.fails_when_stopped if isinstance(load, SeveralLoads) else isinstance(load, OpenLoad)
    return STOP_NOW if is_now else STOP_GRACEFULLY


def jmeter_arguments(
    home: Path, settings: Path, properties: Mapping[str, str], stop_port: int, more: Sequence[str] = ()
) -> list[str]:
    """Return the command that runs the plan in the working directory; `settings` is jmeter/jmeter.properties.

    JMeter listens on the UDP port `stop_port` for the stop word; `maxport` excludes the next ports.
    """
    command = [str(home / "bin" / "jmeter"), "-n", "-t", PLAN_NAME, "-l", SAMPLES_NAME, "-j", LOG_NAME]
    command += ["-q", str(settings), f"-L{_QUIET}"]
    command += [*more, *(f"-J{name}={value}" for name, value in properties.items())]
    return [*command, f"-Jjmeterengine.nongui.port={stop_port}", f"-Jjmeterengine.nongui.maxport={stop_port}"]


def settings_options(home: Path, folder: Path) -> tuple[str, ...]:
    """Return the options with which JMeter takes its settings from its home alone; write a file into `folder`.

    JMeter looks for user.properties, system.properties and log4j2.xml in its working directory first, where files of
    the plan are: they could name code to run.
    """
    own = home / "bin" / "jmeter.properties"
    if not own.is_file():
        return ()
    names = ("user.properties", "system.properties")
    lines = (f"{name}={_escaped(str((home / 'bin' / name).resolve()))}\n" for name in names)
    copy = folder / SETTINGS_NAME
    copy.write_bytes(own.read_bytes() + b"\n" + "".join(lines).encode("ascii"))
    logging = home / "bin" / "log4j2.xml"
    return ("-p", str(copy), *(("-i", str(logging)) if logging.is_file() else ()))


def _escaped(text: str) -> str:
    """Return a value as a file of properties has it: ASCII, two bytes of UTF-16 per escape."""
    units = text.encode("utf-16-be")
    codes = [int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2)]
    return "".join(chr(code) if chr(code).isalnum() and code < 0x80 else f"\\u{code:04x}" for code in codes)


def environment(profile: Profile, heap: Heap, core_count: int) -> dict[str, str]:
    """Return the environment variables with the heap size and options of JMeter's JVM on so many cores."""
    size = f"-Xms{heap.first_mb}m -Xmx{heap.limit_mb}m -XX:MaxMetaspaceSize=256m"
    if heap.young_mb and "GC" not in profile.generator_jvm_args:  # other collectors choose it themselves
        size += f" -Xmn{heap.young_mb}m" + (f" {_SURVIVORS}={heap.survivor_ratio}" if heap.survivor_ratio else "")
    if platform.machine() in _SMALL_STACKS:
        size += f" {_SHADOW}"
    if core_count < _ENOUGH_CORES:
        size += f" {_COMPILERS}"
    size += f" {_INLINING}"
    jvm_args = f"{_NO_DUMP} {profile.generator_jvm_args}".rstrip()
    malloc = {"MALLOC_ARENA_MAX": _ARENAS, "MALLOC_MMAP_THRESHOLD_": _MAPPED_BYTES}
    return {**malloc, "HEAP": f"{size} {_LOG_BUFFERS}", "JVM_ARGS": jvm_args}
