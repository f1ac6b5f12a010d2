"""What the JSON of a night holds: what its suite asked for, which runs there were, and what is left to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from harness.base.errors import EXIT_OK, EXIT_REGRESSED
from harness.base.git import Commits
from harness.base.records import read
from harness.plan.load import LoadRecord
from harness.plan.thresholds import Thresholds

FORMAT_VERSION = 1
# States of a night.
RUNNING, FINISHED = "running", "finished"
# States of a run: `ended` says nothing of how.
WAITING, UNDER_WAY, ENDED, NOT_RUN = "waiting", "under way", "ended", "not run"


@dataclass(frozen=True)
class Load:
    """One load of the suite, checked: `arguments` are those of scripts/run, `target` is None for a system started here.

    It is planned to take `planned_s`, and stopped when it has not ended after `limit_s`, which has room for starting
    the system and for what JMeter may take beyond its duration. `thresholds` are those of the plan and of the suite.
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
class NightRun:
    """One run of a night: which of the loads, in which round (from 1), and what came of it.

    `run` is its name; None when it left no run. `problem` says why it did not run, or what went wrong beside what its
    own report says; empty when nothing did.
    """

    load: int
    turn: int
    state: str = WAITING
    run: str | None = None
    exit_code: int | None = None
    took_s: float | None = None
    problem: str = ""


@dataclass(frozen=True)
class NightlyRecord:
    """<date>.json; its runs are run-<series>_1 and following of each plan. Times are UTC in ISO 8601.

    `spent_s` is what the night took so far, over all its beginnings. `state` stays `running` until every run ended or
    was given up; till then the night can be continued. `storage_problems` say what was not fetched from S3 or pushed.
    """

    format_version: int
    name: str
    series: str
    title: str
    command: str
    budget_s: float
    metrics: tuple[str, ...]
    labels: tuple[str, ...]
    loads: tuple[Load, ...]
    state: str
    runs: tuple[NightRun, ...]
    started_at: str
    spent_s: float
    storage_problems: tuple[str, ...]
    git_commit: str | None
    git_changed: bool | None
    commits: Commits | None

    @property
    def waiting(self) -> tuple[int, ...]:
        """The places of the runs that are still to be done."""
        return tuple(place for place, run in enumerate(self.runs) if run.state == WAITING)

    @property
    def lengths_s(self) -> tuple[tuple[float, float], ...]:
        """Planned and taken seconds of the valid runs: those that failed say nothing of how long one takes."""
        return tuple(
            (self.load_of(run).planned_s, run.took_s)
            for run in self.runs
            if run.state == ENDED and run.took_s is not None and run.exit_code in (EXIT_OK, EXIT_REGRESSED)
        )

    @property
    def asked(self) -> tuple[object, ...]:
        """What must be the same for a night to be continued."""
        return self.loads, self.metrics, self.labels

    def load_of(self, run: NightRun) -> Load:
        """Return the load of a run."""
        return self.loads[run.load]

    def title_of(self, run: NightRun) -> str:
        """Return a run in words: its load, and the round where there are several."""
        load = self.load_of(run)
        return load.title + (f", round {run.turn} of {load.repeats}" if load.repeats > 1 else "")

    def log_name(self, place: int) -> str:
        """Return the file in the night's folder that has the output of the run at that place."""
        return f"{place + 1:02d}-{self.load_of(self.runs[place]).plan}.log"

    def to_json(self) -> dict[str, Any]:
        """Return plain data, keys in the order of the fields."""
        loads = [{**asdict(load), "thresholds": load.thresholds.to_json()} for load in self.loads]
        return {**asdict(self), "loads": loads}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], where: str) -> NightlyRecord:
        """Return the record that `to_json` wrote; UsageError when it is none."""
        return read(cls, data, where, "the record of a night")


def order_of(loads: tuple[Load, ...]) -> tuple[NightRun, ...]:
    """Return the runs in the order of measuring: in rounds, A B C, A B C.

    A machine that gets slower over time does so under all loads alike.
    """
    rounds = range(1, 1 + max(load.repeats for load in loads))
    return tuple(NightRun(place, turn) for turn in rounds for place, load in enumerate(loads) if turn <= load.repeats)
