"""`scripts/bench generator`: CPU time per request and throughput of JMeter with different settings, in turn."""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from bench.run import StartedSystem
from harness.base import toolchain
from harness.base.errors import EXIT_OK, StartError
from harness.base.log import stderr_log
from harness.base.process import stop
from harness.report.tables import table
from harness.run.connections import agent_argument
from harness.run.exchanges import STORE_FAILURES

_log = stderr_log("bench: ")

PLAN = "lb-direct"
_JMX = toolchain.ROOT / "plans" / "lb.jmx"
_SETTINGS = toolchain.ROOT / "jmeter" / "jmeter.properties"
_COLUMNS = ("response_message", "connect_time", "latency", "sent_bytes", "thread_counts", "label")
_G1 = "-XX:+UseG1GC -XX:MaxGCPauseMillis=100 -XX:G1ReservePercent=20"
_PARALLEL = "-XX:+UseParallelGC"


@dataclass(frozen=True)
class Variant:
    """Settings of JMeter: its garbage collector, heap and other options of the JVM, and JMeter properties."""

    gc: str = ""
    heap: str = "-Xms1g -Xmx1g"
    options: str = ""
    has_agent: bool = True
    properties: Mapping[str, str] = field(default_factory=dict)


_FLUSHED = {"jmeter.save.saveservice.autoflush": "true"}
_SUMMARISED = {"summariser.name": "summary", "summariser.out": "false", "summariser.log": "false"}
# The first variant has the earlier settings of the harness, the second one the current settings.
VARIANTS = {
    "before: G1, a write per row, a summariser": Variant(_G1, properties={**_FLUSHED, **_SUMMARISED}),
    "current settings": Variant(),
    "current settings, with G1": Variant(_G1),
    "current settings, with SerialGC": Variant("-XX:+UseSerialGC"),
    "current settings, with ZGC": Variant("-XX:+UseZGC"),
    "current settings, heap 3 GB": Variant(heap="-Xms3g -Xmx3g"),
    "current settings, heap 300 MB": Variant(heap="-Xms300m -Xmx300m"),
    "current settings, a write per row": Variant(properties=_FLUSHED),
    "current settings, a summariser": Variant(properties=_SUMMARISED),
    "current settings, 6 columns less": Variant(
        properties={f"jmeter.save.saveservice.{name}": "false" for name in _COLUMNS}
    ),
    "current settings, no agent": Variant(has_agent=False),
    "current settings, -Xss256k": Variant(options="-Xss256k"),
    "current settings, C1 only": Variant(options="-XX:TieredStopAtLevel=1"),
    "current settings, stale check after 60 s": Variant(properties={"httpclient4.validate_after_inactivity": "60000"}),
    "current settings, state kept per iteration": Variant(
        properties={"httpclient.reset_state_on_thread_group_iteration": "false"}
    ),
    "current settings, no body assertion": Variant(properties={"expected_text": ""}),
}

CURRENT = VARIANTS["current settings"]
_PERIOD_S = 0.5
_ALWAYS = tuple(VARIANTS)[:2]


