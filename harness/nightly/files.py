"""The files of a nightly run: unique names, atomic writes of its record, one harness at a time."""

from __future__ import annotations

import itertools
from pathlib import Path

from harness.base.config import did_you_mean
from harness.base.errors import UsageError
from harness.experiment.record import RUNNING
from harness.nightly.record import NightlyRecord
from harness.run.directory import load_record, reserve_folder
from harness.run.kinds import NIGHTLY_NAME, full_names
from harness.run.recorded import RecordedFolder, listed, recorded_in


class NightlyFiles(RecordedFolder):
    """The files of one nightly run: `folder` is reports/nightly/<date>-<id>, with its charts and the runs' output.

    The folder of the second nightly run of a date is <date>-2-<id>.
    """

    @property
    def date(self) -> str:
        """The date of its start, UTC."""
        return self.name[:10]

    @property
    def reports(self) -> Path:
        """The folder of all nightly reports and runs."""
        return self.folder.parent

    @property
    def junit(self) -> Path:
        """The results as JUnit XML, next to the folder."""
        return self.folder.with_name(f"{self.name}.xml")

    def read(self) -> NightlyRecord:
        """Return the record; UsageError when it is invalid."""
        return load_record(NightlyRecord, self.record)


def reserve_nightly(reports: Path, date: str) -> NightlyFiles:
    """Return the files of a new nightly run; creating its folder reserves the name."""
    names = (date if number == 1 else f"{date}-{number}" for number in itertools.count(1))
    return NightlyFiles(reserve_folder(reports, lambda: next(names), "delete or move old nightly runs"))


def find_nightly(reports: Path, name: str) -> NightlyFiles:
    """Return the files of a nightly run by its name or a path of one of its files; UsageError lists the names."""
    folder = Path(name).with_suffix("")
    parent = reports if folder.parent == Path() else folder.parent
    found = full_names(folder.name, [nightly.name for nightly in _all_nightly(parent)])
    if len(found) > 1:
        what = f"{name}: {len(found)} nightly runs have this short name"
        raise UsageError(what, f"choose one: {', '.join(found)}")
    if not found:
        names = [nightly.name for nightly in _all_nightly(reports)]
        todo = f"{did_you_mean(folder.name, names)}there are: {listed(names)}"
        raise UsageError(f"{name}: no such nightly run", todo)
    return NightlyFiles(parent / found[0])


def find_before(files: NightlyFiles) -> NightlyFiles | None:
    """Return the nightly run before this one; None when it is the first."""
    found = _all_nightly(files.reports)
    names = [one.name for one in found]
    at = names.index(files.name)
    return found[at - 1] if at else None


def last_nightly(reports: Path) -> NightlyFiles | None:
    """Return the last nightly run; None when there is none."""
    return next(reversed(_all_nightly(reports)), None)


def find_unfinished(reports: Path) -> NightlyFiles:
    """Return the last nightly run when it is unfinished; UsageError when there is nothing to resume."""
    last = last_nightly(reports)
    if last is None:
        raise UsageError("--resume: there is no nightly run yet", "leave it out")
    if last.read().state != RUNNING:
        raise UsageError(f"--resume: {last.name} is finished", "leave it out to start a new nightly run")
    return last


def _all_nightly(reports: Path) -> list[NightlyFiles]:
    """Return the nightly runs that have a record, oldest first."""
    return [NightlyFiles(path) for path in recorded_in(reports, NIGHTLY_NAME)]
