"""Figures of a plan over time: which runs may stand in one line, and how far each is off those before it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pandas

from harness.catalogue import Entry
from harness.figures import TOTAL
from harness.result import LabelResult, RunResult
from harness.stats.comparison import ERRORS
from harness.stats.conditions import Conditions
from harness.stats.nights import figures_of, is_valid, value_of
from harness.verdict import VALID


@dataclass(frozen=True)
class Point:
    """A run in a history; `value` is the metric's (ms, 1/s or a ratio), None where it is not known.

    `median_before` is the median of the valid runs before it under the same conditions; `change_ratio` is
    (value - median) / median, of errors value - median. Both are None for the first run and for one that is not valid.
    """

    run: str
    started_at: str
    git_commit: str | None
    verdict: str
    is_valid: bool
    figures: LabelResult | None
    value: float | None
    median_before: float | None
    change_ratio: float | None


@dataclass(frozen=True)
class Line:
    """The runs under the same conditions, oldest first."""

    conditions: Conditions
    points: tuple[Point, ...]

    @property
    def valid(self) -> tuple[Point, ...]:
        """Those that may be drawn."""
        return tuple(point for point in self.points if point.is_valid and point.value is not None)


@dataclass(frozen=True)
class History:
    """The figures of a label over the runs of a plan: a line for each set of conditions, the newest first.

    `left_out` names the runs that have no figures of that label, with the reason.
    """

    plan: str
    label: str
    metric: str
    lines: tuple[Line, ...]
    left_out: tuple[tuple[str, str], ...]


def labels_of(entries: Iterable[Entry]) -> list[str]:
    """Return all labels that the runs have, TOTAL first."""
    found = {figures.label: None for entry in entries if entry.result for figures in entry.result.labels}
    return [TOTAL, *found]


def history(entries: Sequence[Entry], plan: str, label: str, metric: str, last: int | None = None) -> History:
    """Return the history of a label over the runs of one plan; `last` keeps so many of the newest runs of each line.

    A median is that of all valid runs before, whether they are kept or not.
    """
    left_out: list[tuple[str, str]] = []
    known: list[tuple[Conditions, Entry, RunResult, LabelResult | None]] = []
    for entry in sorted(entries, key=lambda entry: entry.newest):
        result, run = entry.result, entry.run
        figures = figures_of(result, label) if result else None
        if result is None or run is None:
            left_out.append((entry.name, entry.problem or "it has no run.json"))
        elif figures is None and result.verdict and result.verdict.state == VALID:
            left_out.append((entry.name, f"it has no label {label}"))
        else:
            known.append((Conditions.of(run), entry, result, figures))
    places = {conditions: place for place, conditions in enumerate(dict.fromkeys(found[0] for found in known))}
    frame = pandas.DataFrame(
        {
            "conditions": [places[conditions] for conditions, _, _, _ in known],
            "value": [_valid_value(result, figures, metric) for _, _, result, figures in known],
        },
        columns=["conditions", "value"],
    ).astype({"value": float})
    by_conditions = frame.groupby("conditions", sort=False)["value"]
    frame["median"] = by_conditions.transform(lambda values: values.expanding().median().shift())
    change = frame["value"] - frame["median"]
    frame["change"] = change if metric == ERRORS else change / frame["median"]
    points: dict[Conditions, list[Point]] = {}
    for (conditions, entry, result, figures), median, change in zip(
        known, frame["median"], frame["change"], strict=True
    ):
        points.setdefault(conditions, []).append(_point(entry, result, figures, metric, median, change))
    lines = [Line(conditions, tuple(found[-last:] if last else found)) for conditions, found in points.items()]
    lines.sort(key=lambda line: line.points[-1].started_at, reverse=True)
    return History(plan, label, metric, tuple(lines), tuple(left_out))


def _valid_value(result: RunResult, figures: LabelResult | None, metric: str) -> float | None:
    return value_of(figures, metric) if figures and is_valid(result) else None


def _point(
    entry: Entry, result: RunResult, figures: LabelResult | None, metric: str, median: float, change: float
) -> Point:
    valid = is_valid(result)
    return Point(
        run=entry.name,
        started_at=entry.started_at,
        git_commit=entry.run.git_commit if entry.run else None,
        verdict=result.verdict.state if result.verdict else "",
        is_valid=valid,
        figures=figures,
        value=value_of(figures, metric) if figures else None,
        median_before=float(median) if valid and math.isfinite(median) else None,
        change_ratio=float(change) if valid and math.isfinite(change) else None,
    )
