"""`scripts/bench window`: measures false alarms and power of the steady-state check on simulated runs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import NamedTuple

import numpy

from bench import simulated_windows as simulation
from bench.results import Aim
from bench.tables import aims_table
from harness.base.errors import EXIT_OK, EXIT_REGRESSED
from harness.base.units import parse_whole_number, percent_text
from harness.report.tables import table

_SEED = 1
_LENGTHS_S = (100, 300)
_MEMORIES = (0.3, 0.8)
_FALSE_MOST = 0.03
_PAUSES_MOST = 0.03
_FOUND_LEAST = 1.0
# The shapes of the aims.
_STEADY, _PAUSES, _DYING, _STALL = (
    "steady",
    "pause of 1 s each 20 s",
    "4 × slower in the last 11 s",
    "stall of a fifth of the run",
)


class _Case(NamedTuple):
    """The simulated runs of one figure: the name of their shape, their length, and their autocorrelation."""

    name: str
    length_s: int
    memory: float


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part of the benchmark."""
    parser.add_argument("--runs", default="200", metavar="N", help="simulated runs per figure (200)")


def bench(options: argparse.Namespace) -> int:
    """Print the table; return 0, or 1 when an aim is missed."""
    count = parse_whole_number(options.runs, "--runs", 20, 100_000)
    found = dict(_rates(count))
    names = list(dict.fromkeys(case.name for case in found))
    cells = [(length_s, memory) for length_s in _LENGTHS_S for memory in _MEMORIES]
    rows = [[name, *(percent_text(found[_Case(name, *cell)], 1) for cell in cells)] for name in names]
    heads = ("what happens", *(f"{length_s} s, AR {memory}" for length_s, memory in cells))
    print(f"**Found not steady or with a stall: % of {count:,} simulated runs**\n")
    print(table(heads, rows), end="\n\n", flush=True)
    aims = list(_aims(found))
    print(aims_table(aims, "the window"))
    return EXIT_OK if all(aim.is_met for aim in aims) else EXIT_REGRESSED


def _rates(count: int) -> Iterator[tuple[_Case, float]]:
    """Yield each case with the share of its runs that are found not steady or with a stall."""
    for length_s in _LENGTHS_S:
        for memory in _MEMORIES:
            for name, shape in simulation.SHAPES.items():
                print(f"bench: {length_s} s, AR {memory}: {name}", file=sys.stderr, flush=True)
                # All shapes use the same random numbers.
                rng = numpy.random.default_rng(_SEED)
                found = sum(simulation.is_found(simulation.run(rng, shape, length_s, memory)) for _ in range(count))
                yield _Case(name, length_s, memory), found / count


def _aims(found: dict[_Case, float]) -> Iterator[Aim]:
    memory = _MEMORIES[0]
    for name, most in ((_STEADY, _FALSE_MOST), (_PAUSES, _PAUSES_MOST)):
        worst = max(found[_Case(name, length_s, memory)] for length_s in _LENGTHS_S)
        what = f"{name}, AR {memory}: greater of the two rates, %"
        yield Aim(what, percent_text(worst, 1), f"≤ {percent_text(most, 0)}", worst <= most)
    for name in (_DYING, _STALL):
        least = min(rate for case, rate in found.items() if case.name == name)
        yield Aim(f"{name}: least of all rates, %", percent_text(least, 1), "100", least >= _FOUND_LEAST)
