"""Begins a nightly run, or resumes one; its steps are the loads in rounds, each with a time limit."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from harness.base import git, units
from harness.base.errors import HarnessError, ServiceError, UsageError
from harness.base.log import log
from harness.base.paths import shown
from harness.compare.result import RunResult
from harness.experiment.execute import Step
from harness.experiment.files import write_missing_reports
from harness.experiment.record import ENDED, NOT_RUN, RUNNING, UNDER_WAY, WAITING
from harness.experiment.runner import BudgetLeft, Design
from harness.history.files import read_catalogue
from harness.nightly.files import NightlyFiles, find_unfinished, last_nightly, reserve_nightly
from harness.nightly.record import Load, NightlyRecord, order_of
from harness.nightly.report_files import write_nightly_report
from harness.nightly.suite import Suite
from harness.run.arguments import make_command
from harness.run.child import ChildEnd, ChildRun, first_line
from harness.run.directory import RunDirectory
from harness.run.limited_run import IN_TIME, INTERRUPTED
from harness.run.record import FINISHED
from harness.storage import s3
from harness.storage.after_run import push_command
from harness.storage.bucket import check_writable, open_storage

# The default suite.
SUITE = "env/nightly.toml"
_SUBJECTS_MOST = 20
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
        if end.process.how == IN_TIME and end.result.not_stored:  # where its profile has a [storage]
            what = f"{directory.plan}/{directory.name} was not stored"
            self.problems += (f"{what}: {first_line(end.result.not_stored)}",)
        if self.storage and end.process.how != INTERRUPTED:
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


class Begun(NamedTuple):
    """A nightly run on disk: its files, and its record."""

    files: NightlyFiles
    record: NightlyRecord


def begun(options: argparse.Namespace, loads: tuple[Load, ...], suite: Suite) -> Begun:
    """Return the nightly run that the command resumes, else a new one.

    That is the last one, if it is unfinished; without RESUME=1 only if it is of today, with the same suite and code.
    """
    if options.resume:
        return _resumed(find_unfinished(options.reports), options, loads, suite)
    last = None if options.new else last_nightly(options.reports)
    if last is not None and last.date == _now().strftime("%Y-%m-%d"):
        checkout = git.facts(options.home)
        with contextlib.suppress(UsageError):  # its record is damaged
            record = last.read()
            is_same = record.settings == (loads, _ids(suite), suite.labels)
            if record.state == RUNNING and is_same and record.is_of_code(checkout.commit, checkout.is_changed):
                return _resumed(last, options, loads, suite)
            if record.state == RUNNING:
                log(f"{last.name} is unfinished, but suite or code may have changed since: RESUME=1 resumes it")
    return _started(options, loads, suite)


def _now() -> datetime:
    return datetime.now(UTC)


def _started(options: argparse.Namespace, loads: tuple[Load, ...], suite: Suite) -> Begun:
    """Return a new nightly run of today's date."""
    now = _now()
    checkout = git.facts(options.home)
    last = _last_commit(options.reports)
    files = reserve_nightly(options.reports, now.strftime("%Y-%m-%d"))
    suite_path, home = options.suite.resolve(), options.home.resolve()
    # Reports contain no paths of this machine.
    suite_text = str(suite_path.relative_to(home)) if suite_path.is_relative_to(home) else suite_path.name
    record = NightlyRecord(
        name=files.name,
        series=now.strftime("%y%m%d"),
        title=suite.title,
        command=make_command("nightly", {"suite": None if suite_text == SUITE else suite_text, "s3": options.s3}),
        budget_s=suite.budget_s,
        metrics=_ids(suite),
        labels=suite.labels,
        loads=loads,
        state=RUNNING,
        runs=order_of(loads),
        started_at=now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        spent_s=0.0,
        storage_problems=(),
        git_commit=checkout.commit,
        git_changed=checkout.is_changed,
        commits=git.commits_since(options.home, last, _SUBJECTS_MOST) if last else None,
    )
    log(f"{record.title} {files.name}: {units.plural(len(record.runs), 'run')}, {shown(files.report)}")
    return Begun(files, record)


def _ids(suite: Suite) -> tuple[str, ...]:
    """Return the metric ids of a suite, as stored in a record."""
    return tuple(metric.id for metric in suite.metrics)


def _resumed(files: NightlyFiles, options: argparse.Namespace, loads: tuple[Load, ...], suite: Suite) -> Begun:
    """Return the unfinished nightly run; runs of a killed harness get a report and are repeated."""
    record = files.read()
    if record.settings != (loads, _ids(suite), suite.labels):
        todo = "leave --resume out to start a new nightly run"
        raise UsageError(f"--resume: the suite changed since {files.name} was started", todo)
    for load in loads:
        write_missing_reports(files.reports / load.plan, record.series)
    runs = tuple(replace(run, state=WAITING) if run.state == UNDER_WAY else run for run in record.runs)
    measured = sum(run.state == ENDED for run in runs)
    new_one = "" if options.resume else " (NEW=1 starts another nightly run)"
    log(f"{record.title} {files.name}: resumed after {units.plural(measured, 'run')}{new_one}")
    return Begun(files, replace(record, runs=runs))


def _last_commit(reports: Path) -> str | None:
    """Return the commit of the newest earlier run; None when there is none."""
    entries = [entry for entry in read_catalogue(reports).entries if entry.run]
    newest = max(entries, key=lambda entry: entry.started_at, default=None)
    return newest.run.git_commit if newest and newest.run else None
