"""What experiments decide that do many runs on one warm system: sweeps, capacity searches, trust tests."""

from __future__ import annotations

import argparse
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from harness.base import units
from harness.base.errors import EXIT_INTERRUPTED, EXIT_INVALID, EXIT_OK
from harness.experiment.counting import Needs, problem_of
from harness.experiment.execute import Step
from harness.experiment.record import FINISHED, ExperimentRun, PlanExperiment, measured
from harness.experiment.runner import Design
from harness.plan.load.model import Load
from harness.report.run_result import RunResult
from harness.run.request import Request

# After so many runs in a row that do not count it stops: the plan, the target or the machine needs attention.
_INVALID_IN_A_ROW = 3
_START_S = 20.0

R = TypeVar("R", bound=PlanExperiment)


@dataclass(frozen=True)
class SoFar(Generic[R]):
    """An experiment so far: its record, and the results of its completed runs in order."""

    record: R
    results: tuple[RunResult, ...]


O = TypeVar("O", bound=SoFar[Any])  # noqa: E741 - an outcome


class WarmLevel(NamedTuple):
    """One run on the warm system: its request, its load, and its note. `users` are given where the load has any.

    The system `restarts` before it, or is the one of the run before.
    """

    request: Request
    load: Load
    note: str
    users: int | None
    restarts: bool = False

    @property
    def command(self) -> str:
        """The command that measures only this run."""
        return str(self.request.command.changed(**({"users": str(self.users)} if self.users else {})))

    @property
    def load_options(self) -> dict[str, str | None]:
        """The options of its parts about the load, where they are not those of the command: all have its length."""
        is_auto = self.request.plan.load.auto_most_s is not None and self.load.duration_s
        length = {"duration": units.number_text(self.load.duration_s)} if is_auto and self.load.duration_s else {}
        return {**length, **({"users": str(self.users)} if self.users else {})}


class WarmUp(NamedTuple):
    """The load after each start of the system that is not counted: its users and its length, 0 for none.

    A system is `fresh` when it is restarted for every run.
    """

    users: int = 1
    length_s: float = 0.0
    is_fresh: bool = False

    @property
    def load_options(self) -> dict[str, str | None]:
        """The options of its parts about the load."""
        others = dict.fromkeys(("ramp", "loops", "requests", "rate"))
        return {**others, "users": str(self.users), "duration": units.number_text(self.length_s)}

    @property
    def text(self) -> str:
        """The warm-up of a run for its set-up section."""
        if not self.length_s:
            return "none"
        when = "before this level" if self.is_fresh else "before the first level of the sweep"
        return f"{units.duration_text(self.length_s)} {when}"

    def starting_s(self, request: Request) -> float:
        """Return about how long the start of the system and its warm-up take."""
        return self.length_s + (0.0 if request.target else _START_S)


@dataclass(frozen=True)
class WarmRuns(Generic[R]):
    """The runs of one command: their requests, their warm-up, and the level of each run.

    `extremes` are loads that are checked before anything starts. `recording` is that of a JVM elsewhere, if any.
    """

    requests: Sequence[Request]
    warm_up: WarmUp
    extremes: Sequence[Load]
    level_of: Callable[[R, ExperimentRun], WarmLevel]
    recording: Path | None = None

    def planned_s(self, record: R, run: ExperimentRun) -> float | None:
        """Return the planned duration of a run, s; None when it ends after a number of loops or requests."""
        load = self.level_of(record, run).load
        return load.duration_s if getattr(load, "requests", None) is None else None


class NextRun(NamedTuple):
    """The next run, and its heading in the terminal."""

    run: Any
    heading: str


@dataclass
class WarmDesign(Design[R, O]):
    """An experiment whose runs share a warm system. A run that is not as good as `needs` does not count."""

    runs: WarmRuns[R]
    needs = Needs.VALID
    # The first screen of its last page, for a terminal.
    answer = ""

    @property
    def request(self) -> Request:
        """The request of the first level."""
        return self.runs.requests[0]

    @abstractmethod
    def next_run(self, so_far: O) -> NextRun | None:
        """Return the next run; None at the end."""

    def left_s(self, so_far: O) -> Sequence[float | None]:  # noqa: ARG002
        """Return the planned durations of all runs that are left, s; empty when their number is not known."""
        return ()

    def next_step(self, outcome: O) -> Step | None:
        """Return the next run."""
        following = self.next_run(outcome)
        if following is None:
            return None
        run, record, warm_up = following.run, outcome.record, self.runs.warm_up
        load_s, left_s = self.runs.planned_s(record, run), list(self.left_s(outcome))
        is_first = not warm_up.is_fresh and not measured(record.runs[record.resumed_at :])
        start_s = warm_up.starting_s(self.request) if is_first else 0.0
        if left_s and left_s[0] is not None:
            left_s[0] += start_s
        needed_s = () if load_s is None else (load_s + start_s,)
        return Step(replace(run, planned_s=load_s), following.heading, planned_s=needed_s, left_s=left_s)

    def counts(self, result: RunResult) -> bool:
        """Return whether a run has the numbers that the experiment needs."""
        return not problem_of(result, needs=self.needs).text

    def exit_code(self, outcome: O, options: argparse.Namespace) -> int:
        """Return the exit code; with --sure a DOUBTFUL run is treated as one without a usable result."""
        if outcome.record.state != FINISHED and not outcome.record.stop_reason:
            return EXIT_INTERRUPTED
        is_bad = any(not self.counts(one) or (options.sure and one.is_doubtful) for one in outcome.results)
        return EXIT_INVALID if is_bad else EXIT_OK

    def obstacle(self, outcome: O) -> str:
        """Return why it stops after this run; an empty text when it continues."""
        since = len(measured(outcome.record.runs[: outcome.record.resumed_at]))
        last = outcome.results[since:][-_INVALID_IN_A_ROW:]
        if len(last) < _INVALID_IN_A_ROW or any(map(self.counts, last)):
            return ""
        verdict = last[-1].verdict
        why = verdict.reasons[0] if verdict and verdict.reasons else "of an unknown reason"
        return f"stopped after {_INVALID_IN_A_ROW} INVALID runs in a row, the last one because {why}"
