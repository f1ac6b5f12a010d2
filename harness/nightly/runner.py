"""Run the loads of a nightly suite, each as a child process with a time limit, then write the nightly report."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from harness.base import git, toolchain, units
from harness.base.errors import EXIT_INTERRUPTED, UsageError
from harness.base.log import log
from harness.base.paths import shown
from harness.history.catalogue import Entry
from harness.history.files import read_catalogue, read_entry
from harness.nightly.files import NightlyFiles, find_unfinished, reserve_nightly
from harness.nightly.record import (
    ENDED,
    FINISHED,
    FORMAT_VERSION,
    NOT_RUN,
    RUNNING,
    UNDER_WAY,
    WAITING,
    Load,
    LoadRun,
    NightlyRecord,
    order_of,
)
from harness.nightly.storage import NightlyStorage
from harness.nightly.suite import Suite
from harness.report.files import write_missing_report
from harness.run.arguments import make_command
from harness.run.child import Children, ChildRun, first_line
from harness.run.directory import RunDirectory
from harness.run.limited_run import IN_TIME, INTERRUPTED
from harness.sweep.terminal import run_line
from harness.sweep.time_left import time_left_s

if TYPE_CHECKING:
    from harness.nightly.outcome import NightlyResult
    from harness.notify.recipients import Recipients

# First estimate of a run's time beside its load: start of the system and of JMeter, report.
FIRST_GUESS_S = 10.0
# The default suite.
SUITE = "env/nightly.toml"
_SUBJECTS_MOST = 20


class NightlyRunner:
    """A nightly run in progress. Interrupts are deferred: one ends the current run, then the report is written."""

    def __init__(
        self,
        options: argparse.Namespace,
        suite: Suite,
        loads: tuple[Load, ...],
        storage: NightlyStorage | None,
        children: Children,
    ) -> None:
        self._options = options
        self._storage = storage
        self._children = children
        nightly = (_resumed if options.resume else _started)(options, loads, suite)
        self._files, self._record = nightly.files, nightly.record
        self._problems = self._record.storage_problems
        self._began_s = time.monotonic() - self._record.spent_s
        self._write(self._record)

    def run(self, recipients: Recipients | None, write_html: Callable[[Path], Path | None] | None = None) -> int:
        """Do the remaining runs, write the report, notify the recipients, return the exit code.

        `write_html` writes a report as one HTML file, and returns its path, None when it could not.
        """
        while self._record.waiting and not self._children.interrupts.count:
            self._do(self._record.waiting[0])
        if not self._record.waiting:
            self._write(replace(self._record, state=FINISHED))
        # Deferred: --dry-run needs neither the gate nor templates, which are slow to import.
        from harness.nightly.notice import Notice
        from harness.nightly.notifiers import notify_all
        from harness.nightly.render import headline
        from harness.nightly.report_files import write_nightly_report

        result = write_nightly_report(self._files, self._options.home)
        if recipients:
            result = self._notified(result, recipients)
        page = write_html(self._files.report) if write_html else None
        notice = Notice(result, headline(result), self._files, self._options.summary, page)
        notify_all(notice, log)
        log(f"\n{self._record.title} {self._record.name}: {notice.headline}")
        log(f"report: {' and '.join(shown(path) for path in (self._files.report, page) if path)}")
        if self._record.state == RUNNING:
            log(f"resume with: {self._record.command} RESUME=1")
            return EXIT_INTERRUPTED
        return result.exit_code_if(sure=self._options.sure)

    def _notified(self, result: NightlyResult, recipients: Recipients) -> NightlyResult:
        """Send the message about the result if it is due; return the result, which lists what was not delivered."""
        from harness.nightly.message import is_due, nightly_message
        from harness.nightly.report_files import verdict_before, write_nightly_report
        from harness.notify.delivery import deliver

        files, home = self._files, self._options.home
        if not is_due(recipients.when, result.verdict, verdict_before(files, home)):
            return result
        link = recipients.link_to(f"nightly/{files.name}", shown(files.report))
        undelivered = deliver(nightly_message(result, link), recipients, log)
        if undelivered == self._record.undelivered:
            return result
        self._write(replace(self._record, undelivered=undelivered))
        return write_nightly_report(files, home)

    def _do(self, index: int) -> None:
        """Start a run, or skip it when the remaining time is too short."""
        self._children.guardian.keep_up()
        run = self._record.runs[index]
        load = self._record.load_of(run)
        left_s = self._record.budget_s - self._spent_s
        needed_s = time_left_s([load.planned_s], self._record.lengths_s, FIRST_GUESS_S) or 0.0
        if needed_s > left_s:
            needed, left = (units.duration_text(round(max(0.0, seconds))) for seconds in (needed_s, left_s))
            why = f"not enough time: it needs about {needed}, {left} of the budget remain"
            log(f"{self._record.title_of(run)}: not run, {why}")
            self._set(index, replace(run, state=NOT_RUN, problem=why))
            return
        self._children.announce(self._heading(index))
        self._set(index, replace(run, state=UNDER_WAY))
        self._set(index, self._driven(index, run, load, min(load.limit_s, left_s)))

    def _driven(self, index: int, run: LoadRun, load: Load, limit_s: float) -> LoadRun:
        """Run a load and return its result."""
        options = self._options
        child = ChildRun(
            title=load.title,
            # The gate compares a run with all earlier nightly runs, not with one.
            arguments=(*load.arguments, f"--series={self._record.series}", "--compare=0"),
            folders={"reports": self._files.reports, "home": options.home, "build": options.build},
            log=self._files.folder / self._record.log_name(index),
        )
        done = self._children.run(child, limit_s)
        ended, end = done.ended, done.end
        directory = self._files.run(load.plan, Path(end.run).name) if end.run else None
        entry = _reported(directory) if directory else None
        why_too_long = "it hung" if limit_s == load.limit_s else "the budget was used up"
        problem = done.problem(limit_s, why_too_long, is_run=entry is not None)
        if entry and ended.how == IN_TIME and end.not_stored:  # where its profile has a [storage]
            self._problems += (f"{entry.id} was not stored: {first_line(end.not_stored)}",)
        if directory and entry and self._storage and ended.how != INTERRUPTED:
            self._storage.push(directory)
        line = run_line(entry.result) if entry and entry.result else ""
        self._children.conclude("; ".join(part for part in (line, problem) if part))
        return replace(
            run,
            # A resumed nightly run repeats an interrupted run.
            state=WAITING if ended.how == INTERRUPTED else ENDED,
            run=entry.name if entry else None,
            exit_code=ended.exit_code,
            took_s=round(ended.took_s, 1),
            problem=problem,
        )

    def _heading(self, index: int) -> str:
        """Return the number and title of the run that starts, and the estimated remaining time."""
        record = self._record
        planned_s = [record.load_of(record.runs[waiting]).planned_s for waiting in record.waiting]
        left_s = time_left_s(planned_s, record.lengths_s, FIRST_GUESS_S) or 0.0
        left = units.duration_text(round(left_s))
        return f"run {index + 1} of {len(record.runs)}, {record.title_of(record.runs[index])}; about {left} left"

    @property
    def _spent_s(self) -> float:
        return time.monotonic() - self._began_s

    def _set(self, index: int, run: LoadRun) -> None:
        runs = list(self._record.runs)
        runs[index] = run
        self._write(replace(self._record, runs=tuple(runs)))

    def _write(self, record: NightlyRecord) -> None:
        problems = self._problems + (self._storage.problems if self._storage else ())
        self._record = replace(record, spent_s=round(self._spent_s, 1), storage_problems=problems)
        self._files.write(self._record)


@dataclass(frozen=True)
class _NightlyRun:
    """A nightly run on disk: its files, and its record."""

    files: NightlyFiles
    record: NightlyRecord


def _started(options: argparse.Namespace, loads: tuple[Load, ...], suite: Suite) -> _NightlyRun:
    """Return a new nightly run of today's date."""
    now = datetime.now(UTC)
    checkout = git.facts(toolchain.ROOT)
    last = _last_commit(options.reports)
    files = reserve_nightly(options.reports, now.strftime("%Y-%m-%d"))
    suite_path, home = options.suite.resolve(), options.home.resolve()
    # Reports contain no paths of this machine.
    suite_text = str(suite_path.relative_to(home)) if suite_path.is_relative_to(home) else suite_path.name
    record = NightlyRecord(
        format_version=FORMAT_VERSION,
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
        commits=git.commits_since(toolchain.ROOT, last, _SUBJECTS_MOST) if last else None,
    )
    log(f"{record.title} {files.name}: {units.plural(len(record.runs), 'run')}, {shown(files.report)}")
    return _NightlyRun(files, record)


