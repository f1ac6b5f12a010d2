"""Group the runs of a plan by date and conditions, and compute the metrics of each group."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from harness.compare.conditions import Conditions
from harness.history.catalogue import Entry
from harness.metrics.figures import TOTAL
from harness.metrics.metric import Metric
from harness.report.run_result import LabelResult, RunResult, samples_least


@dataclass(frozen=True)
class NightlyRuns:
    """The nightly runs of a plan under the same conditions on one date, such as 2026-11-20; `runs` are in order."""

    plan: str
    conditions: Conditions
    date: str
    runs: tuple[Entry, ...]

    @property
    def valid(self) -> tuple[RunResult, ...]:
        """The results of the valid runs."""
        return tuple(entry.result for entry in self.runs if entry.result and entry.result.is_valid)

    @property
    def labels(self) -> tuple[str, ...]:
        """TOTAL and the labels of the valid runs; none without a valid run."""
        found = dict.fromkeys(figures.label for result in self.valid for figures in result.labels)
        return (TOTAL, *found) if self.valid else ()

    def value(self, label: str, metric: Metric) -> float | None:
        """Return the median over the valid runs: ms, 1/s or a ratio; None when no run has the metric."""
        known = [value for figures in self._figures(label) if (value := metric.of(figures)) is not None]
        return median(known) if known else None

    def sample_count(self, label: str) -> int:
        """Return the smallest sample count of the label in a valid run that has it; 0 without any."""
        return min((figures.sample_count or 0 for figures in self._figures(label)), default=0)

    def samples_least(self, label: str, metric: Metric) -> int:
        """Return how many samples of the label the metric needs."""
        return samples_least(metric, self._figures(label))

    def _figures(self, label: str) -> list[LabelResult]:
        return [figures for result in self.valid if (figures := result.of_label(label))]


def nightly_runs_of(entries: Iterable[Entry]) -> tuple[NightlyRuns, ...]:
    """Return the nightly runs of all plans by date, oldest first, without other runs and runs without a run.json.

    A run without a result is in `runs`, but not in `valid`.
    """
    grouped: dict[tuple[str, str, Conditions], list[Entry]] = {}
    for entry in sorted(entries, key=lambda entry: (entry.plan, entry.order_key)):
        date = date_of(entry.series)
        if date and entry.run:
            grouped.setdefault((date, entry.plan, Conditions.of(entry.run)), []).append(entry)
    groups = [NightlyRuns(plan, conditions, date, tuple(runs)) for (date, plan, conditions), runs in grouped.items()]
    return tuple(sorted(groups, key=lambda group: (group.date, group.plan)))


def date_of(series: int) -> str | None:
    """Return the date of a series: 2026-11-20 for 261120; None when it is no date."""
    if series > 991231:
        return None
    try:
        return datetime.date(2000 + series // 10_000, series // 100 % 100, series % 100).isoformat()
    except ValueError:
        return None
