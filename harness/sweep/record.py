"""The record of a sweep (sweep-NN.json): its settings, its completed runs and its remaining steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple

from harness.base import units
from harness.experiment.record import ENDED, ExperimentRun, PlanExperiment, RunTime, measured, run_times
from harness.plan.goal import Goal
from harness.plan.load.model import LOOPS_MAX, REQUESTS_MAX, USERS_MAX
from harness.run import kinds

_REPEAT_MAX = 10_000
_WARM_UP_USERS = 10
SWEEP, CAPACITY = "sweep", "capacity"


def level_text(users: int, setting: str) -> str:
    """Return a level as text: 5 users, or the value of the swept setting, such as delay_ms=20."""
    return setting or units.plural(users, "user")


class SweepStep(NamedTuple):
    """What a run of a sweep measures: its level, that is its users and the value of the setting, and its round."""

    users: int
    repeat: int
    setting: str


@dataclass(frozen=True)
class SweepRun(ExperimentRun):
    """A run of a sweep, planned or measured: its level, and its round (from 1).

    `setting` is the value of the swept setting, such as delay_ms=20; empty in a sweep over users. `planned_s` is the
    planned duration of its load, None when it ends after loops or requests.
    """

    users: int
    repeat: int
    setting: str = ""
    planned_s: float | None = None
    optional: ClassVar[tuple[str, ...]] = ("setting",)

    @property
    def text(self) -> str:
        """Its level: 5 users, or delay_ms=20."""
        return level_text(self.users, self.setting)

    @property
    def step(self) -> SweepStep:
        """What it measures."""
        return SweepStep(self.users, self.repeat, self.setting)


@dataclass(frozen=True, kw_only=True)
class SweepRecord(PlanExperiment):
    """The contents of sweep-<series>.json; its runs are run-<series>_1 and following, of the same plan.

    `users` are the levels of a sweep in order, measured `repeat` times in rounds. A capacity search has no list: it
    starts at `first_users` and ends at `most_users`, within `goal`. A ramp, duration, loops, requests or goal of None
    is the plan's. `given` has goals, stop conditions and SET as given, by option. `values` are the levels of a sweep
    over a setting, as in SET: delay_ms=20, all with the same users; without them the levels are `users`.
    """

    runs: tuple[SweepRun, ...]
    kind: str
    profile: str
    users: tuple[int, ...]
    repeat: int
    fresh: bool
    warm_up_s: float
    ramp_s: float | None
    duration_s: float | None
    loops: int | None
    target: str | None
    goal: Goal | None
    first_users: int | None
    most_users: int | None
    requests: int | None = None
    given: Mapping[str, str] = field(default_factory=dict)
    values: tuple[str, ...] = ()
    runs_have_names: ClassVar = True
    report_kind: ClassVar = kinds.SWEEP
    what: ClassVar = "a sweep"
    # What the file contains beside the record: the result of the report.
    not_read: ClassVar[tuple[str, ...]] = ("verdict", "headline", "result", "remotes", "rate_per_s")

    def __post_init__(self) -> None:
        """Raise ValueError for a run's name that leads to another folder, and for numbers out of range."""
        super().__post_init__()
        users = (*self.users, self.first_users, self.most_users)
        loops, requests = ("loops", LOOPS_MAX, (self.loops,)), ("requests", REQUESTS_MAX, (self.requests,))
        for name, most, values in (("users", USERS_MAX, users), loops, requests):
            if any(value is not None and not 1 <= value <= most for value in values):
                raise ValueError(f"{name} = {values}")
        if not 1 <= self.repeat <= _REPEAT_MAX:
            raise ValueError(f"repeat = {self.repeat}")

    @property
    def measured(self) -> tuple[SweepRun, ...]:
        """The completed runs, including INVALID ones."""
        return measured(self.runs)

    @property
    def lengths_s(self) -> tuple[RunTime, ...]:
        """Planned and actual seconds of the valid runs."""
        return run_times((run, run.planned_s) for run in self.measured)

    @property
    def stop(self) -> str | None:
        """The stop conditions as given; None for the plan's."""
        return self.given.get("stop")

    @property
    def set_values(self) -> str | None:
        """SET as given; None without it."""
        return self.given.get("set")

    @property
    def is_profiled(self) -> bool:
        """Whether PROFILE was given: each level is profiled."""
        return "profile" in self.given

    @property
    def largest_users(self) -> int:
        """The users of the largest level; of a search the most that it may try."""
        return max(self.users) if self.most_users is None else self.most_users

    @property
    def warm_up_users(self) -> int:
        """The users of the warm-up: those of the middle level; of a search at least ten."""
        if self.first_users is None or self.most_users is None:
            return sorted(self.users)[len(self.users) // 2]
        return min(max(self.first_users, _WARM_UP_USERS), self.most_users)

    @property
    def steps(self) -> tuple[SweepRun, ...]:
        """All steps of a sweep in the order of measuring.

        Each round measures all levels. Drift of the system over time then affects all levels alike, and is not
        mistaken for an effect of the users or of the setting.
        """
        return tuple(
            SweepRun(users, repeat, value)
            for repeat in range(1, self.repeat + 1)
            for users in self.users
            for value in self.values or ("",)
        )

    @property
    def steps_left(self) -> tuple[SweepRun, ...]:
        """The steps of a sweep that are not measured yet."""
        done = {run.step for run in self.measured}
        return tuple(run for run in self.steps if run.step not in done)

    def resumed(self, run: ExperimentRun, *, is_there: bool, is_whole: bool) -> ExperimentRun | None:
        """Return a run as the resumed record has it: one whose load ended counts, although the harness was killed."""
        return replace(run, state=ENDED if is_whole else run.state) if is_there else None

    @property
    def resolved(self) -> tuple[object, ...]:
        """What the plan, the levels and the goal of its command are."""
        levels = (self.users, self.repeat, self.fresh, self.values, self.first_users, self.most_users)
        return self.kind, self.plan, self.profile, self.target, self.goal, *levels
