"""The files of experiments: unique names, one harness at a time, and which unfinished one a command resumes."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from harness.base import units
from harness.base.errors import UsageError
from harness.base.log import log
from harness.base.writable import alone_in, writing_into
from harness.experiment.record import RUNNING, PlanExperiment, time_left_s
from harness.report.files import write_missing_report
from harness.run.directory import OtherVersionError, RunDirectory, load_record, next_series, reserve_folder
from harness.run.recorded import PlanFolder, find_recorded, recorded_in

# First estimate of a run's time beside its load (start of the system and of JMeter, report): starts take 0.6 to 9 s.
FIRST_GUESS_S = 10.0

R = TypeVar("R", bound=PlanExperiment)


class ExperimentFiles(PlanFolder):
    """The files of one experiment: `folder` is <plan>/<prefix>-<n> in the reports of its kind, with charts and logs.

    Its runs are run-<n>_1 and following next to it.
    """


def write_missing_reports(folder: Path, series: str) -> None:
    """Write the reports of the runs of a series in the folder of a plan that a killed harness left without one."""
    for path in folder.glob(f"run-{series}_*"):
        if path.is_dir():
            write_missing_report(RunDirectory(path))


class Begun(NamedTuple, Generic[R]):
    """The files and the record of an experiment that begins or is resumed."""

    files: ExperimentFiles
    record: R


# Whether RESUME=1 still finds something to do in an experiment.
IsOpen = Callable[[R, ExperimentFiles], bool]


def _is_running(stored: PlanExperiment, _: ExperimentFiles) -> bool:
    return stored.state == RUNNING


class Experiments(Generic[R]):
    """The experiments of one kind in the folder `reports`."""

    def __init__(self, record_type: type[R], reports: Path) -> None:
        self._type = record_type
        self._reports = reports

    def read(self, files: ExperimentFiles) -> R:
        """Return a record; UsageError when it is invalid."""
        return load_record(self._type, files.record)

    def reserve(self, plan: str) -> ExperimentFiles:
        """Return the files of a new experiment; creating its folder reserves the name."""
        kind, folder = self._type.report_kind, self._reports / plan
        todo = f"delete or move old {kind.key}s"
        return ExperimentFiles(reserve_folder(folder, lambda: kind.named(next_series(folder, kind)), todo))

    def find(self, name: str) -> ExperimentFiles:
        """Return an experiment by its name, such as lb-nginx/ab-01 or ab-01, or by the path of one of its files."""
        return ExperimentFiles(find_recorded(self._reports, name, self._type.report_kind))

    def of(self, plan: str) -> list[ExperimentFiles]:
        """Return those of a plan that have a record, oldest first."""
        return [ExperimentFiles(path) for path in recorded_in(self._reports / plan, self._type.report_kind.numbered)]

    def guess_s(self, plan: str) -> float:
        """Return the seconds that a run took beside its load in the plan's last experiment, else FIRST_GUESS_S."""
        for files in reversed(self.of(plan)):
            try:
                found = self.read(files).lengths_s
            except UsageError:  # the record is damaged
                continue
            if found:
                return max(0.0, time_left_s([0.0], found, FIRST_GUESS_S) or 0.0)
        return FIRST_GUESS_S

    def locked(self) -> AbstractContextManager[None]:
        """Lock the folder of all experiments of the kind; UsageError when another harness uses it."""
        return locked(self._reports, self._type.what)

    def begun(self, new: R, options: argparse.Namespace, is_open: IsOpen[R] = _is_running) -> Begun[R]:
        """Return the unfinished experiment that the command of `new` resumes, else a new one with its name.

        A resumed one gets the budget of `new`. See `to_resume` for `is_open` and errors.
        """
        files = self.to_resume(new, options, is_open)
        if files is None:
            files = self.reserve(new.plan)
            return Begun(files, replace(new, name=files.name))
        stored = self.read(files)
        write_missing_reports(files.folder.parent, stored.series)
        new_one = "" if options.resume else f" (NEW=1 starts another {new.report_kind.key})"
        log(f"{stored.id}: resumed after {units.plural(len(stored.runs), 'run')}{new_one}")
        runs = len(stored.runs)
        return Begun(files, replace(stored, budget_s=new.budget_s, state=RUNNING, stop_reason="", resumed_at=runs))

    def unfinished(self, new: R) -> ExperimentFiles | None:
        """Return the last unfinished experiment that has the settings and the code of `new`; None without one.

        UsageError when the plan's last record is unreadable, because it may be the one to resume.
        """
        there = self.of(new.plan)
        for files in reversed(there):
            try:
                stored = self.read(files)
            except UsageError as error:
                if files != there[-1] or isinstance(error, OtherVersionError):
                    continue
                todo = f"it may be the {self._type.report_kind.key} to resume: repair it, or start another with NEW=1"
                raise UsageError(error.what, todo) from None
            if stored.state == RUNNING and stored.settings == new.settings:
                if stored.is_of_code(new.git_commit, new.git_changed):
                    return files
                log(f"{stored.id} is unfinished, but the code may have changed since: {stored.resumption} resumes it")
                return None
        return None

    def to_resume(
        self, new: R, options: argparse.Namespace, is_open: IsOpen[R] = _is_running
    ) -> ExperimentFiles | None:
        """Return the unfinished experiment that the command of `new` resumes; None when it starts a new one.

        With RESUME=1 that is the plan's last one; its code may be another, and so may what `is_open` still
        finds to do; UsageError when there is no such experiment.
        """
        key, there = self._type.report_kind.key, self.of(new.plan)
        if options.new:
            return None
        if not options.resume:
            return self.unfinished(new)
        if not there:
            raise UsageError(f"--resume: there is no {key} of {new.plan} yet", "leave it out")
        stored = self.read(there[-1])
        if stored.settings != new.settings:
            todo = f"repeat its command: {stored.command} RESUME=1"
            raise UsageError(f"--resume: {stored.id} has other settings or another load, or a commit has moved", todo)
        if not is_open(stored, there[-1]):
            raise UsageError(f"--resume: {stored.id} is finished", f"leave it out to start a new {key}")
        return there[-1]


def locked(reports: Path, what: str) -> AbstractContextManager[None]:
    """Lock a folder of experiments; UsageError, with `what` is in progress, when another harness uses it."""
    with writing_into(reports):
        reports.mkdir(parents=True, exist_ok=True)
    return alone_in(reports, f"{what} is in progress in {os.path.relpath(reports)}", "wait until it ends")
