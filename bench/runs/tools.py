"""`scripts/bench tools`: load test tools on one back-end: throughput, CPU, memory, and the error of their p99."""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from urllib.request import urlopen

import psutil

from bench.measure import ERR_NAME, OUT_NAME
from bench.runs.load_tools import (
    PERCENTILES,
    PLAN,
    TOOLS,
    LoadTool,
    Stated,
    arguments,
    is_here,
    prepare,
    read_total,
    values_of,
)
from bench.runs.run import StartedSystem
from bench.runs.wire import Exchange, Wire
from harness.base.errors import EXIT_OK, StartError
from harness.base.log import stderr_log
from harness.base.process import stop
from harness.base.project import FILE_NAME, SHIPPED
from harness.base.units import BYTES_PER_MB
from harness.report.tables import table

_log = stderr_log("bench: ")

_LEVELS, _MANY = (1, 50, 500), 1000
_WIRE_CONNECTIONS, _DELAY_MS = 50, 20
# A tool is measured in the second half of its load, without its start and most of the work of a compiler.
_FROM_RATIO, _TO_RATIO = 0.5, 0.9
_STARTED_COUNT = 20  # requests: one or two may be checks before the load
_START_S, _END_S, _PERIOD_S, _STOP_S = 60.0, 120.0, 0.1, 5.0
_US_PER_S, _NS_PER_S = 1_000_000, 1_000_000_000


@dataclass(frozen=True)
class Speed:
    """Requests per s by the server's count, CPU time of the client per request, µs, and its memory."""

    rate_per_s: float
    cpu_us: float
    memory_bytes: int


