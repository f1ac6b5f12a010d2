"""`scripts/bench one-user`: what JMeter adds to the response times of one user, next to wrk with one connection."""

from __future__ import annotations

import argparse
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from bench.results import Aim
from bench.runs.generator import PLAN
from bench.runs.jmeter_load import Variant, jmeter_load
from bench.runs.run import StartedSystem
from bench.tables import print_aims
from harness.base.errors import StartError, UsageError
from harness.base.log import stderr_log
from harness.jtl.sample import Dropped
from harness.metrics.files import read_samples
from harness.report.tables import table

_log = stderr_log("bench: ")

_ADDED_MOST_US = 20.0
_US = {"us": 1.0, "ms": 1e3, "s": 1e6}
_LATENCY = re.compile(r"Latency\s+([\d.]+)(us|ms|s)\b")
_RATE = re.compile(r"Requests/sec:\s+([\d.]+)")


@dataclass(frozen=True)
class OneUser:
    """The mean response time, µs, and the requests per second of one user."""

    mean_us: float
    rate_per_s: float


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part of the benchmark."""
    parser.add_argument("--repeat", type=int, default=5, help="rounds, each with one run of both (5)")
    parser.add_argument(
        "--warm-up", type=int, default=100_000, help="requests of JMeter before the measurement (100000)"
    )
    parser.add_argument("--requests", type=int, default=100_000, help="requests of JMeter's measurement (100000)")
    parser.add_argument("--duration", type=int, default=10, help="seconds of wrk's measurement (10)")


def bench(options: argparse.Namespace) -> int:
    """Print a Markdown table and the aim; return 1 when JMeter adds more. StartError when a run fails.

    JMeter's mean is that of the JTL's elapsed times: these are whole milliseconds of a clock, whose mean has no bias.
    """
    if not shutil.which("wrk"):
        raise UsageError("wrk: not installed", "install the package wrk")
    jmeter, wrk = [], []
    with tempfile.TemporaryDirectory(prefix="bench-") as name, StartedSystem(PLAN, Path(name)) as target:
        for number in range(1, options.repeat + 1):
            wrk.append(_wrk(target, options.duration))
            jmeter.append(_jmeter(target, options, Path(name) / "run"))
            _log(f"round {number}: wrk {wrk[-1].mean_us:.1f} µs, JMeter {jmeter[-1].mean_us:.1f} µs")
    print(one_user_table(jmeter, wrk))
    aim = added_aim(jmeter, wrk)
    print()
    return print_aims([aim], "one user")


def one_user_table(jmeter: Sequence[OneUser], wrk: Sequence[OneUser]) -> str:
    """Return a table with the medians of both."""
    rows = [
        [name, f"{_median_us(runs):.1f}", f"{statistics.median(one.rate_per_s for one in runs):.0f}"]
        for name, runs in (("wrk, one connection", wrk), ("JMeter, one user", jmeter))
    ]
    return table(("load generator", "mean response time, µs", "req/s"), rows)


def added_aim(jmeter: Sequence[OneUser], wrk: Sequence[OneUser]) -> Aim:
    """Return the aim of the time that JMeter adds: the median of the differences within a round."""
    added_us = statistics.median(one.mean_us - other.mean_us for one, other in zip(jmeter, wrk, strict=True))
    aim = f"≤ {_ADDED_MOST_US:.0f} µs"
    return Aim("added by JMeter to the mean of wrk", f"{added_us:.1f} µs", aim, added_us <= _ADDED_MOST_US)


def read_wrk(output: str) -> OneUser:
    """Return the mean latency and the rate that wrk prints; StartError when it prints none, or failed requests."""
    latency, rate = _LATENCY.search(output), _RATE.search(output)
    if not latency or not rate or "Non-2xx" in output or "Socket errors" in output:
        raise StartError(f"wrk did not measure: {output.strip()}", "see whether the system answers")
    return OneUser(float(latency[1]) * _US[latency[2]], float(rate[1]))


def _wrk(target: str, duration_s: int) -> OneUser:
    command = ["wrk", "-t1", "-c1", f"-d{duration_s}s", target]
    return read_wrk(subprocess.run(command, capture_output=True, text=True, check=False).stdout)


def _jmeter(target: str, options: argparse.Namespace, folder: Path) -> OneUser:
    with jmeter_load(Variant(), 1, target, folder) as load:
        load.wait_for(options.warm_up)
        from_s, from_count = time.monotonic(), load.count
        load.wait_for(options.warm_up + options.requests)
        rate_per_s = (load.count - from_count) / (time.monotonic() - from_s)
    samples = read_samples(folder / "samples.jtl", Dropped())
    counted = islice(samples, options.warm_up, options.warm_up + options.requests)
    return OneUser(statistics.fmean(sample.elapsed_ms for sample in counted) * 1e3, rate_per_s)


def _median_us(runs: Sequence[OneUser]) -> float:
    return statistics.median(one.mean_us for one in runs)
