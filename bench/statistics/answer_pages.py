"""Simulates comparisons, A/B tests, nightly reports and histories of runs that scatter as real ones do."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bench.statistics.scatter import Kind, RunFactors, run_of
from harness.compare.comparison import REGRESSED, LabelComparison
from harness.compare.decision import compare
from harness.compare.run_scatter import ASSUMED, scatter_of
from harness.history import trend
from harness.history.lasting import lasting_changes
from harness.history.trend import Gauge, TrendSeries, changes_of, positions
from harness.kinds.ab.pairs import series_of
from harness.kinds.ab.record import B, order_of
from harness.kinds.ab.rule import LOOKS, PAIRS_MOST, is_sure, judge, verdict_of
from harness.metrics.metric import AVERAGE
from harness.plan.thresholds import Thresholds
from harness.report.run_result import RunResult

# Samples of a label in each of the 20 batches of a run.
_PER_BATCH = 24
NIGHTS = 40
# The scatter of a nightly value within its run.
_WITHIN = 0.005


@dataclass(frozen=True)
class Answers:
    """The share of pages that are REGRESSED, and of intervals that contain the true change; None without intervals."""

    regressed: float
    covered: float | None = None


Simulated = Callable[[np.random.Generator, Kind, int, float], Answers]


def compared(runs: int, earlier: int = 0) -> Simulated:
    """Return the simulation of comparisons with so many runs a side, made in turn, after so many earlier ones."""

    def simulate(random: np.random.Generator, kind: Kind, pages: int, change: float) -> Answers:
        regressed, cover = 0, Cover(change)
        for number in range(pages):
            factors = RunFactors(random, kind)
            sides: tuple[list[RunResult], list[RunResult]] = ([], [])
            before = [
                run_of(random, kind, f"earlier {number}-{at}", factors.next(), _PER_BATCH) for at in range(earlier)
            ]
            for at in range(2 * runs):
                logs = [math.log1p(change)] * kind.label_count * (at % 2)
                sides[at % 2].append(
                    run_of(random, kind, f"{'AB'[at % 2]}{number}-{at}", factors.next(), _PER_BATCH, logs)
                )
            found = compare(*sides, Thresholds(), scatter=scatter_of(before) or ASSUMED)
            regressed += found.verdict == REGRESSED
            cover.add(found.labels)
        return Answers(regressed / pages, cover.share)

    return simulate


class Cover:
    """Counts the intervals of averages that contain a change (ratio)."""

    def __init__(self, change: float) -> None:
        self._change, self._covered, self._count = change, 0, 0

    def add(self, labels: Sequence[LabelComparison]) -> None:
        """Count the intervals of these labels."""
        for metric in filter(None, (label.of(AVERAGE) for label in labels)):
            if metric.low_ratio is not None and metric.high_ratio is not None:
                self._count += 1
                self._covered += metric.low_ratio <= self._change <= metric.high_ratio

    @property
    def share(self) -> float | None:
        """The share that contain it; None without intervals."""
        return self._covered / self._count if self._count else None


def ab_tested(random: np.random.Generator, kind: Kind, pages: int, change: float) -> Answers:
    """Return the answers of A/B tests: at most ten pairs in random order, judged at each look."""
    regressed, covered, count = 0, 0, 0
    for number in range(pages):
        factors, pairs = RunFactors(random, kind), []
        seed = int(random.integers(1_000_000))
        for pair in range(1, PAIRS_MOST + 1):
            runs = {}
            for side in order_of(pair, seed):
                logs = [math.log1p(change)] * kind.label_count * (side == B)
                runs[side] = run_of(random, kind, f"{side}{number}-{pair}", factors.next(), _PER_BATCH, logs)
            a, b = (runs[side].total for side in sorted(runs))
            assert a and b
            pairs.append((a, b))
            if pair in LOOKS:
                metrics = judge(series_of(pairs, Thresholds()), Thresholds())
                if is_sure(metrics):
                    break
        regressed += verdict_of(metrics) == REGRESSED
        average = next(one for one in metrics if one.metric == AVERAGE)
        if average.low_ratio is not None and average.high_ratio is not None:
            count += 1
            covered += average.low_ratio <= change <= average.high_ratio
    return Answers(regressed / pages, covered / count if count else None)


def nightly(random: np.random.Generator, kind: Kind, pages: int, change: float) -> Answers:
    """Return the share of nightly reports that are REGRESSED: after 40 nights, the second night after a change."""
    regressed = 0
    for _ in range(pages):
        values = _nights(random, kind, NIGHTS + 2)
        values[:, NIGHTS:] *= 1 + change
        regressed += any(_state(series.tolist()) == trend.REGRESSED for series in values)
    return Answers(regressed / pages)


def _state(values: list[float]) -> str:
    gauge = Gauge(AVERAGE, Thresholds().of(AVERAGE))
    weekdays = [night % 7 for night in range(len(values))]
    return positions(TrendSeries(values, weekdays, changes_of(values, gauge)), gauge)[-1].state


def in_history(random: np.random.Generator, kind: Kind, pages: int, change: float) -> Answers:
    """Return the share of histories with a lasting change, of 60 runs of which the last 20 are changed."""
    found = 0
    gauge = Gauge(AVERAGE, Thresholds().of(AVERAGE))
    for _ in range(pages):
        values = _nights(random, kind, 60)[0]
        values[40:] *= 1 + change
        series = values.tolist()
        found += bool(lasting_changes(series, changes_of(series, gauge), gauge))
    return Answers(found / pages)


def _nights(random: np.random.Generator, kind: Kind, count: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Return the averages (ms) of TOTAL and the labels in so many nightly runs: a row each."""
    factors = RunFactors(random, kind)
    shared = np.array([factors.next() for _ in range(count)])
    noise = random.standard_normal((kind.label_count + 1, count)) * (_WITHIN + 0.45 * kind.between)
    noise[0] *= 0.5
    return np.asarray(kind.base_ms * np.exp(shared + noise))
