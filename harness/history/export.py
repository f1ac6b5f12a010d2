"""Export a history as CSV, as JSON, and as CSV for Apache Otava."""

from __future__ import annotations

import csv
import io
from typing import Any

from harness.history.change_points import ChangePoint
from harness.history.render import host_text
from harness.history.series import History, Line
from harness.metrics.metric import ERRORS, THROUGHPUT, Metric, compared_metrics
from harness.report.setup import load_text

FORMAT_VERSION = 1
# The columns of metrics: throughput, times, errors.
_METRICS = (THROUGHPUT, *(metric for metric in compared_metrics() if metric not in (THROUGHPUT, ERRORS)), ERRORS)
_CSV_COLUMNS = (
    "line", "load", "profile", "host", "target", "run", "verdict", "started_at", "git_commit", "sample_count",
    *(metric.key for metric in _METRICS), "metric", "value", "median_before", "change_ratio", "change_point_ratio",
    "accepted",
)  # fmt: skip


def rows_of(history: History) -> list[dict[str, Any]]:
    """Return plain data per run, oldest first, for each set of conditions; None for unknown values."""
    rows = []
    for number, line in enumerate(history.lines, start=1):
        conditions = line.conditions
        changes = {line.valid[change.index].run: change for change in line.changes}
        reasons = {line.valid[index].run: one.reason for index, one in line.accepted}
        for point in line.points:
            figures = point.figures
            known = (
                number, load_text(conditions.load), conditions.profile, host_text(conditions), conditions.target,
                point.run, point.verdict, point.started_at, point.git_commit,
                figures.sample_count if figures else None,
                *(metric.of(figures) if figures else None for metric in _METRICS),
                history.metric.id, point.value, point.median_before, point.change_ratio,
                _size(changes.get(point.run), history.metric), reasons.get(point.run),
            )  # fmt: skip
            rows.append(dict(zip(_CSV_COLUMNS, known, strict=True)))
    return rows


def _size(change: ChangePoint | None, metric: Metric) -> float | None:
    if change is None:
        return None
    return change.after - change.before if metric.is_share else change.ratio


def history_csv(history: History) -> str:
    """Return the rows as CSV: UTF-8, LF, quoted according to RFC 4180; unrounded numbers."""
    text = io.StringIO()
    writer = csv.DictWriter(text, _CSV_COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows_of(history))
    return text.getvalue()


def history_json(history: History) -> dict[str, Any]:
    """Return the rows as plain data, with the excluded runs."""
    return {
        "format_version": FORMAT_VERSION,
        "plan": history.plan,
        "label": history.label,
        "metric": history.metric.id,
        "runs": rows_of(history),
        "left_out": [{"run": run, "reason": why} for run, why in history.left_out],
    }


def otava_csv(line: Line) -> str:
    """Return the valid runs of a line as CSV for Apache Otava: time, run, commit and metrics.

    Otava accepts only numbers: a metric that some run lacks has no column.
    """
    points = line.valid
    figures = {
        metric.key: [metric.of(point.figures) if point.figures else None for point in points]
        for metric in compared_metrics()
    }
    columns = {name: values for name, values in figures.items() if None not in values}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["time", "run", "commit", *columns])
    for index, point in enumerate(points):
        known = [values[index] for values in columns.values()]
        writer.writerow([point.started_at, point.run, point.git_commit or "", *known])
    return text.getvalue()
