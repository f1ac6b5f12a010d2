"""How runs lie in S3: the address, the keys, which files of a run are kept, and the manifest that says it is whole."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from harness.base.config import did_you_mean
from harness.base.errors import UsageError
from harness.base.records import build
from harness.base.strict_json import parse_object
from harness.jtl.csv import samples_number
from harness.run.record import FINISHED, RunRecord

MANIFEST_NAME = "manifest.json"
RUN_FILE, SUMMARY_FILE, REPORT_FILE = "run.json", "summary.json", "report.md"
# Enough for histories and comparisons; the samples are a thousand times as large.
FIGURES = (RUN_FILE, SUMMARY_FILE, REPORT_FILE)
# What was measured, beside the samples: a run that has others is another one. The rest may be made again.
_EVIDENCE = ("telemetry.csv", "heap.csv")
# What was seen of the machines elsewhere: fetched after the run, and again as long as it is known there; run.json says
# what was asked for.
_CLOUDWATCH = "cloudwatch.csv"
PACKED = ".zst"
LOG_FOLDER = "system/"
FORMAT_VERSION = 1

_NAME = r"[A-Za-z0-9][\w.-]*"
_RUN_ID = r"(?P<name>run-\d+_\d+)-[0-9a-f]+"
_FOLDER = re.compile(
    rf"runs/plan=(?P<plan>{_NAME})/env=(?P<profile>{_NAME})/date=(?P<date>\d{{4}}-\d\d-\d\d)/run=(?P<run_id>{_RUN_ID})"
)
_FILE = re.compile(rf"(?:{LOG_FOLDER})?{_NAME}")


@dataclass(frozen=True)
class RunKey:
    """What tells a pushed run from all others; `run_id` is unique over all machines, `date` that of its start, UTC."""

    plan: str
    profile: str
    date: str
    run_id: str

    @property
    def folder(self) -> str:
        """Where its files lie below the prefix."""
        return f"runs/plan={self.plan}/env={self.profile}/date={self.date}/run={self.run_id}"

    @property
    def name(self) -> str:
        """The run's name, such as run-07_1."""
        return self.run_id.rpartition("-")[0]

    @property
    def id(self) -> str:
        """Plan and run, such as killbill-stripe/run-07_1: two machines may have the same."""
        return f"{self.plan}/{self.name}"

    @property
    def order(self) -> tuple[str, str, int, int, str]:
        """What runs are sorted by: the date, then plan, series and number."""
        series, number = self.name.removeprefix("run-").split("_")
        return self.date, self.plan, int(series), int(number), self.run_id

    @classmethod
    def of(cls, run: RunRecord) -> RunKey:
        """Return the key of a run; UsageError unless it has come to its end and can be told from all others."""
        if run.state != FINISHED:
            raise UsageError(f"{run.id}: still running, or killed before its end", "push runs that came to their end")
        key = cls(run.plan, run.profile, run.started_at[:10], run.properties.get("run_id", ""))
        if parse_folder(key.folder) != key or key.name != run.name:
            raise UsageError(
                f"{run.id}: its run.json does not tell it from the runs of other machines (run_id, plan or profile)",
                "only runs that make run has made can be pushed",
            )
        return key


def parse_folder(path: str) -> RunKey | None:
    """Return the key of the run whose folder this is, below the prefix; None when it is no such folder."""
    match = _FOLDER.fullmatch(path)
    return RunKey(match["plan"], match["profile"], match["date"], match["run_id"]) if match else None


class ManifestError(UsageError):
    """What lies in the place of a run's manifest is none: other runs are not concerned."""


@dataclass(frozen=True)
class StoredFile:
    """A file of a run as it is in the run's directory; in S3 samples and logs are packed."""

    name: str
    size_bytes: int
    sha256: str

    @property
    def is_packed(self) -> bool:
        """Whether it lies in S3 as zstd."""
        return samples_number(self.name) is not None or self.name.startswith(LOG_FOLDER)

    @property
    def stored_as(self) -> str:
        """Its name in S3."""
        return self.name + PACKED if self.is_packed else self.name


def is_evidence(name: str) -> bool:
    """Return whether a file of a run holds what was measured."""
    return name in _EVIDENCE or samples_number(name) is not None


def kept_names(there: Iterable[str], exception_logs: Iterable[str]) -> tuple[str, ...]:
    """Return which of the files in a run's directory go along: all from which its report is made again, and its charts.

    The rest is what a run can do without: JMeter's log, the effective plan, data files, logs of which nothing is told.
    """
    others = {RUN_FILE, _CLOUDWATCH, *(LOG_FOLDER + name for name in exception_logs)}
    wanted = (name for name in there if is_evidence(name) or name in others or _is_chart(name))
    return tuple(sorted(name for name in wanted if _FILE.fullmatch(name)))


