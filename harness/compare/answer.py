"""The answer of a comparison in at most 20 words: what changed most, or what is missing for a verdict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from harness.base import units
from harness.compare.change_text import change_of, interval_of, with_unit
from harness.compare.comparison import (
    BETTER,
    CANNOT_TELL,
    INVALID,
    OK,
    REGRESSED,
    Comparison,
    LabelComparison,
    MetricComparison,
)
from harness.judge.verdict import DOUBTFUL
from harness.metrics.figures import TOTAL
from harness.metrics.metric import AVERAGE, P95
from harness.report.first_screen import brief

_SEEN = (AVERAGE, P95)
_LABEL_WORDS_MOST = 4
# The order of rows: what a reader has to act on first.
_ORDER = (REGRESSED, CANNOT_TELL, BETTER, OK)


class AnswerRow(NamedTuple):
    """A metric of a label, or of TOTAL."""

    label: str
    metric: MetricComparison


def rows_of(labels: Iterable[LabelComparison]) -> list[AnswerRow]:
    """Return a row for each metric that either side of the labels has."""
    return [AnswerRow(label.label, metric) for label in labels for metric in label.metrics if metric.is_known]


def by_weight(rows: Iterable[AnswerRow]) -> list[AnswerRow]:
    """Return rows by verdict, REGRESSED first; TOTAL before labels, and then the largest change first."""
    return sorted(rows, key=lambda row: (_ORDER.index(row.metric.word), row.label != TOTAL, -_size(row.metric)))


def _size(metric: MetricComparison) -> float:
    """Return a change as a multiple of its threshold, rounded so that about equal ones keep their order."""
    return round(abs(metric.change_ratio or 0.0) / metric.threshold_ratio, 1) if metric.threshold_ratio else 0.0


def headline(comparison: Comparison) -> str:
    """Return the verdict and what changed most, or what is missing for a verdict, in at most 20 words."""
    verdict, total = comparison.verdict, comparison.total
    rows = rows_of([*([total] if total else []), *comparison.labels])
    if comparison.is_of_work:
        return brief(f"{verdict}: {comparison.work[0]}.")
    if verdict in (REGRESSED, BETTER):
        return brief(f"{verdict}: {changes_text(rows, verdict)}.")
    seen = seen_text(total.metrics if total else (), verdict)
    if verdict == OK:
        return brief(f"{OK}: no metric regressed.", seen)
    if comparison.further_runs:
        runs = units.plural(comparison.further_runs, "more run")
        are = "is" if comparison.further_runs == 1 else "are"
        return brief(f"{verdict} yet: {runs} a side {are} needed.", seen)
    if is_of_runs(comparison):  # the reasons of a DOUBTFUL run are in the report
        reason = comparison.reasons[0].rstrip(".").replace(f" is {INVALID}: ", ": ", 1)
        return brief(f"{verdict}: {reason if verdict == INVALID else reason.partition(': ')[0]}.", seen)
    unsure = by_weight(row for row in rows if row.metric.verdict == CANNOT_TELL and row.metric.decides)
    if unsure and unsure[0].metric.reason:
        return brief(f"{verdict}: {_name(unsure[0])}: {unsure[0].metric.reason}.", seen)
    return brief(f"{verdict}: nothing could be judged.", seen)


def is_of_runs(comparison: Comparison) -> bool:
    """Return whether the reasons of a verdict are INVALID or DOUBTFUL runs, and not the changes."""
    is_doubtful = any(f" {DOUBTFUL}: " in reason for reason in comparison.reasons) and not comparison.further_runs
    return comparison.verdict == INVALID or (comparison.verdict == CANNOT_TELL and is_doubtful)


def changes_text(rows: Iterable[AnswerRow], word: str) -> str:
    """Return the largest change of a verdict, and how many more metrics have it."""
    changed = by_weight(row for row in rows if row.metric.word == word)
    if not changed:
        return "nothing could be judged"
    labels = len({row.label for row in changed} - {TOTAL})
    more = f", and {units.plural(len(changed) - 1, 'more metric')}" if len(changed) > 1 else ""
    of_labels = f" of {units.plural(labels, 'label')}" if more and labels else ""
    return f"{_name(changed[0])} {_change(changed[0].metric)}{more}{of_labels}"


def seen_text(metrics: Sequence[MetricComparison], verdict: str) -> str:
    """Return the changes that a reader looks for first; unless the verdict is OK how large they can be, if known."""
    shown = [one if verdict == OK else replace(one, verdict=CANNOT_TELL) for one in metrics if one.metric in _SEEN]
    found = [(one.metric.name, change_of(one) or interval_of(one)) for one in shown]
    texts = [f"{name} {text} %" for name, text in found if text]
    return f"Seen: {', '.join(texts)}." if texts else ""


def _name(row: AnswerRow) -> str:
    """Return label and metric; of TOTAL only the metric. Of a long label the first words are shown."""
    words = row.label.split()
    short = " ".join(words[:_LABEL_WORDS_MOST]) + ("…" if len(words) > _LABEL_WORDS_MOST else "")
    return row.metric.metric.name if row.label == TOTAL else f"{short} {row.metric.metric.name}"


def _change(metric: MetricComparison) -> str:
    """Return both values and the change: 312 → 397 ms (+27.2 %)."""
    kind = metric.metric
    change = with_unit(change_of(metric), metric)
    values = f"{kind.mean_text(metric.baseline)} → {kind.mean_text(metric.contender)} {kind.unit}"
    return f"{values} ({change})" if change else values
