"""Builds the tables of response times: both releases, the change, and whether it can be distinguished from noise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from harness.base import units
from harness.compare.comparison import CANNOT_TELL, Comparison, LabelComparison, MetricComparison
from harness.compare.render import is_better
from harness.metrics.figures import TOTAL
from harness.metrics.metric import AVERAGE, P75, P95, THROUGHPUT, Metric
from harness.release.sides import Sides
from harness.report.stored_comparisons import BETTER
from harness.report.tables import cell, table
from harness.sweep.text import users_text

# The metrics of all requests together, and of each label.
OF_TOTAL = (AVERAGE, P75, P95, THROUGHPUT)
OF_LABELS = (AVERAGE, P95)
# A row of a table: its first cells, and what was compared.
_Row = tuple[Sequence[str], LabelComparison]


def verdict_text(metric: MetricComparison) -> str:
    """Return the verdict on a change: REGRESSED, OK, `OK, better` or CANNOT TELL; empty when a side is unknown."""
    if metric.baseline is None or metric.contender is None:
        return ""
    return BETTER if is_better(metric) else metric.verdict


def change_text(metric: MetricComparison) -> str:
    """Return both values, the change and the verdict: `p95 914 → 1093 ms, +19.58 %: REGRESSED`."""
    shown = metric.metric
    change = units.signed_percent(metric.change_ratio) or "?"
    values = f"{shown.phrase} {shown.text(metric.baseline)} → {shown.text(metric.contender)} {shown.unit}"
    return f"{values}, {change} {shown.change_unit}: {verdict_text(metric)}"


def level_table(levels: Mapping[int, Comparison], names: Sides[str]) -> str:
    """Return the tables of all requests together, a row per number of users; empty without any."""
    rows = [((str(users),), found.total) for users, found in levels.items() if found.total]
    return _tables(("users",), rows, OF_TOTAL, names)


def label_table(levels: Mapping[int, Comparison], names: Sides[str]) -> str:
    """Return the tables of labels × users: a row per label and number of users, in the order of the labels."""
    rows = [((cell(label.label), str(users)), label) for users, found in levels.items() for label in found.labels]
    order = {name: at for at, name in enumerate(dict.fromkeys(label.label for _, label in rows))}
    return _tables(("label", "users"), sorted(rows, key=lambda row: order[row[1].label]), OF_LABELS, names)


def _tables(heads: Sequence[str], rows: Sequence[_Row], metrics: Iterable[Metric], names: Sides[str]) -> str:
    """Return a table per metric with both releases, the change in % and the verdict; empty without rows."""
    texts = []
    for metric in metrics:
        if any(_is_known(label.of(metric)) for _, label in rows):
            columns = [*heads, *(f"{cell(name)} {metric.title}" for name in names), "change %", "verdict"]
            texts.append(table(columns, [[*first, *_cells(label.of(metric))] for first, label in rows]))
    return "\n\n".join(texts)


def _is_known(metric: MetricComparison | None) -> bool:
    return metric is not None and (metric.baseline is not None or metric.contender is not None)


def _cells(metric: MetricComparison | None) -> list[str]:
    if metric is None:
        return [""] * 4
    values = [metric.metric.text(value) for value in (metric.baseline, metric.contender)]
    return [*values, units.signed_percent(metric.delta_ratio), verdict_text(metric)]


def reasons(levels: Mapping[int, Comparison]) -> list[str]:
    """Return why changes in the tables are undecided, each reason once with its metrics and users."""
    by_reason: dict[str, dict[str, dict[int, None]]] = {}
    for users, comparison in levels.items():
        for label in filter(None, (comparison.total, *comparison.labels)):
            for metric in filter(None, map(label.of, OF_TOTAL if label is comparison.total else OF_LABELS)):
                if verdict_text(metric) == CANNOT_TELL:
                    why = metric.reason.rstrip(".") or "the interval contains both relevant and irrelevant changes"
                    by_reason.setdefault(why, {}).setdefault(metric.metric.phrase, {})[users] = None
    return [
        f"{CANNOT_TELL}, {why}: {'; '.join(f'{name} at {users_text(users)}' for name, users in metrics.items())}."
        for why, metrics in by_reason.items()
    ]


def one_sided(levels: Mapping[int, Comparison], names: Sides[str]) -> list[str]:
    """Return a sentence for each release with the labels that only its runs have."""
    sides = (
        (names.base, [label for found in levels.values() for label in found.only_baseline]),
        (names.new, [label for found in levels.values() for label in found.only_contender]),
    )
    return [f"Only {name} has {', '.join(dict.fromkeys(labels))}." for name, labels in sides if labels]


def labels_with(levels: Mapping[int, Comparison], verdict: str) -> dict[str, list[int]]:
    """Return the labels whose average or p95 has a verdict, TOTAL first, with the users at which it has."""
    users_by_label: dict[str, list[int]] = {}
    for users, comparison in levels.items():
        for label in filter(None, (comparison.total, *comparison.labels)):
            if any(verdict_text(metric) == verdict for metric in filter(None, map(label.of, OF_LABELS))):
                users_by_label.setdefault(label.label, []).append(users)
    return dict(sorted(users_by_label.items(), key=lambda item: item[0] != TOTAL))
