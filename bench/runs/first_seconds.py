"""`scripts/bench first-seconds`: the first seconds of a load, an earlier build beside this one, in turn."""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from bench.runs.load_tools import PLAN, TOOLS, LoadTool, values_of
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
from harness.base.errors import EXIT_OK, StartError
from harness.base.log import stderr_log
from harness.base.project import SHIPPED
from harness.base.units import BYTES_PER_MB
from harness.report.tables import table
from harness.run.prepare import usable_cores

_log = stderr_log("bench: ")

_CONNECTIONS, _MANY = 50, 1000
_LONGEST, _PERIOD_S = 12, 0.1  # a load may last so many times as long as on an idle machine
_BACK_END_S = 30
_US_PER_S = 1_000_000
_COLUMNS = {
    "first_s": ("to the first requests, s", "{:.1f}"),
    "rate_per_s": ("req/s", "{:,.0f}"),
    "cpu_us": ("CPU µs per request", "{:.1f}"),
    "error_ms": ("error of the p99, ms", "{:+.1f}"),
    "memory_mb": (f"MB with {_MANY:,}", "{:,.0f}"),
}


@dataclass(frozen=True)
class BuildSide:
    """A build, and what is added to its command."""

    name: str
    folder: Path
    python: str
    more: str = ""
    values: dict[str, list[float]] = field(default_factory=lambda: {key: [] for key in _COLUMNS})

    @property
    def tool(self) -> LoadTool:
        """The tool of this build."""
        return replace(TOOLS[0], command=f"{TOOLS[0].command} {self.more}".rstrip())

    def values_of(self, target: str, connections: int, seconds: int, home: Path) -> dict[str, str]:
        """Return the values for its command."""
        own = {"python": self.python, "shipped": str(self.folder)}
        return {**values_of(target, connections, seconds, home, ""), **own}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part of the benchmark."""
    option = parser.add_argument
    option("--beside", default="", metavar="DIR", help="a clone of an earlier version, set up")
    option("--repeat", type=int, default=5, help="rounds, each with a run of each build (5)")
    option("--duration", type=int, default=10, help="seconds that are measured (10)")
    option("--warm", default="0.3s,3s", help="values of --warm to measure, separated by commas (0.3s,3s)")


def bench(options: argparse.Namespace) -> int:
    """Print a Markdown table, a row per build and --warm: medians and ranges of the rounds."""
    sides = [
        BuildSide(f"--warm {text}", SHIPPED, sys.executable, f"--warm {text}")
        for text in ("0", *options.warm.split(","))
    ]
    if options.beside:
        folder = Path(options.beside).resolve()
        sides.insert(0, BuildSide("earlier build", folder, str(folder / ".venv" / "bin" / "python")))
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        home = back_end_project(Path(name))
        for number in range(1, options.repeat + 1):
            system = StartedSystem(PLAN, home, "fast")
            with system as target:
                _warm(target, home)
                for side in sides if number % 2 else sides[::-1]:
                    _measure(side, target, list(system.jvms().values()), options.duration, home)
            with running(home, "slow", "") as target:
                for side in sides:
                    measured = Measured()
                    watch(side.tool, measured, side.values_of(target, _CONNECTIONS, options.duration, home), home)
                    own = measured.stated.percentiles_ms.get("99") if measured.stated else None
                    if own is not None and measured.wire_p99_ms is not None:
                        side.values["error_ms"].append(own - measured.wire_p99_ms)
            for side in sides:
                _log(f"round {number}, {side.name}: " + ", ".join(_texts(side, number - 1)))
    print(first_seconds_table(sides))
    return EXIT_OK


def _warm(target: str, home: Path) -> None:
    """Load the back-end, a JVM too, so that its compiler does not work beside the first build."""
    with load_of(TOOLS[0], TOOLS[0].command, values_of(target, _CONNECTIONS, _BACK_END_S, home, ""), home) as load:
        load.wait()


def _measure(side: BuildSide, target: str, servers: Sequence[int], seconds: int, home: Path) -> None:
    """Add the speed of a build with some connections, and its memory with many.

    It is measured for the seconds that all cores need for the CPU time of generator and back-end: other work on the
    machine only makes that last longer.
    """
    cores = usable_cores()
    for connections in (_CONNECTIONS, _MANY):
        values = side.values_of(target, connections, seconds * _LONGEST, home)
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
        if connections == _MANY:
            side.values["memory_mb"].append(used.memory_bytes / BYTES_PER_MB)
        else:
            side.values["first_s"].append(first_s)
            side.values["rate_per_s"].append(sent * cores / used_s)
            side.values["cpu_us"].append((used.cpu_s - own.cpu_s) / sent * _US_PER_S)


def _cpu_s(pids: Sequence[int]) -> float:
    return sum(usage_of(pid).cpu_s for pid in pids)


def _texts(side: BuildSide, at: int) -> list[str]:
    return [
        f"{title} {form.format(side.values[key][at])}"
        for key, (title, form) in _COLUMNS.items()
        if at < len(side.values[key])
    ]


def first_seconds_table(sides: Sequence[BuildSide]) -> str:
    """Return the table of medians with their ranges; the p99 on the wire is known to root only."""
    rows = [[side.name, *(_median(side.values[key], form) for key, (_, form) in _COLUMNS.items())] for side in sides]
    return table(("build", *(title for title, _ in _COLUMNS.values())), rows)


def _median(values: Sequence[float], form: str) -> str:
    if not values:
        return ""
    low, middle, high = (form.format(one) for one in (min(values), statistics.median(values), max(values)))
    return middle if low == high else f"{middle} ({low} to {high})"
