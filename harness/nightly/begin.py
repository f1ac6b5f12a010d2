"""Begins a nightly run: a new one of today, or the unfinished one that the command resumes."""

from __future__ import annotations

import argparse
import contextlib
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from harness.base import git, units
from harness.base.errors import UsageError
from harness.base.log import log
from harness.base.paths import shown
from harness.experiment.record import ENDED, RUNNING, UNDER_WAY, WAITING
from harness.history.files import read_catalogue
from harness.nightly.files import NightlyFiles, find_unfinished, last_nightly, reserve_nightly
from harness.nightly.record import Load, NightlyRecord, order_of
from harness.nightly.suite import Suite
from harness.report.files import write_missing_report
from harness.run.arguments import make_command

# The default suite.
SUITE = "env/nightly.toml"
_SUBJECTS_MOST = 20


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
        for name in files.runs(load.plan, record.series):
            write_missing_report(files.run(load.plan, name))
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
