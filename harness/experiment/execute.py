"""How a step of an experiment becomes a run: a child process, or in this process with a system that stays warm."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from harness.base.errors import EXIT_INVALID
from harness.base.interrupts import Interrupts
from harness.base.paths import shown
from harness.experiment.counting import result_of, run_line
from harness.experiment.record import ENDED, ExperimentRun
from harness.plan.spec import RunSpec
from harness.report.files import write_report
from harness.report.run_result import RunResult
from harness.report.watchers import Watchers
from harness.run.child import Children, ChildRun
from harness.run.context import RunContext
from harness.run.directory import RunDirectory
from harness.run.limited_run import IN_TIME, INTERRUPTED


@dataclass(frozen=True)
class Step:
    """A run to do: its entry in the record, its heading in the terminal, and the child process that does it, if any.

    `index` is the place of a run that the record already contains; None for a new one. The directory of a child's run
    is in `runs_in`, and it is stopped after `limit_s`; with `ends_with_budget` at the end of the budget, too.
    `planned_s` are the loads, s, that must fit into the rest of the budget together, empty when it was checked before;
    `left_s` those of all runs that may follow, None for a load of unknown length, empty when they are not known.
    """

    run: ExperimentRun
    heading: str
    planned_s: Sequence[float]
    left_s: Sequence[float | None]
    child: ChildRun | None = None
    runs_in: Path = Path()
    limit_s: float = 0.0
    index: int | None = None
    ends_with_budget: bool = False
    left_phrase: str = "about"


class Done(NamedTuple):
    """What became of a step: its entry in the record, its result, None without one, and its line in the terminal.

    `directory` is that of the run, if it has one; `not_stored` is why it is not in the storage of its profile.
    """

    run: ExperimentRun
    result: RunResult | None
    line: str
    directory: RunDirectory | None = None
    not_stored: str = ""


# Gets the name of the run's directory as soon as it is known; None before.
Began = Callable[[str | None], None]


@dataclass(frozen=True)
class InChildren:
    """Does each run as a child process; `own` are the arguments of all runs that no record may contain as given."""

    children: Children
    own: tuple[str, ...] = ()

    @property
    def interrupts(self) -> Interrupts:
        """The requests to stop, which are held: one ends the current run."""
        return self.children.interrupts

    def announce(self, heading: str) -> None:
        """Print the heading of the next run."""
        self.children.guardian.keep_up()
        self.children.announce(heading)

    def run(self, step: Step, left_s: float | None, began: Began) -> Done:
        """Do a run, `left_s` seconds before the end of the budget (None without one), and return what became of it."""
        assert step.child
        began(None)
        limit_s, why_too_long = step.limit_s, "it hung"
        if step.ends_with_budget and left_s is not None and left_s < limit_s:
            limit_s, why_too_long = left_s, "the budget was used up"
        done = self.children.run(replace(step.child, arguments=(*step.child.arguments, *self.own)), limit_s)
        directory = RunDirectory(step.runs_in / Path(done.result.run).name) if done.result.run else None
        result = result_of(directory) if directory else None
        problem = done.problem(limit_s, why_too_long, is_run=result is not None)
        run = replace(
            step.run,
            # An interrupted run is measured again.
            state=step.run.state if done.process.how == INTERRUPTED else ENDED,
            run=directory.name if directory and directory.is_there else None,
            exit_code=done.process.exit_code,
            took_s=round(done.process.took_s, 1),
            problem=problem,
        )
        line = "; ".join(part for part in (run_line(result) if result else "", problem) if part)
        is_there = directory is not None and directory.is_there
        not_stored = done.result.not_stored if done.process.how == IN_TIME else ""
        return Done(run, result, line, directory if is_there else None, not_stored)

    def conclude(self, line: str) -> None:
        """Print the result of the run that was announced last."""
        self.children.conclude(line)


class MeasuredRun(NamedTuple):
    """A run of this process: its directory, and whether it was interrupted.

    Its time counts from `since_s`, monotonic s; None when the start of the system counts, too.
    """

    directory: RunDirectory
    is_interrupted: bool
    since_s: float | None = None


# Measures a run; it calls its last argument, with the run's directory and spec, when the run begins.
Measure = Callable[[ExperimentRun, Callable[[RunDirectory, RunSpec], None]], MeasuredRun]


@dataclass(frozen=True)
class InProcess:
    """Does each run in this process with `measure`, so that a system can stay up between them."""

    context: RunContext
    watchers: Watchers
    measure: Measure

    @property
    def interrupts(self) -> Interrupts:
        """The requests to stop; one that comes before a run began is a KeyboardInterrupt."""
        return self.context.interrupts

    def announce(self, heading: str) -> None:
        """Print the heading of the next run."""
        self.context.log(heading)
        self.watchers.announce(heading)

    def run(self, step: Step, left_s: float | None, began: Began) -> Done:  # noqa: ARG002 - a level is short
        """Do a run, write its report and return what became of it.

        KeyboardInterrupt before a run began; StartError and InvalidRunError when no further run is possible.
        """
        since_s = time.monotonic()

        def begins(directory: RunDirectory, spec: RunSpec) -> None:
            began(directory.name)
            self.watchers.begin(directory, spec)

        done = self.measure(step.run, begins)
        with self.interrupts.deferred():
            self.watchers.finish()
            summary = write_report(done.directory)
            self.watchers.end(summary, shown(done.directory.report))
            result = RunResult.of(summary)
            line, run = run_line(result), replace(step.run, run=done.directory.name)
            if done.is_interrupted:
                return Done(replace(run, problem="interrupted"), None, line)
            exit_code = result.verdict.exit_code if result.verdict else EXIT_INVALID
            took_s = round(time.monotonic() - (since_s if done.since_s is None else done.since_s), 1)
            return Done(replace(run, state=ENDED, exit_code=exit_code, took_s=took_s), result, line)

    def conclude(self, line: str) -> None:
        """Print the result of the run that was announced last."""
        self.context.log(f"  {line}")
        self.watchers.conclude(line)


Execute = InChildren | InProcess
