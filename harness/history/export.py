"""A history for programs: CSV and JSON, and the CSV that Apache Otava reads."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any

from harness.compare.comparison import PERCENTILES
from harness.history.change_points import ChangePoint
from harness.history.nightly_series import value_of
from harness.history.render import host_text
from harness.history.series import History, Line
from harness.metrics.batches import AVERAGE, ERRORS, THROUGHPUT
from harness.report.setup import load_text

FORMAT_VERSION = 1
# The columns that Otava may be told to watch, and the metrics in them.
OTAVA_COLUMNS: Mapping[str, str] = {
    "average_ms": AVERAGE, **{f"p{name}_ms": name for name in PERCENTILES}, "rate_per_s": THROUGHPUT,
    "error_ratio": ERRORS,
}  # fmt: skip
_CSV_COLUMNS = (
    "line", "load", "profile", "host", "target", "run", "verdict", "started_at", "git_commit", "sample_count",
    "rate_per_s", "average_ms", "p50_ms", "p75_ms", "p90_ms", "p95_ms", "p99_ms", "error_ratio", "metric", "value",
    "median_before", "change_ratio", "change_point_ratio", "accepted",
)  # fmt: skip


def rows_of(history: History) -> list[dict[str, Any]]:
    """Return a row of plain data per run, oldest first, line after line; None where something is not known."""
    rows = []
    for number, line in enumerate(history.lines, start=1):
        conditions = line.conditions
        changes = {line.valid[change.index].run: change for change in line.changes}
        reasons = {line.valid[place].run: one.reason for place, one in line.accepted}
        for point in line.points:
            figures = point.figures
            percentiles = figures.percentiles_ms if figures else {}
            known = (
                number, load_text(conditions.load), conditions.profile, host_text(conditions), conditions.target,
                point.run, point.verdict, point.started_at, point.git_commit,
                figures.sample_count if figures else None,
                figures.rate_per_s if figures else None,
                figures.average_ms if figures else None,
                *(percentiles.get(percentile) for percentile in PERCENTILES),
                figures.error_ratio if figures else None,
                history.metric, point.value, point.median_before, point.change_ratio,
                _size(changes.get(point.run), history.metric), reasons.get(point.run),
            )  # fmt: skip
            rows.append(dict(zip(_CSV_COLUMNS, known, strict=True)))
    return rows


def _size(change: ChangePoint | None, metric: str) -> float | None:
    if change is None:
        return None
    return change.after - change.before if metric == ERRORS else change.ratio


def history_csv(history: History) -> str:
    """Return the rows as CSV: UTF-8, LF, quoted as RFC 4180 says; figures in full precision."""
    text = io.StringIO()
    writer = csv.DictWriter(text, _CSV_COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows_of(history))
    return text.getvalue()


def history_json(history: History) -> dict[str, Any]:
    """Return the rows as plain data, with what was left out."""
    return {
        "format_version": FORMAT_VERSION,
        "plan": history.plan,
        "label": history.label,
        "metric": history.metric,
        "runs": rows_of(history),
        "left_out": [{"run": run, "reason": why} for run, why in history.left_out],
    }


def otava_csv(line: Line) -> str:
    """Return the valid runs of a line as CSV for Apache Otava: a time, the run and its commit, and its figures.

    Otava reads numbers alone: a figure that is not known of every run has no column.
    """
    points = line.valid
    figures = {
        name: [value_of(point.figures, metric) if point.figures else None for point in points]
        for name, metric in OTAVA_COLUMNS.items()
    }
    columns = {name: values for name, values in figures.items() if None not in values}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["time", "run", "commit", *columns])
    for place, point in enumerate(points):
        known = [values[place] for values in columns.values()]
        writer.writerow([point.started_at, point.run, point.git_commit or "", *known])
    return text.getvalue()
