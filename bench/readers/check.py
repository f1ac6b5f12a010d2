"""Compares a reader's output with the true contents of the file; no differences means a match.

All printed values are checked, so that no reader is fast because it loses rows.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping

from bench.readers.truth import LabelTruth, Truth
from harness.base import units

TOTAL = "TOTAL"
# The name of the row of all samples in JMeter's dashboard.
_DASHBOARD_TOTAL = "Total"
_DASHBOARD_KEYS: Mapping[str, Callable[[LabelTruth], float]] = {
    "sampleCount": lambda truth: truth.sample_count,
    "errorCount": lambda truth: truth.error_count,
    "meanResTime": lambda truth: truth.elapsed_sum_ms / truth.sample_count,
    "minResTime": lambda truth: min(truth.counts),
    "maxResTime": lambda truth: max(truth.counts),
}
_MUST_HAVE = ("label", "count", "average ms", "p50 ms", "errors")
_PERCENTILE = re.compile(r"p(\d+(?:\.\d+)?) ms")


def counts_differ(output: str, truth: Truth) -> list[str]:
    """Return the differences of `{"counts": [[label, elapsed, count], …]}`, the output of bench/readers/programs."""
    found: dict[str, dict[int, int]] = {}
    for label, elapsed_ms, count in json.loads(output)["counts"]:
        found.setdefault(label, {})[int(elapsed_ms)] = count
    differences = _labels_differ(found, {label.label for label in truth.labels})
    for label in truth.labels:
        counts = found.get(label.label, {})
        if counts and counts != label.counts:
            wrong = _difference(f"{label.label}: count", sum(counts.values()), label.sample_count)
            differences.append(wrong or f"{label.label}: right count, wrong elapsed times")
    return differences


def figures_differ(output: str, truth: Truth) -> list[str]:
    """Return the differences of counts, and of `{"labels": [[label, errors, received, sent, first, last], …]}`."""
    found = {label: figures for label, *figures in json.loads(output)["labels"]}
    differences = counts_differ(output, truth)
    for label in truth.labels:
        right = [label.error_count, label.received_bytes, label.sent_bytes, label.first_ms, label.last_ms]
        if found.get(label.label) != right:
            differences.append(f"{label.label}: {found.get(label.label)}, not {right}")
    return differences


def table_differs(output: str, truth: Truth) -> list[str]:
    """Return the differences of the first Markdown table of `aggregate.py table`, cell by cell as text.

    Other columns are ignored.
    """
    table = output[output.find("| label") :].split("\n\n")[0]
    lines = [line[2:-2].split(" | ") for line in table.splitlines() if line.startswith("| ")]
    if not lines or not set(_MUST_HAVE) <= set(lines[0]):
        return ["no table with the columns " + ", ".join(_MUST_HAVE)]
    columns = lines[0]
    rows = {cells[0]: dict(zip(columns, cells, strict=True)) for cells in lines[2:]}
    expected = {label.label: label for label in (*truth.labels, truth.total(TOTAL))}
    differences = _labels_differ(rows, set(expected))
    for name, label in expected.items():
        for column, cell in rows.get(name, {}).items():
            right = _cell(column, label)
            if right is not None and cell != right:
                is_count = column in ("count", "errors") and cell.isdigit()
                what = f"{name}: {column}"
                differences.append(
                    _difference(what, int(cell), int(right)) if is_count else f"{what} {cell}, not {right}"
                )
    return differences


def report_differs(output: str, truth: Truth) -> list[str]:
    """Return the differences of the JSON of a report: the counts of each label over the whole run."""
    data = json.loads(output)
    group = data["whole"] or data["groups"][0]
    found = {label["label"]: label["counts"] for label in group["labels"]}
    differences = _labels_differ(found, {label.label for label in truth.labels})
    for label in truth.labels:
        counts = found.get(label.label)
        right = " ".join(f"{value_ms}:{count}" for value_ms, count in sorted(label.counts.items()))
        if counts and (counts["histogram"], counts["error_count"]) != (right, label.error_count):
            differences.append(f"{label.label}: wrong elapsed times or errors")
    return differences


def dashboard_differs(output: str, truth: Truth) -> list[str]:
    """Return the differences of the statistics.json that `jmeter -g` writes.

    Its percentiles are ignored: they cover only the last 20,000 samples, and therefore differ from the exact ones.
    """
    found = json.loads(output)
    expected = {label.label: label for label in (*truth.labels, truth.total(_DASHBOARD_TOTAL))}
    differences = _labels_differ(found, set(expected))
    for name, label in expected.items():
        for key, right in _DASHBOARD_KEYS.items():
            if name in found and not math.isclose(found[name][key], right(label), rel_tol=1e-6):
                differences.append(_difference(f"{name}: {key}", found[name][key], right(label)))
    return differences


def _cell(column: str, truth: LabelTruth) -> str | None:
    """Return the right text of this column; None for an unknown column."""
    span_s = (truth.last_ms - truth.first_ms) / units.MS_PER_S
    percentile = _PERCENTILE.fullmatch(column)
    if percentile:
        return units.ms_text(truth.quantile_ms(float(percentile[1]) / 100))
    cells: Mapping[str, Callable[[], str]] = {
        "count": lambda: str(truth.sample_count),
        "average ms": lambda: units.average_text(truth.elapsed_sum_ms / truth.sample_count),
        "min ms": lambda: units.ms_text(min(truth.counts)),
        "max ms": lambda: units.ms_text(max(truth.counts)),
        "errors %": lambda: units.percent_text(truth.error_count / truth.sample_count),
        "errors": lambda: str(truth.error_count),
        "req/s": lambda: units.rate_text(truth.sample_count / span_s),
        "KB/s received": lambda: units.kb_text(truth.received_bytes / span_s),
        "KB/s sent": lambda: units.kb_text(truth.sent_bytes / span_s),
    }
    return cells[column]() if column in cells else None


def _labels_differ(found: Mapping[str, object], expected: set[str]) -> list[str]:
    missing = [f"{label}: missing" for label in sorted(expected - set(found))]
    return missing + [f"{label}: no such label" for label in sorted(set(found) - expected)]


def _difference(what: str, found: float, right: float) -> str:
    """Return a text with the wrong value, the right one and the difference; an empty text for a right value."""
    if found == right:
        return ""
    sign = "+" if found > right else "-"
    text = units.number_text
    return f"{what} {text(found)}, not {text(right)} ({sign}{text(abs(found - right))})"
