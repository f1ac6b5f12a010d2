"""The record of a nightly run, its JSON file: the loads of its suite, and the state of each run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from harness.base.git import Commits
from harness.experiment.record import ENDED, UNDER_WAY, WAITING, ExperimentRecord, ExperimentRun, RunTime, run_times
from harness.metrics.metric import check_metrics
from harness.plan.load.model import LoadRecord
from harness.plan.thresholds import Thresholds
from harness.run import kinds
from harness.run.kinds import check_names


@dataclass(frozen=True)
class Load:
    """One load of the suite, checked: `arguments` are those of lth run, `target` is None for a system
    that the harness starts.

    It should take `planned_s`. It is stopped after `limit_s`, which includes the start of the system and the time that
    JMeter may take beyond its duration. `thresholds` are those of the plan and of the suite.
    """

    plan: str
    profile: str
    title: str
    arguments: tuple[str, ...]
    load: LoadRecord
    target: str | None
    repeats: int
    planned_s: float
    limit_s: float
    thresholds: Thresholds


@dataclass(frozen=True)
class LoadRun(ExperimentRun):
    """One run of a nightly run: the index of its load, its round (from 1), and its result.

    `problem` may also be why it did not run.
    """

    load: int
    round_number: int
    state: str = field(default=WAITING, kw_only=True)
    json_keys: ClassVar = {"round_number": "turn"}


@dataclass(frozen=True, kw_only=True)
class NightlyRecord(ExperimentRecord):
    """<date>.json; its runs are run-<series>_1 and following of each plan.

    It runs until every run ended or was skipped. `storage_problems` list what was not downloaded or uploaded.
    """

    runs: tuple[LoadRun, ...]
    budget_s: float
    series: str
    title: str
    metrics: tuple[str, ...]
    labels: tuple[str, ...]
    loads: tuple[Load, ...]
    storage_problems: tuple[str, ...]
    commits: Commits | None
    report_kind: ClassVar = kinds.NIGHTLY
    what: ClassVar = "a nightly run"
    # What the file contains beside the record: the result of the report.
    not_read: ClassVar = ("verdict", "headline", "result")

    def __post_init__(self) -> None:
        """Raise ValueError for names that are none, and for a load that is missing."""
        super().__post_init__()
        check_metrics(*self.metrics)
        check_names(*(load.plan for load in self.loads))
        if not self.series.isdecimal() or not all(0 <= run.load < len(self.loads) for run in self.runs):
            raise ValueError("its series is no number, or a run is of no load")

    @property
    def waiting(self) -> tuple[int, ...]:
        """The indexes of the remaining runs."""
        return tuple(index for index, run in enumerate(self.runs) if run.state == WAITING)

    @property
    def lengths_s(self) -> tuple[RunTime, ...]:
        """Planned and actual seconds of the valid runs."""
        return run_times((run, self.load_of(run).planned_s) for run in self.runs if run.state == ENDED)

    @property
    def resolved(self) -> tuple[object, ...]:
        """What the suite of its command is."""
        return self.loads, self.metrics, self.labels

    def is_continued_by(self, new: NightlyRecord) -> bool:
        """Whether the command of `new` resumes this unfinished one without --resume: only on the same day."""
        return self.date == new.date

    def resumed(self, run: ExperimentRun, *, is_there: bool, is_whole: bool) -> LoadRun:  # noqa: ARG002
        """Return a run as the resumed record has it: it waits again when it did not end or was deleted."""
        assert isinstance(run, LoadRun)
        return LoadRun(run.load, run.round_number) if run.state == UNDER_WAY or not is_there else run

    def plan_of(self, run: ExperimentRun) -> str:
        """Return the plan of a run."""
        assert isinstance(run, LoadRun)
        return self.load_of(run).plan

    @property
    def date(self) -> str:
        """The date of its start, UTC."""
        return self.started_at[:10]

    def load_of(self, run: LoadRun) -> Load:
        """Return the load of a run."""
        return self.loads[run.load]

    def title_of(self, run: LoadRun) -> str:
        """Return the title of a run: its load, and the round when there are several."""
        load = self.load_of(run)
        return load.title + (f", round {run.round_number} of {load.repeats}" if load.repeats > 1 else "")

    def log_name(self, index: int) -> str:
        """Return the file name of a run's output."""
        return f"{index + 1:02d}-{self.load_of(self.runs[index]).plan}.log"


def order_of(loads: tuple[Load, ...]) -> tuple[LoadRun, ...]:
    """Return the runs in the order of measuring: in rounds, A B C, A B C.

    So a machine that becomes slower over time affects all loads equally.
    """
    runs = (LoadRun(index, 1 + done) for index, load in enumerate(loads) for done in range(load.repeats))
    return tuple(sorted(runs, key=lambda run: run.round_number))
