"""`scripts/bench sweep`: measures the findings of simulated sweeps, without and with a peak."""

from __future__ import annotations

import argparse

from bench.results import Aim
from bench.simulated_sweeps import LAWS, QUEUES, SEVEN, THIRTEEN, Claims, of_law, of_queue
from bench.tables import aims_table
from harness.base.errors import EXIT_OK, EXIT_REGRESSED
from harness.base.log import stderr_log
from harness.base.units import parse_whole_number, percent_text
from harness.report.tables import table

_log = stderr_log("bench: ")

_SEED = 1
_CVS = (0.03, 0.05)
# The noise of the aims; results for other noises are only printed.
_CV_OF_AIMS = 0.03
_FALSE_MOST = 0.01
_FOUND_LEAST = 0.9
_COVERED_LEAST = 0.93
_LEVELS = (THIRTEEN, SEVEN)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part of the benchmark."""
    parser.add_argument("--sweeps", default="200", metavar="N", help="simulated sweeps per row (200)")


def bench(options: argparse.Namespace) -> int:
    """Print the tables; return 0, or 1 when an aim is missed."""
    sweeps = parse_whole_number(options.sweeps, "--sweeps", 20, 100_000)
    aims = [*_queues(sweeps), *_laws(sweeps)]
    print(aims_table(aims, "the findings"))
    return EXIT_OK if all(aim.is_met for aim in aims) else EXIT_REGRESSED


def _queues(sweeps: int) -> list[Aim]:
    """Print the findings for queues whose throughput never falls, and return the aims."""
    rows: list[list[str]] = []
    of_aims: list[Claims] = []
    for cv in _CVS:
        for name, queue in QUEUES.items():
            for users in _LEVELS:
                _log(f"{name}, CV {percent_text(cv, 0)} %, {len(users)} levels")
                found = of_queue(queue, users, cv, sweeps, _SEED)
                of_aims += [found] if cv == _CV_OF_AIMS else []
                shares = (found.peak, found.cliff, found.possible_cliff, found.knee, found.knee_covered)
                rows.append([name, percent_text(cv, 0), str(len(users)), *map(_percent, shares)])
    heads = ("queue", "CV %", "levels", "peak", "cliff", "cliff may be chance", "N*", "its interval contains N*")
    print(f"**Throughput never falls: % of {sweeps:,} sweeps with the finding**\n")
    print(table(heads, rows), end="\n\n", flush=True)
    return [
        _most("peaks", max(found.peak for found in of_aims)),
        _most("cliffs", max(found.cliff for found in of_aims)),
        _least("N*: least share of intervals that contain it", min(found.knee_covered or 0 for found in of_aims), 0.9),
    ]


def _laws(sweeps: int) -> list[Aim]:
    """Print the findings for systems that follow the law and have a peak, and return the aims."""
    rows: list[list[str]] = []
    of_aims: list[Claims] = []
    for cv in _CVS:
        for name, law in LAWS.items():
            for users in _LEVELS:
                _log(f"{name}, CV {percent_text(cv, 0)} %, {len(users)} levels")
                found = of_law(law, users, cv, sweeps, _SEED)
                of_aims += [found] if cv == _CV_OF_AIMS else []
                rows.append(
                    [name, percent_text(cv, 0), str(len(users)), _percent(found.peak), _percent(found.peak_covered)]
                )
    heads = ("law", "CV %", "levels", "peak found", "its interval contains the peak")
    print(f"**Throughput has a peak: % of {sweeps:,} sweeps; of intervals, of those with one**\n")
    print(table(heads, rows), end="\n\n", flush=True)
    return [
        _least("peaks found: least share", min(found.peak for found in of_aims), _FOUND_LEAST),
        _least(
            "peaks: least share of intervals that contain it",
            min(found.peak_covered or 0 for found in of_aims),
            _COVERED_LEAST,
        ),
    ]


def _most(what: str, share: float) -> Aim:
    name = f"CV {percent_text(_CV_OF_AIMS, 0)} %, {what} that there are not: greatest share, %"
    return Aim(name, percent_text(share, 1), f"≤ {percent_text(_FALSE_MOST, 0)}", share <= _FALSE_MOST)


def _least(what: str, share: float, least: float) -> Aim:
    name = f"CV {percent_text(_CV_OF_AIMS, 0)} %, {what}, %"
    return Aim(name, percent_text(share, 1), f"≥ {percent_text(least, 0)}", share >= least)


def _percent(share: float | None) -> str:
    return "" if share is None else percent_text(share, 1)
