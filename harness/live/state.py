"""What the live page of a run shows: a point per second, and tables of all samples so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from harness.base import units
from harness.base.secrecy import masked
from harness.jtl.sample import ELAPSED_MAX_MS, Sample
from harness.judge.goals import GoalResult, RunGroups, judge_goals
from harness.live.counts import EndedSamples, LiveCounts
from harness.live.telemetry_tail import TailUse
from harness.metrics.figures import LOAD, Group, with_their_causes
from harness.metrics.heat_map import column_text
from harness.metrics.histogram import Histogram
from harness.metrics.instruments import BOUNDS_MS
from harness.metrics.metric import METRICS
from harness.plan.goal import Goal
from harness.report.key_figures import KEY_COLUMNS
from harness.report.tables import parts_of

# The response times of a second, by the names of their lines.
TIMES = tuple(metric for metric in METRICS if metric.percentile in ("50", "90", "95", "99"))
# The values of each second.
SECOND = ("second", "users", "samples", "errors", *(metric.name for metric in TIMES), "cells")
# The rows of the heat map; the cells of a second are a column of it.
CELL_EDGES_MS = (0, *(bound_ms + 1 for bound_ms in BOUNDS_MS), ELAPSED_MAX_MS + 1)
# A point: numbers, times in ms or None, and the cells as text.
Point = list[float | str | None]
# So many kinds of error and labels are listed.
_CAUSES_MOST, _LABELS_MOST = 10, 100
# JMeter writes a row up to some seconds after the sample ended; a later one is in the totals only.
_LATE_S = 60
# So many seconds after a second it counts as one in which nothing ended.
_QUIET_S = 5


@dataclass
class _Second:
    """The samples that ended in one second; `users` were active when the last of them were read."""

    histogram: Histogram = field(default_factory=Histogram)
    error_count: int = 0
    users: int = 0


@dataclass
class LiveState:
    """Counts every sample of a run, as its report does; `add` gets the new ones about once a second.

    `goal` is judged on all samples so far, with ramp-up and warm-up; `duration_s` is None when loops end the load.
    `hidden` are the secrets that no text may contain.
    """

    goal: Goal
    duration_s: float | None
    once_labels: Sequence[str] = ()
    hidden: Sequence[str] = ()
    uses: Mapping[str, TailUse] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._counts = LiveCounts(self.once_labels)
        self._active_users: int | None = None
        self._has_requests = False
        self._passed_s = 0.0
        self._origin_s: int | None = None
        self._points: list[Point] = []
        self._recent: dict[int, _Second] = {}
        secrets = with_their_causes(self.hidden)
        # The search for secrets takes long, and the texts are few.
        self._text = cache(lambda text: masked(text, secrets))

    def add(self, samples: Sequence[Sample], passed_s: float, active_users: int | None = None) -> None:
        """Count new samples; `passed_s` is since the first of all.

        `active_users` are those of now, None when only the samples say it. While none ends, each second gets a point.
        """
        self._active_users = active_users
        self._passed_s = max(self._passed_s, passed_s)
        new = self._counts.add(samples)
        self._has_requests |= bool(new.requests.seconds)
        for second in sorted(self._count(new.requests if self._has_requests else new.transactions)):
            self._set_point(second)
        if self._origin_s is not None and active_users is not None and not samples:
            self._fill(int(self._passed_s) - _QUIET_S)
        for second in [second for second in self._recent if second < len(self._points) - _LATE_S]:
            del self._recent[second]

    def points(self, first: int, *, is_ended: bool = False) -> list[Point]:
        """Return the points from a number on, each with the values of a SECOND.

        The newest second is left out until the run has ended, because it is not complete.
        """
        return self._points[first : None if is_ended else -1]

    def _count(self, ended: EndedSamples) -> set[int]:
        """Count samples in the seconds of their ends; return these seconds. Those that are too late have no second."""
        if self._origin_s is None and ended.seconds:
            self._origin_s = ended.first_start_ms // units.MS_PER_S
        origin_s, oldest = self._origin_s or 0, max(0, len(self._points) - _LATE_S)
        users = self._users
        changed = set()
        for at_s, times_ms in ended.seconds.items():
            second = at_s - origin_s
            if second < oldest:
                continue
            changed.add(second)
            counts = self._recent.get(second)
            if counts is None:
                counts = self._recent[second] = _Second()
            counts.users = users
            counts.histogram.add_all(times_ms)
            counts.error_count += ended.error_counts.get(at_s, 0)
        return changed

    def _set_point(self, second: int) -> None:
        """Calculate the point of a second again; seconds before it in which no sample ended get empty points."""
        self._fill(second)
        counts = self._recent[second]
        times = counts.histogram.quantiles_ms([metric.ratio for metric in TIMES])
        cells = column_text(counts.histogram, CELL_EDGES_MS)
        self._points[second] = [second, counts.users, counts.histogram.count, counts.error_count, *times, cells]

    def _fill(self, second: int) -> None:
        """Add an empty point for each second up to this one."""
        while len(self._points) <= second:
            users = self._users if self._active_users is not None else self._points[-1][1] if self._points else 0
            self._points.append([len(self._points), users, 0, 0, *[None] * len(TIMES), ""])

    @property
    def _users(self) -> int:
        return self._counts.users if self._active_users is None else self._active_users

    @property
    def passed_s(self) -> float:
        """How long ago the first sample began, in s."""
        return self._passed_s

    def clock(self) -> str:
        """Return how much of the load has passed, and how much is left when that is known."""
        passed = f"{units.clock_text(self._passed_s)} passed"
        if self.duration_s is None:
            return passed
        return f"{passed}, {units.clock_text(max(0.0, self.duration_s - self._passed_s))} left"

    def now(self) -> dict[str, Any]:
        """Return the tables of all samples so far, as texts."""
        groups = self._counts.tally.groups()
        load = next((group for group in groups if group.name == LOAD), None)
        return {
            "heads": [column.title for column in KEY_COLUMNS],
            "labels": self._rows(load) if load else [],
            "goals": self._goals(load, groups) if load else [],
            "causes": [
                [self._text(kind.label), self._text(kind.code), self._text(kind.cause), str(kind.count)]
                for kind in self._counts.tally.error_kinds()[:_CAUSES_MOST]
            ],
            "uses": [
                [use.process, units.percent_text(use.cpu_cores, 0), units.mb_text(use.rss_bytes)]
                for use in self.uses.values()
            ],
        }

    def _goals(self, load: Group, groups: Sequence[Group]) -> list[list[str]]:
        others = tuple(group for group in groups if group.name != LOAD)
        rows = goal_rows(judge_goals(self.goal, RunGroups(load, load, others)))
        # What was measured changes each second, and may name a label.
        return [[masked(text, self.hidden) for text in row] for row in rows]

    def _rows(self, load: Group) -> list[list[str]]:
        """Return a row of texts per label: requests with TOTAL, then transactions."""
        rows = []
        for part in parts_of(load):
            shown = part.labels[:_LABELS_MOST]
            rows += [[self._text(label.label), *(column.cell(label) for column in KEY_COLUMNS)] for label in shown]
            if len(part.labels) > len(shown):
                more = units.plural(len(part.labels) - len(shown), "more label")
                rows.append([f"({more}: see the report)", *[""] * len(KEY_COLUMNS)])
            if part.total:
                rows.append([part.total.label, *(column.cell(part.total) for column in KEY_COLUMNS)])
        return rows


def goal_rows(results: Sequence[GoalResult]) -> list[list[str]]:
    """Return goal, measured value and result of each goal."""
    return [[one.goal_text, one.measured_text, "met" if one.is_met else "missed"] for one in results]
