"""`scripts/bench first-seconds`: the first seconds of a load, beside an earlier build and other tools, in turn."""

from __future__ import annotations

import argparse
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pandas import DataFrame

from bench.runs.load_tools import PLAN, TOOLS, LoadTool, is_here, prepare, values_of
from bench.runs.run import StartedSystem
from bench.runs.tools import (
    Measured,
    back_end_project,
    load_of,
    request_count,
    running,
    usage_of,
    wait_for_start,
    watch,
)
from harness.api import read_jtl
from harness.base.errors import EXIT_OK, StartError
from harness.base.log import stderr_log
from harness.base.project import SHIPPED
from harness.base.units import BYTES_PER_MB
from harness.report.charts.chart import Chart, write_charts
from harness.report.charts.over_time import Frame, line_chart, series
from harness.report.tables import table
from harness.run.prepare import usable_cores

_log = stderr_log("bench: ")

_CONNECTIONS, _MANY = 50, 1000
_LONGEST, _PERIOD_S = 12, 0.1  # a load may last so many times as long as on an idle machine
_BACK_END_S, _CHART_S = 30, 20
_CHARTED = ("lth run", "JMeter")
_CHART_NAMES = re.compile(r"first-seconds-\w+\.svg")
_US_PER_S = 1_000_000
_COLUMNS = {
    "first_s": ("to the first requests, s", "{:.1f}"),
    "rate_per_s": ("req/s", "{:,.0f}"),
    "cpu_us": ("CPU µs per request", "{:.1f}"),
    "error_ms": ("error of the p99, ms", "{:+.1f}"),
    "memory_mb": (f"MB with {_MANY:,}", "{:,.0f}"),
}


