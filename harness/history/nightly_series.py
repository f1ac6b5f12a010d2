"""What each night measured: the valid runs of a plan under the same conditions, and a figure of them all."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from harness.compare.conditions import Conditions
from harness.compare.result import LabelResult, RunResult
from harness.history.catalogue import Entry
from harness.metrics.figures import TOTAL
from harness.metrics.metric import Metric

_DATE_DIGITS = 6


@dataclass(frozen=True)
class Night:
    """The runs of a plan under the same conditions in one night, a date such as 2026-11-20; `runs` in their order."""

    plan: str
    conditions: Conditions
    night: str
    runs: tuple[Entry, ...]

    @property
    def valid(self) -> tuple[RunResult, ...]:
        """The results of those that may be judged."""
        return tuple(entry.result for entry in self.runs if entry.result and entry.result.is_valid)

    @property
    def labels(self) -> tuple[str, ...]:
        """TOTAL and the labels of the valid runs; none without a valid run."""
        found = dict.fromkeys(figures.label for result in self.valid for figures in result.labels)
        return (TOTAL, *found) if self.valid else ()

    def value(self, label: str, metric: Metric) -> float | None:
        """Return the median over the valid runs: ms, 1/s or a ratio; None where none of them has it."""
        values = [metric.of(figures) for figures in self._figures(label)]
        known = [value for value in values if value is not None]
        return median(known) if known else None

    def sample_count(self, label: str) -> int:
        """Return how many samples the least of the valid runs that have the label has of it; 0 without any."""
        return min((figures.sample_count or 0 for figures in self._figures(label)), default=0)

    def _figures(self, label: str) -> list[LabelResult]:
        found = [figures_of(result, label) for result in self.valid]
        return [figures for figures in found if figures]


def nights_of(entries: Iterable[Entry]) -> tuple[Night, ...]:
    """Return the nights of all plans, oldest first; runs whose series is no date, or without a run.json, are left out.

    A run that did not come to a result is among its night's runs, and none of its `valid` ones.
    """
    found: dict[tuple[str, str, Conditions], list[Entry]] = {}
    for entry in sorted(entries, key=lambda entry: (entry.plan, entry.newest)):
        night = night_of(entry.series)
        if night and entry.run:
            found.setdefault((night, entry.plan, Conditions.of(entry.run)), []).append(entry)
    nights = [Night(plan, conditions, night, tuple(runs)) for (night, plan, conditions), runs in found.items()]
    return tuple(sorted(nights, key=lambda night: (night.night, night.plan)))


def night_of(series: int) -> str | None:
    """Return the night of a series such as 261120, 2026-11-20; None when it is no date."""
    digits = f"{series:0{_DATE_DIGITS}}"
    if len(digits) > _DATE_DIGITS:
        return None
    try:
        return datetime.date(2000 + int(digits[:-4]), int(digits[-4:-2]), int(digits[-2:])).isoformat()
    except ValueError:
        return None


def figures_of(result: RunResult, label: str) -> LabelResult | None:
    """Return the figures of a label, or of TOTAL; None when the run has none."""
    if label == TOTAL:
        return result.total
    return next((figures for figures in result.labels if figures.label == label), None)
