"""Judges the cells of a release whose repeats are too few for the rank test of `compare`.

Three runs against three have no interval there (docs/methodology.md): Student's t decides, with the scatter of
harness/release/scatter.py. The intervals of single runs would contain only the noise within the runs, so a scatter
between runs is assumed. p-values are multiplied by the number of all tests of a page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import NamedTuple

from harness.compare.comparison import (
    BATCHES,
    BETTER,
    CANNOT_TELL,
    IMPROVED,
    INVALID,
    OK,
    REGRESSED,
    TOO_COARSE,
    TOO_FEW_RUNS,
    Comparison,
    LabelComparison,
    MetricComparison,
)
from harness.compare.comparison_warnings import numbers_warnings
from harness.compare.findings import figures_of, sample_count
from harness.metrics import batch_means
from harness.metrics.metric import CLOCK_STEP_MS, Metric
from harness.plan.thresholds import Thresholds
from harness.release.repeats import Block, Judgement, RepeatedChange, change_in
from harness.release.scatter import SINGLE_RUNS, CellValues, scatters, single_scatters
from harness.report.run_result import LabelResult
from harness.sweep.level_verdicts import ComparedLevels, with_verdict
from harness.sweep.levels import LevelKey

_EXTENDS = "the interval extends beyond the threshold"
_SINGLE = f"one run a side, and runs are assumed to scatter by {SINGLE_RUNS:.0%} or more".replace("%", " %")


class _Test(NamedTuple):
    """What is tested once: a metric of a label, or of TOTAL, at a level."""

    metric: Metric
    label: str
    level: LevelKey


def with_pooled(found: ComparedLevels, thresholds: Thresholds) -> ComparedLevels:
    """Return the compared levels with intervals and verdicts of repeats that are too few for the rank test."""
    changes = _changes(found, thresholds)
    if not changes:
        return found
    levels = {key: _comparison(key, one, changes, thresholds.alpha) for key, one in found.levels.items()}
    # A cell that is REGRESSED has enough runs, or the scatter that is assumed: the whole is, too.
    verdicts = tuple(
        replace(one, verdict=levels[one.key].verdict, reason="; ".join(levels[one.key].reasons), is_repeated=True)
        for one in found.whole.verdicts
    )
    whole = with_verdict(replace(found.whole, verdicts=verdicts), thresholds)
    return replace(found, whole=whole, levels=levels)


def _changes(found: ComparedLevels, thresholds: Thresholds) -> dict[_Test, RepeatedChange]:
    """Return the change of each metric whose repeats are too few for the rank test, and enough for this one."""
    changes: dict[_Test, RepeatedChange] = {}
    cells: dict[tuple[Metric, str, bool], dict[LevelKey, CellValues]] = {}
    for test in _undecided(found.levels):
        sides = [figures_of(runs[test.level], test.label) for runs in (found.baseline, found.contender)]
        values = Block(*([value for one in side if (value := test.metric.of(one)) is not None] for side in sides))
        if test.metric.is_share:
            if change := _no_failure(sides, values, thresholds.of(test.metric)):
                changes[test] = change
        elif all(side and min(side) > 0 for side in values):
            repeated = {len(side) > 1 for side in values}
            if len(repeated) == 1:  # one run against several has no scatter of its side
                known = cells.setdefault((test.metric, test.label, False in repeated), {})
                known[test.level] = CellValues(values, _within(sides, values, test.metric))
    count = sum(map(len, cells.values()))
    for (metric, label, is_single), levels in cells.items():
        found_scatters = (single_scatters if is_single else scatters)(levels)
        judgement = Judgement(thresholds.of(metric), thresholds.alpha, count, metric.more_is_better)
        for key, one in levels.items():
            changes[_Test(metric, label, key)] = change_in(one.block, found_scatters[key], judgement, least=1)
    return changes


def _within(sides: Sequence[Sequence[LabelResult]], values: Block, metric: Metric) -> float:
    """Return the mean variance of the logarithm of a metric within a run: of its batches, and of the clock."""
    found = [batch_means.estimate(one.batches, one.histogram_of(metric), metric) for side in sides for one in side]
    squares = [(one.error / one.value) ** 2 for one in found if not isinstance(one, str) and one.value > 0]
    step = CLOCK_STEP_MS if metric.is_percentile else 0.0
    least = min(value for side in values for value in side)
    return (fmean(squares) if squares else 0.0) + (step / least) ** 2 / 12


def _undecided(levels: Mapping[LevelKey, Comparison]) -> Iterator[_Test]:
    """Yield what too few runs leave without an interval, and what single runs judge by the noise within them."""
    for key, comparison in levels.items():
        for label in filter(None, (comparison.total, *comparison.labels)):
            for change in label.metrics:
                is_few = change.reason in (TOO_FEW_RUNS, TOO_COARSE) and change.low_ratio is None
                if is_few or (
                    change.unit == BATCHES and change.adjusted_p_value is not None and not change.metric.is_share
                ):
                    yield _Test(change.metric, label.label, key)


def _no_failure(sides: Sequence[Sequence[LabelResult]], values: Block, threshold: float) -> RepeatedChange | None:
    """Return the change of a share that is 0 in all runs; of n samples without a failure at most 3 / n fail (95 %).

    None if a run has failures, or too few samples to exclude the threshold.
    """
    counts = [sample_count(side) or 0 for side in sides]
    if not all(values) or any(map(any, values)) or threshold * min(counts) < 3:
        return None
    return RepeatedChange(0.0, 0.0, 0.0, -3 / counts[0], 3 / counts[1], OK)


def _comparison(key: LevelKey, found: Comparison, changes: Mapping[_Test, RepeatedChange], alpha: float) -> Comparison:
    """Return the comparison of a level with the verdicts of its changes, and what follows from them."""
    if found.verdict == INVALID or not any(test.level == key for test in changes):
        return found
    total = _label(key, found.total, changes) if found.total else None
    labels = tuple(_label(key, label, changes) for label in found.labels)
    rows = [*([total] if total else []), *labels]
    worse = {row.label: [one.metric.name for one in row.metrics if one.verdict == REGRESSED] for row in rows}
    lost = found.reasons[:1] if found.verdict == REGRESSED and found.reasons[:1] == found.work[:1] else ()
    reasons = (*lost, *(f"{label}: {', '.join(names)}" for label, names in worse.items() if names))
    is_open = any(one.decides and one.verdict == CANNOT_TELL for row in rows for one in row.metrics)
    verdict = REGRESSED if reasons else CANNOT_TELL if is_open else OK
    reasons = reasons or (found.reasons if is_open else ())
    of_ranks = {*numbers_warnings(len(found.baseline), len(found.contender), alpha)}
    warnings = tuple(text for text in found.warnings if text not in of_ranks)
    known = replace(found, total=total, labels=labels, warnings=warnings)
    return replace(known, verdict=verdict, reasons=reasons, further_runs=None)


def _label(key: LevelKey, label: LabelComparison, changes: Mapping[_Test, RepeatedChange]) -> LabelComparison:
    metrics = tuple(_metric(one, changes.get(_Test(one.metric, label.label, key))) for one in label.metrics)
    verdicts = [one.verdict for one in metrics if one.decides or one.verdict == REGRESSED]
    verdict = next((one for one in (REGRESSED, CANNOT_TELL, OK) if one in verdicts), label.verdict)
    return replace(label, metrics=metrics, verdict=verdict)


def _metric(one: MetricComparison, change: RepeatedChange | None) -> MetricComparison:
    if change is None or change.low is None:
        return one
    known = replace(one, low_ratio=change.low, high_ratio=change.high)
    if one.reason == TOO_COARSE:
        return known
    if change.verdict == BETTER:
        return replace(known, verdict=OK, reason=IMPROVED)
    why = (_SINGLE if one.unit == BATCHES else _EXTENDS) if change.verdict == CANNOT_TELL else ""
    return replace(known, verdict=change.verdict, reason=why, further_runs=None)
