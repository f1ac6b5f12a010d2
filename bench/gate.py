"""`scripts/bench gate`: how often the nightly's gate cries wolf on simulated histories, and what it sees."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy

from bench import simulated_nights as simulation
from bench.results import Aim
from bench.simulated_nights import Noise
from bench.tables import aims_table
from harness.base.errors import EXIT_OK, EXIT_REGRESSED
from harness.base.log import stderr_log
from harness.base.units import parse_whole_number, percent_text
from harness.history.trend import NIGHTS_LEAST
from harness.report.tables import table

_log = stderr_log("bench: ")

_SEED = 1
_CVS = (0.01, 0.03, 0.05)
_RHO = 0.2
# What the aims are about; the other noises are printed as well.
_CV_OF_AIMS = 0.03
_SHIFTS = (0.10, 0.20)
_SHIFT_OF_AIM = 0.20
_NIGHTS_BEFORE = (6, 10, 20, 40)
_NIGHTS_OF_AIM = (20, 40)
_FAILED_MOST = 0.001
_FOUND_LEAST = 0.95


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what this part of the bench can be told."""
    parser.add_argument("--series", default="200", metavar="N", help="simulated histories per figure (200)")


def bench(options: argparse.Namespace) -> int:
    """Print the tables; return 0, or 1 when one of the aims is not met."""
    series = parse_whole_number(options.series, "--series", 20, 100_000)
    aims = [*_false_alarms(series), *_seen(series)]
    print(aims_table(aims, "the gate"))
    return EXIT_OK if all(aim.is_met for aim in aims) else EXIT_REGRESSED


def _noises(cv: float) -> Iterator[tuple[str, Noise]]:
    yield "normal", Noise(cv)
    if cv == _CV_OF_AIMS:
        yield "heavy tails", Noise(cv, is_heavy=True)
        yield "normal, neighbours alike", Noise(cv, rho=_RHO)
    yield "heavy tails, neighbours alike", Noise(cv, is_heavy=True, rho=_RHO)


def _false_alarms(series: int) -> Iterator[Aim]:
    """Print how often a night in which nothing happened is called something, and yield what is wanted of it."""
    rows: list[list[str]] = []
    failed: list[float] = []
    learning: list[float] = []
    nights = 0
    for cv in _CVS:
        for name, noise in _noises(cv):
            _log(f"nothing changed, CV {percent_text(cv, 0)} %, {name}")
            # Each with the same random numbers: what differs is the noise.
            found = simulation.alarms(numpy.random.default_rng(_SEED), noise, series)
            nights = found.nights
            shares = (found.warned, found.improved, found.failed, found.of_learning, found.in_series)
            rows.append([name, percent_text(cv, 0), *(percent_text(share, 3) for share in shares)])
            if cv == _CV_OF_AIMS:
                failed.append(found.failed)
                learning.append(found.of_learning)
    heads = ("noise", "CV %", "WARNED", "IMPROVED", "REGRESSED", "REGRESSED up to night 20", "series with one")
    after = f"nights {NIGHTS_LEAST + 1} to {simulation.NIGHTS} of {series:,} series"
    print(f"**Nothing changed: % of the {nights:,} nights judged ({after})**\n")
    print(table(heads, rows), end="\n\n", flush=True)
    for what, rates in (("all nights judged", failed), ("those up to night 20", learning)):
        yield Aim(
            f"CV {percent_text(_CV_OF_AIMS, 0)} %, {what}: greatest of {len(rates)} rates of false failures, %",
            percent_text(max(rates), 3),
            f"≤ {percent_text(_FAILED_MOST, 1)}",
            max(rates) <= _FAILED_MOST,
        )


def _seen(series: int) -> Iterator[Aim]:
    """Print how often a change for the worse is found, and yield what is wanted of it."""
    rows: list[list[str]] = []
    seen: list[float] = []
    for before in _NIGHTS_BEFORE:
        for name, noise in _noises(_CV_OF_AIMS):
            _log(f"changed after {before} nights, {name}")
            cells = []
            for shift in _SHIFTS:
                found = simulation.found(numpy.random.default_rng(_SEED), noise, shift, before, series)
                cells += [
                    percent_text(share, 1) for share in (found.first_night, found.second_night, found.fifth_night)
                ]
                if shift == _SHIFT_OF_AIM and before in _NIGHTS_OF_AIM:
                    seen.append(found.second_night)
            rows.append([name, str(before), *cells])
    ends = ("WARNED at once", "REGRESSED by night 2", "by night 5")
    heads = ("noise", "nights before", *(f"+{percent_text(shift, 0)} %: {end}" for shift in _SHIFTS for end in ends))
    print(f"**Changed for the worse, CV {percent_text(_CV_OF_AIMS, 0)} %: % of {series:,} series**\n")
    print(table(heads, rows), end="\n\n", flush=True)
    yield Aim(
        f"+20 % after 20 or 40 nights, CV {percent_text(_CV_OF_AIMS, 0)} %: least of {len(seen)} found by night 2, %",
        percent_text(min(seen), 1),
        f"≥ {percent_text(_FOUND_LEAST, 0)}",
        min(seen) >= _FOUND_LEAST,
    )