def _ids(suite: Suite) -> tuple[str, ...]:
    """Return the metric ids of a suite, as stored in a record."""
    return tuple(metric.id for metric in suite.metrics)


def _resumed(options: argparse.Namespace, loads: tuple[Load, ...], suite: Suite) -> _NightlyRun:
    """Return the unfinished nightly run; runs of a killed harness get a report and are repeated."""
    files = find_unfinished(options.reports)
    record = files.read()
    if record.settings != (loads, _ids(suite), suite.labels):
        todo = "leave --resume out to start a new nightly run"
        raise UsageError(f"--resume: the suite changed since {files.name} was started", todo)
    for load in loads:
        for name in files.runs(load.plan, record.series):
            _reported(files.run(load.plan, name))
    runs = tuple(replace(run, state=WAITING) if run.state == UNDER_WAY else run for run in record.runs)
    measured = sum(run.state == ENDED for run in runs)
    log(f"{record.title} {files.name}: resumed after {units.plural(measured, 'run')}")
    return _NightlyRun(files, replace(record, runs=runs))


def _reported(directory: RunDirectory) -> Entry | None:
    """Return a run with its report, written now if a killed harness could not; None when there is no run."""
    write_missing_report(directory)
    return read_entry(directory) if directory.is_there else None


def _last_commit(reports: Path) -> str | None:
    """Return the commit of the newest earlier run; None when there is none."""
    entries = [entry for entry in read_catalogue(reports).entries if entry.run]
    newest = max(entries, key=lambda entry: entry.started_at, default=None)
    return newest.run.git_commit if newest and newest.run else None
