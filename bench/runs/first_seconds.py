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

from bench.runs.load_tools import TOOLS, LoadTool, values_of
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

_log = stderr_log("bench: ")

_CONNECTIONS, _MANY = 50, 1000
_AFTER_S = 3  # so long the load lasts after what is measured of it
_US_PER_S = 1_000_000
_COLUMNS = {
    "first_s": ("to the first requests, s", "{:.1f}"),
    "rate_per_s": ("req/s", "{:,.0f}"),
    "cpu_us": ("CPU µs per request", "{:.1f}"),
    "error_ms": ("error of the p99, ms", "{:+.1f}"),
    "memory_mb": (f"MB with {_MANY:,}", "{:,.0f}"),
}


@dataclass(frozen=True)
class _Side:
    """A build, and what is added to its command."""

    name: str
    folder: Path
    python: str
    more: str = ""
    values: dict[str, list[float]] = field(default_factory=lambda: {key: [] for key in _COLUMNS})

    @property
    def tool(self) -> LoadTool:
        return replace(TOOLS[0], command=f"{TOOLS[0].command} {self.more}".rstrip())

    def values_of(self, target: str, connections: int, seconds: int, home: Path) -> dict[str, str]:
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
        _Side(f"--warm {text}", SHIPPED, sys.executable, f"--warm {text}") for text in ("0", *options.warm.split(","))
    ]
    if options.beside:
        folder = Path(options.beside).resolve()
        sides.insert(0, _Side("earlier build", folder, str(folder / ".venv" / "bin" / "python")))
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        home = back_end_project(Path(name))
        for number in range(1, options.repeat + 1):
            with running(home, "fast", "") as target:
                for side in sides:
                    _measure(side, target, options.duration, home)
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


def _measure(side: _Side, target: str, seconds: int, home: Path) -> None:
    """Add the speed of a build with some connections, and its memory with many."""
    for connections in (_CONNECTIONS, _MANY):
        values = side.values_of(target, connections, seconds + _AFTER_S, home)
        begun_s = time.monotonic()
        with load_of(side.tool, side.tool.command, values, home) as load:
            from_s = wait_for_start(load, target)
            before, count = usage_of(load.process.pid), request_count(target)
            time.sleep(seconds)
            used, sent, length_s = usage_of(load.process.pid), request_count(target) - count, time.monotonic() - from_s
            if load.process.poll() is not None or not sent:
                raise StartError("a load ended while it was measured", "see the console")
            load.wait()
        if connections == _MANY:
            side.values["memory_mb"].append(used.memory_bytes / BYTES_PER_MB)
        else:
            side.values["first_s"].append(from_s - begun_s)
            side.values["rate_per_s"].append(sent / length_s)
            side.values["cpu_us"].append((used.cpu_s - before.cpu_s) / sent * _US_PER_S)


def _texts(side: _Side, at: int) -> list[str]:
    return [
        f"{title} {form.format(side.values[key][at])}"
        for key, (title, form) in _COLUMNS.items()
        if at < len(side.values[key])
    ]


def first_seconds_table(sides: Sequence[_Side]) -> str:
    """Return the table of medians with their ranges; the p99 on the wire is known to root only."""
    rows = [[side.name, *(_median(side.values[key], form) for key, (_, form) in _COLUMNS.items())] for side in sides]
    return table(("build", *(title for title, _ in _COLUMNS.values())), rows)


def _median(values: Sequence[float], form: str) -> str:
    if not values:
        return ""
    low, middle, high = (form.format(one) for one in (min(values), statistics.median(values), max(values)))
    return middle if low == high else f"{middle} ({low} to {high})"
