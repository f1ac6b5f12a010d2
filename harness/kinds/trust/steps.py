"""The steps of a trust test: two runs after each start of the system, until enough starts are complete."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from harness.base.errors import UsageError
from harness.experiment.counting import Needs, problem_of
from harness.experiment.execute import Done, Step
from harness.experiment.files import ExperimentFiles
from harness.experiment.record import ExperimentRun
from harness.experiment.runner import Design
from harness.experiment.warm import NextRun, WarmDesign, WarmLevel, WarmRuns, WarmUp
from harness.kinds.trust.design import RUNS_PER_START
from harness.kinds.trust.files import earlier_runs
from harness.kinds.trust.outcome import METRICS, TrustOutcome, headline, outcome_of
from harness.kinds.trust.record import TrustRecord, TrustRun
from harness.metrics.batch_means import estimate
from harness.plan.division import check_users
from harness.plan.load.model import resolve_load
from harness.report.pages import write_page
from harness.report.run_result import RunResult
from harness.run.request import Request

# Runs that count in between do not help: a start needs all of its runs.
_BAD_STARTS_IN_A_ROW = 4


@dataclass
class StoredTrust(Design[TrustRecord, TrustOutcome]):
    """A trust test with its files; `answer` is the headline of its last page. It has no further step."""

    files: ExperimentFiles
    answer: str = field(default="", init=False)

    def judge(self, record: TrustRecord, results: Mapping[str, RunResult]) -> TrustOutcome:
        """Return the outcome of the runs so far; the history of the plan is read when the last start is complete."""
        is_complete = len(record.complete_starts(results)) >= record.starts
        return outcome_of(record, results, earlier_runs(self.files, record) if is_complete else ())

    def store(self, outcome: TrustOutcome) -> None:
        """Write the record with its results as soon as a run began."""
        if outcome.record.runs:
            self.files.write(outcome)

    def write_page(self, outcome: TrustOutcome) -> None:
        """Write the report; its notes block is preserved."""
        # Deferred: bad input needs no templates, which are slow to import.
        from harness.kinds.trust.render import trust_report

        self.answer = headline(outcome)
        write_page(self.files.report, lambda notes: trust_report(outcome, notes))

    def next_step(self, outcome: TrustOutcome) -> Step | None:  # noqa: ARG002
        """Return no step."""
        return None


def trust_runs(new: TrustRecord, request: Request) -> WarmRuns[TrustRecord]:
    """Return the runs of a trust test, all with the load of `new`; UsageError for a load of unknown length."""
    # All runs have the same length.
    load = resolve_load(new.load, replace(request.plan.load, auto_most_s=None))
    check_users(load, len(request.places))
    if load.duration_s is None:
        raise UsageError("the load ends after a number of loops, so its duration is unknown", "give --duration=60")

    def level_of(record: TrustRecord, run: ExperimentRun) -> WarmLevel:
        is_first = isinstance(run, TrustRun) and run.index == 0
        note = f"Of [{record.name}]({record.name}.md)."
        return WarmLevel(request, load, note, None if record.rate_per_s else record.users, restarts=is_first)

    return WarmRuns((request,), WarmUp(), (load,), level_of)


@dataclass
class TrustTest(WarmDesign[TrustRecord, TrustOutcome], StoredTrust):
    """A trust test in progress."""

    needs = Needs.COMPARABLE

    def next_run(self, so_far: TrustOutcome) -> NextRun | None:
        """Return the next run, with its start and its index there in the heading."""
        record = so_far.record
        run = record.next_run(so_far.by_name)
        if run is None:
            return None
        start = f"start {len(so_far.starts) + 1} of {record.starts}, run {run.index + 1} of {RUNS_PER_START}"
        return NextRun(run, f"{record.id}: {start}")

    def next_step(self, outcome: TrustOutcome) -> Step | None:
        """Return the next run; one that may end after a number of requests takes at most its duration."""
        step, longest_s = super().next_step(outcome), self.runs.extremes[0].duration_s
        return replace(step, planned_s=step.planned_s or (longest_s,)) if step and longest_s else step

    def left_s(self, so_far: TrustOutcome) -> Sequence[float | None]:
        """Return the planned durations of all runs that are left."""
        record = so_far.record
        run = record.next_run(so_far.by_name)
        left = (record.starts - len(so_far.starts)) * RUNS_PER_START - (run.index if run else 0)
        return [self.runs.planned_s(record, run)] * left if run else []

    def obstacle(self, outcome: TrustOutcome) -> str:
        """Return why the test stops after this run: no start gets complete; an empty text when it continues."""
        if text := super().obstacle(outcome):
            return text
        record = outcome.record
        recent = [run for run in record.measured if run in record.runs[record.resumed_at :]]
        problems = {run.start: problem_of(outcome.by_name.get(run.name), run.problem).text for run in recent}
        last = list(problems.values())[-_BAD_STARTS_IN_A_ROW:]  # of the last run of each start, which ends a bad one
        if len(last) < _BAD_STARTS_IN_A_ROW or not all(last):
            return ""
        return f"stopped after {_BAD_STARTS_IN_A_ROW} starts in a row with a run that does not count: {last[-1]}"

    def ended(self, outcome: TrustOutcome, done: Done) -> Done:  # noqa: ARG002
        """Return a run with the estimates of its batches, which the results of stored runs do not have."""
        total = done.result.total if done.result else None
        if total is None or not isinstance(done.run, TrustRun):
            return done
        found = {metric.id: estimate(total.batches, total.histogram, metric) for metric in METRICS}
        known = {key: one for key, one in found.items() if not isinstance(one, str)}
        return done._replace(run=replace(done.run, estimates=known))

    def exit_code(self, outcome: TrustOutcome, options: argparse.Namespace) -> int:  # noqa: ARG002
        """Return the exit code of the test: a run that does not count was replaced."""
        return outcome.exit_code
