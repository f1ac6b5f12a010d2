"""Compute a metric of a plan over time: group runs by conditions and compare each with the earlier ones."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median

from harness.compare.conditions import Conditions
from harness.history.acceptance import Acceptance
from harness.history.catalogue import Entry
from harness.history.change_points import ChangePoint
from harness.history.lasting import lasting_changes
from harness.history.nightly_series import date_of
from harness.history.trend import Gauge, changes_of
from harness.metrics.figures import TOTAL
from harness.metrics.metric import Metric
from harness.plan.thresholds import Thresholds
from harness.report.run_result import LabelResult, RunResult

_DATE_LENGTH = len("2026-11-20")


@dataclass(frozen=True)
class Point:
    """A run in a history; `value` is the metric's (ms, 1/s or a ratio), None when unknown.

    `date` is the date of its nightly run, which may have started before midnight; for other runs the date of their
    start. `median_before` is the median of the earlier valid runs under the same conditions. `change_ratio` is
    (value - median) / median, for errors value - median. Both are None for the first run and for invalid runs.
    """

    run: str
    date: str
    started_at: str
    git_commit: str | None
    verdict: str
    is_valid: bool
    figures: LabelResult | None
    value: float | None
    median_before: float | None
    change_ratio: float | None


@dataclass(frozen=True)
class HistoryLine:
    """The runs under the same conditions, oldest first.

    `changes` are the change points of its valid runs, `accepted` the intended changes: indexes into `valid`.
    """

    conditions: Conditions
    points: tuple[Point, ...]
    changes: tuple[ChangePoint, ...] = ()
    accepted: tuple[tuple[int, Acceptance], ...] = ()

    @property
    def valid(self) -> tuple[Point, ...]:
        """The valid runs with a value; only these are in the chart."""
        return tuple(point for point in self.points if point.is_valid and point.value is not None)


@dataclass(frozen=True)
class History:
    """The metrics of a label over the runs of a plan: a line for each set of conditions, newest first.

    `left_out` has the runs without metrics of that label, with the reason.
    """

    plan: str
    label: str
    metric: Metric
    lines: tuple[HistoryLine, ...]
    left_out: tuple[tuple[str, str], ...]


def labels_of(entries: Iterable[Entry]) -> list[str]:
    """Return all labels of the runs, TOTAL first."""
    found = {figures.label: None for entry in entries if entry.result for figures in entry.result.labels}
    return [TOTAL, *found]


def history(
    entries: Sequence[Entry],
    plan: str,
    label: str,
    metric: Metric,
    last: int | None = None,
    acceptances: Sequence[Acceptance] = (),
) -> History:
    """Return the history of a label over the runs of one plan, limited to the `last` runs of each line.

    Medians and change points always use all valid runs.
    """
    left_out: list[tuple[str, str]] = []
    points: dict[Conditions, list[Point]] = {}
    earlier: dict[Conditions, list[float]] = {}
    for entry in sorted(entries, key=lambda entry: entry.order_key):
        result = entry.result
        figures = result.of_label(label) if result else None
        if result is None:
            left_out.append((entry.name, entry.problem or "it has no run.json"))
        elif figures is None and result.is_valid:
            left_out.append((entry.name, f"it has no label {label}"))
        else:
            conditions = Conditions.of(entry.run)
            before = earlier.setdefault(conditions, [])
            point = _point(entry, result, figures, metric, before)
            points.setdefault(conditions, []).append(point)
            if point.is_valid and point.value is not None:
                insort(before, point.value)
    lines = [
        _with_changes(HistoryLine(conditions, tuple(found)), plan, label, metric, last, acceptances)
        for conditions, found in points.items()
    ]
    lines.sort(key=lambda line: line.points[-1].started_at, reverse=True)
    return History(plan, label, metric, tuple(lines), tuple(left_out))


def _with_changes(
    line: HistoryLine, plan: str, label: str, metric: Metric, last: int | None, acceptances: Sequence[Acceptance]
) -> HistoryLine:
    """Return a line with its changes, limited to its `last` points."""
    valid = line.valid
    values, gauge = [point.value or 0.0 for point in valid], Gauge(metric, Thresholds().of(metric))
    changes = lasting_changes(values, changes_of(values, gauge), gauge)
    dates = [point.date for point in valid]
    accepted = [
        (index, acceptance)
        for acceptance in acceptances
        if acceptance.covers(plan, line.conditions, label, metric)
        and 0 < (index := bisect_left(dates, acceptance.since)) < len(dates)
    ]
    points = line.points[-last:] if last else line.points
    first = len(valid) - sum(point.is_valid and point.value is not None for point in points)
    return HistoryLine(
        line.conditions,
        points,
        tuple(replace(change, index=change.index - first) for change in changes if change.index >= first),
        tuple((index - first, one) for index, one in sorted(accepted, key=lambda pair: pair[0]) if index >= first),
    )


def _point(
    entry: Entry, result: RunResult, figures: LabelResult | None, metric: Metric, before: Sequence[float]
) -> Point:
    """Return the point of a run; `before` are the values of the earlier valid runs."""
    value = metric.of(figures) if figures else None
    median_before = float(median(before)) if before and result.is_valid else None
    change = value - median_before if value is not None and median_before is not None else None
    if change is not None and not metric.is_share:
        change = change / median_before if median_before else None
    return Point(
        run=entry.name,
        date=date_of(entry.series) or entry.started_at[:_DATE_LENGTH],
        started_at=entry.started_at,
        git_commit=entry.run.git_commit if entry.run else None,
        verdict=result.verdict.state if result.verdict else "",
        is_valid=result.is_valid,
        figures=figures,
        value=value,
        median_before=median_before,
        change_ratio=change,
    )
