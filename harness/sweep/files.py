"""Names, reads and writes the files of a sweep: its record, its report and the folder of its charts."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from pathlib import Path

from harness.base.config import did_you_mean
from harness.base.errors import UsageError
from harness.base.records import read_record
from harness.run import kinds
from harness.run.directory import RunDirectory, load_record, next_series, read_object, reserve_folder
from harness.run.recorded import PlanFolder, recorded_in
from harness.sweep.record import FORMAT_VERSION, RUNNING, SweepRecord


class SweepFiles(PlanFolder):
    """The files of one sweep; `folder` is reports/<plan>/sweep-<series>, which contains its charts."""

    @property
    def series(self) -> str:
        """The series of its runs, such as 07."""
        return kinds.SWEEP.rest_of(self.name)

    def read(self) -> SweepRecord:
        """Return the record. UsageError for an invalid one."""
        return load_record(SweepRecord, self.record)


def reserve_sweep(reports_dir: Path, plan: str) -> SweepFiles:
    """Return a new sweep with a new series; its folder reserves the name."""
    folder = reports_dir / plan
    todo = "remove old sweeps from the folder"
    return SweepFiles(reserve_folder(folder, lambda: kinds.SWEEP.named(next_series(folder)), todo))


def find_unfinished(reports_dir: Path, plan: str, settings: Sequence[object]) -> SweepFiles | None:
    """Return the plan's last unfinished sweep with these settings; None without one.

    UsageError when the record of the last sweep is unreadable, because it may be the one to resume.
    """
    sweeps = _sweeps(reports_dir / plan)
    for files in reversed(sweeps):
        try:
            data = read_object(files.record, "a sweep")
            if data.get("format_version") != FORMAT_VERSION:
                continue  # of another version of the harness: cannot be resumed
            record = read_record(SweepRecord, data, str(files.record))
        except UsageError as error:
            if files != sweeps[-1]:
                continue
            todo = "it may be the sweep to resume: repair it, or start another sweep with NEW=1"
            raise UsageError(error.what, todo) from None
        if record.state == RUNNING and record.settings == tuple(settings):
            return files
    return None


def find_sweep(reports_dir: Path, plan: str, text: str) -> SweepFiles:
    """Return the sweep named `sweep-07`, 07, 7 or `<plan>/sweep-07`. UsageError when it does not exist."""
    folder = reports_dir / plan
    sweeps = _sweeps(folder)
    wanted = re.fullmatch(rf"(?:{re.escape(plan)}/)?(?:sweep-)?(\d+)", text.strip())
    for files in sweeps:
        if wanted and int(files.series) == int(wanted[1]):
            return files
    names = [files.name for files in sweeps]
    todo = (
        f"{did_you_mean(text, names)}there are: {', '.join(names)}" if names else "there is none yet: leave RESUME out"
    )
    raise UsageError(f"RESUME={text}: no sweep of {plan}", todo)


def sweeps_with(runs: Sequence[RunDirectory]) -> list[SweepFiles]:
    """Return the sweeps that have one of these runs; unreadable ones are left out."""
    found = []
    for folder in dict.fromkeys(run.path.parent for run in runs):
        names = {run.name for run in runs if run.path.parent == folder}
        for files in _sweeps(folder):
            with contextlib.suppress(UsageError):
                if names & {run.run for run in files.read().runs}:
                    found.append(files)
    return found


def _sweeps(folder: Path) -> list[SweepFiles]:
    """Return the sweeps of a plan that have a record, by series."""
    return [SweepFiles(path) for path in recorded_in(folder, kinds.SWEEP.numbered)]