@dataclass
class Measured:
    """The measurements of a tool: speeds by connections, the p99 on the wire, and what was stated of that load.

    `problem` is why some are missing.
    """

    speeds: dict[int, list[Speed]] = field(default_factory=dict)
    wire_p99_ms: float | None = None
    stated: Stated | None = None
    read: Stated | None = None
    problem: str = ""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part of the benchmark."""
    option = parser.add_argument
    option("--repeat", type=int, default=1, help="rounds, each with a run of each tool (1)")
    option("--duration", type=int, default=10, help="seconds of each load (10)")
    option("--only", default="", help="only tools with one of these names, separated by commas")
    option("--gatling", default="", metavar="DIR", help="the jars of io.gatling.highcharts:gatling-charts-highcharts")


def bench(options: argparse.Namespace) -> int:
    """Print the tables and return 0. A tool that is missing or fails has a row that says so."""
    wanted = options.only.split(",") if options.only else [tool.name for tool in TOOLS]
    found = {tool.name: Measured() for tool in TOOLS if tool.name in wanted}
    gatling = str(Path(options.gatling).resolve()) if options.gatling else ""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        home = back_end_project(Path(name))
        for number in range(1, options.repeat + 1):
            _log(f"round {number} of {options.repeat}")
            with running(home, "fast", gatling) as target:
                for tool, measured in _here(found, gatling):
                    for connections in (*_LEVELS, _MANY):
                        values = values_of(target, connections, options.duration, home, gatling)
                        with _reported(tool, measured), load_of(tool, tool.command, values, home) as load:
                            speed = _speed(load, target, options.duration)
                            load.wait()
                            measured.speeds.setdefault(connections, []).append(speed)
                            _log(f"{tool.name}, {connections}: {speed.rate_per_s:.0f} req/s, {speed.cpu_us:.1f} µs")
        with running(home, "slow", gatling) as target:
            values = values_of(target, _WIRE_CONNECTIONS, options.duration, home, gatling)
            for tool, measured in _here(found, gatling):
                with _reported(tool, measured):
                    watch(tool, measured, values, home)
    print(speeds_table(found))
    print()
    print(stated_table(found))
    return EXIT_OK


def _here(found: Mapping[str, Measured], gatling: str) -> Iterator[tuple[LoadTool, Measured]]:
    for tool in TOOLS:
        if tool.name in found and is_here(tool, gatling):
            yield tool, found[tool.name]
        elif tool.name in found:
            found[tool.name].problem = "not here"


def back_end_project(folder: Path) -> Path:
    """Write a project with a profile without pauses, and one whose back-ends wait before they answer."""
    (folder / "env").mkdir()
    (folder / FILE_NAME).write_text("format_version = 1\n", encoding="utf-8")
    for name, delay_ms in (("fast", 0), ("slow", _DELAY_MS)):
        text = f'format_version = 1\ntitle = "{name}"\n[system.lb]\ndelay_ms = {delay_ms}\n'
        (folder / "env" / f"{name}.toml").write_text(text, encoding="utf-8")
    return folder


@contextmanager
def running(home: Path, profile: str, gatling: str) -> Iterator[str]:
    """Start the back-end with a profile, and yield its address."""
    with StartedSystem(PLAN, home, profile) as target:
        prepare(home, target, gatling)
        yield target


@contextmanager
def _reported(tool: LoadTool, measured: Measured) -> Iterator[None]:
    """Note why a tool could not be measured, so that the others are."""
    try:
        yield
    except (StartError, OSError, psutil.Error, ValueError, LookupError, subprocess.SubprocessError) as error:
        measured.problem = f"failed: {error}"
        _log(f"{tool.name}: {error}")


@dataclass(frozen=True)
class Load:
    """A load that a tool makes, in a folder of its own."""

    tool: LoadTool
    process: subprocess.Popen[bytes]
    folder: Path

    def wait(self) -> None:
        """Wait until it has ended."""
        self.process.wait(_END_S)

    def file(self, pattern: str) -> Path:
        """Return a file of an ended load; StartError, with the end of its output, when it is not there."""
        if path := next(self.folder.glob(pattern), None):
            return path
        lines = (self.folder / ERR_NAME).read_text(errors="replace").split("\n")
        last = next((line for line in reversed(lines) if line.strip()), "")
        raise StartError(f"no {pattern}; exit code {self.process.returncode}; {last}", "call it by hand")


@contextmanager
def load_of(tool: LoadTool, command: str, values: Mapping[str, str], home: Path) -> Iterator[Load]:
    """Start a load, and stop at the end of the block what is left of it."""
    with tempfile.TemporaryDirectory(prefix="load-", dir=home) as name:
        folder = Path(name)
        with (folder / OUT_NAME).open("wb") as out, (folder / ERR_NAME).open("wb") as err:
            process = subprocess.Popen(
                arguments(command, values), cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                start_new_session=True,
            )  # fmt: skip
        try:
            yield Load(tool, process, folder)
        finally:
            stop(process, _STOP_S)


def _speed(load: Load, target: str, seconds: int) -> Speed:
    """Return the speed of a load in its second half, by the count of the server."""
    started_s = wait_for_start(load, target)
    time.sleep(seconds * _FROM_RATIO)
    from_s, from_count, from_cpu_s = time.monotonic(), request_count(target), usage_of(load.process.pid).cpu_s
    time.sleep(seconds * (_TO_RATIO - _FROM_RATIO))
    count, length_s = request_count(target) - from_count, time.monotonic() - from_s
    cpu_s, memory_bytes = usage_of(load.process.pid)
    if not count or cpu_s < from_cpu_s or time.monotonic() > started_s + seconds:
        raise StartError("its load ended while it was measured", "give a longer --duration, on an idle machine")
    return Speed(count / length_s, (cpu_s - from_cpu_s) / count * _US_PER_S, memory_bytes)


def wait_for_start(load: Load, target: str) -> float:
    """Return when a load has sent its first requests, by the monotonic clock."""
    start_s, before = time.monotonic(), request_count(target)
    while request_count(target) < before + _STARTED_COUNT:
        if load.process.poll() is not None or time.monotonic() > start_s + _START_S:
            raise StartError("it sent no requests", "see its output")
        time.sleep(_PERIOD_S)
    return time.monotonic()


def request_count(target: str) -> int:
    """Return how many requests the back-end has answered."""
    with urlopen(f"{target.rstrip('/')}/stats", timeout=_START_S) as response:
        return int(json.load(response)["total"])


class _Usage(NamedTuple):
    """The CPU time in s and the proportional memory of processes."""

    cpu_s: float
    memory_bytes: int


def usage_of(pid: int) -> _Usage:
    """Return the usage of a process and its descendants."""
    cpu_s, memory_bytes, whole = 0.0, 0, psutil.Process(pid)
    for one in (whole, *whole.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):  # a child that has ended counts as one of its parent's
            used = one.cpu_times()
            cpu_s += used.user + used.system + used.children_user + used.children_system
            memory_bytes += one.memory_full_info().pss
    return _Usage(cpu_s, memory_bytes)


def watch(tool: LoadTool, measured: Measured, values: Mapping[str, str], home: Path) -> None:
    """Set the p99 on the wire of a load with a known delay, and what the tool and our reader state of it."""
    with Wire(int(values["port"])) as wire, load_of(tool, tool.command, values, home) as load:
        load.wait()
        for command in tool.after:
            subprocess.run(arguments(command, values), cwd=load.folder, check=True, capture_output=True)
        measured.stated = tool.read(load.file(tool.summary))
        window_ns = _window_ns(load)
        if not tool.samples_command:
            measured.read = _read(load.file(tool.samples or tool.summary))
    times = [one for one in wire.exchanges() if window_ns[0] <= one.at_ns < window_ns[1]]
    measured.wire_p99_ms = p99_ms(times)
    if tool.samples_command:  # it writes samples or a summary: these are of two loads
        with load_of(tool, tool.samples_command, values, home) as load:
            load.wait()
            measured.read = _read(load.file(tool.samples))


class _WindowNs(NamedTuple):
    """An interval, in ns since 1970."""

    begin: float
    end: float


def _window_ns(load: Load) -> _WindowNs:
    """Return the interval that the summary is of: the window of our report, of the others the whole load."""
    if load.tool.name != TOOLS[0].name:
        return _WindowNs(0, float("inf"))
    report = json.loads(load.file(load.tool.summary).read_text(encoding="utf-8"))
    from_s, to_s = (report["origin_s"] + report["window"][name] for name in ("from_s", "to_s"))
    return _WindowNs(from_s * _NS_PER_S, to_s * _NS_PER_S)


def p99_ms(times: Sequence[Exchange]) -> float | None:
    """Return the p99 of response times: the least that is not less than 99 % of them; None without any."""
    ordered = sorted(one.elapsed_ms for one in times)
    return ordered[-(-len(ordered) * 99 // 100) - 1] if ordered else None


def _read(path: Path) -> Stated:
    """Return what `lth table` reads in a file."""
    command = [sys.executable, str(SHIPPED / "scripts" / "lth"), "table", str(path), "--format", "json"]
    command += ["--percentiles", ",".join(PERCENTILES)]
    printed = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    if "groups" in printed:
        return read_total(printed)
    total = printed["total"]
    return Stated(total["sample_count"], total["rate_per_s"], total["percentiles_ms"])


def speeds_table(found: Mapping[str, Measured]) -> str:
    """Return the table of throughput, CPU and memory: medians of the rounds."""
    rows = []
    for name, measured in found.items():
        rates = [_median(measured.speeds.get(level, ()), "rate_per_s", "{:,.0f}") for level in _LEVELS]
        cpu = [_median(measured.speeds.get(level, ()), "cpu_us", "{:.1f}") for level in _LEVELS[1:]]
        memory = [one.memory_bytes / BYTES_PER_MB for one in measured.speeds.get(_MANY, ())]
        texts = [*rates, *cpu, f"{statistics.median(memory):,.0f}" if memory else ""]
        rows.append([name, *texts, measured.problem])
    heads = [f"req/s at {level}" for level in _LEVELS]
    heads += [f"CPU µs per request at {level}" for level in _LEVELS[1:]]
    return table(("tool", *heads, f"MB with {_MANY:,}", ""), rows)


def _median(speeds: Sequence[Speed], name: str, form: str) -> str:
    return form.format(statistics.median(getattr(one, name) for one in speeds)) if speeds else ""


def stated_table(found: Mapping[str, Measured]) -> str:
    """Return the table of p99 on the wire, and of what each tool and our reader of its file state of the load."""
    rows = []
    for name, measured in found.items():
        wire, stated = measured.wire_p99_ms, measured.stated
        own = stated.percentiles_ms.get("99") if stated else None
        error = "" if wire is None or own is None else f"{own - wire:+.1f}"
        rows.append([name, _ms(wire), _ms(own), error, _stated_text(stated), _stated_text(measured.read)])
    columns = (
        "tool",
        "p99 on the wire, ms",
        "its p99",
        "error, ms",
        "its p50, p90, p99; req/s",
        "lth table of its file",
    )
    return table(columns, rows)


def _stated_text(stated: Stated | None) -> str:
    if stated is None:
        return ""
    times = ", ".join(_ms(stated.percentiles_ms.get(name)) or "–" for name in PERCENTILES)
    return times if stated.rate_per_s is None else f"{times}; {stated.rate_per_s:,.0f}"


def _ms(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"
