"""The files of an A/B test: unique names, atomic writes of its record, one harness at a time."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from pathlib import Path

from harness.ab.equal_runs import first_guess_s
from harness.ab.record import RUNNING, AbRecord
from harness.base.errors import UsageError
from harness.base.folder_lock import alone_in
from harness.base.writable import writing_into
from harness.run import kinds
from harness.run.directory import RunDirectory, load_record, reserve_folder
from harness.run.recorded import RecordedFolder, find_recorded, recorded_in


class SeriesFiles(RecordedFolder):
    """The files of one test: `folder` ends with -<n>, and its runs are run-<n>_1 and following next to it."""

    def run(self, name: str) -> RunDirectory:
        """Return one of its runs."""
        return RunDirectory(self.folder.with_name(name))

    def runs(self) -> tuple[RunDirectory, ...]:
        """Return its runs that have a run directory."""
        series = self.name.rpartition("-")[2]
        return tuple(RunDirectory(path) for path in self.folder.parent.glob(f"run-{series}_*") if path.is_dir())


class AbFiles(SeriesFiles):
    """The files of one A/B test: `folder` is reports/ab/<plan>/ab-<n>, with the output of its runs."""

    def log(self, index: int, side: str) -> Path:
        """Return the file of a run's output; `index` counts from 0."""
        return self.folder / f"{index + 1:02d}-{side}.log"

    def read(self) -> AbRecord:
        """Return the record; UsageError when it is invalid."""
        return load_record(AbRecord, self.record)


def reserve_ab(reports: Path, plan: str) -> AbFiles:
    """Return the files of a new A/B test; creating its folder reserves the name."""

    def next_name() -> str:
        numbered = kinds.AB_TEST.numbered
        found = (numbered.fullmatch(path.stem) for path in (reports / plan).glob(kinds.AB_TEST.named("*")))
        return kinds.AB_TEST.named(f"{1 + max((int(match[1]) for match in found if match), default=0):02d}")

    return AbFiles(reserve_folder(reports / plan, next_name, "delete or move old A/B tests"))


def find_unfinished(reports: Path, plan: str) -> AbFiles:
    """Return the plan's last A/B test when it is unfinished; UsageError when there is nothing to resume."""
    found = [AbFiles(path) for path in recorded_in(reports / plan, kinds.AB_TEST.numbered)]
    if not found:
        raise UsageError(f"--resume: there is no A/B test of {plan} yet", "leave it out")
    last = found[-1]
    if last.read().state != RUNNING:
        raise UsageError(f"--resume: {plan}/{last.name} is finished", "leave it out to start a new A/B test")
    return last


def ab_guess_s(reports: Path, plan: str, unknown_s: float) -> float:
    """Return the seconds that a run takes beside its load, from the plan's earlier A/B tests, else `unknown_s`."""
    return first_guess_s([AbFiles(path) for path in recorded_in(reports / plan, kinds.AB_TEST.numbered)], unknown_s)


def find_ab(reports: Path, name: str) -> AbFiles:
    """Return the files of an A/B test by its name, such as lb-nginx/ab-01 or ab-01, or by the path of one of them."""
    return AbFiles(find_recorded(reports, name, kinds.AB_TEST))


def locked(reports: Path, what: str = "an A/B test") -> AbstractContextManager[None]:
    """Lock a folder of tests; UsageError, with `what` is in progress, when another harness uses it."""
    with writing_into(reports):
        reports.mkdir(parents=True, exist_ok=True)
    return alone_in(reports, f"{what} is in progress in {os.path.relpath(reports)}", "wait until it ends")