@dataclass(frozen=True)
class Side:
    """A tool, or a build of ours; `own` are values of its command that other sides do not have."""

    name: str
    tool: LoadTool
    own: Mapping[str, str] = field(default_factory=dict)
    values: dict[str, list[float]] = field(default_factory=lambda: {key: [] for key in _COLUMNS})

    @property
    def is_charted(self) -> bool:
        """Whether we read the samples of its loads."""
        return self.tool.name in _CHARTED

    @classmethod
    def of_build(cls, name: str, folder: Path, python: str, more: str = "") -> Side:
        """Return a build of ours in a folder; `more` is added to its command."""
        tool = replace(TOOLS[0], command=f"{TOOLS[0].command} {more}".rstrip())
        return cls(name, tool, {"python": python, "shipped": str(folder)})

    def values_of(self, target: str, connections: int, seconds: int, home: Path, gatling: str) -> dict[str, str]:
        """Return the values for its command."""
        return {**values_of(target, connections, seconds, home, gatling), **self.own}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part of the benchmark."""
    option = parser.add_argument
    option("--beside", default="", metavar="DIR", help="a clone of an earlier version, set up")
    option("--repeat", type=int, default=5, help="rounds, each with a run of each build (5)")
    option("--duration", type=int, default=10, help="seconds that are measured (10)")
    option("--warm", default="0.3s,3s", help="values of --warm to measure, separated by commas (0.3s,3s)")
    option("--peers", default="", help="tools that take their turn, such as JMeter,Gatling,k6,wrk")
    option("--gatling", default="", metavar="DIR", help="the jars of io.gatling.highcharts:gatling-charts-highcharts")
    option("--charts", default="", metavar="DIR", help="write the rate and the p99 of the first 20 s as charts")


def bench(options: argparse.Namespace) -> int:
    """Print a Markdown table, a row per build and --warm, and per other tool: medians and ranges of the rounds."""
    sides = [
        Side.of_build(f"--warm {text}", SHIPPED, sys.executable, f"--warm {text}")
        for text in ("0", *options.warm.split(","))
    ]
    if options.beside:
        folder = Path(options.beside).resolve()
        sides.insert(0, Side.of_build("earlier build", folder, str(folder / ".venv" / "bin" / "python")))
    gatling = str(Path(options.gatling).resolve()) if options.gatling else ""
    peers = [tool for tool in TOOLS[1:] if tool.name in options.peers.split(",") and is_here(tool, gatling)]
    sides += [Side(tool.name, tool) for tool in peers]
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        home = back_end_project(Path(name))
        for number in range(1, options.repeat + 1):
            _round(sides if number % 2 else sides[::-1], options.duration, home, gatling)
            for side in sides:
                _log(f"round {number}, {side.name}: " + ", ".join(_texts(side, number - 1)))
        if options.charts:
            with StartedSystem(PLAN, home, "fast") as target:
                _warm(target, home)
                drawn = [side for side in sides if side.is_charted]
                timelines = {side.name: _timeline_of(side, target, home) for side in drawn}
            write_charts(Path(options.charts), charts_of(timelines), _CHART_NAMES)
    print(first_seconds_table(sides))
    return EXIT_OK


def _round(sides: Sequence[Side], seconds: int, home: Path, gatling: str) -> None:
    system = StartedSystem(PLAN, home, "fast")
    with system as target:
        prepare(home, target, gatling)
        _warm(target, home)
        for side in sides:
            for connections in (_CONNECTIONS, _MANY):
                values = side.values_of(target, connections, seconds * _LONGEST, home, gatling)
                _measure(side, values, list(system.jvms().values()), seconds, home)
    with running(home, "slow", gatling) as target:
        for side in sides:
            measured = Measured()
            values = side.values_of(target, _CONNECTIONS, seconds, home, gatling)
            watch(side.tool, measured, values, home)
            own = measured.stated.percentiles_ms.get("99") if measured.stated else None
            if own is not None and measured.wire_p99_ms is not None:
                side.values["error_ms"].append(own - measured.wire_p99_ms)


def _timeline_of(side: Side, target: str, home: Path) -> DataFrame:
    """Return the timeline of a load of the seconds that a chart has."""
    values = side.values_of(target, _CONNECTIONS, _CHART_S, home, "")
    with load_of(side.tool, side.tool.command, values, home) as load:
        load.wait()
        return read_jtl(str(load.file(side.tool.samples))).timeline()


def charts_of(timelines: Mapping[str, DataFrame]) -> list[Chart]:
    """Return a chart of the requests per second and one of their p99, ms; the timelines are by side."""
    titles = {"throughput": ("Requests", "req/s"), "p99": ("p99 of the response time", "ms")}
    charts = []
    for name, (title, unit) in titles.items():
        lines = []
        for side, rows in timelines.items():
            whole = rows[rows.second < _CHART_S]
            values = whole.sample_count / whole.length_s if name == "throughput" else whole.p99_ms
            lines.append(series(side, list(whole.second + whole.length_s / 2), list(values)))
        svg = line_chart(Frame(f"{title}, {_CONNECTIONS} connections", unit, end_s=_CHART_S), lines)
        charts.append(Chart(f"first-seconds-{name}.svg", svg))
    return charts


def _warm(target: str, home: Path) -> None:
    """Load the back-end, a JVM too, so that its compiler does not work beside the first build."""
    with load_of(TOOLS[0], TOOLS[0].command, values_of(target, _CONNECTIONS, _BACK_END_S, home, ""), home) as load:
        load.wait()


def _measure(side: Side, values: Mapping[str, str], servers: Sequence[int], seconds: int, home: Path) -> None:
    """Add the speed of a side with some connections, or its memory with many.

    It is measured for the seconds that all cores need for the CPU time of generator and back-end: other work on the
    machine only makes that last longer.
    """
    cores, target = usable_cores(), values["target"]
    begun_s = time.monotonic()
    with load_of(side.tool, side.tool.command, values, home) as load:
        first_s = wait_for_start(load, target) - begun_s
        own, others, count = usage_of(load.process.pid), _cpu_s(servers), request_count(target)
        used_s = 0.0
        while used_s < seconds * cores:
            time.sleep(_PERIOD_S)
            if load.process.poll() is not None:
                raise StartError("a load ended while it was measured", "see the console")
            used, sent = usage_of(load.process.pid), request_count(target) - count
            used_s = used.cpu_s - own.cpu_s + _cpu_s(servers) - others
    if values["connections"] == str(_MANY):
        side.values["memory_mb"].append(used.memory_bytes / BYTES_PER_MB)
    else:
        side.values["first_s"].append(first_s)
        side.values["rate_per_s"].append(sent * cores / used_s)
        side.values["cpu_us"].append((used.cpu_s - own.cpu_s) / sent * _US_PER_S)


def _cpu_s(pids: Sequence[int]) -> float:
    return sum(usage_of(pid).cpu_s for pid in pids)


def _texts(side: Side, at: int) -> list[str]:
    return [
        f"{title} {form.format(side.values[key][at])}"
        for key, (title, form) in _COLUMNS.items()
        if at < len(side.values[key])
    ]


def first_seconds_table(sides: Sequence[Side]) -> str:
    """Return the table of medians with their ranges; the p99 on the wire is known to root only."""
    rows = [[side.name, *(_median(side.values[key], form) for key, (_, form) in _COLUMNS.items())] for side in sides]
    return table(("build", *(title for title, _ in _COLUMNS.values())), rows)


def _median(values: Sequence[float], form: str) -> str:
    if not values:
        return ""
    low, middle, high = (form.format(one) for one in (min(values), statistics.median(values), max(values)))
    return middle if low == high else f"{middle} ({low} to {high})"
