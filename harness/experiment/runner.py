"""Does the runs of an experiment until its design needs no more or the budget ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, Protocol, TypeVar

from harness.base import units
from harness.base.errors import HarnessError, InvalidRunError, StartError
from harness.base.log import log
from harness.experiment.counting import results_of
from harness.experiment.execute import Done, Execute, Step
from harness.experiment.files import ExperimentFiles, Experiments
from harness.experiment.record import (
    FINISHED,
    RUNNING,
    UNDER_WAY,
    EqualRuns,
    ExperimentRecord,
    ExperimentRun,
    time_left_s,
)
from harness.report.run_result import RunResult
from harness.run.child import ChildRun

# The report of very short runs is not written after each.
_PAGE_LEAST_S = 2.0


R = TypeVar("R", bound=ExperimentRecord)
O = TypeVar("O")  # noqa: E741 - an outcome


class Design(Protocol[R, O]):
    """What a kind of experiments decides and writes. Only `store`, `ended` and `write_page` act."""

    files: ExperimentFiles

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
        left = f", {units.plural(len(step.left_s), 'run')} left out" if step.left_s else ""
        needed = f"{left}: the next run takes about {units.duration_text(budget.needed_s)}"
        whole = units.duration_text(record.budget_s or 0.0)
        return replace(record, stop_reason=f"the budget of {whole} is used up{needed}")

    def ended(self, outcome: O, done: Done) -> Done:  # noqa: ARG002 - most kinds do nothing
        """Act on a run whose report is written; return it as the record gets it."""
        return done

    def look(self, outcome: O) -> str:  # noqa: ARG002 - most kinds say nothing
        """Return what the terminal says after a run; empty for nothing."""
        return ""

    def obstacle(self, outcome: O) -> str:  # noqa: ARG002 - most kinds judge it
        """Return why no run is possible for now, although some are left; empty to go on."""
        return ""


@dataclass(frozen=True)
class BudgetLeft:
    """The time that is left, and the time that the next runs need, s."""

    left_s: float
    needed_s: float


class Runner(Generic[R, O]):
    """An experiment in progress. An interrupt ends the current run, then the report is written."""

    def __init__(
        self, design: Design[R, O], record: R, results: Mapping[str, RunResult], execute: Execute, guess_s: float
    ) -> None:
        self.design = design
        self._record = record
        self._results = dict(results)
        self._execute = execute
        self._guess_s = guess_s
        self._began_s = time.monotonic() - record.spent_s
        self._is_held_up = False
        self.outcome: O
        self._judged(record)

    def run(self) -> O:
        """Do the remaining runs, write the report after each, and return the outcome.

        StartError and InvalidRunError, after the report, when no further run is possible.
        """
        failure: HarnessError | None = None
        try:
            self._do_runs()
        except KeyboardInterrupt:
            assert self._execute.interrupts.count
        except (StartError, InvalidRunError) as error:
            failure = error
        with self._execute.interrupts.deferred():
            is_broken_off = self._execute.interrupts.count or self._is_held_up or failure
            if not is_broken_off or self.design.next_step(self.outcome) is None:
                self._judged(replace(self._record, state=FINISHED))
            self.design.write_page(self.outcome)
        if failure:
            raise failure
        return self.outcome

    def _do_runs(self) -> None:
        written_s = time.monotonic()
        while not (self._execute.interrupts.count or self._record.stop_reason):
            step = self.design.next_step(self.outcome)
            if step is None:
                return
            left_s = self._budget_left_s
            if step.planned_s and left_s is not None and (needed_s := self._needed_s(step.planned_s) or 0.0) > left_s:
                budget = BudgetLeft(left_s, needed_s)
                self._judged(self.design.without_time(self._record, step, budget))
                continue
            self._measure(step)
            with self._execute.interrupts.deferred():
                if why := self.design.obstacle(self.outcome):
                    self._is_held_up = True
                    self._judged(replace(self._record, stop_reason=why))
                if time.monotonic() - written_s > _PAGE_LEAST_S:
                    try:
                        self.design.write_page(self.outcome)
                    except HarnessError as error:  # the last page may succeed; the runs are worth more
                        log(str(error))
                    written_s = time.monotonic()
                if text := self.design.look(self.outcome):
                    log(text)

    def store(self, **changes: object) -> O:
        """Change the record, store it and its page, and return the outcome."""
        self._judged(replace(self._record, **changes))  # type: ignore[arg-type]
        self.design.write_page(self.outcome)
        return self.outcome

    def _needed_s(self, planned_s: Sequence[float | None]) -> float | None:
        return time_left_s(planned_s, self._record.lengths_s, self._guess_s)

    def _measure(self, step: Step) -> None:
        """Do one run and store its result."""
        self._execute.announce(step.heading + self._left_text(step))
        index = len(self._record.runs) if step.index is None else step.index

        def began(name: str | None) -> None:
            self._set(index, replace(step.run, state=UNDER_WAY, run=name))

        done = self._execute.run(step, self._budget_left_s, began)
        with self._execute.interrupts.deferred():
            done = self.design.ended(self.outcome, done)
            if done.result and done.run.run:
                self._results[done.run.run] = done.result
            self._set(index, done.run)
            self._execute.conclude(done.line)

    def _left_text(self, step: Step) -> str:
        """Return about how long the rest takes, empty when nobody knows."""
        left_s = self._needed_s(step.left_s) if step.left_s else None
        if left_s is None:
            return ""
        if (budget_left_s := self._budget_left_s) is not None:
            left_s = min(left_s, max(0.0, budget_left_s))
        return f"; {step.left_phrase} {units.duration_text(round(left_s))} left"

    @property
    def _budget_left_s(self) -> float | None:
        return None if self._record.budget_s is None else self._record.budget_s - self._spent_s

    def _set(self, index: int, run: ExperimentRun) -> None:
        runs = (*self._record.runs[:index], run, *self._record.runs[index + 1 :])
        self._judged(replace(self._record, runs=runs))

    @property
    def _spent_s(self) -> float:
        return time.monotonic() - self._began_s

    def _judged(self, record: R) -> None:
        """Write the record with its results."""
        self._record = replace(record, spent_s=round(self._spent_s, 1))
        self.outcome = self.design.judge(self._record, self._results)
        self.design.store(self.outcome)


class Purpose(NamedTuple):
    """What a run is for, as the terminal and as the note of the run say it."""

    heading: str
    note: str


WARM_UP_RUN = Purpose("warm-up run, not counted", "the warm-up run")


def equal_step(
    files: ExperimentFiles, record: EqualRuns, run: ExperimentRun, purpose: Purpose, own: ChildRun, left_count: int
) -> Step:
    """Return the step of a run: the record's options, those of `own`, and a note on its purpose.

    The title of `own` is what differs from other runs. `left_count` are the runs that are left, including this one.
    """
    note = record.note_of(f"Of [{record.name}]({record.name}.md): {purpose.note}.")
    # The experiment compares its runs itself.
    arguments = (*record.arguments, *own.arguments, f"--series={record.series}", "--compare=0", f"--note={note}")
    return Step(
        run=run,
        heading=f"{record.id}: {purpose.heading}, {own.title}",
        child=replace(own, title=f"{record.plan}, {own.title}", arguments=arguments),
        runs_in=files.folder.parent,
        limit_s=record.limit_s,
        planned_s=[record.planned_s],
        left_s=[record.planned_s] * left_count,
    )


class Written(NamedTuple):
    """A report that was written: what the terminal says about it, and the exit code of its result.

    The first line follows the path of the report.
    """

    lines: tuple[str, ...]
    exit_code: int


def rewritten(
    design: Design[R, O],
    experiments: Experiments[R],
    read_results: Callable[[ExperimentFiles, R], Mapping[str, RunResult]] = results_of,
) -> O:
    """Write record and report of a stored experiment again; the same runs give the same bytes."""
    record = experiments.read(design.files)
    # The record of an experiment that is in progress belongs to the process that runs it.
    with experiments.locked(design.files) if record.state == RUNNING else nullcontext():
        results = read_results(design.files, record)
        outcome = design.judge(record, results)
        if results:  # else the record contains none
            design.store(outcome)
        design.write_page(outcome)
    return outcome
