"""From the runs of an A/B test to its pairs: which of them count, and the differences of their metrics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.compare.findings import ALWAYS_DECIDE, sample_count
from harness.kinds.ab.record import A
from harness.kinds.ab.rule import PairSeries
from harness.metrics.metric import CLOCK_STEP_MS, Metric, compared_metrics
from harness.plan.thresholds import Thresholds
from harness.report.run_result import LabelResult, RunResult


@dataclass(frozen=True)
class Pair:
    """Two neighbouring runs; `number` is from 1, and a run is None when it left no numbers.

    `problem` is why the pair does not count; empty when it does. `is_invalid` means that one of its runs has no usable
    numbers at all. `b_is_first` means that B ran before A. `bad_sides` are those whose run does not count.
    """

    number: int
    a: RunResult | None
    b: RunResult | None
    problem: str = ""
    is_invalid: bool = False
    b_is_first: bool = False
    bad_sides: tuple[str, ...] = ()

    def result(self, side: str) -> RunResult | None:
        """Return the result of side A or B."""
        return self.a if side == A else self.b


def series_of(pairs: Sequence[tuple[LabelResult, LabelResult]], thresholds: Thresholds) -> tuple[PairSeries, ...]:
    """Return the differences of each compared metric of a label or of TOTAL, one for each pair (A, B).

    The parts of response times are there only where a run knows them.
    """
    rows = [row for pair in pairs for row in pair]
    metrics = (one for one in compared_metrics() if one.is_of_all or any(one.of(row) is not None for row in rows))
    return tuple(_series(metric, pairs, thresholds.of(metric)) for metric in metrics)


def _series(metric: Metric, pairs: Sequence[tuple[LabelResult, LabelResult]], threshold: float) -> PairSeries:
    values = [(metric.of(a), metric.of(b)) for a, b in pairs]
    known = [(a, b) for a, b in values if a is not None and b is not None]
    decides = metric in ALWAYS_DECIDE
    if not known or len(known) < len(values):
        return PairSeries(metric, (), decides=decides, reason="unknown in at least one run")
    if metric.is_share:
        means = (sum(side) / len(known) for side in zip(*known, strict=True))
        series = PairSeries(metric, tuple(b - a for a, b in known), *means)
    elif min(min(pair) for pair in known) <= 0:
        return PairSeries(metric, (), decides=decides, reason="a value is 0, so its relative change is undefined")
    else:
        baseline, contender = (math.exp(sum(map(math.log, side)) / len(known)) for side in zip(*known, strict=True))
        step = CLOCK_STEP_MS / baseline if metric.is_percentile else 0.0
        series = PairSeries(metric, tuple(math.log(b / a) for a, b in known), baseline, contender, step)
    least = min(sample_count(side) or 0 for side in zip(*pairs, strict=True))
    is_enough = least >= metric.samples_least
    # When the clock resolution exceeds half of the threshold, no number of runs can show that the metric is within it.
    is_coarse = series.step > threshold / 2
    reason = "" if is_enough else f"fewer than {metric.samples_least:,} samples a side"
    return replace(series, decides=decides or (is_enough and not is_coarse), reason=reason)
