"""Does the runs of an experiment, each as a child process, until its design needs no more or the budget ends."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from harness.base import units
from harness.base.errors import HarnessError
from harness.base.log import log
from harness.compare.result import RunResult
from harness.experiment.counting import result_of, results_of
from harness.experiment.files import ExperimentFiles, Experiments, locked
from harness.experiment.record import (
    ENDED,
    FINISHED,
    RUNNING,
    UNDER_WAY,
    ExperimentRecord,
    ExperimentRun,
    PlanExperiment,
)
from harness.experiment.run_line import run_line
from harness.experiment.time_left import time_left_s
from harness.run.child import ChildEnd, Children, ChildRun
from harness.run.directory import RunDirectory
from harness.run.limited_run import INTERRUPTED

# The report of very short runs is not written after each.
_PAGE_LEAST_S = 2.0


@dataclass(frozen=True)
class Step:
    """A run to do: its entry in the record, its heading in the terminal, and the child process that does it.

    `index` is the place of a run that the record already contains; None for a new one. The run's directory is in
    `runs_in`, and it is stopped after `limit_s`; with `ends_with_budget` at the end of the budget, too. `planned_s` are
    the loads, s, that must fit into the rest of the budget together, empty when it was checked before; `left_s` those
    of all runs that may follow.
    """

    run: ExperimentRun
    heading: str
    child: ChildRun
    runs_in: Path
    limit_s: float
    planned_s: Sequence[float]
    left_s: Sequence[float]
    index: int | None = None
    ends_with_budget: bool = False
    left_phrase: str = "about"


class Judged(Protocol):
    """The outcome of the runs so far."""

    @property
    def is_decided(self) -> bool:
        """Whether no further run is needed."""


R = TypeVar("R", bound=ExperimentRecord)
P = TypeVar("P", bound=PlanExperiment)
O = TypeVar("O", bound=Judged)  # noqa: E741 - an outcome


class Design(Protocol[R, O]):
    """What a kind of experiments decides and writes. Only `store`, `ended` and `write_page` act."""

    def judge(self, record: R, results: Mapping[str, RunResult]) -> O:
        """Return the outcome of the runs so far; `results` are theirs by name."""

    def store(self, outcome: O) -> None:
        """Write the record with the outcome atomically."""

    def write_page(self, outcome: O) -> None:
        """Write the report of the runs so far."""

    def next_step(self, outcome: O) -> Step | None:
        """Return the next run, from the results so far; None when there is none."""

    def without_time(self, record: R, step: Step, budget: BudgetLeft) -> R:
        """Return the record when a step does not fit into the budget any more: it ends, or leaves this run out."""
        left = units.plural(len(step.left_s), "run")
        needed = f"{left} left out: the next run takes about {units.duration_text(budget.needed_s)}"
        whole = units.duration_text(record.budget_s or 0.0)
        return replace(record, stop_reason=f"the budget of {whole} is used up, {needed}")

    def ended(self, step: Step, end: ChildEnd, directory: RunDirectory | None) -> None:  # noqa: ARG002 - most kinds do nothing
        """Get a run that ended, whose report is written."""
        return

    def look(self, outcome: O) -> str:  # noqa: ARG002 - most kinds say nothing
        """Return what the terminal says after a run; empty for nothing."""
        return ""


@dataclass(frozen=True)
class BudgetLeft:
    """The time that is left, and the time that the next runs need, s."""

    left_s: float
    needed_s: float


class Runner(Generic[R, O]):
    """An experiment in progress. Interrupts are held: one ends the current run, then the report is written."""

    def __init__(
        self, design: Design[R, O], record: R, results: Mapping[str, RunResult], children: Children, guess_s: float
    ) -> None:
        self._design = design
        self._record = record
        self._results = dict(results)
        self._children = children
        self._guess_s = guess_s
        self._began_s = time.monotonic() - record.spent_s
        self.outcome: O
        self._judged(record)

    def run(self) -> O:
        """Do the remaining runs, write the report after each, and return the outcome."""
        written_s = time.monotonic()
        while self._goes_on and (step := self._design.next_step(self.outcome)):
            self._children.guardian.keep_up()
            budget = self._budget(step)
            if budget and budget.needed_s > budget.left_s:
                self._judged(self._design.without_time(self._record, step, budget))
                continue
            self._measure(step)
            if time.monotonic() - written_s > _PAGE_LEAST_S:
                try:
                    self._design.write_page(self.outcome)
                except HarnessError as error:  # the last page may succeed; the runs are worth more
                    log(str(error))
                written_s = time.monotonic()
            if text := self._design.look(self.outcome):
                log(text)
        if not self._children.interrupts.count or self.outcome.is_decided:
            self._judged(replace(self._record, state=FINISHED))
        self._design.write_page(self.outcome)
        return self.outcome

    def store(self, **changes: object) -> O:
        """Change the record, store it and its page, and return the outcome."""
        self._judged(replace(self._record, **changes))  # type: ignore[arg-type]
        self._design.write_page(self.outcome)
        return self.outcome

    @property
    def _goes_on(self) -> bool:
        return not (self._children.interrupts.count or self._record.stop_reason)

    def _budget(self, step: Step) -> BudgetLeft | None:
        """Return the budget before a step; None when it was checked before, or without one."""
        if self._record.budget_s is None or not step.planned_s:
            return None
        return BudgetLeft(self._record.budget_s - self._spent_s, self._needed_s(step.planned_s))

    def _needed_s(self, planned_s: Sequence[float]) -> float:
        return time_left_s(planned_s, self._record.lengths_s, self._guess_s) or 0.0

    def _measure(self, step: Step) -> None:
        """Do one run and store its result."""
        left_s = self._needed_s(step.left_s)
        if self._record.budget_s is not None:
            left_s = min(left_s, max(0.0, self._record.budget_s - self._spent_s))
        left = f"{step.left_phrase} {units.duration_text(round(left_s))} left"
        self._children.announce(f"{step.heading}; {left}")
        index = len(self._record.runs) if step.index is None else step.index
        self._set(index, replace(step.run, state=UNDER_WAY))
        self._set(index, self._driven(step))

    def _driven(self, step: Step) -> ExperimentRun:
        limit_s, why_too_long = step.limit_s, "it hung"
        if step.ends_with_budget and self._record.budget_s is not None:
            left_s = self._record.budget_s - self._spent_s
            if left_s < limit_s:
                limit_s, why_too_long = left_s, "the budget was used up"
        done = self._children.run(step.child, limit_s)
        directory = RunDirectory(step.runs_in / Path(done.end.run).name) if done.end.run else None
        result = result_of(directory) if directory else None
        if directory and result:
            self._results[directory.name] = result
        problem = done.problem(limit_s, why_too_long, is_run=result is not None)
        self._design.ended(step, done, directory)
        self._children.conclude("; ".join(part for part in (run_line(result) if result else "", problem) if part))
        return replace(
            step.run,
            # An interrupted run is measured again.
            state=step.run.state if done.ended.how == INTERRUPTED else ENDED,
            run=directory.name if directory and directory.is_there else None,
            exit_code=done.ended.exit_code,
            took_s=round(done.ended.took_s, 1),
            problem=problem,
        )

    def _set(self, index: int, run: ExperimentRun) -> None:
        runs = (*self._record.runs[:index], run, *self._record.runs[index + 1 :])
        self._judged(replace(self._record, runs=runs))

    @property
    def _spent_s(self) -> float:
        return time.monotonic() - self._began_s

    def _judged(self, record: R) -> None:
        """Write the record with its results."""
        self._record = replace(record, spent_s=round(self._spent_s, 1))
        self.outcome = self._design.judge(self._record, self._results)
        self._design.store(self.outcome)


def child_of(record: PlanExperiment, what: str, own: ChildRun) -> ChildRun:
    """Return the child process of a run: the record's options, its own, and a note on `what` it is for."""
    return ChildRun(
        title=f"{record.plan}, {own.title}",
        arguments=(
            *record.arguments,
            *own.arguments,
            f"--series={record.series}",
            "--compare=0",  # the experiment compares it
            f"--note=Of [{record.name}]({record.name}.md): {what}.",
        ),
        folders=own.folders,
        log=own.log,
    )


def rewritten(design: Design[P, O], files: ExperimentFiles, experiments: Experiments[P]) -> O:
    """Write record and report of a stored experiment again; the same runs give the same bytes."""
    record = experiments.read(files)
    # The record of an experiment that is in progress belongs to the process that runs it.
    with locked(files.folder.parent.parent, record.what) if record.state == RUNNING else nullcontext():
        outcome = design.judge(record, results_of(files, record))
        design.store(outcome)
        design.write_page(outcome)
    return outcome
