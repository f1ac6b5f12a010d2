"""Runs in S3: pushed whole, pulled and verified, listed."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.base.aws import aws_errors, client
from harness.base.errors import UsageError
from harness.base.units import mb_text, plural
from harness.jtl.progress import ReadingProgress
from harness.report.summary import FORMAT_VERSION as SUMMARY_VERSION
from harness.run.directory import RunDirectory, json_text, read_json
from harness.run.record import RunRecord
from harness.storage.download import DamagedError, download
from harness.storage.layout import (
    FIGURES,
    MANIFEST_NAME,
    REPORT_FILE,
    RUN_FILE,
    SUMMARY_FILE,
    Location,
    Manifest,
    ManifestError,
    RunKey,
    StoredFile,
    StoredRun,
    Wanted,
    kept_names,
    parse_endpoint_url,
    parse_location,
    stored_runs,
)
from harness.storage.upload import upload

Say = Callable[[str], None]
_PROBE = ".write-check"


class DifferentError(UsageError):
    """What is stored of a run differs from what is here: other runs are not concerned."""


@dataclass(frozen=True)
class Place:
    """Where runs are kept: an address in S3, the server unless it is that of AWS, and the client that speaks to it."""

    location: Location
    endpoint_url: str | None
    client: Any = field(repr=False)

    def target(self, path: str) -> Mapping[str, str]:
        """Return what a request needs to find what lies at a path."""
        return {"Bucket": self.location.bucket, "Key": self.location.key(path)}

    def url(self, path: str) -> str:
        """Return the address of what lies at a path."""
        return f"{self.location.url}/{path}"


@dataclass(frozen=True)
class Pushed:
    """What a push did: `uploaded` files, none when all were there already; `url` is where the run lies."""

    run: str
    url: str
    uploaded: tuple[str, ...]
    sent_bytes: int


@dataclass(frozen=True)
class Pulled:
    """What a pull did, by plan/run; `refused` and `damaged` are reasons: another run of that name is here, or what lies
    there is not what was pushed.
    """

    runs: tuple[str, ...]
    there: tuple[str, ...]
    incomplete: tuple[str, ...]
    refused: tuple[str, ...]
    damaged: tuple[str, ...]


def open_place(url: str, endpoint_url: str | None = None) -> Place:
    """Return the place that s3://bucket/prefix names; UsageError when it is no such address. Nothing is asked yet."""
    location = parse_location(url)
    endpoint_url = parse_endpoint_url(endpoint_url) if endpoint_url else None
    return Place(location, endpoint_url, client("s3", endpoint_url))


def check_writable(place: Place) -> None:
    """Raise an error of one line unless runs can be pushed there; nothing stays behind."""
    with aws_errors(place.location.url):
        target = place.target(_PROBE)
        place.client.list_objects_v2(Bucket=target["Bucket"], Prefix=target["Key"], MaxKeys=1)
        place.client.list_multipart_uploads(Bucket=target["Bucket"], Prefix=target["Key"], MaxUploads=1)
        # Begun and ended, it asks for the rights of a push, and leaves no object: to remove one is a right of its own.
        begun = place.client.create_multipart_upload(**target)
        place.client.abort_multipart_upload(**target, UploadId=begun["UploadId"])


def runs_there(place: Place, plan: str | None = None) -> tuple[StoredRun, ...]:
    """Return the runs that lie there, whole or not, oldest first."""
    below = place.location.key("runs/" + (f"plan={plan}/" if plan else ""))
    own = len(place.location.key(""))
    with aws_errors(place.location.url):
        pages = place.client.get_paginator("list_objects_v2").paginate(Bucket=place.location.bucket, Prefix=below)
        return stored_runs({found["Key"][own:]: found["Size"] for page in pages for found in page.get("Contents", ())})


def push(directory: RunDirectory, place: Place, say: Say, replace: bool = False) -> Pushed:
    """Push a run that has its report, go on with a push that was broken off, or find it there already.

    With `replace` a report that was made again takes the place of the one that is there; measurements never do.
    UsageError for what cannot be pushed, no rights, no bucket; ServiceError when the server does not do it.
    """
    local = _manifest_of(directory)
    url = place.url(local.key.folder)
    with aws_errors(url):
        stored = _read_manifest(place, local.key)
        missing = local.files if stored is None else _missing(local, stored, url, replace)
        if not missing:
            say(f"{local.key.id}: is there already: {url}")
            return Pushed(local.key.id, url, (), 0)
        sent_bytes = _send(directory, place, local.key, missing)
        manifest = stored.with_files(local.files) if stored else local
        text = json_text(manifest.to_json()).encode()
        place.client.put_object(**place.target(f"{local.key.folder}/{MANIFEST_NAME}"), Body=text)
    lack = "" if directory.all_samples else "; its samples are not here"
    say(f"{local.key.id}: pushed to {url} ({plural(len(missing), 'file')}, {mb_text(sent_bytes, 1)} MB{lack})")
    return Pushed(local.key.id, url, tuple(file.name for file in missing), sent_bytes)


