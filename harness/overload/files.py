"""Names, reads and writes the files of an overload test: its record, its report and the folder of its chart."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.base.errors import UsageError
from harness.overload.record import RUNNING, OverloadRecord
from harness.run import kinds
from harness.run.directory import load_record, next_series, reserve_folder
from harness.run.recorded import PlanFolder, find_recorded, recorded_in


class OverloadFiles(PlanFolder):
    """The files of one overload test; `folder` is reports/<plan>/overload-<series>, which contains its chart."""

    def read(self) -> OverloadRecord:
        """Return the record. UsageError for an invalid one."""
        return load_record(OverloadRecord, self.record)


def reserve_overload(reports: Path, plan: str) -> OverloadFiles:
    """Return the files of a new test with a new series; its folder reserves the name."""
    folder = reports / plan
    todo = "remove old overload tests from the folder"
    return OverloadFiles(reserve_folder(folder, lambda: kinds.OVERLOAD.named(next_series(folder)), todo))


def find_overload(reports: Path, name: str) -> OverloadFiles:
    """Return the files of a test by its name, such as thruzero/overload-07, or by a path of one of its files."""
    return OverloadFiles(find_recorded(reports, name, kinds.OVERLOAD))


def find_unfinished(reports: Path, plan: str, settings: Sequence[object]) -> OverloadFiles | None:
    """Return the plan's last unfinished test with these settings; None without one.

    UsageError when the record of the last test is unreadable, because it may be the one to resume.
    """
    tests = [OverloadFiles(path) for path in recorded_in(reports / plan, kinds.OVERLOAD.numbered)]
    for files in reversed(tests):
        try:
            record = files.read()
        except UsageError as error:
            if files != tests[-1]:
                continue
            todo = "it may be the test to resume: repair it, or start another one with NEW=1"
            raise UsageError(error.what, todo) from None
        if record.state == RUNNING and record.settings == tuple(settings):
            return files
    return None
