"""The files of a night beside its runs: named without collisions, its record written whole, one harness at a time."""

from __future__ import annotations

import contextlib
import os
import re
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from harness.base.config import did_you_mean
from harness.base.errors import UsageError
from harness.base.folder_lock import alone_in
from harness.base.writable import writing_into
from harness.nightly.record import FORMAT_VERSION, RUNNING, NightlyRecord
from harness.run.directory import RunDirectory, json_text, read_json, write_whole

_NAME = re.compile(r"(\d{4}-\d\d-\d\d)(?:-(\d+))?")
_ATTEMPTS = 1000
_NAMES_SHOWN = 5


@dataclass(frozen=True)
class NightFiles:
    """The files of one night: `folder` is reports/nightly/<date>, which holds its charts and the runs' output."""

    folder: Path

    @property
    def name(self) -> str:
        """The night's name, such as 2026-11-21, or 2026-11-21-2 of the second one that began on that date."""
        return self.folder.name

    @property
    def date(self) -> str:
        """The date on which it began, UTC."""
        return self.name[:10]

    @property
    def reports(self) -> Path:
        """The folder that all nights and their runs stand in."""
        return self.folder.parent

    @property
    def record(self) -> Path:
        """The record, beside the folder."""
        return self.folder.with_name(f"{self.name}.json")

    @property
    def page(self) -> Path:
        """The page for people, beside the folder."""
        return self.folder.with_name(f"{self.name}.md")

    @property
    def junit(self) -> Path:
        """The results as JUnit XML, beside the folder."""
        return self.folder.with_name(f"{self.name}.xml")

    def run(self, plan: str, name: str) -> RunDirectory:
        """Return one of its runs."""
        return RunDirectory(self.reports / plan / name)

    def runs(self, plan: str, series: str) -> frozenset[str]:
        """Return the names of a plan's runs in a series."""
        return frozenset(path.name for path in (self.reports / plan).glob(f"run-{series}_*") if path.is_dir())

    def write(self, record: NightlyRecord) -> None:
        """Write the record; a reader sees the old or the new one, never half of it."""
        write_whole(self.record, json_text(record.to_json()))

    def read(self) -> NightlyRecord:
        """Return the record; UsageError when it is none."""
        return NightlyRecord.from_json(read_json(self.record, FORMAT_VERSION, "a night"), str(self.record))


def reserve_night(reports: Path, date: str) -> NightFiles:
    """Return a new night of a date; making its folder is what reserves the name."""
    for number in range(1, _ATTEMPTS):
        files = NightFiles(reports / (date if number == 1 else f"{date}-{number}"))
        if not files.record.exists():
            with contextlib.suppress(FileExistsError), writing_into(reports):
                files.folder.mkdir(parents=True)
                return files
    raise UsageError(f"{reports.name}: no free name for a night of {date}", "look at what fills the folder")


def find_night(reports: Path, name: str) -> NightFiles:
    """Return the night of a name, or of the path of one of its files; UsageError names the nights there are."""
    folder = Path(name).with_suffix("")
    files = NightFiles(reports / folder if folder.parent == Path() else folder)
    if not _NAME.fullmatch(files.name) or not files.record.is_file():
        names = [night.name for night in _nights(reports)]
        raise UsageError(f"{name}: no such night", f"{did_you_mean(files.name, names)}there are: {_listed(names)}")
    return files


def find_unfinished(reports: Path) -> NightFiles:
    """Return the last night, when it has not come to its end; UsageError when there is nothing to continue."""
    nights = _nights(reports)
    if not nights:
        raise UsageError("--resume: there is no night yet", "leave it out")
    last = nights[-1]
    if last.read().state != RUNNING:
        raise UsageError(f"--resume: {last.name} has come to its end", "leave it out to begin another night")
    return last


def _nights(reports: Path) -> list[NightFiles]:
    """Return the nights that have a record, the last one at the end."""
    found = [NightFiles(path.with_suffix("")) for path in reports.glob("*.json") if _NAME.fullmatch(path.stem)]
    return sorted(found, key=_order)


def _listed(names: list[str]) -> str:
    return ", ".join(["…"] * (len(names) > _NAMES_SHOWN) + names[-_NAMES_SHOWN:]) or "none"


def _order(files: NightFiles) -> tuple[str, int]:
    match = _NAME.fullmatch(files.name)
    assert match
    return match[1], int(match[2] or 1)


def locked(reports: Path) -> AbstractContextManager[None]:
    """Hold the nights of a folder alone; UsageError when another harness is at them."""
    with writing_into(reports):
        reports.mkdir(parents=True, exist_ok=True)
    return alone_in(reports, f"a night goes on in {os.path.relpath(reports)}", "wait for its end")
