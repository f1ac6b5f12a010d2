"""The layout of runs in S3: addresses, keys, the stored files, and the manifest that marks a run as complete."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.base.config import did_you_mean
from harness.base.errors import UsageError
from harness.base.records import build, to_plain
from harness.base.strict_json import parse_object
from harness.jtl.sample import samples_number
from harness.run.kinds import RUN_NAME, short_name
from harness.run.names import ambiguous
from harness.run.record import FINISHED, RunRecord

MANIFEST_NAME = "manifest.json"
RUN_FILE, SUMMARY_FILE, REPORT_FILE = "run.json", "summary.json", "report.md"
# Enough for histories and comparisons; the samples are a thousand times larger.
FIGURES = (RUN_FILE, SUMMARY_FILE, REPORT_FILE)
# Measurements besides the samples: a run with other contents is another run. The other files can be regenerated.
_EVIDENCE = (
    "telemetry.csv", "heap.csv", "recording.csv", "histograms.tsv.gz", "profile.tsv.gz", "failures.jsonl",
    "samples.jtl.gz",
)  # fmt: skip
# Likewise of processes of the system: the statements and waits of databases with their snapshots, and the metrics that
# processes publish.
_OF_SYSTEM = re.compile(r"system/((statements|waits)-.+\.tsv|(snapshots|own-metrics)-.+\.jsonl)")
# Metrics of remote machines, and what is known of their services: fetched after the run, and again as long as AWS has
# them; run.json contains the request.
_FETCHED = {"cloudwatch.csv", "services.json"}
# What the run was compared with when it ended: the report contains it.
_COMPARED = "compared.json"
# The failed requests as HTML: the report links it.
_FAILURES_PAGE = "failures.html"
# A chart of the report, or a flame graph, which it links.
_IMAGE = re.compile(r"[^/]*\.svg|profile-[^/]+\.html")
PACKED = ".zst"
LOG_FOLDER = "system/"
FORMAT_VERSION = 1
# A bucket's contents are untrusted: no run has so many files, so long names or so large a manifest.
_FILES_MOST, _NAME_MOST = 10_000, 200
MANIFEST_MOST_BYTES = 16 * 1024 * 1024

_NAME = r"[A-Za-z0-9][\w.-]*"
_RUN_ID = rf"{RUN_NAME.pattern}-[0-9a-f]+"
_FOLDER = re.compile(
    rf"runs/plan=(?P<plan>{_NAME})/env=(?P<profile>{_NAME})/date=(?P<date>\d{{4}}-\d\d-\d\d)/run=(?P<run_id>{_RUN_ID})"
)
_FILE = re.compile(rf"(?:{LOG_FOLDER})?{_NAME}")


@dataclass(frozen=True)
class RunKey:
    """Identifies a pushed run; `run_id` is unique across machines, `date` is the date of its start in UTC."""

    plan: str
    profile: str
    date: str
    run_id: str

    @property
    def folder(self) -> str:
        """Return the folder of its files below the prefix."""
        return f"runs/plan={self.plan}/env={self.profile}/date={self.date}/run={self.run_id}"

    @property
    def name(self) -> str:
        """Return the run's name, such as run-07_1."""
        return self.run_id.rpartition("-")[0]

    @property
    def id(self) -> str:
        """Return plan and run, such as killbill-stripe/run-07_1; not unique across machines."""
        return f"{self.plan}/{self.name}"

    @property
    def order(self) -> tuple[str, str, int, int, str]:
        """Return the sort key: date, then plan, series and number; `run_id` separates those of two machines."""
        match = RUN_NAME.fullmatch(self.name)
        assert match, self.name
        return self.date, self.plan, int(match[1]), int(match[2]), self.run_id

    @classmethod
    def of(cls, run: RunRecord) -> RunKey:
        """Return the key of a run. UsageError unless the run is finished and has a unique identity."""
        if run.state != FINISHED:
            raise UsageError(f"{run.id}: still running, or killed before its end", "push only finished runs")
        key = cls(run.plan, run.profile, run.started_at[:10], run.properties.get("run_id", ""))
        if parse_folder(key.folder) != key or key.name != run.name:
            raise UsageError(
                f"{run.id}: its run.json is incomplete",
                "only runs of lth run can be pushed",
            )
        return key


