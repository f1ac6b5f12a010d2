"""`scripts/bench auto`: measures how long DURATION=auto takes, and how far its means are from the true ones."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from statistics import fmean, median
from typing import NamedTuple

from bench.results import Aim
from bench.tables import print_aims
from harness.base.units import parse_whole_number, percent_text
from harness.jtl.sample import Sample
from harness.plan.load.model import ClosedLoad
from harness.report.tables import table
from harness.run.jmeter.auto_end import LOOK_PERIOD_S, LOOKS_NEEDED, AutoEnd, check, enough_ms
from harness.run.record import AutoEndRecord

_USERS = 5
_MOST_S = 600
_START_MS = 1_000_000
_MS_PER_S = 1000
# Of loads that end by themselves within an hour, so many intervals contain the true mean.
_COVERED_LEAST = 0.93
LONG_S = 3600
# The rule was chosen with loads of the first seeds.
_COVERAGE_SEED = 1000
_LOOK_S = int(LOOK_PERIOD_S)
# Of the loads that end by themselves, so many have a mean within the precision; each check is right in 95 %.
_WITHIN_LEAST = 0.90


@dataclass(frozen=True)
class Scene:
    """A simulated load: response time over time (ms), the noise of a second, and requests per second with theirs."""

    mean_ms: Callable[[int], float]
    spread: float
    rate: int = 8
    sigma: float = 0.3
    memory: float = 0.5

    @property
    def true_ms(self) -> float:
        """The mean response time in the end, ms."""
        return self.mean_ms(10 * _MOST_S) * math.exp(self.sigma**2 / 2)


@dataclass(frozen=True)
class Ended:
    """When a simulated load ended, s, and whether by itself; the mean it was known to have, and its half-width, ms."""

    after_s: int
    is_met: bool
    average_ms: float | None
    within_ms: float | None


def _steady(mean_ms: float) -> Callable[[int], float]:
    return lambda _: mean_ms


def _warm_up(mean_ms: float, times: float, tau_s: float) -> Callable[[int], float]:
    return lambda second: mean_ms * (1 + (times - 1) * math.exp(-second / tau_s))


SCENES = {
    "400 ms, seconds scatter by 3 %": Scene(_steady(400), 0.03),
    "400 ms, 8 %": Scene(_steady(400), 0.08),
    "400 ms, 15 %": Scene(_steady(400), 0.15),
    "12 ms, 15 %": Scene(_steady(12), 0.15),
    "12 ms, 8 %, 25 req/s, long tail": Scene(_steady(12 / math.exp(1.2**2 / 2)), 0.08, 25, 1.2),
    "4 ms, 8 %, 25 req/s, long tail": Scene(_steady(4 / math.exp(1.2**2 / 2)), 0.08, 25, 1.2),
    "warm-up, 3 × slower at first, time constant 20 s": Scene(_warm_up(400, 3, 20), 0.03),
    "warm-up, 2 × slower at first, time constant 40 s": Scene(_warm_up(400, 2, 40), 0.03),
}


# Seconds that resemble each other more and more: the standard deviation of a second is 10 %.
COVERAGE_SCENES = {
    f"400 ms, AR {memory}": Scene(_steady(400), 0.10 * math.sqrt(1 - memory**2), memory=memory)
    for memory in (0.5, 0.8, 0.9)
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part of the benchmark."""
    parser.add_argument("--runs", default="200", metavar="N", help="simulated loads per row (200)")


def bench(options: argparse.Namespace) -> int:
    """Print the table; return 0, or 1 when an aim is missed."""
    count = parse_whole_number(options.runs, "--runs", 20, 10_000)
    rows, within = [], []
    for name, scene in SCENES.items():
        print(f"bench: {name}", file=sys.stderr, flush=True)
        ended = [simulate(scene, seed) for seed in range(count)]
        rows.append([name, *_cells(scene, ended)])
        if name.startswith("warm-up"):
            continue
        within.append(share_within(scene, ended))
    heads = ("load", "ended by itself", "median s", "most s", "bias of the mean %", "within the precision %")
    print(f"**DURATION=auto MAX=10m: {count} simulated loads a row**\n\n{table(heads, rows)}\n", flush=True)
    covered = []
    print("bench: coverage", file=sys.stderr, flush=True)
    rows = []
    for name, scene in COVERAGE_SCENES.items():
        ended = [simulate(scene, seed, LONG_S) for seed in range(_COVERAGE_SEED, _COVERAGE_SEED + count)]
        covered.append(share_covered(scene, ended))
        rows.append([name, *_cells(scene, ended), percent_text(covered[-1], 1)])
    print(
        f"**DURATION=auto MAX=60m**\n\n{table((*heads, 'the interval contains the true mean %'), rows)}\n", flush=True
    )
    least = min(within)
    what = "steady loads: least share of means within the precision, %"
    aims = [
        Aim(what, percent_text(least, 1), f"≥ {percent_text(_WITHIN_LEAST, 0)}", least >= _WITHIN_LEAST),
        Aim(
            "least share of intervals that contain the true mean, %",
            percent_text(min(covered), 1),
            f"≥ {percent_text(_COVERED_LEAST, 0)}",
            min(covered) >= _COVERED_LEAST,
        ),
    ]
    return print_aims(aims, "the end")


