"""`scripts/bench trust`: measures coverage and power of trust tests, on simulated benchmarks with known scatter."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy

from bench.results import Aim
from bench.tables import print_aims
from harness.base.units import parse_whole_number, percent_text
from harness.compare.comparison import REGRESSED
from harness.kinds.ab.rule import LOOKS, PairSeries, is_sure, judge
from harness.kinds.trust.design import RUNS_PER_START, STARTS
from harness.kinds.trust.power import DEVIATIONS_FOUND, least_change
from harness.kinds.trust.variance import parts_of, within_runs
from harness.metrics.batch_means import Estimate
from harness.metrics.batch_means import mean as mean_of_batches
from harness.metrics.batches import BATCH_COUNT
from harness.metrics.metric import compared_metrics
from harness.plan.thresholds import Thresholds
from harness.report.tables import table

_COVERED_LEAST = 0.90
_POWER, _POWER_WITHIN = 0.80, 0.08
# The second run of a start is faster by as much.
_LATER = -0.03
_ALIKE = (0.0, 0.8)
_RUN_SD = 0.02


@dataclass(frozen=True)
class Scene:
    """A simulated benchmark: the standard deviations between starts, between runs and within a run."""

    start: float
    run: float
    within: float
    start_count: int = STARTS


@dataclass(frozen=True)
class Covered:
    """The shares of trust tests whose interval contains the true part."""

    start: float
    run: float
    within: float
    total: float


SCENES = (
    Scene(0.02, 0.01, 0.01),
    Scene(0.0, 0.01, 0.01),
    Scene(0.03, 0.0, 0.01),
    Scene(0.0, 0.0, 0.01),
    Scene(0.01, 0.02, 0.005, 12),
    Scene(0.02, 0.01, 0.01, 3),
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part of the benchmark."""
    parser.add_argument("--repetitions", default="1000", metavar="N", help="simulated tests per row (1000)")
    parser.add_argument("--seed", default="1", metavar="N", help="of the random numbers, to repeat it with others (1)")


def bench(options: argparse.Namespace) -> int:
    """Print the tables; return 0, or 1 when an aim is missed."""
    repetitions = parse_whole_number(options.repetitions, "--repetitions", 100, 1_000_000)
    seed = parse_whole_number(options.seed, "--seed", 0, 1_000_000)
    found = {scene: covered(scene, repetitions, seed) for scene in SCENES}
    heads = ("starts", "between starts %", "between runs %", "within a run %", *(one.name for one in fields(Covered)))
    print(f"**% of {repetitions:,} simulated trust tests whose 95 % intervals contain the true part**\n")
    print(table(heads, [_row(scene, one) for scene, one in found.items()]), end="\n\n", flush=True)
    powers = {(pairs, alike): power(pairs, alike, repetitions, seed) for pairs in DEVIATIONS_FOUND for alike in _ALIKE}
    print(f"**% of {repetitions:,} simulated A/B tests that find a change of exactly the stated size**\n")
    rows = [[str(pairs), *(percent_text(powers[pairs, alike], 1) for alike in _ALIKE)] for pairs in DEVIATIONS_FOUND]
    print(table(("pairs", "independent metrics", "80 % of noise in common"), rows), end="\n\n", flush=True)
    return print_aims(list(_aims(found, powers)), "trust tests")


def covered(scene: Scene, repetitions: int, seed: int) -> Covered:
    """Return how often the intervals of simulated trust tests contain the true parts."""
    random = numpy.random.default_rng(seed)
    truth = {"start": scene.start, "run": scene.run, "within": scene.within}
    truth["total"] = math.hypot(*truth.values())
    hits = dict.fromkeys(truth, 0)
    for _ in range(repetitions):
        levels, estimates = _test(scene, random)
        parts = parts_of(levels, within_runs(estimates))
        for name, true in truth.items():
            part = getattr(parts, name)
            hits[name] += part.low_ratio <= true <= part.high_ratio
    return Covered(**{name: count / repetitions for name, count in hits.items()})


def power(pairs: int, alike: float, repetitions: int, seed: int) -> float:
    """Return how often A/B tests of at most so many pairs find the smallest change that is promised for one metric.

    The metrics of a run share `alike` of their noise (0-1).
    """
    random, metrics = numpy.random.default_rng(seed), compared_metrics()
    change = least_change(_RUN_SD**2, pairs)
    assert change is not None
    thresholds = Thresholds().changed({metric.name: change for metric in metrics})
    tested = [metric for metric in metrics if not metric.is_share]  # of a benchmark without errors
    found = 0
    for _ in range(repetitions):
        common = random.normal(0.0, _RUN_SD * math.sqrt(2 * alike), pairs)
        noise = random.normal(0.0, _RUN_SD * math.sqrt(2 * (1 - alike)), (len(tested), pairs)) + common
        noise[0] += math.log1p(change)
        for look in (look for look in LOOKS if look <= pairs):
            series = [
                PairSeries(metric, tuple(map(float, noise[index, :look])), 100.0, 100.0)
                for index, metric in enumerate(tested)
            ]
            judged = judge(series, thresholds)
            if judged[0].verdict == REGRESSED or is_sure(judged):
                found += judged[0].verdict == REGRESSED
                break
    return found / repetitions


class _Test(NamedTuple):
    levels: list[list[float]]
    estimates: list[Estimate]


def _test(scene: Scene, random: numpy.random.Generator) -> _Test:
    """Return the levels of a simulated trust test by start, and the estimates of its runs."""
    levels, estimates = [], []
    for start in random.normal(0.0, scene.start, scene.start_count):
        row = []
        for index in range(RUNS_PER_START):
            value = 100.0 * math.exp(start + random.normal(0.0, scene.run) + _LATER * index)
            batches = value * (1 + random.normal(0.0, scene.within * math.sqrt(BATCH_COUNT), BATCH_COUNT))
            estimates.append(mean_of_batches(list(map(float, batches))))
            row.append(math.log(estimates[-1].value))
        levels.append(row)
    return _Test(levels, estimates)


def _row(scene: Scene, one: Covered) -> list[str]:
    truth = (percent_text(value, 1) for value in (scene.start, scene.run, scene.within))
    shares = (percent_text(getattr(one, field.name), 1) for field in fields(Covered))
    return [str(scene.start_count), *truth, *shares]


def _aims(found: dict[Scene, Covered], powers: dict[tuple[int, float], float]) -> Iterator[Aim]:
    least = min(getattr(one, field.name) for one in found.values() for field in fields(Covered))
    what = f"least share of intervals with the true part in {len(found)} cases, %"
    yield Aim(what, percent_text(least, 1), f"≥ {percent_text(_COVERED_LEAST, 0)}", least >= _COVERED_LEAST)
    most = max(abs(one - _POWER) for one in powers.values())
    what = "changes of the stated size: greatest distance of the share that is found from 80 %, points"
    yield Aim(what, percent_text(most, 1), f"≤ {percent_text(_POWER_WITHIN, 0)}", most <= _POWER_WITHIN)