def parse_folder(path: str) -> RunKey | None:
    """Return the key of the run with this folder below the prefix; None for another folder."""
    match = _FOLDER.fullmatch(path)
    return RunKey(match["plan"], match["profile"], match["date"], match["run_id"]) if match else None


class ManifestError(UsageError):
    """A run's manifest in S3 is invalid. Other runs are not affected."""


@dataclass(frozen=True)
class StoredFile:
    """A file of a run in its local form; in S3, samples and logs are compressed."""

    name: str
    size_bytes: int
    sha256: str

    @property
    def is_packed(self) -> bool:
        """Return whether it is compressed with zstd in S3."""
        return samples_number(self.name) is not None or self.name.startswith(LOG_FOLDER)

    @property
    def stored_as(self) -> str:
        """Return its name in S3."""
        return self.name + PACKED if self.is_packed else self.name


def is_evidence(name: str) -> bool:
    """Return whether a file of a run contains measurements."""
    return name in _EVIDENCE or samples_number(name) is not None or _OF_SYSTEM.fullmatch(name) is not None


def stored_names(there: Iterable[str], exception_logs: Iterable[str]) -> tuple[str, ...]:
    """Return which files of a run's directory are uploaded: those needed to regenerate the report, and its charts.

    The others are not needed: JMeter's log, the effective plan, data files, recordings, logs that the report does not
    use.
    """
    others = {RUN_FILE, *_FETCHED, _COMPARED, _FAILURES_PAGE, *(LOG_FOLDER + name for name in exception_logs)}
    wanted = (name for name in there if is_evidence(name) or name in others or _IMAGE.fullmatch(name))
    return tuple(sorted(name for name in wanted if _FILE.fullmatch(name)))


@dataclass(frozen=True)
class StoredObject:
    """An object as a listing shows it: its size and its ETag, which changes whenever the object is written."""

    size_bytes: int
    etag: str


@dataclass(frozen=True)
class Manifest:
    """The files of a pushed run. The manifest is written last: a run with a manifest is complete.

    `objects` is how a listing showed them after the push, by path below the run's folder; manifests of earlier versions
    have none.
    """

    key: RunKey
    files: tuple[StoredFile, ...]
    objects: Mapping[str, StoredObject] = field(default_factory=dict)

    def to_plain(self) -> dict[str, Any]:
        """Return the manifest as plain data."""
        files = {"files": to_plain(self.files), "objects": to_plain(self.objects)}
        return {"format_version": FORMAT_VERSION, **to_plain(self.key), **files}

    @classmethod
    def from_text(cls, text: bytes, key: RunKey, where: str) -> Manifest:
        """Return the stored manifest of the run with this key. UsageError for another or an invalid manifest.

        Names that lead out of the run's directory are refused, because a bucket's contents are untrusted.
        """
        try:
            if len(text) > MANIFEST_MOST_BYTES:
                raise ValueError
            data = parse_object(text)
            files = build(tuple[StoredFile, ...], data["files"])
            objects = {name: build(StoredObject, each) for name, each in data.get("objects", {}).items()}
            is_ours = data["format_version"] == FORMAT_VERSION and data["run_id"] == key.run_id
            is_ours = is_ours and all(_FILE.fullmatch(file.name) and file.size_bytes >= 0 for file in files)
            names = {file.name for file in files}
            is_ours = is_ours and set(FIGURES) <= names and len(names) == len(files) <= _FILES_MOST
            is_ours = is_ours and LOG_FOLDER.rstrip("/") not in names and max(map(len, names)) <= _NAME_MOST
        except (ValueError, KeyError, TypeError, AttributeError):
            is_ours = False
        if not is_ours:
            raise ManifestError(f"{where}: not the manifest of that run", "delete the stored run, then push it again")
        return cls(key, files, objects)

    def with_files(self, files: Iterable[StoredFile], listing: Mapping[str, StoredObject]) -> Manifest:
        """Return the manifest with these files added or replaced by name, as in a later `listing`."""
        all_files = {file.name: file for file in (*self.files, *files)}.values()
        objects = {name: self.objects[name] for name in (file.stored_as for file in all_files) if name in self.objects}
        objects |= {file.stored_as: listing[file.stored_as] for file in files if file.stored_as in listing}
        return Manifest(self.key, tuple(all_files), objects)

    def broken(self, found: Mapping[str, StoredObject]) -> dict[StoredFile, str]:
        """Return the files whose object is not as it was pushed, and what is wrong with it, by a listing."""
        problems = {file: self._problem(file, found.get(file.stored_as)) for file in self.files}
        return {file: problem for file, problem in problems.items() if problem}

    def _problem(self, file: StoredFile, stored: StoredObject | None) -> str:
        if stored is None:
            return "missing"
        pushed = self.objects.get(file.stored_as)
        if pushed:
            return "" if stored == pushed else "changed"
        return "" if file.is_packed or stored.size_bytes == file.size_bytes else "changed"

    def lacking(self, local: Manifest) -> tuple[StoredFile, ...]:
        """Return the files of a local run that are not stored, or stored with other contents."""
        stored = set(self.files)
        return tuple(file for file in local.files if file not in stored)

    def contradicted(self, local: Manifest) -> tuple[str, ...]:
        """Return the names of measurements whose stored contents differ from the local ones."""
        stored = {file.name for file in self.files}
        return tuple(file.name for file in self.lacking(local) if file.name in stored and is_evidence(file.name))


