"""The record of a trust test, its JSON file: several starts of the system, each with a few runs of the plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from harness.base.records import fields_to_plain
from harness.experiment.counting import problem_of
from harness.experiment.record import ENDED, ExperimentRun, PlanExperiment, RunTime, measured, run_times
from harness.kinds.trust.design import RUNS_PER_START
from harness.metrics.batch_means import Estimate
from harness.plan.load.model import LoadRequest
from harness.plan.thresholds import Thresholds
from harness.report.run_result import RunResult
from harness.run import kinds

# What the file also has, always with these values: once a trust test was a sweep with one level.
_OF_A_SWEEP: Mapping[str, Any] = {
    **{"kind": "trust", "fresh": False, "warm_up_s": 0.0, "values": []},
    **dict.fromkeys(("loops", "goal", "first_users", "most_users", "remotes")),
}


@dataclass(frozen=True)
class TrustRun(ExperimentRun):
    """A run of a trust test: the number of its start (from 1), and its index in the start (from 0).

    `estimates` are those of the metrics that its batches have, by the metric's id. `planned_s` is the planned duration
    of its load, None when it ends after a number of requests.
    """

    users: int
    start: int
    planned_s: float | None = None
    index: int = 0
    estimates: Mapping[str, Estimate] = field(default_factory=dict)
    optional: ClassVar = ("estimates",)
    json_keys: ClassVar = {"start": "repeat"}
    not_read: ClassVar = ("setting",)


@dataclass(frozen=True, kw_only=True)
class TrustRecord(PlanExperiment):
    """trust-<n>.json without its results; its runs are run-<n>_1 and following.

    `starts` is the number of complete starts that the test needs. The load has `users`, of an open one 1, and its
    length: None is the plan's. `detect_ratio` is the change that must be found. `given` is SET, if there is one.
    """

    runs: tuple[TrustRun, ...]
    profile: str
    users: int
    starts: int
    ramp_s: float | None
    duration_s: float | None
    target: str | None
    requests: int | None = None
    given: Mapping[str, str] = field(default_factory=dict)
    rate_per_s: float | None = None
    detect_ratio: float
    thresholds: Thresholds
    runs_have_names: ClassVar = True
    optional: ClassVar = ("rate_per_s",)
    json_keys: ClassVar = {"starts": "repeat"}
    report_kind: ClassVar = kinds.TRUST
    what: ClassVar = "a trust test"
    not_read: ClassVar = ("verdict", "answer", "headline", "result", "metrics", "costs", *_OF_A_SWEEP)

    @classmethod
    def of_earlier(cls, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the JSON with the users as a number: the file has a list of one."""
        match data.get("users"):
            case [users]:
                data = {**data, "users": users}
        return super().of_earlier(data)

    def to_plain(self) -> dict[str, Any]:
        """Return the record as plain data, with all keys of its file."""
        return {**fields_to_plain(self), **_OF_A_SWEEP, "users": [self.users]}

    @property
    def load(self) -> LoadRequest:
        """The load of each run."""
        users = None if self.rate_per_s else self.users
        return LoadRequest(users, self.ramp_s, self.duration_s, rate_per_s=self.rate_per_s, requests=self.requests)

    @property
    def resolved(self) -> tuple[object, ...]:
        """What the plan of its command is; the number of starts follows from the budget."""
        return self.plan, self.profile, self.target, self.users, self.rate_per_s, self.thresholds

    @property
    def measured(self) -> tuple[TrustRun, ...]:
        """The completed runs, including INVALID ones."""
        return measured(self.runs)

    @property
    def lengths_s(self) -> tuple[RunTime, ...]:
        """Planned and actual seconds of the valid runs."""
        return run_times((run, run.planned_s) for run in self.measured)

    def resumed(self, run: ExperimentRun, *, is_there: bool, is_whole: bool) -> ExperimentRun | None:
        """Return a run as the resumed record has it: one whose load ended counts, although the harness was killed."""
        return replace(run, state=ENDED if is_whole else run.state) if is_there else None

    def complete_starts(self, results: Mapping[str, RunResult]) -> list[list[RunResult]]:
        """Return the results of the complete starts all runs of which count."""
        found: dict[int, list[RunResult]] = {}
        for run in self.measured:
            result = results.get(run.name)
            if result and not problem_of(result, run.problem).text:
                found.setdefault(run.start, []).append(result)
        return [runs for runs in found.values() if len(runs) == RUNS_PER_START]

    def next_run(self, results: Mapping[str, RunResult]) -> TrustRun | None:
        """Return the next run: the rest of the current start, or the first of a new one; None at the end.

        A start that was interrupted, or of which a run does not count, is replaced.
        """
        if len(self.complete_starts(results)) >= self.starts:
            return None
        last = self.measured[-1] if self.measured else None
        is_current = last is not None and last in self.runs[self.resumed_at :]
        result = results.get(last.name) if last else None
        if last and is_current and last.index + 1 < RUNS_PER_START and result and not problem_of(result).text:
            return TrustRun(self.users, last.start, index=last.index + 1)
        return TrustRun(self.users, 1 + max((run.start for run in self.runs), default=0))
