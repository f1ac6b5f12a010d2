"""The record of an experiment, its JSON file: what all kinds of experiments have in common. A kind adds its own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeVar

from harness.base.command import Command
from harness.base.errors import EXIT_OK, EXIT_REGRESSED
from harness.plan.load.model import LoadRecord
from harness.plan.thresholds import Thresholds
from harness.run.kinds import RUN_NAME, Kind, check_names

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

    @property
    def name(self) -> str:
        """Its name; only for runs that have a directory."""
        assert self.run is not None
        return self.run


@dataclass(frozen=True, kw_only=True)
class ExperimentRecord:
    """What the record of each experiment contains. Times are UTC in ISO 8601.

    `runs` are in the order of measuring. `budget_s` is the time limit of everything, None without one; `spent_s` is the
    time used so far, including earlier attempts. `state` is `running` until it needs no further run; until then it can
    be resumed. `stop_reason` is why it ended before. `resumed_at` is the number of runs before the last resumption.
    `undelivered` lists who did not get the message about it, and why. `note` is the text for the notes in the reports,
    `properties` and `headers` are the JMeter properties and the texts of -H of all runs; all without secrets.
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
    note: str = ""
    properties: str = ""
    headers: tuple[str, ...] = ()
    version: ClassVar = FORMAT_VERSION
    what: ClassVar[str]
    report_kind: ClassVar[Kind]
    # Whether each run has a directory, since it is in the record only when it begins.
    runs_have_names: ClassVar = False

    def __post_init__(self) -> None:
        """Raise ValueError for a run's name that is missing or leads to another folder, and for other names."""
        check_names(*filter(None, (self.name, self.plan_folder)))
        for run in self.runs:
            if (run.run is not None or self.runs_have_names) and not RUN_NAME.fullmatch(run.run or ""):
                raise ValueError(f"{run.run!r} is no run's name")

    def is_of_code(self, commit: str | None, is_changed: bool | None) -> bool:
        """Whether it began with this code; code with changes is not known to be the same."""
        return self.git_commit == commit and not self.git_changed and not is_changed

    def is_continued_by(self, new: Self) -> bool:  # noqa: ARG002
        """Whether a command with the same settings, of `new`, resumes this unfinished one without --resume."""
        return True

    def resumed(self, run: ExperimentRun, *, is_there: bool, is_whole: bool) -> ExperimentRun | None:  # noqa: ARG002
        """Return a run as the resumed record has it; None without it: its directory is not there any more.

        `is_whole` is whether the harness was killed after the load of an unfinished run ended.
        """
        return run if is_there else None

    def plan_of(self, run: ExperimentRun) -> str:  # noqa: ARG002
        """Return the folder of a run, seen from the folder of the record: its plan's, where there are several."""
        return ""

    @property
    def plan_folder(self) -> str:
        """The folder of the record, seen from the folder of its kind; empty when it has no plan of its own."""
        return ""

    @property
    def id(self) -> str:
        """Plan and name, such as lb-nginx/ab-01."""
        return f"{self.plan_folder}/{self.name}".lstrip("/")

    def note_of(self, link: str) -> str:
        """Return the note of a run: that of the experiment, and a sentence with a link to it."""
        return f"{self.note}\n\n{link}" if self.note else link

    @property
    def resume_command(self) -> str:
        """The command that resumes it although the code is another one."""
        resume = self.report_kind.rest_of(self.name)
        return str(Command.of(self.report_kind.verb, plan=self.plan_folder, resume=resume))

    @property
    @abstractmethod
    def resolved(self) -> tuple[object, ...]:
        """What its command meant when it began, and must still mean to resume it."""

    @property
    @abstractmethod
    def lengths_s(self) -> tuple[RunTime, ...]:
        """Planned and actual seconds of the valid runs."""


@dataclass(frozen=True, kw_only=True)
class PlanExperiment(ExperimentRecord):
    """The record of an experiment with one plan."""

    plan: str

    @classmethod
    def of_earlier(cls, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the JSON of a sweep or an overload test as it is written today: once, its runs had no state."""
        if "under_way" not in data:
            return data
        runs = [{**run, "state": ENDED} for run in data["runs"]]
        left = [*data["broken_off"], *([data["under_way"]] if data["under_way"] else [])]
        kept = {key: value for key, value in data.items() if key not in ("under_way", "broken_off")}
        unknown = {"budget_s": None, "started_at": "", "spent_s": 0.0, "git_changed": None}
        return {**unknown, **kept, "runs": runs + left}

    @property
    def plan_folder(self) -> str:
        """The folder of the plan."""
        return self.plan

    @property
    def series(self) -> str:
        """The series of its runs, such as 01."""
        return self.report_kind.series_of(self.name)


@dataclass(frozen=True, kw_only=True)
class EqualRuns(PlanExperiment):
    """The record of an experiment with equal loads of one plan.

    `arguments` are options of lth run for all runs. A run should take `planned_s` beside its start, and is stopped
    after `limit_s`.
    """

    arguments: tuple[str, ...]
    load: LoadRecord
    planned_s: float
    limit_s: float
    thresholds: Thresholds

    @property
    def lengths_s(self) -> tuple[RunTime, ...]:
        """Planned and actual seconds of the valid runs."""
        return run_times((run, self.planned_s) for run in measured(self.runs))


RunT = TypeVar("RunT", bound=ExperimentRun)


def measured(runs: Iterable[RunT]) -> tuple[RunT, ...]:
    """Return the runs that ended: neither the current one nor interrupted ones."""
    return tuple(run for run in runs if run.state == ENDED)


@dataclass(frozen=True)
class RunTime:
    """The planned duration of a completed run's load (None: it ended after loops), and how long the run took."""

    planned_s: float | None
    took_s: float


def run_times(runs: Iterable[tuple[ExperimentRun, float | None]]) -> tuple[RunTime, ...]:
    """Return planned and actual seconds of the valid ones of these runs; failed runs would distort the estimate.

    Each comes with the planned duration of its load, None when it ended after loops.
    """
    return tuple(
        RunTime(planned_s, run.took_s)
        for run, planned_s in runs
        if run.took_s is not None and run.exit_code in (EXIT_OK, EXIT_REGRESSED)
    )


def time_left_s(planned_s: Sequence[float | None], done: Sequence[RunTime], first_guess_s: float) -> float | None:
    """Return the seconds that the planned runs will take; None without an estimate.

    `planned_s` are the durations of their loads (None for loads that end after loops). A run takes its load and an
    overhead: the mean overhead so far, `first_guess_s` before the first run. A run of loops takes the mean time of the
    runs so far.
    """
    over_s = [run.took_s - run.planned_s for run in done if run.planned_s is not None]
    overhead_s = sum(over_s) / len(over_s) if over_s else first_guess_s
    mean_s = sum(run.took_s for run in done) / len(done) if done else None
    each_s = [mean_s if planned is None else planned + overhead_s for planned in planned_s]
    known_s = [one for one in each_s if one is not None]
    return sum(known_s, 0.0) if len(known_s) == len(each_s) else None
