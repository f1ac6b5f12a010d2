"""`scripts/bench gate`: measures false alarms and power of the nightly gate on simulated histories."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy

from bench.results import Aim
from bench.statistics import simulated_histories as simulation
from bench.statistics.simulated_histories import Noise
from bench.tables import print_aims
from harness.base.log import stderr_log
from harness.base.units import parse_whole_number, percent_text
from harness.history.trend import VALUES_LEAST
from harness.report.tables import table

_log = stderr_log("bench: ")

_SEED = 1
_CVS = (0.01, 0.03, 0.05)
_RHO = 0.2
# The noise of the aims; results for other noises are only printed.
_CV_OF_AIMS = 0.03
_SHIFTS = (0.08, 0.10, 0.20)
_SMALL_SHIFT = 0.08
_SHIFT_OF_AIM = 0.20
_RUNS_BEFORE = (6, 10, 20, 40)
_RUNS_OF_AIM = (20, 40)
_FAILED_MOST = 0.001
_FOUND_LEAST = 0.95
_SMALL_FOUND_LEAST = 0.90
_WEEKEND_SHIFT = 0.15
_WEEKEND_FAILED_MOST = 0.1


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part of the benchmark."""
    parser.add_argument("--series", default="200", metavar="N", help="simulated histories per figure (200)")


def bench(options: argparse.Namespace) -> int:
    """Print the tables; return 0, or 1 when an aim is missed."""
    series = parse_whole_number(options.series, "--series", 20, 100_000)
    aims = [*_false_alarms(series), *_weekends(series), *_regressions(series)]
    return print_aims(aims, "the gate")


def _noises(cv: float) -> Iterator[tuple[str, Noise]]:
    yield "normal", Noise(cv)
    if cv == _CV_OF_AIMS:
        yield "heavy tails", Noise(cv, is_heavy=True)
        yield "normal, neighbours alike", Noise(cv, rho=_RHO)
    yield "heavy tails, neighbours alike", Noise(cv, is_heavy=True, rho=_RHO)


def _false_alarms(series: int) -> Iterator[Aim]:
    """Print the rates of false alarms in histories without a change, and yield the aims."""
    rows: list[list[str]] = []
    failed: list[float] = []
    learning: list[float] = []
    run_count = 0
    for cv in _CVS:
        for name, noise in _noises(cv):
            _log(f"nothing changed, CV {percent_text(cv, 0)} %, {name}")
            # All noises use the same random numbers.
            found = simulation.alarms(numpy.random.default_rng(_SEED), noise, series)
            run_count = found.run_count
            shares = (found.warned, found.improved, found.failed, found.of_learning, found.in_series)
            rows.append([name, percent_text(cv, 0), *(percent_text(share, 3) for share in shares)])
            if cv == _CV_OF_AIMS:
                failed.append(found.failed)
                learning.append(found.of_learning)
    heads = ("noise", "CV %", "WARNED", "IMPROVED", "REGRESSED", "REGRESSED up to run 20", "series with one")
    after = f"runs {VALUES_LEAST + 1} to {simulation.RUN_COUNT} of {series:,} series"
    print(f"**Nothing changed: % of the {run_count:,} judged runs ({after})**\n")
    print(table(heads, rows), end="\n\n", flush=True)
    for what, rates in (("all judged runs", failed), ("runs up to 20", learning)):
        yield Aim(
            f"CV {percent_text(_CV_OF_AIMS, 0)} %, {what}: greatest of {len(rates)} rates of false failures, %",
            percent_text(max(rates), 3),
            f"≤ {percent_text(_FAILED_MOST, 1)}",
            max(rates) <= _FAILED_MOST,
        )


def _weekends(series: int) -> Iterator[Aim]:
    """Print how often a weekend that is always worse fails, and yield the aim."""
    rows, failed = [], []
    for name, noise in _noises(_CV_OF_AIMS):
        _log(f"weekends, {name}")
        failed.append(simulation.weekend_alarms(numpy.random.default_rng(_SEED), noise, _WEEKEND_SHIFT, series))
        rows.append([name, percent_text(failed[-1], 1)])
    shift, count = percent_text(_WEEKEND_SHIFT, 0), simulation.RUN_COUNT
    print(f"**Always +{shift} % on two days a week: % of {series:,} series of {count} runs with a REGRESSED**\n")
    print(table(("noise", "series with one"), rows), end="\n\n", flush=True)
    yield Aim(
        f"+{shift} % on two days a week: greatest of {len(failed)} shares of series with a false failure, %",
        percent_text(max(failed), 1),
        f"≤ {percent_text(_WEEKEND_FAILED_MOST, 0)}",
        max(failed) <= _WEEKEND_FAILED_MOST,
    )


def _regressions(series: int) -> Iterator[Aim]:
    """Print how often a regression is detected, and yield the aims."""
    rows: list[list[str]] = []
    detected: list[float] = []
    small: list[float] = []
    for before in _RUNS_BEFORE:
        for name, noise in _noises(_CV_OF_AIMS):
            _log(f"changed after {before} runs, {name}")
            cells = []
            for shift in _SHIFTS:
                found = simulation.found(numpy.random.default_rng(_SEED), noise, shift, before, series)
                cells += [percent_text(share, 1) for share in (found.by_first, found.by_second, found.by_tenth)]
                if shift == _SHIFT_OF_AIM and before in _RUNS_OF_AIM:
                    detected.append(found.by_second)
                if shift == _SMALL_SHIFT and before in _RUNS_OF_AIM:
                    small.append(found.by_tenth)
            rows.append([name, str(before), *cells])
    ends = ("WARNED at once", "REGRESSED by run 2", "by run 10")
    heads = ("noise", "runs before", *(f"+{percent_text(shift, 0)} %: {end}" for shift in _SHIFTS for end in ends))
    print(f"**Regression, CV {percent_text(_CV_OF_AIMS, 0)} %: % of {series:,} series**\n")
    print(table(heads, rows), end="\n\n", flush=True)
    yield Aim(
        f"+20 % after 20 or 40 runs, CV {percent_text(_CV_OF_AIMS, 0)} %: least of {len(detected)} found by run 2, %",
        percent_text(min(detected), 1),
        f"≥ {percent_text(_FOUND_LEAST, 0)}",
        min(detected) >= _FOUND_LEAST,
    )
    yield Aim(
        f"+8 % after 20 or 40 runs, CV {percent_text(_CV_OF_AIMS, 0)} %: least of {len(small)} found by run 10, %",
        percent_text(min(small), 1),
        f"≥ {percent_text(_SMALL_FOUND_LEAST, 0)}",
        min(small) >= _SMALL_FOUND_LEAST,
    )
