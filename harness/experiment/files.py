"""The files of experiments: unique names, one harness at a time, and which unfinished one a command resumes."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import re
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from harness.base import units
from harness.base.config import did_you_mean
from harness.base.errors import UsageError
from harness.base.log import log
from harness.base.writable import alone_in, writing_into
from harness.experiment.record import ENDED, FINISHED, RUNNING, ExperimentRecord, ExperimentRun, time_left_s
from harness.report.files import write_missing_report
from harness.run.arguments import settings_of
from harness.run.directory import (
    OtherVersionError,
    RunDirectory,
    json_text,
    load_record,
    next_series,
    read_object,
    reserve_folder,
    write_whole,
)
from harness.run.kinds import LAST, Kind, full_names
from harness.run.names import ambiguous, full_path
from harness.run.record import FINISHED as RUN_FINISHED

# First estimate of a run's time beside its load (start of the system and of JMeter, report): starts take 0.6 to 9 s.
FIRST_GUESS_S = 10.0
_NAMES_SHOWN = 5

R = TypeVar("R", bound=ExperimentRecord)


@dataclass(frozen=True)
class ExperimentFiles:
    """The files of one experiment: `folder` has its charts and logs; record and report are next to it.

    The folder is <plan>/<prefix>-<n> in the reports of its kind, and the runs are next to it. That of a nightly run is
    <date> or <date>-2 there, and its runs are in the folders of their plans, next to it.
    """

    folder: Path

    @property
    def name(self) -> str:
        """The name of the folder, such as sweep-07."""
        return self.folder.name

    @property
    def record(self) -> Path:
        """The record, next to the folder."""
        return self.folder.with_name(f"{self.name}.json")

    @property
    def report(self) -> Path:
        """The Markdown report, next to the folder."""
        return self.folder.with_name(f"{self.name}.md")

    def write(self, record: object) -> None:
        """Write the record, a dataclass, atomically."""
        write_whole(self.record, json_text(record))

    def run(self, name: str, plan: str = "") -> RunDirectory:
        """Return one of its runs; `plan` is the run's, of an experiment with several."""
        return RunDirectory(self.folder.parent / plan / name)

    def next_log(self, record: ExperimentRecord) -> Path:
        """Return the file for the output of the run that follows those in the record."""
        return self.folder / f"{len(record.runs) + 1:02d}.log"

    def discard(self) -> None:
        """Remove the folder when nothing was measured, and the plan's folder if it is then empty."""
        if not self.record.is_file():
            for folder in (self.folder, self.folder.parent):
                with contextlib.suppress(OSError):  # not empty
                    folder.rmdir()


def recorded_in(parent: Path, name: re.Pattern[str]) -> list[ExperimentFiles]:
    """Return the experiments of this name that have a record, sorted by the numbers that are the groups of `name`."""
    found = [(match, path) for path in parent.glob("*.json") if (match := name.fullmatch(path.stem))]
    found.sort(key=lambda pair: ([int(number or 1) for number in pair[0].groups()], pair[1].stem))
    return [ExperimentFiles(path.with_suffix("")) for _, path in found]


def experiments_of(kind: Kind, reports: Path, plan: str | None) -> list[ExperimentFiles]:
    """Return the experiments of a kind that have a record, oldest first: those of one plan, or of all."""
    folder = kind.folder_in(reports)
    if not kind.prefix:
        return recorded_in(folder, kind.numbered)
    folders = sorted(folder.glob("*/")) if plan is None else [folder / plan]
    return [files for one in folders for files in recorded_in(one, kind.numbered)]


def find_experiment(kind: Kind, reports: Path, name: str, plan: str | None = None) -> ExperimentFiles:
    """Return an experiment by its name, such as lb-nginx/ab-01, ab-01, 01 or 1, or by a path of one of its files.

    With a `plan` only one of this plan. The id at the end of a name may be left out. UsageError when there is none, or
    when several have that name.
    """
    path, folder = Path(name.strip()), kind.folder_in(reports)
    path = path.with_suffix("") if path.suffix in (".json", ".md") else path
    for candidate in (full_path(base / path) for base in (Path(), folder, folder.parent)):
        is_of_plan = plan is None or candidate.parent.name == plan
        if (
            is_of_plan
            and kind.numbered.fullmatch(candidate.name)
            and candidate.with_name(f"{candidate.name}.json").is_file()
        ):
            return ExperimentFiles(candidate)
    there = experiments_of(kind, reports, plan)
    short = str(path) if kind.numbered.fullmatch(str(path)) else kind.named(str(path).zfill(2))
    names = full_names(short, (files.name for files in there))
    same = [files for files in there if files.name in names]
    if len(same) > 1:
        raise ambiguous(name, [files.folder for files in same])
    if not same:
        ids = [f"{files.folder.parent.name}/{files.name}" if kind.prefix else files.name for files in there]
        near = did_you_mean(str(path), [*ids, *(files.name for files in there)])
        known = ", ".join(["…"] * (len(ids) > _NAMES_SHOWN) + ids[-_NAMES_SHOWN:]) or "none"
        raise UsageError(f"{name}: no such {kind.key}{f' of {plan}' if plan else ''}", f"{near}there are: {known}")
    return same[0]


