"""Decide the verdict on two runs, or two groups of runs: on every metric of every label, then overall.

A metric has REGRESSED when its adjusted p-value is below alpha and its whole interval is worse than the threshold. It
is OK when no part of the interval is worse than the threshold. Otherwise the verdict is CANNOT TELL.
docs/methodology.md describes the method.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from harness.base import units
from harness.base.errors import UsageError
from harness.compare import planning
from harness.compare.change_text import change_of, with_unit
from harness.compare.comparison import (
    BETTER,
    CANNOT_TELL,
    IMPROVED,
    INVALID,
    OK,
    REGRESSED,
    RUNS,
    TOO_COARSE,
    TOO_FEW_RUNS,
    Comparison,
    LabelComparison,
    MetricComparison,
)
from harness.compare.comparison_warnings import comparison_warnings
from harness.compare.findings import ComparisonFinding, figures_of, find, label_names, sample_count
from harness.compare.preconditions import check_sides, doubtful_reasons, invalid_reasons, mismatches
from harness.compare.run_scatter import ASSUMED, RunScatter
from harness.compare.same_work import OtherWork, other_work, same_work_line
from harness.metrics import ranks
from harness.metrics.figures import TOTAL
from harness.metrics.metric import CLOCK_STEP_MS, THROUGHPUT
from harness.metrics.shift import Shift
from harness.plan.thresholds import Thresholds
from harness.report.run_result import RunResult

_LABELS_NAMED = 5
# A detectable change above 100 % carries no information, so it is not reported.
_LEAST_RATIO_MOST = 1.0
# Why metrics are shown but not judged. Errors of an invalid run are judged: they may be the reason it is invalid.
_INVALID_RUN, _DOUBTFUL_RUN = "a run is invalid", "a run is DOUBTFUL"


def compare(
    baseline: Sequence[RunResult],
    contender: Sequence[RunResult],
    thresholds: Thresholds,
    anyway: bool = False,
    scatter: RunScatter | None = ASSUMED,
) -> Comparison:
    """Compare the runs of the contender with those of the baseline.

    `scatter` is how much single runs differ, where each side has one; None where only the noise within them counts.

    Raise UsageError when plan or load differ; with `anyway` add a warning instead. With a DOUBTFUL run on either side
    nothing is judged, unless `anyway` is set.
    """
    check_sides(baseline, contender)
    unlike = mismatches(baseline, contender)
    if unlike and not anyway:
        raise UsageError(
            f"the runs are not alike: {'; '.join(unlike)}", "compare runs of the same load, or pass --anyway"
        )
    invalid, doubtful = invalid_reasons(baseline, contender), doubtful_reasons(baseline, contender)
    unjudged = _INVALID_RUN if invalid else _DOUBTFUL_RUN if doubtful and not anyway else ""
    baseline_labels, contender_labels = label_names(baseline), label_names(contender)
    common = [label for label in baseline_labels if label in contender_labels]
    has_total = any(result.total for result in baseline) and any(result.total for result in contender)
    judge = partial(_judged, (baseline, contender), scatter, thresholds, unjudged)
    total = judge([TOTAL])[0] if has_total else None
    labels = judge(common)
    work = other_work(baseline, contender)
    if total and (why := (*work.of_all, *work.of_total, *work.of_answers)):
        total = _unjudged(total, f"TOTAL is of other work: {why[0]}")
    labels = [_label_of_work(label, work) for label in labels]
    if invalid:
        answer = _Answer(INVALID, invalid)
    elif doubtful and not anyway:
        answer = _Answer(CANNOT_TELL, doubtful)
    else:
        answer = _answered([total, *labels] if total else labels, work)
    return Comparison(
        baseline=tuple(result.name for result in baseline),
        contender=tuple(result.name for result in contender),
        verdict=answer.verdict,
        reasons=tuple(answer.reasons),
        total=total,
        labels=tuple(labels),
        only_baseline=tuple(label for label in baseline_labels if label not in contender_labels),
        only_contender=tuple(label for label in contender_labels if label not in baseline_labels),
        warnings=(
            *_known(unlike, doubtful, anyway),
            *comparison_warnings(baseline, contender, thresholds.alpha, scatter),
        ),
        further_runs=answer.further_runs,
        accounts={result.name: result.account for result in (*baseline, *contender)},
        same_work=same_work_line(baseline, contender, work),
        work=work.texts,
    )


class _Answer(NamedTuple):
    """The verdict with its reasons, and how many further runs would settle what is open; None if none is."""

    verdict: str
    reasons: Sequence[str]
    further_runs: int | None = None


def _answered(rows: Sequence[LabelComparison], work: OtherWork) -> _Answer:
    """Return the verdict on runs that are good: what regressed counts most, then what cannot be told."""
    if regressed := [*work.lost, *_sentences(rows, lambda metric: metric.verdict == REGRESSED)]:
        return _Answer(REGRESSED, regressed)
    if work.texts:
        return _Answer(CANNOT_TELL, work.texts)
    open_ones = _sentences(rows, _is_open)
    if open_ones or not any(label.verdict == OK for label in rows):
        further = [metric.further_runs or 0 for label in rows for metric in label.metrics if _is_open(metric)]
        return _Answer(CANNOT_TELL, open_ones or ["nothing could be judged"], max(further, default=0) or None)
    improved = _sentences(rows, lambda metric: metric.word == BETTER)
    return _Answer(BETTER if improved else OK, improved)


def _known(unlike: Sequence[str], doubtful: Sequence[str], anyway: bool) -> Iterator[str]:
    """Yield the warnings about sides that differ, or have DOUBTFUL runs."""
    if unlike:
        yield f"Compared anyway, although they differ: {'; '.join(unlike)}."
    if doubtful and anyway:
        yield f"Judged anyway, although {'; '.join(doubtful)}."
    elif doubtful:
        yield "With a DOUBTFUL run metrics are shown but not judged. Leave it out, measure again, or pass --anyway."


def _label_of_work(label: LabelComparison, work: OtherWork) -> LabelComparison:
    """Return a label without verdicts that say nothing, as the work differs: on its rate, or on all of it.

    In the same time users send more or less of each label when they send another mix, or others take longer.
    """
    if why := (*work.of_all, *([work.of_labels[label.label]] if label.label in work.of_labels else [])):
        return _unjudged(label, why[0])
    why = (*work.of_total, *work.of_answers)
    if not why:
        return label
    metrics = tuple(
        replace(_open(metric, why[0]), decides=False) if metric.metric == THROUGHPUT else metric
        for metric in label.metrics
    )
    return replace(label, metrics=metrics, verdict=_worst(metrics))


def _unjudged(label: LabelComparison, reason: str) -> LabelComparison:
    return replace(label, metrics=tuple(_open(metric, reason) for metric in label.metrics), verdict=CANNOT_TELL)


def _open(metric: MetricComparison, reason: str) -> MetricComparison:
    """Return a metric without a verdict; one that is not known as it is."""
    if not metric.is_known:
        return metric
    return replace(metric, verdict=CANNOT_TELL, reason=reason, further_runs=None, adjusted_p_value=None)


def _worst(metrics: Sequence[MetricComparison]) -> str:
    """Return the worst verdict of the metrics that decide; CANNOT TELL when none of them is OK."""
    verdicts = [metric.verdict for metric in metrics if metric.decides or metric.verdict == REGRESSED]
    verdict = CANNOT_TELL if CANNOT_TELL in verdicts or OK not in verdicts else OK
    return REGRESSED if REGRESSED in verdicts else verdict


def _judged(
    sides: tuple[Sequence[RunResult], Sequence[RunResult]],
    scatter: RunScatter | None,
    thresholds: Thresholds,
    unjudged: str,
    labels: Sequence[str],
) -> list[LabelComparison]:
    """Return the labels with their verdicts; p-values of a metric are adjusted for the number of tested labels.

    `unjudged` is the reason that no label is judged; empty when labels are judged.
    """
    columns = []
    for column in zip(*(find(*sides, label, scatter) for label in labels), strict=True):
        tested = [finding.shift.p_value for finding in column if finding.shift and not finding.reason]
        each = iter(ranks.adjusted_p_values(tested))
        adjusted = (next(each) if finding.shift and not finding.reason else None for finding in column)
        least = planning.least_runs(len(tested), thresholds.alpha)
        columns.append([_metric(*one, least, thresholds, unjudged) for one in zip(column, adjusted, strict=True)])
    return [_label(label, row, *sides) for label, row in zip(labels, zip(*columns, strict=True), strict=True)]


def _label(
    label: str, metrics: Sequence[MetricComparison], baseline: Sequence[RunResult], contender: Sequence[RunResult]
) -> LabelComparison:
    """Return a label with the worst verdict of its deciding metrics."""
    return LabelComparison(
        label=label,
        baseline_sample_count=sample_count(figures_of(baseline, label)),
        contender_sample_count=sample_count(figures_of(contender, label)),
        # Others are there only where they say more than these.
        metrics=tuple(one for one in metrics if one.is_known or one.metric.is_of_all),
        verdict=_worst(metrics),
        is_transaction=any(one.is_transaction for one in figures_of((*baseline, *contender), label)),
    )


def _metric(
    finding: ComparisonFinding, adjusted: float | None, least: int, thresholds: Thresholds, unjudged: str
) -> MetricComparison:
    """Judge a metric; `least` is how many runs a side can find that one of the tested labels changed."""
    baseline, contender, shift, threshold = (
        finding.baseline,
        finding.contender,
        finding.shift,
        thresholds.of(finding.metric),
    )
    # When the clock resolution exceeds half of the threshold, no number of runs can show that the metric is within it.
    is_coarse = finding.metric.is_percentile and baseline is not None and baseline * threshold / 2 < CLOCK_STEP_MS
    comparison = MetricComparison(
        metric=finding.metric,
        baseline=baseline,
        contender=contender,
        delta_ratio=(contender - baseline) / baseline if baseline and contender is not None else None,
        baseline_n=finding.baseline_n,
        contender_n=finding.contender_n,
        unit=finding.unit,
        threshold_ratio=threshold,
        reason=finding.reason,
        decides=finding.decides and not is_coarse,
    )
    if unjudged and (not finding.metric.is_share or unjudged == _DOUBTFUL_RUN):
        return replace(comparison, reason=f"not judged: {unjudged}")
    if shift is None:
        return replace(comparison, further_runs=least - 1 if finding.needs_runs else None)
    comparison = replace(
        comparison,
        low_ratio=shift.low,
        high_ratio=shift.high,
        p_value=shift.p_value,
        adjusted_p_value=adjusted,
        least_ratio=shift.least if shift.least is not None and shift.least <= _LEAST_RATIO_MOST else None,
    )
    if adjusted is None:
        return comparison
    comparison = _decided(comparison, shift, is_sure=adjusted < thresholds.alpha)
    if comparison.verdict != CANNOT_TELL:
        return comparison
    if is_coarse:
        return replace(comparison, reason=TOO_COARSE)
    further_runs = _further_runs(finding, shift, threshold, least)
    if further_runs is not None:
        return replace(comparison, further_runs=further_runs)
    is_noise = shift.least is not None and shift.least > _LEAST_RATIO_MOST
    why = "runs differ too much from each other" if is_noise else "the change is too close to the threshold"
    return replace(comparison, reason=f"{why}: even {planning.RUNS_MOST} runs a side could not tell")


def _decided(comparison: MetricComparison, shift: Shift, *, is_sure: bool) -> MetricComparison:
    """Return a metric with its verdict and the reason for it; `is_sure` for a change that is not by chance."""
    threshold = comparison.threshold_ratio
    if shift.low is None or shift.high is None:
        return replace(comparison, reason=TOO_FEW_RUNS)
    # From here on, higher is worse.
    low, high = (-shift.high, -shift.low) if comparison.metric.more_is_better else (shift.low, shift.high)
    if is_sure and low > threshold:
        return replace(comparison, verdict=REGRESSED)
    if high <= threshold:
        return replace(comparison, verdict=OK, reason=IMPROVED if is_sure and high < -threshold else "")
    if is_sure and low > 0:
        return replace(comparison, reason="not by chance, but possibly within the threshold")
    return replace(comparison, reason="the interval extends beyond the threshold")


def _further_runs(finding: ComparisonFinding, shift: Shift, threshold: float, least: int) -> int | None:
    """Return how many more runs a side a verdict needs; None when the number is impractical."""
    if finding.unit != RUNS:
        return least - 1
    if shift.low is None:
        return max(least - min(finding.baseline_n, finding.contender_n), 1)
    # For changes as small as a threshold, the ratio is close to the difference of logarithms.
    distance = abs(shift.estimate - (-threshold if finding.metric.more_is_better else threshold))
    needed = planning.runs_needed(finding.deviation, distance, least)
    return None if needed is None else max(needed - min(finding.baseline_n, finding.contender_n), 1)


def _is_open(metric: MetricComparison) -> bool:
    return metric.decides and metric.verdict == CANNOT_TELL


def _sentences(labels: Iterable[LabelComparison], chosen: Callable[[MetricComparison], bool]) -> list[str]:
    """Return one line per label with its chosen metrics, and the number of labels beyond the first five."""
    sentences = [
        f"{label.label}: {', '.join(map(_change_text, metrics))}"
        for label in labels
        if (metrics := [metric for metric in label.metrics if chosen(metric)])
    ]
    more = len(sentences) - _LABELS_NAMED
    return [*sentences[:_LABELS_NAMED], f"and {units.plural(more, 'more label')}"] if more > 0 else sentences


def _change_text(metric: MetricComparison) -> str:
    """Return a metric's change: p90 +12.3 %, errors in points; only the metric when unknown, and for CANNOT TELL."""
    return f"{metric.metric.name} {with_unit(change_of(metric), metric)}".rstrip()