def simulate(scene: Scene, seed: int, most_s: int = _MOST_S) -> Ended:
    """Return how a load ends whose seconds have autocorrelated noise; times are whole milliseconds.

    The load ends at the last of `LOOKS_NEEDED` successful checks in a row. Checks are slow, so they are tried from the
    last one of a possible row backwards: where one fails, no row contains it, and most checks are never needed.
    """
    noise, drift, load = Random(seed), 0.0, auto_load(most_s)
    watch, added_s = AutoEnd(load), 0

    def add_to(end_s: int) -> None:
        nonlocal drift, added_s
        for second in range(added_s, end_s):
            drift, samples = second_of(scene, second, drift, noise)
            watch.add(float(second), samples, len(samples))
        added_s = max(added_s, end_s)

    @cache
    def check_at(look: int) -> AutoEndRecord:
        add_to(look * _LOOK_S + 1)
        seconds = watch.seconds()
        return check(load, seconds[: len(seconds) - added_s + look * _LOOK_S + 1])

    looks, last = -(-most_s // _LOOK_S), LOOKS_NEEDED - 1
    while last < looks:
        failed = next((look for look in range(last, last - LOOKS_NEEDED, -1) if not check_at(look).is_met), None)
        if failed is None:
            return Ended(last * _LOOK_S, True, check_at(last).average_ms, check_at(last).within_ms)
        last = failed + LOOKS_NEEDED
    return Ended(most_s, False, check_at(looks - 1).average_ms, check_at(looks - 1).within_ms)


def auto_load(most_s: int) -> ClosedLoad:
    """Return the load that is simulated."""
    return ClosedLoad(users=_USERS, ramp_s=_USERS, duration_s=most_s, loops=None, is_auto=True)


class Second(NamedTuple):
    """The noise of a second and the samples that end in it."""

    drift: float
    samples: list[Sample]


def second_of(scene: Scene, second: int, drift: float, noise: Random) -> Second:
    """Return the noise of a second, given that of the second before, and the samples that end in it."""
    drift = scene.memory * drift + noise.gauss(0, scene.spread)
    return Second(drift, [_sample(scene, second, number, drift, noise) for number in range(scene.rate)])


def _sample(scene: Scene, second: int, number: int, drift: float, noise: Random) -> Sample:
    exact_ms = scene.mean_ms(second) * (1 + drift) * noise.lognormvariate(0, scene.sigma)
    elapsed_ms = max(1, math.floor(exact_ms + noise.random()))  # the clock's steps are anywhere
    end_ms = _START_MS + _MS_PER_S * second + _MS_PER_S * number // scene.rate
    return Sample(
        start_ms=end_ms - elapsed_ms,
        elapsed_ms=elapsed_ms,
        label="Pay",
        code="200",
        message="OK",
        thread_name="Users 1-1",
        success=True,
        failure="",
        received_bytes=None,
        sent_bytes=None,
        all_threads=min(_USERS, 1 + second),
    )


def share_within(scene: Scene, ended: Sequence[Ended]) -> float:
    """Return the share of the loads that ended by themselves whose mean is within the precision of the true one."""
    errors = [abs(one.average_ms - scene.true_ms) for one in ended if one.is_met and one.average_ms is not None]
    return sum(error <= enough_ms(scene.true_ms) for error in errors) / len(errors) if errors else 0.0


def share_covered(scene: Scene, ended: Sequence[Ended]) -> float:
    """Return the share of the loads that ended by themselves whose interval contains the true mean."""
    covered = [
        abs(one.average_ms - scene.true_ms) <= one.within_ms
        for one in ended
        if one.is_met and one.average_ms is not None and one.within_ms is not None
    ]
    return sum(covered) / len(covered) if covered else 0.0


def _cells(scene: Scene, ended: Sequence[Ended]) -> list[str]:
    by_itself = [one for one in ended if one.is_met and one.average_ms is not None]
    biases = [one.average_ms / scene.true_ms - 1 for one in by_itself if one.average_ms is not None]
    lengths = [one.after_s for one in ended]
    bias = f"{round(100 * fmean(biases), 1) + 0.0:+.1f}".replace("-", "−") if biases else ""
    within = percent_text(share_within(scene, ended), 0)
    return [str(len(by_itself)), f"{median(lengths):.0f}", str(max(lengths)), bias, within]
