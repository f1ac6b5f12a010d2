"""`scripts/bench sweep`: measures the findings of simulated sweeps, without and with a peak or a fall."""

from __future__ import annotations

import argparse

from bench.results import Aim
from bench.statistics.simulated_sweeps import (
    CLIFFS,
    GRADUAL,
    LAWS,
    QUEUES,
    SEVEN,
    THIRTEEN,
    TWENTY,
    Claims,
    FallClaims,
    of_fall,
    of_law,
    of_queue,
)
from bench.tables import print_aims
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
_FALSE_CLIFFS_MOST, _CLIFFS_FOUND_LEAST, _CLIFF_OF_AIM = 0.03, 0.95, 0.20


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part of the benchmark."""
    parser.add_argument("--sweeps", default="200", metavar="N", help="simulated sweeps per row (200)")


def bench(options: argparse.Namespace) -> int:
    """Print the tables; return 0, or 1 when an aim is missed."""
    sweeps = parse_whole_number(options.sweeps, "--sweeps", 20, 100_000)
    aims = [*_queues(sweeps), *_laws(sweeps), *_falls(sweeps)]
    return print_aims(aims, "the findings")


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
        _most("peaks that there are not", max(found.peak for found in of_aims), _FALSE_MOST),
        _most("cliffs that there are not", max(found.cliff for found in of_aims), _FALSE_MOST),
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


def _falls(sweeps: int) -> list[Aim]:
    """Print the findings for gradual falls and for cliffs, and return the aims."""
    found: dict[tuple[str, int], FallClaims] = {}
    for name, system in {**GRADUAL, **CLIFFS}.items():
        for users in (*_LEVELS, TWENTY):
            _log(f"{name}, {len(users)} levels")
            found[name, len(users)] = of_fall(system, users, _CV_OF_AIMS, sweeps, _SEED)
    rows = [
        [name, _percent(one.greatest_ratio), str(count)]
        + [_percent(share) for share in (one.cliff, one.gradual, one.possible, one.right)]
        for (name, count), one in found.items()
    ]
    heads = (
        "throughput", "greatest fall between levels %", "levels", "cliff", "falls from … to …", "may be chance",
        "of the first two: users right",
    )  # fmt: skip
    print(f"**Throughput falls: % of {sweeps:,} sweeps with the finding, CV {percent_text(_CV_OF_AIMS, 0)} %**\n")
    print(table(heads, rows), end="\n\n", flush=True)
    false = max(one.cliff for (name, _), one in found.items() if name in GRADUAL)
    true = [
        (one.cliff + one.gradual) * (one.right or 0)
        for (name, _), one in found.items()
        if name in CLIFFS and CLIFFS[name].ratio == _CLIFF_OF_AIM
    ]
    size = percent_text(_CLIFF_OF_AIM, 0)
    return [
        _most("gradual falls that are called a cliff", false, _FALSE_CLIFFS_MOST),
        _least(f"cliffs of {size} %, found as cliff or fall: least share", min(true), _CLIFFS_FOUND_LEAST),
    ]


def _most(what: str, share: float, most: float) -> Aim:
    name = f"CV {percent_text(_CV_OF_AIMS, 0)} %, {what}: greatest share, %"
    return Aim(name, percent_text(share, 1), f"≤ {percent_text(most, 0)}", share <= most)


def _least(what: str, share: float, least: float) -> Aim:
    name = f"CV {percent_text(_CV_OF_AIMS, 0)} %, {what}, %"
    return Aim(name, percent_text(share, 1), f"≥ {percent_text(least, 0)}", share >= least)


def _percent(share: float | None) -> str:
    return "" if share is None else percent_text(share, 1)
