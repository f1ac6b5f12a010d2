"""The record of an A/B test, its JSON file: the two sides, the load, and each run in the order of measuring."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from harness.plan.load import LoadRecord
from harness.plan.thresholds import Thresholds
from harness.run import kinds
from harness.sweep.time_left import RunTime, run_times

FORMAT_VERSION = 1
RUNNING, FINISHED = "running", "finished"
UNDER_WAY, ENDED = "under way", "ended"
A, B = "A", "B"
# The number of the pair of the warm-up run, which does not count.
WARM_UP = 0


@dataclass(frozen=True)
class Side:
    """One side, as text and resolved: `ref` is a name of git, `commit` its commit; None for the working copy.

    `target` is None for a system that the harness starts. `settings` and `properties` are
    assignments of SET: those of the system, and those of the plan or of JMeter.
    """

    text: str
    profile: str
    target: str | None = None
    ref: str | None = None
    commit: str | None = None
    settings: str = ""
    properties: str = ""

    @property
    def arguments(self) -> tuple[str, ...]:
        """The options of scripts/run for this side."""
        values = f"{self.settings} {self.properties}".strip()
        given = {"env": self.profile, "target": self.target, "set": values}
        return tuple(f"--{name}={value}" for name, value in given.items() if value)


@dataclass(frozen=True)
class AbRun:
    """One run: its side, its pair (from 1; 0 is the warm-up run), and its result.

    `run` is its name; None when it left no run directory. `problem` is what its own report does not contain.
    """

    side: str
    pair: int
    state: str = UNDER_WAY
    run: str | None = None
    exit_code: int | None = None
    took_s: float | None = None
    problem: str = ""


@dataclass(frozen=True)
class AbRecord:
    """ab-<n>.json without its results; its runs are run-<n>_1 and following. Times are UTC in ISO 8601.

    `arguments` are the options of scripts/run of both sides. A run should take `planned_s` beside its start, and is
    stopped after `limit_s`. `budget_s` is the time limit of everything, None without one; `spent_s` is the time used so
    far, including earlier attempts. `state` is `running` until there is a verdict or the budget ends; until then it can
    be resumed. `stop_reason` is why it ended without a decision; `undelivered` lists who did not get the message about
    it, and why. `seed` decides the order of the sides in each pair; None in a test of an older version, whose order was
    A B, B A.
    """

    format_version: int
    name: str
    plan: str
    command: str
    a: Side
    b: Side
    arguments: tuple[str, ...]
    load: LoadRecord
    planned_s: float
    limit_s: float
    budget_s: float | None
    thresholds: Thresholds
    state: str
    runs: tuple[AbRun, ...]
    started_at: str
    spent_s: float
    git_commit: str | None
    git_changed: bool | None
    stop_reason: str = ""
    undelivered: tuple[str, ...] = ()
    seed: int | None = None
    what: ClassVar = "an A/B test"
    version: ClassVar = FORMAT_VERSION
    # What the file contains beside the record: a function of it and of the runs.
    not_read: ClassVar = ("verdict", "headline", "pairs", "metrics", "causes")

    @property
    def id(self) -> str:
        """Plan and name, such as lb-nginx/ab-01."""
        return f"{self.plan}/{self.name}"

    @property
    def series(self) -> str:
        """The series of its runs, such as 01."""
        return kinds.AB_TEST.rest_of(self.name)

    @property
    def settings(self) -> tuple[object, ...]:
        """What must be unchanged to resume."""
        return self.plan, self.a, self.b, self.arguments, self.load, self.thresholds

    @property
    def has_warmed_up(self) -> bool:
        """Whether the warm-up run ended."""
        return any(run.pair == WARM_UP and run.state == ENDED for run in self.runs)

    @property
    def next_pair(self) -> int:
        """The number of the pair that is measured next; an incomplete one is not completed later."""
        return 1 + max((run.pair for run in self.runs), default=WARM_UP)

    @property
    def lengths_s(self) -> tuple[RunTime, ...]:
        """Planned and actual seconds of the valid runs."""
        return run_times((run, self.planned_s) for run in self.runs if run.state == ENDED)

    def side(self, name: str) -> Side:
        """Return the side A or B."""
        return self.a if name == A else self.b


def order_of(pair: int, seed: int | None) -> Sequence[str]:
    """Return the two sides of a pair in the order of measuring: by chance, so no disturbance is in step with it.

    The same seed has the same orders, so a resumed test continues them. Without a seed it is A B, B A, A B, B A.
    """
    a_is_first = pair % 2 == 1 if seed is None else random.Random(f"{seed} {pair}").random() < 0.5
    return (A, B) if a_is_first else (B, A)
