"""`scripts/bench window`: measures the verdicts of simulated loads, request by request, good and bad ones.

A good load is VALID. A bad one is not, or the numbers in the measurement window are those of the good load. Loads that
differ less than chance does cannot all be found; the table has by how much each kind moves a reported number. Where
too few are found, `known_noise` says how many can be; what it cannot find either is no aim.
"""

from __future__ import annotations

import argparse
import sys
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy

from bench.results import Aim
from bench.statistics.known_noise import found_ratio
from bench.statistics.load_shapes import (
    BAD,
    BAD_CLOSED,
    BAD_HANGING,
    BAD_OPEN,
    BASES,
    GOOD,
    OVERLOADED,
    PAUSES_OF_STATE,
    Case,
)
from bench.statistics.simulated_files import summary_of
from bench.statistics.simulated_load import Rows
from bench.tables import print_aims
from harness.base.units import parse_whole_number, percent_text
from harness.judge.summary import RunSummary
from harness.judge.verdict import VALID
from harness.judge.warnings import without_numbers
from harness.metrics.figures import LOAD
from harness.report.tables import table

# The lengths of runs, s, and the share of the runs that have them.
_LENGTHS_S = {120.0: 0.5, 300.0: 0.35, 1200.0: 0.15}
_FALSE_MOST, _FALSE_ALL_MOST = 0.03, 0.01
_FOUND_LEAST, _COUNTED_LEAST, _OFF_RATIO = 0.95, 0.99, 0.10
# A rate may fall by this much by chance, and a number that is nearer to that of a good load is right.
_LESS_BY_CHANCE, _RIGHT_RATIO = 0.03, 0.05
_SEED = 48
# Longer runs take long to simulate, and nearly all changes can be found in them.
_POSSIBLE_RUNS, _POSSIBLE_MOST_S = 60, 300


class _Numbers(NamedTuple):
    """The reported numbers of a load that are compared: ms, a ratio, bytes."""

    average_ms: float
    error_ratio: float
    received_bytes: float

    def off(self, usual: _Numbers) -> float:
        """Return by how much the number that is off most differs."""
        return max(
            abs(self.average_ms / usual.average_ms - 1),
            abs(self.error_ratio - usual.error_ratio),
            abs(self.received_bytes / usual.received_bytes - 1),
        )


class _Outcome(NamedTuple):
    """The verdict on a run, its reasons, and by how much the whole run's and the window's numbers are off."""

    state: str
    reasons: tuple[str, ...]
    off: float
    counted_off: float
    spread: float


