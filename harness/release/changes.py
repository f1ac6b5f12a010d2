"""Builds the tables of response times: all releases, the changes, and whether they can be distinguished from noise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from harness.compare.change_text import change_of, interval_of, with_unit
from harness.compare.comparison import CANNOT_TELL, REGRESSED, Comparison, LabelComparison, MetricComparison
from harness.metrics.figures import TOTAL
from harness.metrics.metric import AVERAGE, ERRORS, MEDIAN, P75, P95, THROUGHPUT, Metric
from harness.release.cells import ReleaseCell, TitledTable, all_cells, cell_heads, cell_texts, cells_text
from harness.release.release import Release
from harness.report.tables import cell
from harness.report.wide_tables import narrow_tables

# The metrics of all requests together, and of each label.
OF_TOTAL = (AVERAGE, MEDIAN, P75, P95, ERRORS, THROUGHPUT)
OF_LABELS = (AVERAGE, P95)
CHANGE_HEADS = ("change %", "95 % interval", "verdict")
Levels = Mapping[ReleaseCell, Comparison]
# What a row is of: a label, if it is of one, and a cell.
_Key = tuple[str | ReleaseCell, ...]


def verdict_text(metric: MetricComparison) -> str:
    """Return the verdict on a change: REGRESSED, OK, IMPROVED or CANNOT TELL; empty when a side is unknown."""
    return "" if metric.baseline is None or metric.contender is None else metric.word


def change_text(metric: MetricComparison) -> str:
    """Return both values, the change and the verdict: `p95 914 → 1093 ms, +19.6 %: REGRESSED`."""
    shown = metric.metric
    values = f"{shown.phrase} {shown.text(metric.baseline)} → {shown.text(metric.contender)} {shown.unit}"
    return f"{', '.join(filter(None, (values, with_unit(change_of(metric), metric))))}: {verdict_text(metric)}"


def total_tables(release: Release) -> list[TitledTable]:
    """Return the tables of all requests together, one per metric, a row per cell."""
    rows: dict[_Key, list[LabelComparison | None]] = {
        (one,): [levels[one].total if one in levels else None for levels in release.levels]
        for one in all_cells(release.levels)
    }
    return _tables(release, (), rows, OF_TOTAL)


def label_tables(release: Release) -> list[TitledTable]:
    """Return the tables of labels, one per metric, a row per label and cell, in the order of the labels."""
    cells = all_cells(release.levels)
    names = dict.fromkeys(
        label.label
        for one in cells
        for levels in release.levels
        for label in (levels[one].labels if one in levels else ())
    )
    by_name = [
        {one: {label.label: label for label in found.labels} for one, found in levels.items()}
        for levels in release.levels
    ]
    rows: dict[_Key, list[LabelComparison | None]] = {
        (name, one): [levels.get(one, {}).get(name) for levels in by_name] for name in names for one in cells
    }
    return _tables(release, ("label",), {key: found for key, found in rows.items() if any(found)}, OF_LABELS)


def _tables(
    release: Release,
    heads: Sequence[str],
    rows: Mapping[_Key, Sequence[LabelComparison | None]],
    metrics: Iterable[Metric],
) -> list[TitledTable]:
    """Return a table per metric: the new release, then each other with the change, its interval and the verdict."""
    new, *bases = (cell(name) for name in release.names)
    first = [*heads, *cell_heads(key[-1] for key in rows if isinstance(key[-1], ReleaseCell))]
    tables = []
    for metric in metrics:
        found = {key: [label.of(metric) if label else None for label in labels] for key, labels in rows.items()}
        if any(one is not None and one.is_known for ones in found.values() for one in ones):
            change = ["change" if metric.is_share else CHANGE_HEADS[0], *CHANGE_HEADS[1:]]
            columns = [*first, f"{new} {metric.title}"]
            columns += [head for base in bases for head in (f"{base} {metric.title}", *change)]
            texts = [[*_key_texts(key), *_cells(metric, ones)] for key, ones in found.items()]
            title = f"{metric.phrase[0].upper()}{metric.phrase[1:]}"
            shape = {"text_columns": max(1, len(first) - 1), "kept": len(first) + 1, "together": 4}
            tables.append(TitledTable(title, narrow_tables(columns, texts, **shape)))
    return tables


def _key_texts(key: Sequence[str | ReleaseCell]) -> list[str]:
    return [text for part in key for text in (cell_texts(part) if isinstance(part, ReleaseCell) else [cell(part)])]


def _cells(metric: Metric, ones: Sequence[MetricComparison | None]) -> list[str]:
    new = next((one.contender for one in ones if one), None)
    texts = [metric.text(new)]
    for pair in ones:
        texts += ["", "", "", ""] if pair is None else [
            metric.text(pair.baseline),
            with_unit(change_of(pair), pair) if metric.is_share else change_of(pair),
            interval_of(pair),
            verdict_text(pair),
        ]  # fmt: skip
    return texts


def reasons(levels: Levels) -> list[str]:
    """Return why changes in the tables are undecided, each reason once with its metrics and cells."""
    by_reason: dict[str, dict[str, dict[ReleaseCell, None]]] = {}
    for load, comparison in levels.items():
        for label in filter(None, (comparison.total, *comparison.labels)):
            for metric in filter(None, map(label.of, OF_TOTAL if label is comparison.total else OF_LABELS)):
                if verdict_text(metric) == CANNOT_TELL:
                    why = metric.reason.rstrip(".") or "the interval contains both relevant and irrelevant changes"
                    by_reason.setdefault(why, {}).setdefault(metric.metric.phrase, {})[load] = None
    return [
        f"{CANNOT_TELL}, {why}: {'; '.join(f'{name} at {cells_text(cells)}' for name, cells in metrics.items())}."
        for why, metrics in by_reason.items()
    ]


def one_sided(levels: Levels, baseline: str, contender: str) -> list[str]:
    """Return a sentence for each of two releases with the labels that only its runs have."""
    sides = (
        (baseline, [label for found in levels.values() for label in found.only_baseline]),
        (contender, [label for found in levels.values() for label in found.only_contender]),
    )
    return [f"Only {name} has {', '.join(dict.fromkeys(labels))}." for name, labels in sides if labels]


def labels_with(levels: Levels, verdict: str) -> dict[str, list[ReleaseCell]]:
    """Return the labels whose average or p95 has a verdict, TOTAL first, with the cells in which it has."""
    cells_by_label: dict[str, list[ReleaseCell]] = {}
    for load, comparison in levels.items():
        for label in filter(None, (comparison.total, *comparison.labels)):
            if any(verdict_text(metric) == verdict for metric in filter(None, map(label.of, OF_LABELS))):
                cells_by_label.setdefault(label.label, []).append(load)
    return dict(sorted(cells_by_label.items(), key=lambda item: item[0] != TOTAL))


def known_changes(label: LabelComparison | None) -> list[str]:
    """Return the changes of average and p95, and of every other metric that makes the cell REGRESSED."""
    if label is None:
        return []
    others = (one for one in label.metrics if one.verdict == REGRESSED and one.metric not in OF_LABELS)
    metrics = (*map(label.of, OF_LABELS), *others)
    return [change_text(metric) for metric in metrics if metric and verdict_text(metric)]