def last_unfinished(kind: Kind, reports: Path, plan: str | None) -> ExperimentFiles:
    """Return the last unfinished experiment, else the last one, which may have been stopped; UsageError without any."""
    there = experiments_of(kind, reports, plan)
    if not there:
        of_plan = f" of {plan}" if plan and kind.prefix else ""
        raise UsageError(f"--resume: there is no {kind.key}{of_plan} yet", "leave it out")
    return next((one for one in reversed(there) if read_object(one.record).get("state") == RUNNING), there[-1])


class Begun(NamedTuple, Generic[R]):
    """The files and the record of an experiment that begins or is resumed."""

    files: ExperimentFiles
    record: R


class Experiments(Generic[R]):
    """The experiments of one kind; `reports` is the folder of all results, or that of the kind."""

    def __init__(self, record_type: type[R], reports: Path) -> None:
        self._type = record_type
        self.kind = record_type.report_kind
        self.reports = self.kind.folder_in(reports)

    def read(self, files: ExperimentFiles) -> R:
        """Return a record; UsageError when it is invalid."""
        return load_record(self._type, files.record)

    def reserve(self, plan: str, day: str = "") -> ExperimentFiles:
        """Return the files of a new experiment of a plan, or of a day; creating its folder reserves the name."""
        kind, folder = self.kind, self.reports / plan
        of_day = (day if number == 1 else f"{day}-{number}" for number in itertools.count(1))

        def next_name() -> str:
            return kind.named(next_series(folder, kind)) if kind.prefix else next(of_day)

        return ExperimentFiles(reserve_folder(folder, next_name, f"delete or move old {kind.key}s"))

    def find(self, name: str, plan: str | None = None) -> ExperimentFiles:
        """Return an experiment by its name, see `find_experiment`."""
        return find_experiment(self.kind, self.reports, name, plan)

    def of(self, plan: str) -> list[ExperimentFiles]:
        """Return those of a plan that have a record, oldest first; all nightly runs, which have no plan."""
        return experiments_of(self.kind, self.reports, plan)

    def guess_s(self, plan: str) -> float:
        """Return the seconds that a run took beside its load in the plan's last experiment, else FIRST_GUESS_S."""
        for files in reversed(self.of(plan)):
            try:
                lengths_s = self.read(files).lengths_s
            except UsageError:  # the record is damaged
                continue
            if lengths_s:
                return max(0.0, time_left_s([0.0], lengths_s, FIRST_GUESS_S) or 0.0)
        return FIRST_GUESS_S

    def locked(self, files: ExperimentFiles) -> AbstractContextManager[None]:
        """Lock an experiment, and with it all of a kind that has a folder. UsageError when another harness has it."""
        folder = self.reports if self.kind.folder else files.folder
        with writing_into(folder):
            folder.mkdir(parents=True, exist_ok=True)  # git does not store empty folders
        if self.kind.folder:
            what = f"{self._type.what} is in progress in {os.path.relpath(folder)}"
            return alone_in(folder, what, "wait until it ends")
        todo = "wait for its end, or start another one with --new"
        return alone_in(folder, f"{files.name} is running in another process", todo)

    def begun(
        self,
        new: R,
        options: argparse.Namespace,
        stack: ExitStack,
        is_open: Callable[[ExperimentFiles, R], bool] = lambda *_: False,
    ) -> Begun[R]:
        """Return the experiment that the command of `new` resumes, else a new one with its name; the stack locks it.

        RESUME names one (`find_experiment`), or is LAST; its code may be another one. Else it is the last unfinished
        one with the same settings and code. It gets the budget of `new`, and loses the runs that were deleted.
        `is_open` is whether there is something to do in one that is finished. UsageError when what RESUME names cannot
        be resumed.
        """
        if self.kind.folder:
            stack.enter_context(self.locked(ExperimentFiles(self.reports)))
        files = None if options.new else self._to_resume(new, options)
        if files is None:
            files = self.reserve(new.plan_folder, new.started_at[:10])
            record = replace(new, name=files.name)
            self._explain_number(record.id, files, before=len(self.of(new.plan_folder)))
        else:
            stored = self.read(files)
            record = self._resumed(stored, files, new)
            if options.resume and stored.state == FINISHED and not is_open(files, record):
                raise UsageError(f"--resume: {stored.id} is finished", f"leave it out to start a new {self.kind.key}")
            new_one = "" if options.resume else f" (--new starts another {self.kind.key})"
            ended = sum(run.state == ENDED for run in record.runs)
            log(f"{record.id}: resumed after {units.plural(ended, 'run')}{new_one}")
            if new.git_commit != stored.git_commit:
                before, now = ((one.git_commit or "?")[:10] for one in (stored, new))
                log(f"{record.id}: started at commit {before}, now at {now}")
        stack.callback(files.discard)
        if not self.kind.folder:
            stack.enter_context(self.locked(files))
        return Begun(files, record)

    def _explain_number(self, name: str, files: ExperimentFiles, before: int) -> None:
        """Say why a name is not the next one of its kind: single runs and other kinds have series there, too."""
        series = self.kind.series_of(files.name)
        if self.kind.has_series and not self.kind.folder and int(series) != before + 1:
            log(f"{name}: its runs are run-{series}_1 and following, so it has their number")

    def _resumed(self, stored: R, files: ExperimentFiles, new: R) -> R:
        """Return a record that is resumed: unfinished runs get their report, deleted ones are dropped."""
        runs: list[ExperimentRun] = []
        for run in stored.runs:
            directory = files.run(run.run, stored.plan_of(run)) if run.run else None
            is_there = directory is None or directory.is_there
            is_whole = False
            if directory and is_there and run.state != ENDED:
                write_missing_report(directory)
                left = directory.read_run()
                is_whole = left is not None and left.state == RUN_FINISHED and not left.interrupted
            if again := stored.resumed(run, is_there=is_there, is_whole=is_whole):
                runs.append(again)
        changes = {"runs": tuple(runs), "resumed_at": len(runs), "budget_s": new.budget_s}
        return replace(stored, state=RUNNING, stop_reason="", **changes)  # type: ignore[arg-type]

    def _to_resume(self, new: R, options: argparse.Namespace) -> ExperimentFiles | None:
        if not options.resume:
            return self.unfinished(new, options)
        plan = new.plan_folder
        is_last = options.resume == LAST
        files = last_unfinished(self.kind, self.reports, plan) if is_last else self.find(options.resume, plan or None)
        stored = self.read(files)
        if why := _difference(stored, new, options):
            todo = f"leave out what differs, or repeat its command: {stored.command}"
            raise UsageError(f"--resume: {stored.id} {why}", todo)
        return files

    def unfinished(self, new: R, options: argparse.Namespace) -> ExperimentFiles | None:
        """Return the last unfinished experiment that has the settings and the code of `new`; None without one.

        UsageError when the last record is unreadable, because it may be the one to resume.
        """
        there = self.of(new.plan_folder)
        for files in reversed(there):
            try:
                stored = self.read(files)
            except UsageError as error:
                if files != there[-1] or isinstance(error, OtherVersionError):
                    continue
                todo = f"it may be the {self.kind.key} to resume: repair it, or start another with --new"
                raise UsageError(error.what, todo) from None
            if stored.state == RUNNING and stored.is_continued_by(new) and not _difference(stored, new, options):
                if stored.is_of_code(new.git_commit, new.git_changed):
                    return files
                why = "the code may have changed since"
                log(f"{stored.id} is unfinished, but {why}: {stored.resume_command} resumes it")
                return None
        return None


def _difference(stored: ExperimentRecord, new: ExperimentRecord, options: argparse.Namespace) -> str:
    """Return why the command of `new` does not resume a stored experiment; empty when it does."""
    before, now = (settings_of(one.command, options) for one in (stored, new))
    if names := [f"--{name}" for name in {**before, **now} if before.get(name) != now.get(name)]:
        return f"has other settings: {', '.join(names)}"
    return "" if stored.resolved == new.resolved else "has another load, or a commit has moved"
