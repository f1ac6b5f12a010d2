"""What the live page of a run shows: a point per second, and tables of all samples so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.base import units
from harness.jtl.sample import Sample, generator_of
from harness.metrics.figures import LOAD, Group
from harness.metrics.histogram import Histogram
from harness.metrics.metric import METRICS
from harness.metrics.tally import SampleTally
from harness.plan.goal import Goal
from harness.report.columns import COUNT, ERROR_RATIO
from harness.report.goals import RunGroups, judge_goals
from harness.report.key_figures import KEY_COLUMNS
from harness.report.tables import parts_of

# The response times of a second, by the names of their lines.
TIMES = tuple(metric for metric in METRICS if metric.percentile in ("50", "90", "95", "99"))
# So many kinds of error and labels are listed.
_CAUSES_MOST, _LABELS_MOST = 10, 100


@dataclass(frozen=True)
class Use:
    """CPU (cores) and memory (bytes) of a process in the last second."""

    process: str
    cpu_cores: float
    rss_bytes: int


@dataclass
class LiveState:
    """Counts every sample of a run, as its report does; `second` adds those of the last second.

    `goal` is judged on all samples so far, with ramp-up and warm-up; `duration_s` is None when loops end the load.
    A point is [second, users, samples, errors, then the TIMES in ms or None].
    """

    goal: Goal
    duration_s: float | None
    once_labels: Sequence[str] = ()
    points: list[list[float | None]] = field(default_factory=list)
    uses: Mapping[str, Use] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._tally = SampleTally(self.once_labels, with_timeline=False)
        self._users: dict[str, int] = {}
        self._has_requests = False
        self._passed_s = 0.0

    def second(self, samples: Sequence[Sample], passed_s: float) -> None:
        """Count the samples of the last second; `passed_s` is since the first of all."""
        for sample in samples:
            self._tally.add(sample)
            if sample.all_threads is not None:
                self._users[generator_of(sample.thread_name)] = sample.all_threads
        requests = [sample for sample in samples if not sample.is_transaction]
        self._has_requests |= bool(requests)
        counted = requests if self._has_requests else samples
        histogram = Histogram()
        for sample in counted:
            histogram.add(sample.elapsed_ms)
        failures = sum(not sample.success for sample in counted)
        times = [metric.of_elapsed(histogram) for metric in TIMES]
        self._passed_s = passed_s
        self.points.append([round(passed_s, 1), sum(self._users.values()), len(counted), failures, *times])

    def now(self) -> dict[str, Any]:
        """Return the tables of all samples so far, as texts."""
        groups = self._tally.groups()
        load = next((group for group in groups if group.name == LOAD), None)
        left_s = None if self.duration_s is None else max(0.0, self.duration_s - self._passed_s)
        return {
            "passed": units.clock_text(self._passed_s),
            "left": "" if left_s is None else units.clock_text(left_s),
            "tiles": _tiles(load),
            "heads": [column.title for column in KEY_COLUMNS],
            "labels": _rows(load) if load else [],
            "goals": self._goals(load, groups) if load else [],
            "causes": [
                [kind.label, kind.code, kind.cause, str(kind.count)]
                for kind in sorted(self._tally.error_kinds(), key=lambda kind: -kind.count)[:_CAUSES_MOST]
            ],
            "uses": [
                [use.process, units.percent_text(use.cpu_cores, 0), units.mb_text(use.rss_bytes)]
                for use in self.uses.values()
            ],
        }

    def _goals(self, load: Group, groups: Sequence[Group]) -> list[list[str]]:
        others = tuple(group for group in groups if group.name != LOAD)
        return [
            [one.goal_text, one.measured_text, "met" if one.is_met else "missed"]
            for one in judge_goals(self.goal, RunGroups(load, load, others))
        ]


def _tiles(load: Group | None) -> dict[str, str]:
    """Return the totals by name: samples and errors."""
    if load is None:
        return {"samples": "0", "errors": ""}
    return {"samples": COUNT.cell(load.total), "errors": f"{ERROR_RATIO.cell(load.total)} %"}


def _rows(load: Group) -> list[list[str]]:
    """Return a row of texts per label: requests with TOTAL, then transactions."""
    rows = []
    for part in parts_of(load):
        shown = [*part.labels[:_LABELS_MOST], *([part.total] if part.total else [])]
        rows += [[label.label, *(column.cell(label) for column in KEY_COLUMNS)] for label in shown]
    return rows
