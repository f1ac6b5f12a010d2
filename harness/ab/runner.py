"""Runs the pairs of an A/B test, each run as a child process, until the rule is sure or the budget ends."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from harness.ab.equal_runs import FIRST_GUESS_S
from harness.ab.files import AbFiles, ab_guess_s
from harness.ab.message import ab_message, is_due
from harness.ab.outcome import Outcome, change_text, headline, outcome_of
from harness.ab.record import ENDED, FINISHED, RUNNING, UNDER_WAY, WARM_UP, A, AbRecord, AbRun, order_of
from harness.ab.report_files import result_of, results_of, write_ab_page
from harness.ab.rule import LOOKS, PAIRS_LEAST, PAIRS_MOST
from harness.ab.side import ReadySide
from harness.base import units
from harness.base.log import log
from harness.base.paths import shown
from harness.compare.result import RunResult
from harness.run.child import Children, ChildRun
from harness.run.limited_run import INTERRUPTED
from harness.sweep.terminal import run_line
from harness.sweep.time_left import time_left_s

if TYPE_CHECKING:
    from harness.notify.recipients import Recipients


class AbRunner:
    """An A/B test in progress. Interrupts are held: one ends the current run, then the report is written."""

    def __init__(
        self,
        options: argparse.Namespace,
        record: AbRecord,
        files: AbFiles,
        sides: Mapping[str, ReadySide],
        children: Children,
    ) -> None:
        self._options = options
        self._record = record
        self._files = files
        self._sides = sides
        self._children = children
        self._guess_s = ab_guess_s(options.reports, record.plan, FIRST_GUESS_S)
        self._began_s = time.monotonic() - record.spent_s
        self._results = results_of(files, record)
        self._outcome = self._judged(record)

    def run(self, recipients: Recipients | None) -> int:
        """Do the remaining runs, write the report, notify the recipients, return the exit code."""
        while not self._children.interrupts.count and not self._outcome.is_decided and self._fits():
            if not self._record.has_warmed_up:
                self._measure(A, WARM_UP)
                continue
            number = self._record.next_pair
            for name in order_of(number, self._record.seed):
                if not self._children.interrupts.count:
                    self._measure(name, number)
            write_ab_page(self._files, self._outcome)
            self._log_look()
        if not self._children.interrupts.count or self._outcome.is_decided:
            self._outcome = self._judged(replace(self._record, state=FINISHED))
        write_ab_page(self._files, self._outcome)
        if recipients:
            self._notify(recipients)
        log(f"\n{self._record.id}: {headline(self._outcome)}")
        log(f"report: {shown(self._files.report)}")
        if self._record.state == RUNNING:
            log(f"resume with: {self._record.command} RESUME=1")
        return self._outcome.exit_code_if(sure=self._options.sure)

    def _notify(self, recipients: Recipients) -> None:
        """Send the message about the outcome if it is due; the report lists what was not delivered."""
        from harness.notify.delivery import deliver  # deferred: most tests notify nobody

        if not is_due(recipients.when, self._outcome):
            return
        link = recipients.link_to(f"ab/{self._record.id}", shown(self._files.report))
        undelivered = deliver(ab_message(self._outcome, link), recipients, log)
        if undelivered != self._record.undelivered:
            self._outcome = self._judged(replace(self._record, undelivered=undelivered))
            write_ab_page(self._files, self._outcome)

    def _fits(self) -> bool:
        """Return whether the next pair (at first also the warm-up run) fits into the budget; if not, remember why."""
        record = self._record
        if record.budget_s is None:
            return True
        count = 2 if record.has_warmed_up else 3
        needed_s = time_left_s([record.planned_s] * count, record.lengths_s, self._guess_s) or 0.0
        if self._spent_s + needed_s <= record.budget_s:
            return True
        budget, needed = units.duration_text(record.budget_s), units.duration_text(needed_s)
        what = "the next pair takes" if record.has_warmed_up else "the next runs, warm-up and pair, take"
        reason = f"the budget of {budget} is used up: {what} about {needed}"
        self._outcome = self._judged(replace(record, stop_reason=reason))
        return False

    def _measure(self, name: str, pair: int) -> None:
        """Do one run of a side and store its result."""
        self._children.guardian.keep_up()
        self._children.announce(self._heading(name, pair))
        index = len(self._record.runs)
        self._outcome = self._judged(replace(self._record, runs=(*self._record.runs, AbRun(name, pair, UNDER_WAY))))
        ended = self._driven(index, self._record.runs[index])
        self._outcome = self._judged(replace(self._record, runs=(*self._record.runs[:index], ended)))

    def _driven(self, index: int, run: AbRun) -> AbRun:
        record, side = self._record, self._sides[run.side]
        what = "the warm-up run" if run.pair == WARM_UP else f"pair {run.pair}, side {run.side} ({side.side.text})"
        child = ChildRun(
            title=f"{record.plan}, {side.title}",
            arguments=(
                *record.arguments,
                *side.side.arguments,
                f"--series={record.series}",
                "--compare=0",  # the pairs compare it
                f"--note=Of [{record.name}]({record.name}.md): {what}.",
            ),
            folders={"reports": self._options.reports, "home": side.home, "build": side.build},
            log=self._files.log(index, run.side),
        )
        done = self._children.run(child, record.limit_s)
        name = Path(done.end.run).name if done.end.run else None
        result = self._read(name) if name else None
        problem = done.problem(record.limit_s, "it hung", is_run=result is not None)
        self._children.conclude("; ".join(part for part in (run_line(result) if result else "", problem) if part))
        return replace(
            run,
            # An interrupted run is no part of a pair.
            state=UNDER_WAY if done.ended.how == INTERRUPTED else ENDED,
            run=name,
            exit_code=done.ended.exit_code,
            took_s=round(done.ended.took_s, 1),
            problem=problem,
        )

    def _read(self, name: str) -> RunResult | None:
        """Return the result of a run, with its report; None when it left none."""
        result = result_of(self._files, name)
        if result:
            self._results[name] = result
        return result

    def _heading(self, name: str, pair: int) -> str:
        """Return the pair and side of the run that starts, and the estimated time until a tenth pair would end."""
        record, side = self._record, self._sides[name]
        counted = len(self._outcome.counted)
        done = sum(run.pair == pair and run.state == ENDED for run in record.runs)
        runs_left = 2 * (PAIRS_MOST - counted) + 1 if pair == WARM_UP else 2 * (PAIRS_MOST - counted) - done
        left_s = time_left_s([record.planned_s] * runs_left, record.lengths_s, self._guess_s) or 0.0
        if record.budget_s is not None:
            left_s = min(left_s, max(0.0, record.budget_s - self._spent_s))
        what = "warm-up run, not counted" if pair == WARM_UP else f"pair {pair} of {PAIRS_LEAST} to {PAIRS_MOST}"
        return f"{record.id}: {what}, {side.title}; at most {units.duration_text(round(left_s))} left"

    def _log_look(self) -> None:
        """Print the changes so far after a pair at which the rule looks."""
        counted = len(self._outcome.counted)
        if counted in LOOKS and not self._outcome.is_decided:
            changes = ", ".join(change_text(one) for one in self._outcome.metrics if one.delta_ratio is not None)
            log(f"  after {units.plural(counted, 'pair')}: {changes}: not sure yet")

    @property
    def _spent_s(self) -> float:
        return time.monotonic() - self._began_s

    def _judged(self, record: AbRecord) -> Outcome:
        """Write the record with its results, and return them."""
        self._record = replace(record, spent_s=round(self._spent_s, 1))
        outcome = outcome_of(self._record, self._results)
        self._files.write(outcome)
        return outcome
