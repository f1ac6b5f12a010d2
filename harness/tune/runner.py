"""Runs the steps of a designed experiment, each as a child process, until all are done or the budget ends."""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path

from harness.ab.equal_runs import FIRST_GUESS_S
from harness.ab.report_files import result_of
from harness.base import units
from harness.base.log import log
from harness.base.paths import shown
from harness.run.child import Children, ChildRun
from harness.run.limited_run import INTERRUPTED
from harness.sweep.terminal import run_line
from harness.sweep.time_left import time_left_s
from harness.tune.factors import set_text
from harness.tune.files import TuneFiles, tune_guess_s
from harness.tune.outcome import Outcome, outcome_of
from harness.tune.record import ENDED, FINISHED, UNDER_WAY, WARM_UP, Step, TuneRecord, TuneRun
from harness.tune.report_files import results_of, write_tune_page
from harness.tune.text import headline


class TuneRunner:
    """An experiment in progress. Interrupts are held: one ends the current run, then the report is written."""

    def __init__(
        self,
        options: argparse.Namespace,
        record: TuneRecord,
        files: TuneFiles,
        children: Children,
    ) -> None:
        self._options = options
        self._record = record
        self._files = files
        self._children = children
        self._guess_s = tune_guess_s(options.reports, record.plan, FIRST_GUESS_S)
        self._began_s = time.monotonic() - record.spent_s
        self._results = results_of(files, record)
        self._outcome = self._judged(record)

    def run(self) -> int:
        """Do the remaining runs, write the report, return the exit code."""
        block = WARM_UP
        while not self._children.interrupts.count and not self._outcome.is_decided and self._fits():
            step = self._outcome.steps_left[0]
            if step.block > block > WARM_UP:
                write_tune_page(self._files, self._outcome)
            block = step.block
            self._measure(step)
        if not self._children.interrupts.count or self._outcome.is_decided:
            self._outcome = self._judged(replace(self._record, state=FINISHED))
        write_tune_page(self._files, self._outcome)
        log(f"\n{self._record.id}: {headline(self._outcome)}")
        log(f"report: {shown(self._files.report)}")
        if self._outcome.steps_left:
            more = " and a larger MAX" if self._record.stop_reason else ""
            log(f"resume with: {self._record.command} RESUME=1{more}")
        return self._outcome.exit_code

    def _fits(self) -> bool:
        """Return whether the next run fits into the budget; if not, remember why."""
        record = self._record
        if record.budget_s is None:
            return True
        needed_s = time_left_s([record.planned_s], record.lengths_s, self._guess_s) or 0.0
        if self._spent_s + needed_s <= record.budget_s:
            return True
        budget = units.duration_text(record.budget_s)
        left = units.plural(len(self._outcome.steps_left), "run")
        needed = units.duration_text(needed_s)
        reason = f"the budget of {budget} is used up, {left} left out: the next run takes about {needed}"
        self._outcome = self._judged(replace(record, stop_reason=reason))
        return False

    def _measure(self, step: Step) -> None:
        """Do one run and store its result."""
        self._children.guardian.keep_up()
        self._children.announce(self._heading(step))
        index = len(self._record.runs)
        started = TuneRun(step.block, step.index, step.cell)
        self._outcome = self._judged(replace(self._record, runs=(*self._record.runs, started)))
        ended = self._driven(index, started)
        self._outcome = self._judged(replace(self._record, runs=(*self._record.runs[:index], ended)))

    def _driven(self, index: int, run: TuneRun) -> TuneRun:
        record = self._record
        values = set_text(record.factors, record.cells[run.cell])
        what = "the warm-up run" if run.block == WARM_UP else f"block {run.block}, {values}"
        child = ChildRun(
            title=f"{record.plan}, {values}",
            arguments=(
                *record.arguments,
                f"--set={values}",
                f"--series={record.series}",
                "--compare=0",  # the experiment compares it
                f"--note=Of [{record.name}]({record.name}.md): {what}.",
            ),
            folders={name: getattr(self._options, name) for name in ("reports", "home", "build")},
            log=self._files.log(index),
        )
        done = self._children.run(child, record.limit_s)
        name = Path(done.end.run).name if done.end.run else None
        result = result_of(self._files, name) if name else None
        if name and result:
            self._results[name] = result
        problem = done.problem(record.limit_s, "it hung", is_run=result is not None)
        self._children.conclude("; ".join(part for part in (run_line(result) if result else "", problem) if part))
        return replace(
            run,
            # An interrupted run does not count.
            state=UNDER_WAY if done.ended.how == INTERRUPTED else ENDED,
            run=name,
            exit_code=done.ended.exit_code,
            took_s=round(done.ended.took_s, 1),
            problem=problem,
        )

    def _heading(self, step: Step) -> str:
        """Return number and values of the run that starts, and the estimated time that is left."""
        record, left = self._record, len(self._outcome.steps_left)
        left_s = time_left_s([record.planned_s] * left, record.lengths_s, self._guess_s) or 0.0
        if record.budget_s is not None:
            left_s = min(left_s, max(0.0, record.budget_s - self._spent_s))
        number = record.run_count - left + 1
        what = f"run {number} of {record.run_count}, block {step.block}"
        what = "warm-up run, not counted" if step.block == WARM_UP else what
        values = set_text(record.factors, record.cells[step.cell])
        return f"{record.id}: {what}, {values}; about {units.duration_text(round(left_s))} left"

    @property
    def _spent_s(self) -> float:
        return time.monotonic() - self._began_s

    def _judged(self, record: TuneRecord) -> Outcome:
        """Write the record with its results, and return them."""
        self._record = replace(record, spent_s=round(self._spent_s, 1))
        outcome = outcome_of(self._record, self._results)
        self._files.store(outcome)
        return outcome
