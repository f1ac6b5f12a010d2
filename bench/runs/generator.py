"""`scripts/bench generator`: CPU time per request and throughput of JMeter with different settings, in turn."""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bench.results import Aim
from bench.runs.jmeter_load import LoadingJMeter, Slice, Variant, cpu_s, elapsed_in, jmeter_load
from bench.runs.paired_change import PairedChange, paired_change
from bench.runs.run import StartedSystem
from bench.tables import print_aims
from harness.base.errors import EXIT_INTERRUPTED
from harness.base.log import stderr_log
from harness.base.units import MS_PER_S
from harness.metrics.interval import IntervalMs
from harness.report.tables import table

_log = stderr_log("bench: ")

PLAN = "lb-direct"
_COLUMNS = ("response_message", "connect_time", "latency", "sent_bytes", "thread_counts", "label")
_G1 = "-XX:+UseG1GC -XX:MaxGCPauseMillis=100 -XX:G1ReservePercent=20"
_FLUSHED = {"jmeter.save.saveservice.autoflush": "true"}
_SUMMARISED = {"summariser.name": "summary", "summariser.out": "false", "summariser.log": "false"}
# The current settings of the harness, its earlier ones, and the current ones with one difference.
VARIANTS = {
    "current settings": Variant(),
    "JMeter's own HTTP sampler": Variant(is_lean=False),
    "before: G1, a write per row, a summariser": Variant(_G1, is_lean=False, properties={**_FLUSHED, **_SUMMARISED}),
    "with G1": Variant(_G1),
    "with SerialGC": Variant("-XX:+UseSerialGC"),
    "with ZGC": Variant("-XX:+UseZGC"),
    "heap 3 GB": Variant(heap="-Xms3g -Xmx3g"),
    "heap 300 MB": Variant(heap="-Xms300m -Xmx300m"),
    "a write per row": Variant(properties=_FLUSHED),
    "a summariser": Variant(properties=_SUMMARISED),
    "6 columns less": Variant(properties={f"jmeter.save.saveservice.{name}": "false" for name in _COLUMNS}),
    "no agent": Variant(has_agent=False),
    "-Xss256k": Variant(options="-Xss256k"),
    "transparent huge pages": Variant(options="-XX:+UseTransparentHugePages"),
    "IPv4 only": Variant(options="-Djava.net.preferIPv4Stack=true"),
    "young generation of 800 MB": Variant(options="-Xmn800m"),
    "C1 only": Variant(options="-XX:TieredStopAtLevel=1"),
    "stale check after 60 s": Variant(properties={"httpclient4.validate_after_inactivity": "60000"}),
    "state kept per iteration": Variant(properties={"httpclient.reset_state_on_thread_group_iteration": "false"}),
    "no body assertion": Variant(properties={"expected_text": ""}),
}

CURRENT, OWN, BEFORE = tuple(VARIANTS)[:3]
_SETTLE_S = 0.5
_ROUNDS_LEAST = 2
_RATE_LEAST_RATIO = 1.3
_CPU_MOST_RATIO = 0.65
_US_PER_S = 1_000_000
_NS_PER_MS = 1_000_000