@dataclass(frozen=True)
class StoredRun:
    """A run in a listing; an interrupted push is not complete."""

    key: RunKey
    is_whole: bool
    file_count: int
    size_bytes: int
    objects: Mapping[str, StoredObject] = field(default_factory=dict, compare=False, repr=False)


def stored_runs(objects: Mapping[str, StoredObject]) -> tuple[StoredRun, ...]:
    """Return the runs, oldest first, among the objects below a prefix, given by path; others are ignored."""
    by_key: dict[RunKey, dict[str, StoredObject]] = {}
    for path, each in objects.items():
        key = parse_folder(path.replace(f"/{LOG_FOLDER}", "/").rpartition("/")[0])
        if key:
            by_key.setdefault(key, {})[path.removeprefix(f"{key.folder}/")] = each
    runs = []
    for key in sorted(by_key, key=lambda key: key.order):
        files = by_key[key]
        is_whole = MANIFEST_NAME in files
        size_bytes = sum(each.size_bytes for each in files.values())
        runs.append(StoredRun(key, is_whole, len(files) - is_whole, size_bytes, files))
    return tuple(runs)


@dataclass(frozen=True)
class Wanted:
    """A selection of stored runs; None and no names means all. `since` is a date."""

    names: tuple[str, ...] = ()
    plan: str | None = None
    profile: str | None = None
    since: str | None = None
    last: int | None = None

    def of(self, runs: Sequence[StoredRun]) -> tuple[StoredRun, ...]:
        """Return the selected runs, oldest first. UsageError for a name that no run has, or several of a plan."""
        chosen = [run for run in runs if self._fits(run.key)]
        if self.names:
            keys = [run.key for run in chosen]
            named = {key for name in self.names for key in _named(name, keys)}
            chosen = [run for run in chosen if run.key in named]
        return tuple(chosen[-self.last :] if self.last else chosen)

    def _fits(self, key: RunKey) -> bool:
        is_right = self.plan in (None, key.plan) and self.profile in (None, key.profile)
        return is_right and (self.since is None or key.date >= self.since)


def _named(name: str, keys: Sequence[RunKey]) -> list[RunKey]:
    """Return the runs that a name selects, see `Wanted.of`; the run_id distinguishes those of two machines with it."""
    named = [key for key in keys if name in (key.name, key.id, key.run_id, f"{key.plan}/{key.run_id}")]
    if not named:
        short = {key: short_name(key.name) for key in keys}
        named = [key for key in keys if name in (short[key], f"{key.plan}/{short[key]}")]
        ids = sorted({key.id for key in named})
        if len(ids) > len({key.plan for key in named}):
            raise ambiguous(name, [Path(one) for one in ids])
    if not named:
        near = did_you_mean(name, [key.id for key in keys])
        raise UsageError(f"{name}: no such run is stored", f"{near}list the runs with ls")
    return named