class _Rate(NamedTuple):
    """The share of bad loads that are found; by how much a number is off; whether something is missing.

    `possible` is the share that a test with known noise finds, where too few are found.
    """

    found: float
    off: float
    is_counted: bool
    possible: float | None = None

    @property
    def text(self) -> str:
        """What the table says."""
        possible = "" if self.possible is None else f" (possible {percent_text(self.possible, 0)})"
        return f"({percent_text(self.off, 0)} %): {percent_text(self.found, 1)}{possible}"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part of the benchmark."""
    parser.add_argument("--runs", default="200", metavar="N", help="simulated loads per figure (200)")
    parser.add_argument("--only", default="", metavar="TEXT", help="only the rows whose names contain this text")


def bench(options: argparse.Namespace) -> int:
    """Print the tables; return 0, or 1 when an aim is missed."""
    count = parse_whole_number(options.runs, "--runs", 2, 100_000)
    aims = [*_good(count, options.only), *_bad(count, options.only)]
    return print_aims(aims, "verdicts of simulated loads")


def summaries(name: str, case: Case, count: int) -> Iterator[tuple[RunSummary, Rows]]:
    """Yield the summaries of simulated runs with their rows.

    The name is the seed, so one row of the table can be simulated alone.
    """
    random = numpy.random.default_rng([_SEED, zlib.crc32(name.encode())])
    left = count
    for length_s, share in _LENGTHS_S.items():
        of_length = min(left, max(1, round(share * count)))
        left -= of_length
        if not of_length:
            continue
        for rows, record in case.load.runs(random, of_length, length_s):
            changed = case.change(rows, random, length_s)
            yield summary_of(changed, record), changed


def outcomes(name: str, case: Case, count: int, usual: _Numbers | None = None) -> Iterator[_Outcome]:
    """Yield the verdicts on simulated runs; `usual` are the numbers of the good load."""
    for summary, rows in summaries(name, case, count):
        off = counted_off = 0.0
        if usual:
            total = next((group.total for group in summary.groups if group.name == LOAD), None)
            off = _numbers(rows).off(usual)
            counted_off = (
                _Numbers(total.average_ms, total.error_ratio, total.received_bytes_mean or 0.0).off(usual)
                if total
                else 1.0
            )
        yield _Outcome(summary.verdict.state, summary.verdict.reasons, off, counted_off, _spread(rows, summary))


def _spread(rows: Rows, summary: RunSummary) -> float:
    """Return by how much the greatest work of a third of what is counted exceeds the least, without noise.

    A start that gets faster is a warm-up, so of a VALID run only the window says it.
    """
    factor, window = rows.factor, summary.window
    if factor is None:
        return 0.0
    counted = factor[window.from_s : window.to_s]
    is_warm_up = window.warm_up_cut_s > 0 and factor[window.ramp_cut_s : window.from_s].mean() > counted.mean()
    seen = counted if summary.verdict.state == VALID and is_warm_up else factor
    third = max(1, len(seen) // 3)
    sums = numpy.cumsum(numpy.concatenate([[0.0], seen]))
    means = sums[third:] - sums[:-third]
    return float(means.max() / means.min() - 1)


def _numbers(rows: Rows) -> _Numbers:
    return _Numbers(
        1000 * float((rows.end_s - rows.start_s).mean()), float(rows.failed.mean()), float(rows.size.mean())
    )


def _good(count: int, only: str) -> Iterator[Aim]:
    rows, false_count, run_count = [], 0, 0
    for name, case in GOOD.items():
        if only not in name:
            continue
        begin = time.monotonic()
        false = [one for one in outcomes(name, case, count) if one.state != VALID]
        reasons = dict.fromkeys(without_numbers(reason) for one in false for reason in one.reasons)
        ratio = len(false) / count
        false_count, run_count = false_count + len(false), run_count + count
        print(
            f"bench: {name}: {percent_text(ratio, 1)} % {list(reasons)[:2]}, {time.monotonic() - begin:.0f} s",
            file=sys.stderr,
            flush=True,
        )
        rows.append([name, percent_text(ratio, 1), "; ".join(list(reasons)[:3])])
        yield Aim(f"not VALID: {name}, %", percent_text(ratio, 1), "≤ 3", ratio <= _FALSE_MOST)
    if not rows:
        return
    whole = false_count / run_count
    yield Aim("not VALID: all good loads, %", percent_text(whole, 1), "≤ 1", whole <= _FALSE_ALL_MOST)
    print(f"**Good loads that are not VALID: % of {count:,} simulated runs of 2, 5 and 20 minutes**\n")
    print(table(("load", "not VALID %", "reasons"), rows), end="\n\n", flush=True)


def _cases() -> Iterator[tuple[str, str, Mapping[str, Case]]]:
    """Yield the base, the kind, and the cases by size."""
    for base, load in BASES.items():
        kinds = {**BAD, **(BAD_OPEN if load.rate_per_s else BAD_CLOSED)}
        if load.rate_per_s:
            del kinds[PAUSES_OF_STATE]  # the numbers of an open load include them
        if not load.rate_per_s and load.server_count is None:
            kinds |= BAD_HANGING
        for kind, sizes in kinds.items():
            yield base, kind, {size: change(load) for size, change in sizes.items()}
    yield "open queue", "overloaded", OVERLOADED


def _bad(count: int, only: str) -> Iterator[Aim]:
    rows, usual = [], {}
    for base, kind, cases in _cases():
        name = f"{base}: {kind}"
        if only not in name:
            continue
        begin = time.monotonic()
        if base not in usual and base in BASES:
            usual[base] = _usual(base, max(4, count // 4))
        all_rates = {size: _rate(f"{name}: {size}", case, count, base, usual.get(base)) for size, case in cases.items()}
        rates = {size: rate for size, rate in all_rates.items() if rate}
        cells = [f"{size} {rate.text}".lstrip() for size, rate in rates.items()]
        print(f"bench: {name}: {'; '.join(cells)}, {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
        rows.append([base, kind, "; ".join(cells)])
        yield from _aims(name, list(rates.values()))
    if rows:
        print(f"**Bad loads that are found: % of {count:,} simulated runs of 2, 5 and 20 minutes**\n")
        print("In brackets: by how much a reported number is off, of the whole run or between its parts.")
        print("Possible: found by a test that knows the noise of the system, but neither when nor how it changes.\n")
        print(table(("system", "what happens", "found %"), rows), end="\n\n", flush=True)


def _usual(base: str, count: int) -> _Numbers:
    found = [_numbers(rows) for _, rows in summaries(base, Case(BASES[base]), count)]
    return _Numbers(*(sum(column) / len(found) for column in zip(*found, strict=True)))


def _rate(name: str, case: Case, count: int, base: str, usual: _Numbers | None) -> _Rate | None:
    """Return the rate of a case; None when no run of it is bad."""
    is_right = usual is not None and not case.is_counted and case.spread is None and not case.is_of_parts
    run_count, found_count, off = 0, 0, 0.0
    for one in outcomes(name, case, count, usual):
        if case.is_of_parts and one.spread < _OFF_RATIO:
            continue
        run_count += 1
        found_count += one.state != VALID or (is_right and one.counted_off <= _RIGHT_RATIO)
        off += case.spread if case.spread is not None else one.spread if case.is_of_parts else one.off
    if not run_count:
        return None
    rate, off = found_count / run_count, off / run_count
    is_few = base in BASES and rate < _FOUND_LEAST and off >= _OFF_RATIO and not case.is_counted
    return _Rate(rate, off, case.is_counted, _possible(name, case, base) if is_few else None)


def _possible(name: str, case: Case, base: str) -> float:
    """Return the share of runs of the lengths of a row that a test with known noise finds."""
    random = numpy.random.default_rng([_SEED, zlib.crc32(f"{name}: possible".encode())])
    return sum(
        share
        * (found_ratio(case, BASES[base], random, _POSSIBLE_RUNS, length_s) if length_s <= _POSSIBLE_MOST_S else 1)
        for length_s, share in _LENGTHS_S.items()
    )


def _aims(name: str, rates: Sequence[_Rate]) -> Iterator[Aim]:
    """Yield that large changes are found, and that none is found less often than a smaller one."""
    counted = [rate.found for rate in rates if rate.is_counted]
    if counted:
        yield Aim(f"found: {name}, %", percent_text(min(counted), 1), "≥ 99", min(counted) >= _COUNTED_LEAST)
    large = [
        rate.found
        for rate in rates
        if rate.off >= _OFF_RATIO and not rate.is_counted and (rate.possible is None or rate.possible >= _FOUND_LEAST)
    ]
    if large:
        yield Aim(f"found: {name}, %", percent_text(min(large), 1), "≥ 95", min(large) >= _FOUND_LEAST)
    # The average of a smaller change is right, whether the change is found or not.
    visible = [rate.found for rate in rates if rate.off > _RIGHT_RATIO or rate.is_counted]
    drop = max((max(before - after, 0.0) for before, after in pairwise(visible)), default=0.0)
    what = f"found less often than a smaller change: {name}, points"
    yield Aim(what, percent_text(drop, 1), "≤ 3", drop <= _LESS_BY_CHANCE)
