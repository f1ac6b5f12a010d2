"""`scripts/bench compare`: measures false alarms and power of comparisons on simulated runs, and their duration."""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy

from bench.measure import ERR_NAME, measure
from bench.readers import file as bench_file
from bench.results import Aim
from bench.statistics import simulated_runs as simulation
from bench.statistics.simulated_runs import Rates
from bench.tables import print_aims, seconds_text
from harness.base.errors import EXIT_INVALID, EXIT_OK, EXIT_REGRESSED, StartError
from harness.base.guardian import Guardian
from harness.base.log import stderr_log
from harness.base.once import lock
from harness.base.project import BUILD, SHIPPED
from harness.base.records import to_plain
from harness.base.units import parse_whole_number, percent_text
from harness.jtl.inputs import resolve
from harness.metrics.metric import AVERAGE, compared_metrics, metric_of
from harness.metrics.window import STEADY_WINDOW
from harness.report.jtls import Counting, summary_of_jtls
from harness.report.tables import table

_log = stderr_log("bench: ")

_SEED = 1
_ROWS = 1_000_000
_UTILISATIONS = (0.5, 0.8, 0.9)
_GROUP_SIZES = (5, 8, 10)
_RUN_NOISE_CV = 0.03
# Noise between runs, change, and the published power for 5, 8 and 10 runs per side.
_POWER = ((0.03, 0.05, (0.52, 0.85, 0.91)), (0.05, 0.10, (0.69, 0.95, 0.98)))
# The published values are simulated, too, and rounded to whole points.
_POWER_TOLERANCE = 0.02
_SHIFTS = (0.10, 0.20)
_ALARMS_MOST = 0.05
_NAIVE_LEAST = 0.30
_COMPARE_END_S = 1.0
# Simulated runs have no errors.
_METRICS = compared_metrics()[:-1]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part of the benchmark."""
    parser.add_argument("--repetitions", default="1000", metavar="N", help="simulated comparisons per figure (1000)")
    parser.add_argument("--repeat", default="5", metavar="N", help="timed compares of two runs of 1M samples (5)")


def bench(options: argparse.Namespace) -> int:
    """Print the tables; return 0, or 1 when an aim is missed."""
    repetitions = parse_whole_number(options.repetitions, "--repetitions", 100, 1_000_000)
    repeat = parse_whole_number(options.repeat, "--repeat", 1, 100)
    random = numpy.random.default_rng(_SEED)
    aims = [*_false_alarms(random, repetitions), *_power(random, repetitions), *_time(repeat)]
    return print_aims(aims, "comparing")


def _false_alarms(random: numpy.random.Generator, repetitions: int) -> Iterator[Aim]:
    """Print the rates of false alarms for runs of the same queue, and yield the aims."""
    rows: list[list[str]] = []
    naive: list[float] = []
    groups: list[float] = []
    for utilisation in _UTILISATIONS:
        _log(f"nothing changed, utilisation {utilisation}")
        load = _percent(utilisation, 0)
        naive.append(simulation.per_request_rate(random, utilisation, repetitions))
        rows.append(["requests", load, "0", *[""] * compared_metrics().index(metric_of("p50")), _percent(naive[-1])])
        rows[-1] += [""] * (3 + len(_METRICS) + 1 - len(rows[-1]))
        for noise_cv in (0.0, _RUN_NOISE_CV):
            rates = simulation.queue_rates(random, utilisation, noise_cv, 1, repetitions)
            rows.append(["batches, 1 v 1", load, _percent(noise_cv, 0), *_rate_cells(rates)])
        for runs in _GROUP_SIZES:
            rates = simulation.queue_rates(random, utilisation, _RUN_NOISE_CV, runs, repetitions)
            groups += [rates.below_alpha[metric] for metric in _METRICS]
            rows.append([f"runs, {runs} v {runs}", load, _percent(_RUN_NOISE_CV, 0), *_rate_cells(rates)])
    heads = ("observations", "utilisation %", "CV of runs %", *(metric.short_title for metric in _METRICS), "REGRESSED")
    print(f"**Nothing changed: % of {repetitions:,} comparisons with p < 0.05, and of verdicts REGRESSED**\n")
    print(table(heads, rows), end="\n\n", flush=True)
    # Some of the measured rates exceed the true rate by chance.
    chance = 3 * math.sqrt(_ALARMS_MOST * (1 - _ALARMS_MOST) / repetitions)
    yield Aim(
        "requests as observations: least rate of false alarms, %",
        _percent(min(naive)),
        f"> {_percent(_NAIVE_LEAST, 0)}",
        min(naive) > _NAIVE_LEAST,
    )
    yield Aim(
        f"groups of 5, 8 and 10 runs: greatest of {len(groups)} rates of false alarms, %",
        _percent(max(groups)),
        f"≤ 5, and {_percent(chance)} for chance",
        max(groups) <= _ALARMS_MOST + chance,
    )
    yield Aim(
        f"groups of 5, 8 and 10 runs: mean of {len(groups)} rates of false alarms, %",
        _percent(sum(groups) / len(groups)),
        "≤ 5",
        sum(groups) / len(groups) <= _ALARMS_MOST,
    )


def _power(random: numpy.random.Generator, repetitions: int) -> Iterator[Aim]:
    """Print how often groups of runs detect a change of their average, and yield the aims."""
    rows: list[list[str]] = []
    differences: list[float] = []
    for noise_cv, shift_ratio, expected in _POWER:
        _log(f"changed by {_percent(shift_ratio, 0)} %")
        for runs, power in zip(_GROUP_SIZES, expected, strict=True):
            found = simulation.group_rates(random, noise_cv, shift_ratio, runs, repetitions)
            differences.append(abs(found.below_alpha[AVERAGE] - power))
            seen = [simulation.group_rates(random, noise_cv, shift, runs, repetitions) for shift in _SHIFTS]
            rows.append(
                [
                    _percent(noise_cv, 0),
                    str(runs),
                    _percent(shift_ratio, 0),
                    _percent(found.below_alpha[AVERAGE]),
                    _percent(power, 0),
                    *(_percent(rates.regressed) for rates in seen),
                ]
            )
    heads = ("CV of runs %", "runs a side", "change %", "p < 0.05", "expected")
    verdicts = (f"REGRESSED at {_percent(shift, 0)} %" for shift in _SHIFTS)
    print(f"**Changed: % of {repetitions:,} comparisons that see it**\n")
    print(table((*heads, *verdicts), rows), end="\n\n", flush=True)
    chance = 3 * 0.5 / math.sqrt(repetitions) + _POWER_TOLERANCE
    yield Aim(
        "power: greatest distance from what is expected, points",
        _percent(max(differences)),
        f"≤ {_percent(chance)}",
        max(differences) <= chance,
    )


def _time(repeat: int) -> Iterator[Aim]:
    """Yield the duration of a comparison of two runs of 1M samples from their JSON."""
    with lock(BUILD / "bench.lock", "the bench", _log), tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        file = bench_file.ensure(BUILD / "bench", _SEED, _ROWS, _log)
        _log(f"counting {file.path.name}")
        summary = summary_of_jtls(resolve([str(file.path)]), Counting(window=STEADY_WINDOW))
        for run in ("run-01_1", "run-01_2"):
            (folder / f"{run}.json").write_text(json.dumps(to_plain(replace(summary, source=run))), encoding="utf-8")
        command = [sys.executable, str(SHIPPED / "aggregate.py"), "compare", "run-01_1.json", "run-01_2.json"]
        walls_s = []
        with Guardian() as guardian:
            guardian.remove_at_end(folder)
            for _ in range(repeat):
                measured = measure(command, folder, guardian.environment)
                if measured.exit_code not in (EXIT_OK, EXIT_REGRESSED, EXIT_INVALID):
                    raise StartError("aggregate.py compare failed", "", (folder / ERR_NAME).read_text())
                walls_s.append(measured.wall_s)
    yield Aim(
        "two runs of 1M samples from their JSON, whole process, s",
        seconds_text(walls_s),
        f"< {_COMPARE_END_S:.0f}",
        sorted(walls_s)[len(walls_s) // 2] < _COMPARE_END_S,
    )


def _rate_cells(rates: Rates) -> list[str]:
    return [*(_percent(rates.below_alpha[metric]) for metric in _METRICS), _percent(rates.regressed)]


def _percent(ratio: float, decimals: int = 1) -> str:
    return percent_text(ratio, decimals)
