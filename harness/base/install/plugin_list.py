"""Reads the list of a plan's own plugins, and the lock file beside the plan: what each entry is, and what is locked.

This module runs before .venv exists: standard library only.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from harness.base.errors import UsageError
from harness.base.once import sum_of_file

_COORDINATE = re.compile(r"[\w.-]+:[\w.-]+:[\w.+-]+(:[\w.-]+)?")
_ADDRESS = re.compile(r"(?P<url>https?://[^\s#]+/(?P<name>[\w.+-]+\.jar))#sha256=(?P<sum>[0-9a-f]{64})")
_FORMS = (
    'give group:artifact:version, such as "kg.apc:jmeter-plugins-functions:2.1", a file beside the plan, such as '
    '"lib/own.jar", or "https://…/own.jar#sha256=…" with the 64 digits of its SHA-256'
)
_HEAD, _LISTED = "# The jars of [jmeter] plugins, by `lth`.", "# plugins: "


@dataclass(frozen=True)
class PluginList:
    """The plugins of a plan as its TOML lists them: coordinates, files beside the plan, and addresses; `plan` is the
    TOML.
    """

    listed: tuple[str, ...]
    plan: Path

    @property
    def where(self) -> str:
        """Return what messages call the list."""
        return f"plans/{self.plan.name} [jmeter] plugins"

    @property
    def lock(self) -> Path:
        """Return the lock file."""
        return self.plan.with_suffix(".lock")

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Return the Maven coordinates, group:artifact:version, with a classifier where one is given."""
        return tuple(one for one in self.listed if _COORDINATE.fullmatch(one))

    @property
    def addresses(self) -> dict[str, tuple[str, str]]:
        """Return address and SHA-256 of each jar that has an address, by the name of its file."""
        matches = (_ADDRESS.fullmatch(one) for one in self.listed)
        return {match["name"]: (match["url"], match["sum"]) for match in matches if match}

    @property
    def files(self) -> dict[str, Path]:
        """Return the jars beside the plan, by the name of the file."""
        return {Path(one).name: self.plan.parent / one for one in self.listed if is_file_name(one)}

    @property
    def described(self) -> tuple[str, ...]:
        """Return the entries for the record of a run: a file of the project with its SHA-256."""
        files = {
            one: f"{one} sha256:{sum_of_file(self.plan.parent / one)}" for one in filter(is_file_name, self.listed)
        }
        return tuple(files.get(one, one) for one in self.listed)

    def check(self) -> None:
        """Raise a UsageError for an entry that is none, a file that is missing or no jar, and a name that is twice."""
        for entry in self.listed:
            if is_file_name(entry) and not (self.plan.parent / entry).is_file():
                what = f"{self.where}: {self.plan.parent.name}/{entry} does not exist"
                raise UsageError(what, "put the jar there, or correct its name, which is relative to the plan")
            if is_file_name(entry) and not zipfile.is_zipfile(self.plan.parent / entry):
                raise UsageError(f"{self.where}: {self.plan.parent.name}/{entry} is no jar", "get it again")
            if not is_file_name(entry) and not _COORDINATE.fullmatch(entry) and not _ADDRESS.fullmatch(entry):
                raise UsageError(f"{self.where}: {entry!r} is no Maven coordinate, file or address", _FORMS)
        names = [*(name for one in self.listed if is_file_name(one) and (name := Path(one).name)), *self.addresses]
        if twice := next((name for name in names if names.count(name) > 1), ""):
            raise UsageError(f"{self.where}: two entries have the file name {twice}", "rename one of them")


def is_file_name(entry: str) -> bool:
    """Return whether an entry of the list is a file beside the plan or below."""
    path = PurePosixPath(entry)
    return "://" not in entry and path.suffix == ".jar" and not path.is_absolute() and ".." not in path.parts


def lock_text(coordinates: Sequence[str], entries: Sequence[tuple[str, str]]) -> str:
    """Return the text of a lock file: the listed coordinates, and each jar as its SHA-256 and its coordinate."""
    lines = (f"{digest}  {coordinate}" for digest, coordinate in sorted(entries, key=lambda entry: entry[1]))
    return "\n".join((_HEAD, _LISTED + " ".join(coordinates), *lines)) + "\n"


def locked_jars(lock: Path, coordinates: Sequence[str]) -> dict[str, str] | None:
    """Return the SHA-256 of each locked jar, by its coordinate; None unless the lock file is of these coordinates."""
    lines = lock.read_text(encoding="utf-8", errors="replace").splitlines() if lock.is_file() else []
    if _LISTED + " ".join(coordinates) not in lines:
        return None
    entries = (line.partition("  ") for line in lines if not line.startswith("#"))
    return {coordinate: digest for digest, _, coordinate in entries if _COORDINATE.fullmatch(coordinate)}


def jar_name(coordinate: str) -> str:
    """Return the name of the file that Maven makes of a coordinate: artifact-version.jar."""
    return f"{'-'.join(coordinate.split(':')[1:])}.jar"
