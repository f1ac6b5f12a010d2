"""The steps of a trust test: two runs after each start of the system, until enough starts are complete."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace

from harness.experiment.counting import Needs, problem_of
from harness.experiment.execute import Done, Step
from harness.kinds.trust.design import RUNS_PER_START
from harness.kinds.trust.files import earlier_runs
from harness.kinds.trust.outcome import METRICS, TrustOutcome, headline, outcome_of
from harness.kinds.trust.record import TrustRecord, TrustRun
from harness.metrics.batch_means import estimate
from harness.report.pages import write_page
from harness.report.run_result import RunResult
from harness.sweep.driver import NextRun, SweepDesign, planned_s
from harness.sweep.files import StoredSweep, SweepSoFar
from harness.sweep.level_runner import level_load
from harness.sweep.record import SweepRecord

# Runs that count in between do not help: a start needs all of its runs.
_BAD_STARTS_IN_A_ROW = 4


class StoredTrust(StoredSweep):
    """A trust test with its files."""

    def judge(self, record: SweepRecord, results: Mapping[str, RunResult]) -> TrustOutcome:
        """Return the outcome of the runs so far; the history of the plan is read when the last start is complete."""
        assert isinstance(record, TrustRecord)
        is_complete = len(record.starts(results)) >= record.repeat
        return outcome_of(record, results, earlier_runs(self.files, record) if is_complete else ())

    def store(self, outcome: SweepSoFar) -> None:
        """Write the record with its results as soon as a run began."""
        if outcome.record.runs:
            self.files.write(outcome)

    def write_page(self, outcome: SweepSoFar) -> None:
        """Write the report; its notes block is preserved."""
        assert isinstance(outcome, TrustOutcome)
        # Deferred: bad input needs no templates, which are slow to import.
        from harness.kinds.trust.render import trust_report

        self.answer = headline(outcome)
        write_page(self.files.report, lambda notes: trust_report(outcome, notes))


class TrustTest(StoredTrust, SweepDesign):
    """A trust test in progress."""

    needs = Needs.COMPARABLE

    def next_run(self, so_far: SweepSoFar) -> NextRun | None:
        """Return the next run, with its start and its index there in the heading."""
        assert isinstance(so_far, TrustOutcome)
        record = so_far.record
        run = record.next_run(record.users[0], so_far.by_name)
        if run is None:
            return None
        start = f"start {len(so_far.starts) + 1} of {record.repeat}, run {run.index + 1} of {RUNS_PER_START}"
        return NextRun(run, f"{record.id}: {start}")

    def next_step(self, outcome: SweepSoFar) -> Step | None:
        """Return the next run; one that may end after a number of requests takes at most its duration."""
        step, record = super().next_step(outcome), outcome.record
        longest_s = level_load(self.request, record, record.users[0]).duration_s
        assert longest_s is not None  # checked by the command
        return replace(step, planned_s=step.planned_s or (longest_s,)) if step else None

    def left_s(self, so_far: SweepSoFar) -> Sequence[float | None]:
        """Return the planned durations of all runs that are left."""
        assert isinstance(so_far, TrustOutcome)
        record = so_far.record
        run = record.next_run(record.users[0], so_far.by_name)
        left = (record.repeat - len(so_far.starts)) * RUNS_PER_START - (run.index if run else 0)
        return [planned_s(self.request, record, record.users[0])] * left

    def obstacle(self, outcome: SweepSoFar) -> str:
        """Return why the test stops after this run: no start gets complete; an empty text when it continues."""
        assert isinstance(outcome, TrustOutcome)
        if text := super().obstacle(outcome):
            return text
        record = outcome.record
        recent = [run for run in record.measured if run in record.runs[record.resumed_at :]]
        problems = {run.repeat: problem_of(outcome.by_name.get(run.name), run.problem).text for run in recent}
        last = list(problems.values())[-_BAD_STARTS_IN_A_ROW:]  # of the last run of each start, which ends a bad one
        if len(last) < _BAD_STARTS_IN_A_ROW or not all(last):
            return ""
        return f"stopped after {_BAD_STARTS_IN_A_ROW} starts in a row with a run that does not count: {last[-1]}"

    def ended(self, outcome: SweepSoFar, done: Done) -> Done:  # noqa: ARG002
        """Return a run with the estimates of its batches, which the results of stored runs do not have."""
        total = done.result.total if done.result else None
        if total is None or not isinstance(done.run, TrustRun):
            return done
        found = {metric.id: estimate(total.batches, total.histogram, metric) for metric in METRICS}
        known = {key: one for key, one in found.items() if not isinstance(one, str)}
        return done._replace(run=replace(done.run, estimates=known))

    def exit_code(self, outcome: SweepSoFar, options: argparse.Namespace) -> int:  # noqa: ARG002
        """Return the exit code of the test: a run that does not count was replaced."""
        assert isinstance(outcome, TrustOutcome)
        return outcome.exit_code
