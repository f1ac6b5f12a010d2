"""Compare a run with a reference, for the section "Compared with" of its report."""

from __future__ import annotations

from harness.base.errors import UsageError
from harness.compare.answer import headline
from harness.compare.comparison import CANNOT_TELL, INVALID, LabelComparison
from harness.compare.decision import compare
from harness.compare.run_scatter import ASSUMED, RunScatter
from harness.compare.setup_diff import setup_differences
from harness.judge.stored_comparisons import ComparedLabel, ComparedRun, SettingChange
from harness.metrics.metric import Metric, compared_metrics
from harness.plan.thresholds import Thresholds
from harness.report.run_result import RunResult


def compared_run(
    baseline: RunResult,
    contender: RunResult,
    thresholds: Thresholds,
    role: str,
    link: str,
    scatter: RunScatter = ASSUMED,
) -> ComparedRun:
    """Return the comparison of a run with the reference `baseline`; `scatter` is that of single runs.

    It has only a `problem` when the two are not comparable, or one of them is INVALID.
    """
    try:
        comparison = compare([baseline], [contender], thresholds, scatter=scatter)
    except UsageError as error:
        return ComparedRun(baseline.name, role, problem=error.what)
    if comparison.verdict == INVALID:
        return ComparedRun(baseline.name, role, problem="; ".join(comparison.reasons))
    rows = [*([comparison.total] if comparison.total else []), *comparison.labels]
    known = {value.metric for row in rows for value in row.metrics if value.is_known}
    metrics = [metric for metric in compared_metrics() if metric in known]
    return ComparedRun(
        name=baseline.name,
        role=role,
        link=link,
        verdict=comparison.verdict,
        headline=headline(comparison),
        settings=tuple(
            SettingChange(one.name, one.baseline, one.contender) for one in setup_differences([baseline], [contender])
        ),
        metrics=tuple(metric.id for metric in metrics),
        threshold_ratios=tuple(map(thresholds.of, metrics)),
        total=_stored(comparison.total, metrics) if comparison.total else None,
        labels=tuple(_stored(label, metrics) for label in comparison.labels),
        only_base=comparison.only_baseline,
        only_new=comparison.only_contender,
        warnings=comparison.warnings,
    )


def _stored(label: LabelComparison, metrics: list[Metric]) -> ComparedLabel:
    values = [label.of(metric) for metric in metrics]
    return ComparedLabel(
        label=label.label,
        is_transaction=label.is_transaction,
        base_sample_count=label.baseline_sample_count,
        new_sample_count=label.contender_sample_count,
        base=tuple(value.baseline if value else None for value in values),
        new=tuple(value.contender if value else None for value in values),
        change_ratio=tuple(value.change_ratio if value else None for value in values),
        verdicts=tuple(value.word if value else CANNOT_TELL for value in values),
    )
