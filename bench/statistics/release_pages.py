"""Simulates release pages: two sweeps with several runs per cell, and what the page says of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bench.statistics.answer_pages import Answers, Simulated
from bench.statistics.scatter import Kind, RunFactors, run_of
from harness.compare.comparison import REGRESSED, MetricComparison
from harness.metrics.metric import AVERAGE
from harness.plan.thresholds import Thresholds
from harness.release.pooled import with_pooled
from harness.report.run_result import RunResult
from harness.sweep.level_verdicts import ComparedLevels, SweepResults, compare_results
from harness.sweep.levels import LevelKey, Sweep, level_run, levels_of

USERS = (1, 5, 8, 20)
# Samples of a label per user and batch: 60 of each label and user in a run.
_PER_USER = 3
_EQUAL_USERS = 8


@dataclass(frozen=True)
class PageRates:
    """Shares of pages that are REGRESSED, or have a cell that is; of intervals of averages that contain the change.

    `agree` is the share of pages on which page and cells are REGRESSED, or neither is.
    """

    regressed: float
    cell_regressed: float
    covered: float
    agree: float


def page(
    random: np.random.Generator,
    kind: Kind,
    repeat: int,
    change: float,
    cells: Sequence[int],
    *,
    is_release: bool = True,
) -> ComparedLevels:
    """Return the two sweeps of a page as it judges them; the new one is slower by `change` at the `cells`."""
    sides: list[dict[LevelKey, list[RunResult]]] = []
    for side in ("A", "B"):
        factors = RunFactors(random, kind)
        found: dict[LevelKey, list[RunResult]] = {LevelKey(users): [] for users in USERS}
        for round_number in range(repeat):
            for at, users in enumerate(USERS):
                per_batch = _PER_USER * (_EQUAL_USERS if kind.samples_equal else users)
                logs = [math.log1p(change)] * kind.label_count if side == "B" and users in cells else ()
                name = f"{side}{users}-{round_number}"
                factor = factors.next(at / (len(USERS) - 1))
                found[LevelKey(users)].append(run_of(random, kind, name, factor, per_batch, logs))
        sides.append(found)
    return judged(*sides, is_release=is_release)


def judged(
    base: Mapping[LevelKey, Sequence[RunResult]],
    new: Mapping[LevelKey, Sequence[RunResult]],
    *,
    is_release: bool = True,
) -> ComparedLevels:
    """Return two sweeps as the page of a release compares them, or as a comparison of two sweeps does."""
    sweeps = [
        Sweep(name, levels_of((key.users, level_run(run)) for key, runs in side.items() for run in runs))
        for name, side in (("A", base), ("B", new))
    ]
    found = compare_results((sweeps[0], sweeps[1]), SweepResults(base, new), Thresholds())
    return with_pooled(found, Thresholds()) if is_release else found


def rates(
    random: np.random.Generator,
    kind: Kind,
    repeat: int,
    pages: int,
    change: float = 0.0,
    cells: Sequence[int] = USERS,
) -> PageRates:
    """Return the rates over a number of pages."""
    return _rates_of((page(random, kind, repeat, change, cells) for _ in range(pages)), change, cells)


def _rates_of(each: Iterable[ComparedLevels], change: float, cells: Sequence[int]) -> PageRates:
    pages = regressed = cell_regressed = covered = intervals = agree = 0
    for found in each:
        pages += 1
        is_page = found.whole.verdict == REGRESSED
        is_cell = any(one.verdict == REGRESSED for one in found.levels.values())
        regressed += is_page
        cell_regressed += is_cell
        agree += is_page == is_cell
        for key, metric in _averages(found):
            if metric.low_ratio is not None and metric.high_ratio is not None:
                intervals += 1
                covered += metric.low_ratio <= (change if key.users in cells else 0.0) <= metric.high_ratio
    return PageRates(
        regressed / pages, cell_regressed / pages, covered / intervals if intervals else 0.0, agree / pages
    )


def answers(repeat: int, *, is_release: bool = True) -> Simulated:
    """Return the simulation of release pages, or comparisons of sweeps, with so many runs per cell."""

    def simulate(random: np.random.Generator, kind: Kind, pages: int, change: float) -> Answers:
        each = (page(random, kind, repeat, change, USERS, is_release=is_release) for _ in range(pages))
        found = _rates_of(each, change, USERS)
        return Answers(found.regressed, found.covered)

    return simulate


def _averages(found: ComparedLevels) -> Iterator[tuple[LevelKey, MetricComparison]]:
    for key, comparison in found.levels.items():
        for label in comparison.labels:
            if metric := label.of(AVERAGE):
                yield key, metric
