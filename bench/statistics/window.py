"""`scripts/bench window`: measures the verdicts of simulated loads, request by request, good and bad ones.

A good load is VALID. A bad one is DOUBTFUL, or what changed is not in the measurement window. Loads that differ less
than chance does cannot all be found; the table has by how much each kind moves the average.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise, product, repeat
from random import Random
from statistics import fmean
from typing import NamedTuple

from bench.results import Aim
from bench.statistics.load_shapes import BAD, BASES, GOOD, Load
from bench.statistics.simulated_load import Answer
from bench.tables import print_aims
from harness.base.units import MS_PER_S, parse_whole_number, percent_text
from harness.jtl.sample import Sample
from harness.judge.summarise import SummaryOptions, summarise, window_of, window_span_ms
from harness.judge.summary import RunSummary
from harness.judge.verdict import VALID, Verdict
from harness.judge.warnings import without_numbers
from harness.metrics.figures import LOAD
from harness.metrics.tally import SampleTally, Scope
from harness.metrics.window import parse_window
from harness.plan.goal import Goal
from harness.plan.load.model import LoadRecord
from harness.report.tables import table
from harness.run.record import FINISHED, HostRecord, RunRecord

_LENGTHS_S = (120.0, 300.0)
_START_MS = 1_700_000_000_000
# JMeter needs some seconds for its start and its end.
_AROUND_S = 5.0
_FALSE_MOST, _FOUND_LEAST, _OFF_RATIO = 0.03, 0.95, 0.10
# A rate may fall by this much by chance, and an average that is nearer to that of a good load is right.
_LESS_BY_CHANCE, _RIGHT_RATIO = 0.03, 0.05
# When all of so many are found, at least 95 % are, with a confidence of 95 %: the rest need not be simulated.
_ENOUGH_COUNT = 60


class _Rate(NamedTuple):
    """The shares of bad loads that are found or not in the window; by how much the whole run's average is off."""

    found: float
    off: float


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part of the benchmark."""
    parser.add_argument("--runs", default="200", metavar="N", help="simulated loads per figure (200)")


def bench(options: argparse.Namespace) -> int:
    """Print the tables; return 0, or 1 when an aim is missed."""
    count = parse_whole_number(options.runs, "--runs", 2, 100_000)
    aims = [*_good(count), *_bad(count)]
    return print_aims(aims, "verdicts of simulated loads")


def summaries(name: str, load: Load, count: int) -> Iterator[tuple[RunSummary, float]]:
    """Yield the summaries of simulated runs, each with the average response time of the whole load, ms.

    The name is part of the seed, so that a single run can be looked at alone.
    """
    for seed in range(count):
        answers, record = load.run(Random(f"{name}/{seed}"), _LENGTHS_S[seed % len(_LENGTHS_S)])
        yield summary_of(answers, record), MS_PER_S * fmean(one.end_s - one.start_s for one in answers)


def summary_of(answers: Sequence[Answer], load: LoadRecord) -> RunSummary:
    """Return the summary of a run, as its report would have it."""
    samples = [
        Sample(
            start_ms=_START_MS + round(one.start_s * MS_PER_S),
            elapsed_ms=round((one.end_s - one.start_s) * MS_PER_S),
            label="GET /",
            code="200",
            message="OK",
            thread_name=f"Users 1-{one.user + 1}",
            success=True,
            failure="",
            received_bytes=300,
            sent_bytes=100,
            all_threads=one.active_users,
        )
        for one in answers
    ]
    took_s = max(one.end_s for one in answers) + _AROUND_S
    tally, run = SampleTally(), _record(load, took_s)
    for sample in samples:
        tally.add(sample)
    window = window_of(tally, parse_window("steady"), run)
    counted = Scope(window_ms=window_span_ms(tally, window)).tally()
    for sample in samples:
        counted.add(sample)
    return summarise(tally, "simulated/run-01_1", run, options=SummaryOptions(window, counted, with_timeline=False))


def _record(load: LoadRecord, took_s: float) -> RunRecord:
    return RunRecord(
        format_version=1, name="run-01_1", plan="simulated", plan_title="A simulated load", profile="local",
        profile_title="This machine", command="scripts/bench window", state=FINISHED, load=load, goal=Goal(),
        once_labels=(), plan_notes=(), note="", target=None, system="", system_settings={}, system_facts=(),
        properties={}, generator_heap_mb=1024, versions={}, host=HostRecord("CPU", 2, 8 * 1024**3, "Linux", "3.11"),
        git_commit=None, git_changed=None, started_at="2023-11-14T22:13:20Z", took_s=took_s,
    )  # fmt: skip


def _good(count: int) -> Iterator[Aim]:
    rows = []
    with ProcessPoolExecutor() as pool:
        for name, false in zip(GOOD, pool.map(_false_of, GOOD, repeat(count)), strict=True):
            print(f"bench: {name}", file=sys.stderr, flush=True)
            reasons = dict.fromkeys(without_numbers(reason) for verdict in false for reason in verdict.reasons)
            ratio = len(false) / count
            rows.append([name, percent_text(ratio, 1), "; ".join(reasons)])
            yield Aim(f"not VALID: {name}, %", percent_text(ratio, 1), "≤ 3", ratio <= _FALSE_MOST)
    print(f"**Good loads that are not VALID: % of {count:,} simulated runs of 120 s and 300 s**\n")
    print(table(("load", "not VALID %", "reasons"), rows), end="\n\n", flush=True)


def _false_of(name: str, count: int) -> list[Verdict]:
    """Return the verdicts on a good load that are not VALID."""
    return [summary.verdict for summary, _ in summaries(name, GOOD[name], count) if summary.verdict.state != VALID]


def _bad(count: int) -> Iterator[Aim]:
    rows, cases = [], list(product(BASES, BAD))
    with ProcessPoolExecutor() as pool:
        usual_ms = dict(zip(BASES, pool.map(_usual_ms, BASES, repeat(max(2, count // 4))), strict=True))
        found = pool.map(_rates, cases, [usual_ms[base] for base, _ in cases], repeat(count))
        for (base, kind), rates in zip(cases, found, strict=True):
            print(f"bench: {base}: {kind}", file=sys.stderr, flush=True)
            cells = [
                f"{size} ({percent_text(rate.off, 0)} %): {percent_text(rate.found, 1)}" for size, rate in rates.items()
            ]
            rows.append([base, kind, "; ".join(cells)])
            yield from _aims(f"{base}: {kind}", list(rates.values()))
    print(f"**Bad loads that are found: % of {count:,} simulated runs of 120 s and 300 s**\n")
    print(f"{_ENOUGH_COUNT} runs where all of them are found. In brackets: by how much the average of a run is off.\n")
    print(table(("system", "what happens", "found %"), rows), end="\n\n", flush=True)


def _usual_ms(base: str, count: int) -> float:
    return fmean(average_ms for _, average_ms in summaries(base, BASES[base], count))


def _rates(case: tuple[str, str], usual_ms: float, count: int) -> dict[str, _Rate]:
    """Return the rates of a base and a kind by size."""
    base, kind = case
    return {
        size: _rate(summaries(f"{base}: {kind}", change(BASES[base]), count), usual_ms)
        for size, change in BAD[kind].items()
    }


def _rate(runs: Iterable[tuple[RunSummary, float]], usual_ms: float) -> _Rate:
    found_count, averages_ms = 0, []
    for summary, average_ms in runs:
        averages_ms.append(average_ms)
        counted = next((group.total for group in summary.groups if group.name == LOAD), None)
        is_right = counted is not None and abs(counted.average_ms / usual_ms - 1) <= _RIGHT_RATIO
        found_count += summary.verdict.state != VALID or is_right
        if found_count == len(averages_ms) == _ENOUGH_COUNT:
            break
    return _Rate(found_count / len(averages_ms), fmean(averages_ms) / usual_ms - 1)


def _aims(name: str, rates: Sequence[_Rate]) -> Iterator[Aim]:
    """Yield that large changes are found, and that none is found less often than a smaller one."""
    large = [rate.found for rate in rates if rate.off >= _OFF_RATIO]
    if large:
        yield Aim(f"found: {name}, %", percent_text(min(large), 1), "≥ 95", min(large) >= _FOUND_LEAST)
    # The average of a smaller change is right, whether the change is found or not.
    visible = [rate.found for rate in rates if rate.off > _RIGHT_RATIO]
    drop = max((max(before - after, 0.0) for before, after in pairwise(visible)), default=0.0)
    what = f"found less often than a smaller change: {name}, points"
    yield Aim(what, percent_text(drop, 1), "≤ 3", drop <= _LESS_BY_CHANCE)
