"""The record of an experiment, its JSON file: what all kinds of experiments have in common. A kind adds its own."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from harness.experiment.time_left import RunTime, run_times
from harness.plan.load import LoadRecord
from harness.plan.thresholds import Thresholds
from harness.run.kinds import Kind

FORMAT_VERSION = 1
# States of an experiment. An unfinished one can be resumed.
RUNNING, FINISHED = "running", "finished"
# States of a run; `ended` includes failures.
WAITING, UNDER_WAY, ENDED, NOT_RUN = "waiting", "under way", "ended", "not run"
# The number of the pair or block of the warm-up run, which does not count.
WARM_UP = 0


@dataclass(frozen=True, kw_only=True)
class ExperimentRun:
    """One run of an experiment: what became of it. A kind adds what the run is for.

    `run` is its name; None when it left no run directory. `problem` is what its own report does not contain.
    """

    state: str = UNDER_WAY
    run: str | None = None
    exit_code: int | None = None
    took_s: float | None = None
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class ExperimentRecord:
    """What the record of each experiment contains. Times are UTC in ISO 8601.

    `runs` are in the order of measuring. `budget_s` is the time limit of everything, None without one; `spent_s` is the
    time used so far, including earlier attempts. `state` is `running` until it needs no further run; until then it can
    be resumed. `stop_reason` is why it ended before. `resumed_at` is the number of runs before the last resumption.
    `undelivered` lists who did not get the message about it, and why.
    """

    format_version: int = FORMAT_VERSION
    name: str
    command: str
    budget_s: float | None
    state: str
    runs: tuple[ExperimentRun, ...]
    started_at: str
    spent_s: float
    git_commit: str | None
    git_changed: bool | None
    stop_reason: str = ""
    resumed_at: int = 0
    undelivered: tuple[str, ...] = ()
    version: ClassVar = FORMAT_VERSION
    what: ClassVar[str]

    @property
    @abstractmethod
    def lengths_s(self) -> tuple[RunTime, ...]:
        """Planned and actual seconds of the valid runs."""


@dataclass(frozen=True, kw_only=True)
class PlanExperiment(ExperimentRecord):
    """The record of an experiment with equal loads of one plan.

    `arguments` are options of scripts/run for all runs. A run should take `planned_s` beside its start, and is stopped
    after `limit_s`.
    """

    plan: str
    arguments: tuple[str, ...]
    load: LoadRecord
    planned_s: float
    limit_s: float
    thresholds: Thresholds
    kind: ClassVar[Kind]

    @property
    @abstractmethod
    def settings(self) -> tuple[object, ...]:
        """What must be unchanged to resume."""

    @property
    def id(self) -> str:
        """Plan and name, such as lb-nginx/ab-01."""
        return f"{self.plan}/{self.name}"

    @property
    def series(self) -> str:
        """The series of its runs, such as 01."""
        return self.kind.rest_of(self.name)

    @property
    def lengths_s(self) -> tuple[RunTime, ...]:
        """Planned and actual seconds of the valid runs."""
        return run_times((run, self.planned_s) for run in self.runs if run.state == ENDED)
