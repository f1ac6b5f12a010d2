"""`scripts/bench profile`: what a profile costs the system: the same JVMs under the same load, with and without it."""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from bench.results import Aim
from bench.runs.jmeter_load import LoadingJMeter, Slice, Variant, cpu_s, elapsed_in, jmeter_load
from bench.runs.paired_change import PairedChange, paired_change
from bench.runs.run import StartedSystem
from bench.tables import print_aims
from harness.base.install import toolchain
from harness.base.log import stderr_log
from harness.base.units import MS_PER_S, parse_whole_number
from harness.metrics.interval import IntervalMs
from harness.report.tables import table
from harness.system.agent import agent_library
from harness.system.profile_files import Profiler

if TYPE_CHECKING:
    import pandas

_log = stderr_log("bench: ")

# JVMs that do little but pass requests on: every sample and every event of the profile counts. With pauses the cores
# have time left: without, Java's compiler competes with the load.
_PLAN = "lb-jvm"
_PAUSES = Variant(properties={"think_time_ms": "20"})
_WARM_UP_REQUESTS = 100_000
# After the start and the end of a profile, which are not part of what is measured.
_SETTLE_S = 2.0
_COST_MOST_RATIO = 0.03
_US_PER_S = 1_000_000


@dataclass(frozen=True)
class Figures:
    """The CPU time per request, µs, the mean response time, ms, and the requests per second of a part of the load."""

    cpu_us: float
    mean_ms: float
    rate_per_s: float


@dataclass(frozen=True)
class Cost:
    """What a profile changes, by pairs of parts, and the CPU time that its first start takes once, s."""

    cpu_us: PairedChange
    mean_ms: PairedChange
    rate_per_s: PairedChange
    start_s: float

    def text(self) -> str:
        """Return a Markdown table, and the cost of the first start below it."""
        rows = [
            [name, f"{change.base:.2f}", f"{change.new:.2f}", change.change_text]
            for name, change in (
                ("CPU of the system per request, µs", self.cpu_us),
                ("mean response time, ms", self.mean_ms),
                ("req/s", self.rate_per_s),
            )
        ]
        once = f"The first start of a profile takes {self.start_s:.1f} s of CPU time once, for all JVMs of the system."
        return f"{table(('lb-jvm', 'without', 'profiled', 'change'), rows)}\n\n{once}"

    @property
    def aim(self) -> Aim:
        """The aim of the CPU time."""
        ratio = self.cpu_us.change_ratio
        wanted = f"≤ {100 * _COST_MOST_RATIO:.0f} %"
        return Aim("CPU of the system per request", f"{100 * ratio:+.1f} %", wanted, ratio <= _COST_MOST_RATIO)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part of the benchmark."""
    parser.add_argument("--repeat", default="12", metavar="N", help="pairs of parts of the load (12)")
    parser.add_argument("--duration", default="10", metavar="S", help="seconds of each part (10)")
    parser.add_argument("--users", default="60", metavar="N", help="users with pauses of 20 ms (60)")


def bench(options: argparse.Namespace) -> int:
    """Print the cost of a profile and its aim; return 1 when it is more. StartError when the system or JMeter ends."""
    pairs = parse_whole_number(options.repeat, "--repeat", 2, 1000)
    duration_s = parse_whole_number(options.duration, "--duration", 1, 3600)
    users = parse_whole_number(options.users, "--users", 1, 10_000)
    toolchain.ensure_profiler()
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        system = StartedSystem(_PLAN, Path(name))
        with system as target, jmeter_load(_PAUSES, users, target, Path(name) / "run") as load:
            cost = _measure(_Parts(system.jvms(), Path(name), load), pairs, duration_s)
    print(cost.text())
    print()
    return print_aims([cost.aim], "a profile")


def _measure(parts: _Parts, pairs: int, duration_s: int) -> Cost:
    parts.load.wait_for(_WARM_UP_REQUESTS)
    start_s = parts.start_cost_s(duration_s)
    found: dict[bool, list[Slice]] = {False: [], True: []}
    for number in range(pairs):
        _log(f"pair {number + 1} of {pairs}")
        for is_profiled in (False, True) if number % 2 == 0 else (True, False):
            found[is_profiled].append(parts.measure(is_profiled, duration_s))
    time.sleep(2 * _SETTLE_S)  # JMeter writes its rows within a second
    return cost_of(found[False], found[True], parts.load.path, start_s)


def cost_of(base: Sequence[Slice], profiled: Sequence[Slice], jtl: Path, start_s: float) -> Cost:
    """Return the cost by slices of the same index; StartError when a slice has no samples."""
    before, after = (list(map(_figures, side, elapsed_in(jtl, side))) for side in (base, profiled))
    return Cost(
        paired_change([one.cpu_us for one in before], [one.cpu_us for one in after]),
        paired_change([one.mean_ms for one in before], [one.mean_ms for one in after]),
        paired_change([one.rate_per_s for one in before], [one.rate_per_s for one in after]),
        start_s,
    )


def _figures(part: Slice, elapsed_ms: pandas.Series[float]) -> Figures:
    count = len(elapsed_ms)
    rate_per_s = count * MS_PER_S / part.interval_ms.length_ms
    return Figures(part.cpu_s / count * _US_PER_S, float(elapsed_ms.mean()), rate_per_s)


class _Parts:
    """Measures parts of a load on the JVMs of a system, by pid; profiles are written to `folder`."""

    def __init__(self, jvms: Mapping[str, int], folder: Path, load: LoadingJMeter) -> None:
        self.load = load
        self._jvms = jvms
        self._folder = folder

    def measure(self, is_profiled: bool, duration_s: float) -> Slice:
        """Return a part of the load, with a profile or without."""
        with self._profiler() if is_profiled else nullcontext():
            time.sleep(_SETTLE_S)
            before_s, from_ms = self._cpu_s(), _now_ms()
            time.sleep(duration_s)
            used_s, to_ms = self._cpu_s() - before_s, _now_ms()
        time.sleep(_SETTLE_S)
        return Slice(IntervalMs(from_ms, to_ms), used_s)

    def start_cost_s(self, duration_s: float) -> float:
        """Return the CPU time of the JVMs for the first start of a profile, beyond that of the load."""
        before_s, from_s = self._whole_cpu_s(), time.monotonic()
        time.sleep(duration_s)
        cores = (self._whole_cpu_s() - before_s) / (time.monotonic() - from_s)
        before_s, from_s = self._whole_cpu_s(), time.monotonic()
        with self._profiler():
            time.sleep(duration_s)
            used_s, passed_s = self._whole_cpu_s() - before_s, time.monotonic() - from_s
        return used_s - cores * passed_s

    def _profiler(self) -> Profiler:
        return Profiler(self._jvms, self._folder, os.environ, agent=agent_library())

    def _cpu_s(self) -> float:
        return sum(cpu_s(pid) for pid in self._jvms.values())

    def _whole_cpu_s(self) -> float:
        """Return the CPU time of the JVMs with their compilers, which compile again what a recorder changes."""
        return sum(sum(psutil.Process(pid).cpu_times()[:2]) for pid in self._jvms.values())


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
