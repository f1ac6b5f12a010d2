"""The record of a trust test, its JSON file: a sweep with one level whose system is restarted after every other run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from harness.experiment.counting import problem_of
from harness.experiment.record import ExperimentRun, measured
from harness.kinds.trust.design import RUNS_PER_START
from harness.metrics.batch_means import Estimate
from harness.plan.thresholds import Thresholds
from harness.report.run_result import RunResult
from harness.run import kinds
from harness.sweep.record import SweepRecord, SweepRun


@dataclass(frozen=True)
class TrustRun(SweepRun):
    """A run of a trust test: `repeat` is the number of its start (from 1), `index` its index in the start (from 0).

    `estimates` are those of the metrics that its batches have, by the metric's id.
    """

    index: int = 0
    estimates: Mapping[str, Estimate] = field(default_factory=dict)
    optional: ClassVar = ("setting", "estimates")


@dataclass(frozen=True, kw_only=True)
class TrustRecord(SweepRecord):
    """trust-<n>.json without its results; its runs are run-<n>_1 and following.

    `repeat` is the number of complete starts that the test needs. `detect_ratio` is the change that must be found.
    """

    runs: tuple[TrustRun, ...]
    detect_ratio: float
    thresholds: Thresholds
    report_kind: ClassVar = kinds.TRUST
    what: ClassVar = "a trust test"
    not_read: ClassVar = ("verdict", "answer", "headline", "result", "metrics", "costs")

    @property
    def resolved(self) -> tuple[object, ...]:
        """What the plan of its command is; the number of starts follows from the budget."""
        return self.plan, self.profile, self.target, self.users, self.rate_per_s, self.thresholds

    @property
    def measured(self) -> tuple[TrustRun, ...]:
        """The completed runs, including INVALID ones."""
        return measured(self.runs)

    def restarts_before(self, run: ExperimentRun) -> bool:
        """Whether the system is restarted before a run."""
        return isinstance(run, TrustRun) and run.index == 0

    def run_note(self) -> str:
        """Return the note of each run."""
        return f"Of [{self.name}]({self.name}.md)."

    def starts(self, results: Mapping[str, RunResult]) -> list[list[RunResult]]:
        """Return the results of the complete starts all runs of which count."""
        by_start: dict[int, list[RunResult]] = {}
        for run in self.measured:
            result = results.get(run.name)
            if result and not problem_of(result, run.problem).text:
                by_start.setdefault(run.repeat, []).append(result)
        return [runs for runs in by_start.values() if len(runs) == RUNS_PER_START]

    def next_run(self, users: int, results: Mapping[str, RunResult]) -> TrustRun | None:
        """Return the next run: the rest of the current start, or the first of a new one; None at the end.

        A start that was interrupted, or of which a run does not count, is replaced.
        """
        if len(self.starts(results)) >= self.repeat:
            return None
        last = self.measured[-1] if self.measured else None
        is_current = last is not None and last in self.runs[self.resumed_at :]
        result = results.get(last.name) if last else None
        if last and is_current and last.index + 1 < RUNS_PER_START and result and not problem_of(result).text:
            return TrustRun(users, last.repeat, index=last.index + 1)
        return TrustRun(users, 1 + max((run.repeat for run in self.runs), default=0))
