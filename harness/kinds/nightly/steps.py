"""The steps of a nightly run: its loads in rounds, each run with a time limit."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from harness.base import git, units
from harness.base.errors import HarnessError, ServiceError
from harness.base.log import log
from harness.experiment.arguments import new_fields
from harness.experiment.execute import Done, Step
from harness.experiment.files import ExperimentFiles
from harness.experiment.record import ENDED, NOT_RUN
from harness.experiment.runner import BudgetLeft, Design
from harness.history.files import read_catalogue
from harness.kinds.nightly.outcome import KnownOf
from harness.kinds.nightly.record import Load, NightlyRecord, order_of
from harness.kinds.nightly.report_files import write_nightly_report
from harness.kinds.nightly.suite import Suite
from harness.report.run_result import RunResult
from harness.run.child import ChildRun, first_line
from harness.run.directory import RunDirectory
from harness.run.record import FINISHED
from harness.storage import s3
from harness.storage.after_run import push_command
from harness.storage.bucket import check_writable, open_storage

# The default suite.
_SUBJECTS_MOST = 20
# More days than the gate uses.
_HISTORY_DAYS = 90


@dataclass
class NightlyRun(Design[NightlyRecord, NightlyRecord]):
    """A nightly run with its files and, for uploads, its storage. `problems` are what is not stored.

    What its runs show is judged against all nightly runs when the report is written, which also says what they cannot
    show, by what is `known` of their plans.
    """

    files: ExperimentFiles
    options: argparse.Namespace
    known: KnownOf
    storage: NightlyStorage | None = None
    problems: tuple[str, ...] = field(default=(), init=False)

    def judge(self, record: NightlyRecord, results: Mapping[str, RunResult]) -> NightlyRecord:  # noqa: ARG002
        """Return the record, with what was not stored."""
        found = (*record.storage_problems, *self.problems, *(self.storage.problems if self.storage else ()))
        return replace(record, storage_problems=tuple(dict.fromkeys(found)))

    def store(self, outcome: NightlyRecord) -> None:
        """Write the record."""
        self.files.write(outcome)

    def write_page(self, outcome: NightlyRecord) -> None:  # noqa: ARG002
        """Write the report with its charts and its JUnit XML."""
        write_nightly_report(self.files, self.options.home, self.known)

    def next_step(self, outcome: NightlyRecord) -> Step | None:
        """Return the next load."""
        record = outcome
        if not record.waiting:
            return None
        index = record.waiting[0]
        run = record.runs[index]
        load = record.load_of(run)
        note = (f"--note={record.note}",) if record.note else ()
        return Step(
            run=run,
            heading=f"run {index + 1} of {len(record.runs)}, {record.title_of(run)}",
            child=ChildRun(
                title=load.title,
                # The gate compares a run with all earlier nightly runs, not with one.
                arguments=(*load.arguments, f"--series={record.series}", "--compare=0", *note),
                folders={"reports": self.files.folder.parent, "home": self.options.home, "build": self.options.build},
                log=self.files.folder / record.log_name(index),
            ),
            runs_in=self.files.folder.parent / load.plan,
            limit_s=load.limit_s,
            planned_s=[load.planned_s],
            left_s=[record.load_of(record.runs[waiting]).planned_s for waiting in record.waiting],
            index=index,
            ends_with_budget=True,
        )

    def without_time(self, record: NightlyRecord, step: Step, budget: BudgetLeft) -> NightlyRecord:
        """Return the record without this run: a later one may be short enough."""
        assert step.index is not None
        run = record.runs[step.index]
        needed, left = (units.duration_text(round(max(0.0, one))) for one in (budget.needed_s, budget.left_s))
        why = f"not enough time: it needs about {needed}, {left} of the budget remain"
        log(f"{record.title_of(run)}: not run, {why}")
        not_run = replace(run, state=NOT_RUN, problem=why)
        return replace(record, runs=(*record.runs[: step.index], not_run, *record.runs[step.index + 1 :]))

    def ended(self, outcome: NightlyRecord, done: Done) -> Done:  # noqa: ARG002
        """Upload a run, and note what was not stored."""
        directory = done.directory
        if directory is None:
            return done
        if done.not_stored:  # where its profile has a [storage]
            what = f"{directory.plan}/{directory.name} was not stored"
            self.problems += (f"{what}: {first_line(done.not_stored)}",)
        if self.storage and done.run.state == ENDED:
            self.storage.push(directory)
        return done


class NightlyStorage:
    """A location in S3; `problems` are the failed downloads and uploads, as sentences."""

    def __init__(self, url: str, endpoint_url: str | None) -> None:
        self._storage = open_storage(url, endpoint_url)
        self.problems: tuple[str, ...] = ()

    def fetch(self, reports: Path, loads: tuple[Load, ...]) -> None:
        """Download the metrics of earlier nightly runs; raise UsageError early when the location is not writable."""
        since = (datetime.now(UTC) - timedelta(days=_HISTORY_DAYS)).date().isoformat()
        try:
            check_writable(self._storage, log)
            for plan in dict.fromkeys(load.plan for load in loads):
                pulled = s3.pull(self._storage, reports, log, plan=plan, since=since, figures_only=True)
                if pulled.refused:
                    why = "because other local runs have the same names"
                    self._note(f"not downloaded, {why}: {', '.join(pulled.refused)}")
                for problem in pulled.damaged:
                    self._note(f"not downloaded: {problem}")
        except ServiceError as error:
            self._note(f"metrics of earlier nightly runs were not downloaded: {error.what}")

    def push(self, directory: RunDirectory) -> None:
        """Upload a finished run."""
        run = directory.read_run()
        if run is None or run.state != FINISHED:
            return
        try:
            s3.push(directory, self._storage, log)
        except HarnessError as error:
            again = push_command(directory, self._storage)
            self._note(f"{directory.plan}/{directory.name} was not uploaded: {error.what}; repeat with: {again}")

    def _note(self, problem: str) -> None:
        log(problem)
        self.problems = (*self.problems, problem)


def new_record(options: argparse.Namespace, loads: tuple[Load, ...], suite: Suite) -> NightlyRecord:
    """Return the record of a new nightly run, without a name."""
    last = _last_commit(options.reports)
    fields = new_fields(options)
    day = datetime.fromisoformat(fields["started_at"])
    return NightlyRecord(
        **{**fields, "budget_s": suite.budget_s if fields["budget_s"] is None else fields["budget_s"]},
        series=day.strftime("%y%m%d"),
        title=suite.title,
        metrics=tuple(metric.id for metric in suite.metrics),
        labels=suite.labels,
        loads=loads,
        runs=order_of(loads),
        storage_problems=(),
        commits=git.commits_since(options.home, last, _SUBJECTS_MOST) if last else None,
    )


def _last_commit(reports: Path) -> str | None:
    """Return the commit of the newest earlier run; None when there is none."""
    entries = [entry for entry in read_catalogue(reports).entries if entry.run]
    newest = max(entries, key=lambda entry: entry.started_at, default=None)
    return newest.run.git_commit if newest and newest.run else None