def pull(
    place: Place,
    reports: Path,
    say: Say,
    plan: str | None = None,
    since: str | None = None,
    figures_only: bool = True,
) -> Pulled:
    """Put pushed runs of a plan, all there are since a date such as 2026-11-01, into the folder of reports."""
    return pull_runs(place, reports, say, Wanted(plan=plan, since=since).of(runs_there(place, plan)), figures_only)


def pull_runs(place: Place, reports: Path, say: Say, wanted: Iterable[StoredRun], figures_only: bool) -> Pulled:
    """Put pushed runs into the folder of reports, each file verified before it gets its name.

    `figures_only` leaves samples, telemetry and charts in S3. What is here of the same run stays as it is. Where
    another run of that name is, the pulled one is refused, and the others go on; they do as well where one is damaged.
    """
    runs: list[str] = []
    there: list[str] = []
    incomplete: list[str] = []
    refused: list[str] = []
    damaged: list[str] = []
    for run in wanted:
        directory = RunDirectory(reports / run.key.plan / run.key.name)
        if not run.is_whole:
            incomplete.append(run.key.id)
        elif other := _other_run(directory, run.key, place):
            refused.append(other)
        elif _has_all(directory, figures_only):
            there.append(run.key.id)
        else:
            try:
                is_new = _fetch(directory, place, run.key, figures_only)
            except (DamagedError, ManifestError) as error:
                damaged.append(str(error))
                continue
            if is_new:
                say(f"{run.key.id}: pulled")
            (runs if is_new else there).append(run.key.id)
    return Pulled(tuple(runs), tuple(there), tuple(incomplete), tuple(refused), tuple(damaged))


def _has_all(directory: RunDirectory, figures_only: bool) -> bool:
    """Return whether it is sure, without a look at what there is in S3, that nothing is missing here."""
    return figures_only and all(_path(directory, name).is_file() for name in FIGURES)


def stored_file(path: Path, name: str) -> StoredFile:
    """Return what a manifest says of a file; UsageError when it cannot be read."""
    try:
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
            return StoredFile(name, stream.tell(), digest)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})", "see with ls -l who may") from None


def _path(directory: RunDirectory, name: str) -> Path:
    """Return where a file of a pushed run is in the folder of reports."""
    beside = {SUMMARY_FILE: directory.summary_json, REPORT_FILE: directory.report}
    return beside.get(name) or directory.path / name


def _manifest_of(directory: RunDirectory) -> Manifest:
    data = directory.read_run()
    if data is None:
        what = f"{directory.plan}/{directory.name}: its run.json is not here"
        raise UsageError(what, "push it from where it was run, or pull it first")
    run = RunRecord.from_json(data, f"{directory.plan}/{directory.name}")
    key = RunKey.of(run)
    if not (directory.summary_json.is_file() and directory.report.is_file()):
        raise UsageError(f"{run.id}: has no report yet", f"make it first: ./aggregate.py report {run.id}")
    found = (path.relative_to(directory.path).as_posix() for path in directory.path.rglob("*") if path.is_file())
    names = (*kept_names(found, run.exception_logs), SUMMARY_FILE, REPORT_FILE)
    return Manifest(key, tuple(stored_file(_path(directory, name), name) for name in names))


def _missing(local: Manifest, stored: Manifest, url: str, replace: bool) -> tuple[StoredFile, ...]:
    contradicted = stored.contradicted(local)
    if contradicted:
        what = f"{url}: has another {', '.join(contradicted)} than the run here"
        raise DifferentError(what, "a measurement is never replaced: pull that one with --reports other")
    missing = stored.lacking(local)
    if missing and not replace:
        what = f"{url}: differs in {', '.join(file.name for file in missing)}"
        raise DifferentError(what, "--replace puts what is here in its place; measurements stay")
    return missing