@dataclass(frozen=True)
class Speed:
    """CPU time of JMeter per request without its compiler, µs, and requests per s."""

    cpu_us: float
    rate_per_s: float


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part of the benchmark."""
    option = parser.add_argument
    option("--users", type=int, default=50, help="users without think time (50)")
    option("--repeat", type=int, default=4, help="new JMeters of each variant (4)")
    option("--warm-up", type=int, default=600_000, help="requests of each JMeter before its slices (600000)")
    option("--slices", type=int, default=3, help="slices of each JMeter (3)")
    option("--duration", type=float, default=3.0, help="seconds of each slice (3)")
    option(
        "--only", default="", help="besides the first three only variants with one of these texts, separated by commas"
    )


def bench(options: argparse.Namespace) -> int:
    """Print a Markdown table, one row per variant, and the aim; return 1 when it is missed.

    One JMeter per variant is warmed up and then stopped (SIGSTOP). Then they continue in turn, each for a slice, so
    that the machine is equally fast for all of them. All of that is repeated with new JMeters, because two JMeters with
    the same settings differ, too. Ctrl-C ends the rounds. StartError when a JMeter ends.
    """
    wanted = options.only.split(",")
    names = [name for name in VARIANTS if name in (CURRENT, OWN, BEFORE) or any(text in name for text in wanted)]
    speeds: dict[str, list[Speed]] = {name: [] for name in names}
    try:
        for number in range(1, options.repeat + 1):
            for name, speed in _round(names, options).items():
                speeds[name].append(speed)
                _log(f"round {number}, {name}: {speed.cpu_us:.1f} µs of CPU per request, {speed.rate_per_s:.0f} req/s")
    except KeyboardInterrupt:
        _log(f"interrupted: {len(speeds[CURRENT])} complete rounds count")
    if len(speeds[CURRENT]) < _ROUNDS_LEAST:
        return EXIT_INTERRUPTED
    print(speeds_table(speeds))
    aims = [
        rate_aim(speeds[CURRENT], speeds[BEFORE], "before"),
        rate_aim(speeds[CURRENT], speeds[OWN], "JMeter's sampler"),
    ]
    print()
    return print_aims([*aims, cpu_aim(speeds[CURRENT], speeds[OWN])], "the generator")


def _round(names: Sequence[str], options: argparse.Namespace) -> dict[str, Speed]:
    """Return the speed of one new JMeter per variant."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-")))
        target = stack.enter_context(StartedSystem(PLAN, folder))
        loads: dict[str, LoadingJMeter] = {}
        for number, name in enumerate(random.sample(names, len(names)), 1):
            load = jmeter_load(VARIANTS[name], options.users, target, folder / f"run-{number}")
            loads[name] = stack.enter_context(load)
            loads[name].wait_for(options.warm_up)
            loads[name].pause()
            _log(f"{number} of {len(names)} warmed up: {name}")
        slices: dict[str, list[Slice]] = {name: [] for name in names}
        for _ in range(options.slices):
            for name in random.sample(names, len(names)):
                slices[name].append(_slice(loads[name], options.duration))
        for loading in loads.values():  # JMeter writes its last rows within a second
            loading.resume()
            time.sleep(4 * _SETTLE_S)
            loading.pause()
        return {name: slice_speed(loads[name].path, slices[name]) for name in names}


def _slice(load: LoadingJMeter, duration_s: float) -> Slice:
    load.resume()
    time.sleep(_SETTLE_S)
    before_s, from_ns = cpu_s(load.process.pid), time.time_ns()
    time.sleep(duration_s)
    used_s, to_ns = cpu_s(load.process.pid) - before_s, time.time_ns()
    load.pause()
    return Slice(IntervalMs(from_ns // _NS_PER_MS, to_ns // _NS_PER_MS), used_s)


def slice_speed(jtl: Path, slices: Sequence[Slice]) -> Speed:
    """Return the speed in all slices, by the requests that ended in them."""
    count = sum(len(elapsed_ms) for elapsed_ms in elapsed_in(jtl, slices))
    length_ms = sum(one.interval_ms.length_ms for one in slices)
    return Speed(sum(one.cpu_s for one in slices) / count * _US_PER_S, count * MS_PER_S / length_ms)


def speeds_table(speeds: Mapping[str, Sequence[Speed]]) -> str:
    """Return the table of variants; changes compare JMeters of the same round."""
    current = speeds[CURRENT]
    rows = []
    for name, own in speeds.items():
        cpu = paired_change([one.cpu_us for one in current], [one.cpu_us for one in own])
        rate = paired_change([one.rate_per_s for one in current], [one.rate_per_s for one in own])
        changes = [change.change_text if name != CURRENT else "" for change in (cpu, rate)]
        rows.append([name, f"{cpu.new:.1f}", changes[0], f"{rate.new:.0f}", changes[1]])
    return table(("JMeter", "CPU µs per request", "change", "req/s", "change"), rows)


def rate_aim(current: Sequence[Speed], other: Sequence[Speed], name: str) -> Aim:
    """Return the aim of the throughput of the current settings ÷ that of others."""
    change = paired_change([one.rate_per_s for one in other], [one.rate_per_s for one in current])
    is_met = 1 + change.change_ratio >= _RATE_LEAST_RATIO
    return Aim(f"req/s of the current settings ÷ {name}", _ratio_text(change), f"≥ {_RATE_LEAST_RATIO}", is_met)


def cpu_aim(current: Sequence[Speed], own: Sequence[Speed]) -> Aim:
    """Return the aim of the CPU time per request with the lean sampler ÷ that with JMeter's own."""
    change = paired_change([one.cpu_us for one in own], [one.cpu_us for one in current])
    is_met = 1 + change.change_ratio <= _CPU_MOST_RATIO
    return Aim("CPU per request ÷ JMeter's sampler", _ratio_text(change), f"≤ {_CPU_MOST_RATIO}", is_met)


def _ratio_text(change: PairedChange) -> str:
    low, ratio, high = (1 + one for one in (change.low_ratio, change.change_ratio, change.high_ratio))
    return f"{ratio:.2f} (95 % interval {low:.2f} to {high:.2f})"