def _is_chart(name: str) -> bool:
    return name.endswith(".svg") and "/" not in name


@dataclass(frozen=True)
class Manifest:
    """The files of a pushed run; it is written last, so that where it lies the run is whole."""

    key: RunKey
    files: tuple[StoredFile, ...]

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {"format_version": FORMAT_VERSION, **asdict(self.key), "files": [asdict(file) for file in self.files]}

    @classmethod
    def from_text(cls, text: bytes, key: RunKey, where: str) -> Manifest:
        """Return the manifest that lies where the run of this key does; UsageError unless it is one, and of that run.

        Names that lead out of the run's directory are refused: what lies in a bucket may come from anybody.
        """
        try:
            data = parse_object(text)
            files = build(tuple[StoredFile, ...], data["files"])
            is_ours = data["format_version"] == FORMAT_VERSION and data["run_id"] == key.run_id
            is_ours = is_ours and all(_FILE.fullmatch(file.name) and file.size_bytes >= 0 for file in files)
            is_ours = is_ours and {RUN_FILE, SUMMARY_FILE, REPORT_FILE} <= {file.name for file in files}
        except (ValueError, KeyError, TypeError, AttributeError):
            is_ours = False
        if not is_ours:
            raise ManifestError(
                f"{where}: not the manifest of that run", "remove what lies there, then push the run once more"
            )
        return cls(key, files)

    def with_files(self, files: Iterable[StoredFile]) -> Manifest:
        """Return the manifest with these files in place of those of the same names."""
        return Manifest(self.key, tuple({file.name: file for file in (*self.files, *files)}.values()))

    def lacking(self, local: Manifest) -> tuple[StoredFile, ...]:
        """Return the files of a run here that are not stored, or with other contents."""
        stored = set(self.files)
        return tuple(file for file in local.files if file not in stored)

    def contradicted(self, local: Manifest) -> tuple[str, ...]:
        """Return the names of measurements that are stored with other contents than those here."""
        stored = {file.name for file in self.files}
        return tuple(file.name for file in self.lacking(local) if file.name in stored and is_evidence(file.name))


@dataclass(frozen=True)
class StoredRun:
    """What a listing says of a run: a push that was broken off is not whole."""

    key: RunKey
    is_whole: bool
    file_count: int
    size_bytes: int


def stored_runs(sizes: Mapping[str, int]) -> tuple[StoredRun, ...]:
    """Return the runs, oldest first, of what lies below a prefix, given as bytes by path; all else is left out."""
    found: dict[RunKey, dict[str, int]] = {}
    for path, size_bytes in sizes.items():
        key = parse_folder(path.replace(f"/{LOG_FOLDER}", "/").rpartition("/")[0])
        if key:
            found.setdefault(key, {})[path] = size_bytes
    runs = []
    for key in sorted(found, key=lambda key: key.order):
        files = found[key]
        is_whole = f"{key.folder}/{MANIFEST_NAME}" in files
        runs.append(StoredRun(key, is_whole, len(files) - is_whole, sum(files.values())))
    return tuple(runs)


@dataclass(frozen=True)
class Wanted:
    """Which of the stored runs are asked for; None and no names is all of them. `since` is a date."""

    names: tuple[str, ...] = ()
    plan: str | None = None
    profile: str | None = None
    since: str | None = None
    last: int | None = None

    def of(self, runs: Sequence[StoredRun]) -> tuple[StoredRun, ...]:
        """Return the runs asked for, oldest first; UsageError for a name that no run has."""
        found = [run for run in runs if self._fits(run.key)]
        for name in self.names:
            if not any(name in _names(run.key) for run in found):
                ids = [run.key.id for run in found]
                raise UsageError(f"{name}: no such run there", f"{did_you_mean(name, ids)}see with ls what there is")
        if self.names:
            found = [run for run in found if set(_names(run.key)) & set(self.names)]
        return tuple(found[-self.last :] if self.last else found)

    def _fits(self, key: RunKey) -> bool:
        is_right = self.plan in (None, key.plan) and self.profile in (None, key.profile)
        return is_right and (self.since is None or key.date >= self.since)


def _names(key: RunKey) -> tuple[str, ...]:
    """Return what a run may be called: where two machines have the same, the run_id tells them apart."""
    return key.name, key.id, key.run_id, f"{key.plan}/{key.run_id}"
