"""The files of runs with a common record (a sweep, a nightly run): a folder, with record and report next to it."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from harness.base.config import did_you_mean
from harness.base.errors import UsageError
from harness.base.writable import alone_in
from harness.run.directory import RunDirectory, json_text, write_whole
from harness.run.kinds import Kind, full_names
from harness.run.names import ambiguous, full_path

_NAMES_SHOWN = 5


@dataclass(frozen=True)
class RecordedFolder:
    """A folder with charts and logs; its record is <name>.json and its report <name>.md next to it."""

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


class PlanFolder(RecordedFolder):
    """The folder of several runs of one plan, reports/<plan>/<kind>-<series>; the runs are next to it."""

    def run(self, name: str) -> RunDirectory:
        """Return one of its runs."""
        return RunDirectory(self.folder.with_name(name))

    def locked(self) -> AbstractContextManager[None]:
        """Lock the folder. UsageError when another process measures its runs."""
        self.folder.mkdir(exist_ok=True)  # git does not store empty folders
        todo = "wait for its end, or start another one with NEW=1"
        return alone_in(self.folder, f"{self.name} is running in another process", todo)

    def discard(self) -> None:
        """Remove the folder when it has no runs, and the plan's folder if it is then empty."""
        for folder in (self.folder, self.folder.parent):
            with contextlib.suppress(OSError):  # not empty
                folder.rmdir()


def recorded_in(parent: Path, name: re.Pattern[str]) -> list[Path]:
    """Return the folders of this name that have a record, sorted by the numbers that are the groups of `name`."""
    found = [(match, path) for path in parent.glob("*.json") if (match := name.fullmatch(path.stem))]
    found.sort(key=lambda pair: ([int(number or 1) for number in pair[0].groups()], pair[1].stem))
    return [path.with_suffix("") for _, path in found]


def find_recorded(reports: Path, name: str, kind: Kind) -> Path:
    """Return the folder with a record by its name, such as lb-nginx/ab-01 or ab-01, or by a path of one of its files.

    The id at the end of a name may be left out. UsageError when there is none, or when several have that name.
    """
    path = Path(name)
    folder = path.with_suffix("") if path.suffix in (".json", ".md") else path
    for one in map(full_path, (folder, reports / folder)):
        if kind.numbered.fullmatch(one.name) and one.with_name(f"{one.name}.json").is_file():
            return one
    there = [found for plan in sorted(reports.glob("*/")) for found in recorded_in(plan, kind.numbered)]
    ids = [f"{found.parent.name}/{found.name}" for found in there]
    names = full_names(name, (found.name for found in there))
    same = [found for found in there if found.name in names]
    if len(same) > 1:
        raise ambiguous(name, same)
    if not same:
        near = did_you_mean(str(folder), [*ids, *(found.name for found in there)])
        raise UsageError(f"{name}: no such {kind.key}", f"{near}there are: {listed(ids)}")
    return same[0]


def listed(ids: Sequence[str]) -> str:
    """Return the last names of a list as text; none without any."""
    return ", ".join(["…"] * (len(ids) > _NAMES_SHOWN) + list(ids[-_NAMES_SHOWN:])) or "none"