@dataclass(frozen=True)
class Speed:
    """CPU time of JMeter per request without its compiler, µs, and requests per s, both after the warm-up."""

    cpu_us: float
    rate_per_s: float


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part of the benchmark."""
    option = parser.add_argument
    option("--users", type=int, default=50, help="users without think time (50)")
    option("--repeat", type=int, default=5, help="rounds, each with one run per variant (5)")
    option("--warm-up", type=int, default=500_000, help="requests before the measurement (500000)")
    option("--requests", type=int, default=500_000, help="requests of the measurement (500000)")
    option(
        "--only", default="", help="besides the first two only variants with one of these texts, separated by commas"
    )


def bench(options: argparse.Namespace) -> int:
    """Print a Markdown table, one row per variant; ratios are medians over the rounds. StartError when a run fails."""
    names = [name for name in VARIANTS if name in _ALWAYS or any(text in name for text in options.only.split(","))]
    speeds: dict[str, list[Speed]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, StartedSystem(PLAN, Path(folder)) as target:
        for round_number in range(1, options.repeat + 1):
            first = (round_number - 1) % len(names)
            for name in [*names[first:], *names[:first]]:
                speed = jmeter_speed(VARIANTS[name], options, target, Path(folder) / "run")
                speeds[name].append(speed)
                cpu = f"{speed.cpu_us:.1f} µs of CPU per request"
                _log(f"round {round_number}, {name}: {cpu}, {speed.rate_per_s:.0f} req/s")
    print(speeds_table(speeds))
    return EXIT_OK


def speeds_table(speeds: Mapping[str, list[Speed]]) -> str:
    """Return the table of variants; ratios are the medians of the ratios to the first variant in the same round."""
    first = next(iter(speeds.values()))
    rows = []
    for name, runs in speeds.items():
        pairs = list(zip(runs, first, strict=True))
        cpu = statistics.median(one.cpu_us / base.cpu_us for one, base in pairs)
        rate = statistics.median(one.rate_per_s / base.rate_per_s for one, base in pairs)
        figures = (
            f"{statistics.median(one.cpu_us for one in runs):.1f}",
            f"{cpu:.2f}",
            f"{statistics.median(one.rate_per_s for one in runs):.0f}",
            f"{rate:.2f}",
        )
        rows.append([name, *figures])
    return table(("JMeter", "CPU µs per request", "÷ first", "req/s", "÷ first"), rows)


def jmeter_speed(variant: Variant, options: argparse.Namespace, target: str, folder: Path) -> Speed:
    """Run JMeter with a variant and return its speed after the warm-up; `samples.jtl` is then in the folder.

    StartError when JMeter ends early.
    """
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        path.unlink()
    address = urlsplit(target)
    properties = {
        "host": address.hostname or "",
        "port": str(address.port),
        "base_path": address.path,
        "users": str(options.users),
        "ramp_s": "0",
        "duration_s": "3600",
        "warm_up_requests": "0",
        **variant.properties,
    }
    command = [str(toolchain.ensure_jmeter() / "bin" / "jmeter"), "-n", "-t", str(_JMX), "-l", "samples.jtl"]
    command += ["-j", "jmeter.log", "-q", str(_SETTINGS), *(f"-J{name}={value}" for name, value in properties.items())]
    rows = _Rows(folder / "samples.jtl")
    with (folder / "jmeter.out").open("wb") as out:
        process = subprocess.Popen(
            command, cwd=folder, env=_environment(variant, folder), stdout=out, stderr=out, start_new_session=True
        )
        try:
            rows.wait_for(options.warm_up, process)
            before, from_s, from_count = _cpu_s(process.pid), time.monotonic(), rows.count
            rows.wait_for(options.warm_up + options.requests, process)
            after, to_s, count = _cpu_s(process.pid), time.monotonic(), rows.count - from_count
        finally:
            stop(process, 5.0)
    return Speed((after - before) / count * 1e6, count / (to_s - from_s))


def _environment(variant: Variant, folder: Path) -> dict[str, str]:
    agent = f'"{agent_argument(toolchain.ensure_agent())}" {STORE_FAILURES}' if variant.has_agent else ""
    return {
        **os.environ,
        "TMPDIR": str(folder),
        "HEAP": variant.heap,
        "JVM_ARGS": variant.options,
        "JDK_JAVA_OPTIONS": agent,
        **({"GC_ALGO": variant.gc} if variant.gc else {}),
    }


def _cpu_s(pid: int) -> float:
    """Return the CPU time of a JVM without its compiler, which works longer on a busy machine."""
    tasks = Path(f"/proc/{pid}/task")
    compilers = [thread.name for thread in tasks.iterdir() if "Compiler" in (thread / "comm").read_text()]
    watched = psutil.Process(pid)
    by_compiler = sum(one.user_time + one.system_time for one in watched.threads() if str(one.id) in compilers)
    whole = watched.cpu_times()
    return float(whole.user + whole.system - by_compiler)


class _Rows:
    """Counts the rows of a growing JTL."""

    def __init__(self, path: Path) -> None:
        self.count = 0
        self._path = path
        self._offset = 0

    def wait_for(self, count: int, process: subprocess.Popen[bytes]) -> None:
        """Return when there are so many rows; StartError when JMeter ends before that."""
        while self.count < count:
            if process.poll() is not None:
                raise StartError("JMeter ended early", f"see {self._path.parent / 'jmeter.log'}")
            time.sleep(_PERIOD_S)
            if self._path.is_file():
                self.read()

    def read(self) -> None:
        """Count the rows since the last call."""
        with self._path.open("rb") as stream:
            stream.seek(self._offset)
            data = stream.read()
        self._offset += len(data)
        self.count += data.count(b"\n")
