"""The steps of a nightly run: its loads in rounds, each with a time limit."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from harness.base import units
from harness.base.errors import HarnessError, ServiceError
from harness.base.log import log
from harness.compare.result import RunResult
from harness.experiment.execute import Step
from harness.experiment.record import NOT_RUN
from harness.experiment.runner import BudgetLeft, Design
from harness.nightly.files import NightlyFiles
from harness.nightly.record import Load, NightlyRecord
from harness.nightly.report_files import write_nightly_report
from harness.run.child import ChildEnd, ChildRun, first_line
from harness.run.directory import RunDirectory
from harness.run.limited_run import IN_TIME, INTERRUPTED
from harness.run.record import FINISHED
from harness.storage import s3
from harness.storage.after_run import push_command
from harness.storage.server import check_writable, open_storage

# More days than the gate uses.
_HISTORY_DAYS = 90


@dataclass(frozen=True)
class NightlySoFar:
    """The record of a nightly run. What its runs show is judged against all nightly runs when the report is written."""

    record: NightlyRecord

    @property
    def is_decided(self) -> bool:
        """Whether no run is left."""
        return not self.record.waiting


@dataclass
class NightlyRun(Design[NightlyRecord, NightlySoFar]):
    """A nightly run with its files and, for uploads, its storage. `problems` are what was not stored."""

    files: NightlyFiles
    options: argparse.Namespace
    storage: NightlyStorage | None
    problems: tuple[str, ...] = field(default=())

    def judge(self, record: NightlyRecord, results: Mapping[str, RunResult]) -> NightlySoFar:  # noqa: ARG002
        """Return the record, with what was not stored."""
        problems = self.problems + (self.storage.problems if self.storage else ())
        return NightlySoFar(replace(record, storage_problems=problems))

    def store(self, outcome: NightlySoFar) -> None:
        """Write the record."""
        self.files.write(outcome.record)

    def write_page(self, outcome: NightlySoFar) -> None:  # noqa: ARG002
        """Write the report with its charts and its JUnit XML."""
        write_nightly_report(self.files, self.options.home)

    def next_step(self, outcome: NightlySoFar) -> Step | None:
        """Return the next load."""
        record = outcome.record
        if not record.waiting:
            return None
        index = record.waiting[0]
        run = record.runs[index]
        load = record.load_of(run)
        return Step(
            run=run,
            heading=f"run {index + 1} of {len(record.runs)}, {record.title_of(run)}",
            child=ChildRun(
                title=load.title,
                # The gate compares a run with all earlier nightly runs, not with one.
                arguments=(*load.arguments, f"--series={record.series}", "--compare=0"),
                folders={"reports": self.files.reports, "home": self.options.home, "build": self.options.build},
                log=self.files.folder / record.log_name(index),
            ),
            runs_in=self.files.reports / load.plan,
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

    def ended(self, step: Step, end: ChildEnd, directory: RunDirectory | None) -> None:  # noqa: ARG002
        """Upload a run, and note what was not stored."""
        if directory is None or not directory.is_there:
            return
        if end.ended.how == IN_TIME and end.end.not_stored:  # where its profile has a [storage]
            what = f"{directory.plan}/{directory.name} was not stored"
            self.problems += (f"{what}: {first_line(end.end.not_stored)}",)
        if self.storage and end.ended.how != INTERRUPTED:
            self.storage.push(directory)


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