def _send(directory: RunDirectory, place: Place, key: RunKey, files: Sequence[StoredFile]) -> int:
    """Return how many bytes were sent for these files of a run."""
    total_bytes = sum(file.size_bytes for file in files)
    read_bytes = sent_bytes = 0
    with ReadingProgress(total_bytes, key.id, verb="pushing") as progress:
        for file in files:
            target = place.target(f"{key.folder}/{file.stored_as}")
            sent_bytes += upload(place.client, target, _path(directory, file.name), file, _after(progress, read_bytes))
            read_bytes += file.size_bytes
    return sent_bytes


def _after(progress: ReadingProgress, before_bytes: int) -> Callable[[int], None]:
    """Return what is told how far a file is, when so many bytes of others were before it."""
    return lambda so_far_bytes: progress.update(before_bytes + so_far_bytes)


def _read_manifest(place: Place, key: RunKey) -> Manifest | None:
    path = f"{key.folder}/{MANIFEST_NAME}"
    try:
        answer = place.client.get_object(**place.target(path))
    except place.client.exceptions.NoSuchKey:
        return None
    return Manifest.from_text(answer["Body"].read(), key, place.url(path))


def _other_run(directory: RunDirectory, key: RunKey, place: Place) -> str:
    """Return what to say when the name of a pushed run is taken here; empty when nothing or the same run is there."""
    if not (directory.path.exists() or directory.summary_json.exists() or directory.report.exists()):
        return ""
    run_id = _run_id(directory)
    if run_id == key.run_id:
        return ""
    here = f"{directory.path} is {run_id}" if run_id else f"{directory.path} has no run.json that tells which run it is"
    return f"{place.url(key.folder)} is not the run here ({here}); pull it into another folder: --reports other"


def _run_id(directory: RunDirectory) -> str | None:
    """Return what tells the run here from all others: by its run.json, or where only git brought it, by its summary."""
    try:
        run = directory.read_run()
        if run is None and directory.summary_json.is_file():
            run = read_json(directory.summary_json, SUMMARY_VERSION)["run"]
        return str(run["properties"]["run_id"]) if run else None
    except (UsageError, KeyError, TypeError):
        return None


def _fetch(directory: RunDirectory, place: Place, key: RunKey, figures_only: bool) -> bool:
    """Return whether anything of a run was missing here; it is fetched then, and put in its place when all is right."""
    with aws_errors(place.url(key.folder)):
        manifest = _read_manifest(place, key)
    files = () if manifest is None else manifest.files
    wanted = [file for file in files if not figures_only or file.name in FIGURES]
    missing = [file for file in wanted if not _path(directory, file.name).is_file()]
    if not missing:
        return False
    stage = RunDirectory(directory.path.parent / f".pull-{key.run_id}" / directory.name)
    try:
        stage.path.mkdir(parents=True, exist_ok=True)
        done_bytes = 0
        with ReadingProgress(sum(file.size_bytes for file in missing), key.id, verb="pulling") as progress:
            for file in missing:
                url = place.url(f"{key.folder}/{file.stored_as}")
                path = _path(stage, file.name)
                path.parent.mkdir(exist_ok=True)
                download(place.client, url, file, path, _after(progress, done_bytes))
                done_bytes += file.size_bytes
        _put_in_place(stage, directory, [file.name for file in missing])
        shutil.rmtree(stage.path.parent)
    except DamagedError:
        _discard(stage)
        raise
    except FileExistsError:
        what = f"{directory.path}: another run took that name meanwhile"
        raise UsageError(what, "pull it into another folder: --reports other") from None
    except OSError as error:
        raise UsageError(
            f"{directory.path.parent}: {error.strerror}", "make room there, then repeat the command"
        ) from None
    return True


def _discard(stage: RunDirectory) -> None:
    """Remove what was fetched of a damaged run, and the plan's folder when that was all."""
    shutil.rmtree(stage.path.parent, ignore_errors=True)
    with contextlib.suppress(OSError):  # not empty: other runs
        stage.path.parent.parent.rmdir()


def _put_in_place(stage: RunDirectory, directory: RunDirectory, names: Iterable[str]) -> None:
    """Move what was fetched to where it belongs: of a new run the whole directory at once, and the report last."""
    if not directory.path.exists():
        directory.path.mkdir()  # an error when a run of that name began meanwhile
        stage.path.replace(directory.path)
    for name in sorted(names, key=lambda name: (name == REPORT_FILE, name == SUMMARY_FILE, name != RUN_FILE)):
        source, path = _path(stage, name), _path(directory, name)
        if source.is_file():
            path.parent.mkdir(exist_ok=True)
            source.replace(path)
