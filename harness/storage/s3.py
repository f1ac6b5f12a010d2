"""Pushes runs to S3, pulls and verifies them, and lists them."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from harness.base.aws import aws_errors
from harness.base.errors import UsageError
from harness.base.log import Log
from harness.base.packed import beginning_of
from harness.base.spellings import Spellings
from harness.base.units import mb_text, plural
from harness.jtl.file_progress import ReadingProgress
from harness.jtl.sample import SAMPLES_NAME
from harness.judge.summary import FORMAT_VERSION as SUMMARY_VERSION
from harness.run.directory import RunDirectory, json_text, read_json
from harness.run.packing import finish
from harness.run.record import FORMAT_VERSION as RUN_VERSION
from harness.storage.bucket import Storage, again_later, objects
from harness.storage.download import DamagedError, download
from harness.storage.stored_runs import (
    FIGURES,
    MANIFEST_MOST_BYTES,
    MANIFEST_NAME,
    REPORT_FILE,
    RUN_FILE,
    SUMMARY_FILE,
    Manifest,
    ManifestError,
    RunKey,
    StoredFile,
    StoredObject,
    StoredRun,
    Wanted,
    stored_names,
    stored_runs,
)
from harness.storage.upload import put, upload


class DifferentError(UsageError):
    """The stored data of a run differs from the local data. Other runs are not affected."""


@dataclass(frozen=True)
class Pulled:
    """The result of a pull by plan/run. `refused` (another local run has that name) and `damaged` (stored data differs
    from what was pushed) contain reasons.
    """

    runs: tuple[str, ...]
    there: tuple[str, ...]
    incomplete: tuple[str, ...]
    refused: tuple[str, ...]
    damaged: tuple[str, ...]


def runs_there(storage: Storage, plan: str | None = None) -> tuple[StoredRun, ...]:
    """Return the stored runs, complete or not, oldest first."""
    with aws_errors(storage.location.url):
        return stored_runs(objects(storage, "runs/" + (f"plan={plan}/" if plan else "")))


def broken_files(storage: Storage, run: StoredRun) -> tuple[str, ...]:
    """Return what is wrong with the objects of a complete run, such as "missing samples.jtl.zst", by its listing."""
    with aws_errors(storage.url(run.key.folder)):
        try:
            manifest = _read_manifest(storage, run.key)
        except ManifestError:
            return (f"damaged {MANIFEST_NAME}",)
    broken = manifest.broken(run.objects) if manifest else {}
    return tuple(f"{problem} {file.stored_as}" for file, problem in broken.items())


def _objects_of(storage: Storage, key: RunKey) -> dict[str, StoredObject]:
    folder = f"{key.folder}/"
    return {path.removeprefix(folder): found for path, found in objects(storage, folder).items()}


def push(directory: RunDirectory, storage: Storage, log: Log, replace: bool = False) -> tuple[str, ...]:
    """Push a run that has its report, or resume an interrupted push; return the uploaded files, none if all are stored.

    Objects that are missing or were changed since their push are sent again. With `replace`, a regenerated report
    replaces the stored one; measurements are never replaced. UsageError for a run that cannot be pushed, missing
    permissions or bucket; ServiceError when the server fails, also some seconds later.
    """
    local = _manifest_of(directory)
    return again_later(lambda: _push(directory, local, storage, log, replace), log)


def _push(directory: RunDirectory, local: Manifest, storage: Storage, log: Log, replace: bool) -> tuple[str, ...]:
    url = storage.url(local.key.folder)
    with aws_errors(url):
        stored = _read_manifest(storage, local.key)
        broken = stored.broken(_objects_of(storage, local.key)) if stored else {}
        new = local.files if stored is None else _missing(local, stored, url, replace)
        missing = (*new, *(file for file in local.files if file in broken and file not in new))
        _log_broken(local, broken, url, log)
        if not missing:
            if not broken:
                log(f"{local.key.id}: already stored: {url}")
            return ()
        sent_bytes = _send(directory, storage, local.key, missing, broken)
        manifest = (stored or local).with_files(missing, _objects_of(storage, local.key))
        text = json_text(manifest).encode()
        put(storage.client, storage.target(f"{local.key.folder}/{MANIFEST_NAME}"), text)
    lack = "" if directory.all_samples else "; its samples are not on this machine"
    log(f"{local.key.id}: pushed to {url} ({plural(len(missing), 'file')}, {mb_text(sent_bytes, 1)} MB{lack})")
    return tuple(file.name for file in missing)


def pull(
    storage: Storage,
    reports: Path,
    log: Log,
    plan: str | None = None,
    since: str | None = None,
    figures_only: bool = True,
) -> Pulled:
    """Download stored runs of a plan, optionally since a date such as 2026-11-01, into the folder of reports."""
    return pull_runs(storage, reports, log, Wanted(plan=plan, since=since).of(runs_there(storage, plan)), figures_only)


def pull_runs(storage: Storage, reports: Path, log: Log, wanted: Iterable[StoredRun], figures_only: bool) -> Pulled:
    """Download stored runs into the folder of reports; each file is verified before it gets its name.

    `figures_only` leaves samples, telemetry and charts in S3. Local files of the same run are not replaced. A run is
    refused when another local run has its name. Refused and damaged runs do not stop the others.
    """
    pulled: dict[str, list[str]] = {field.name: [] for field in fields(Pulled)}
    for run in wanted:
        directory = RunDirectory(reports / run.key.plan / run.key.name)
        if not run.is_whole:
            pulled["incomplete"].append(run.key.id)
        elif other := _other_run(directory, run.key, storage):
            pulled["refused"].append(other)
        elif figures_only and all(_path(directory, name).is_file() for name in FIGURES):  # without a request to S3
            pulled["there"].append(run.key.id)
        else:
            try:
                is_new = _fetch(directory, storage, run.key, figures_only)
            except (DamagedError, ManifestError) as error:
                pulled["damaged"].append(str(error))
                continue
            if is_new:
                log(f"{run.key.id}: pulled")
            pulled["runs" if is_new else "there"].append(run.key.id)
    return Pulled(**{name: tuple(texts) for name, texts in pulled.items()})


def stored_file(path: Path, name: str) -> StoredFile:
    """Return a file's entry in the manifest. UsageError when the file is unreadable."""
    try:
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
            return StoredFile(name, stream.tell(), digest)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})", "check its permissions with ls -l") from None


def _path(directory: RunDirectory, name: str) -> Path:
    """Return the local path of a pushed run's file in the folder of reports."""
    beside = {SUMMARY_FILE: directory.summary_json, REPORT_FILE: directory.report}
    return beside.get(name) or directory.path / name


def _manifest_of(directory: RunDirectory) -> Manifest:
    run = directory.read_run()
    if run is None:
        what = f"{directory.plan}/{directory.name}: its run.json is missing"
        raise UsageError(what, "push it from the machine where it ran, or pull it first")
    key = RunKey.of(run)
    if not (directory.summary_json.is_file() and directory.report.is_file()):
        raise UsageError(f"{run.id}: has no report yet", f"create it first: lth report {run.id}")
    plain = directory.path / SAMPLES_NAME
    if beginning := beginning_of(plain):  # left so by a full disk
        finish(plain, beginning, Spellings(()))
    found = (path.relative_to(directory.path).as_posix() for path in directory.path.rglob("*") if path.is_file())
    names = (*stored_names(found, run.exception_logs), SUMMARY_FILE, REPORT_FILE)
    return Manifest(key, tuple(stored_file(_path(directory, name), name) for name in names))


def _log_broken(local: Manifest, broken: Mapping[StoredFile, str], url: str, log: Log) -> None:
    """Log which objects are not as they were pushed, and that some of them cannot be sent from this machine."""
    for is_here, what in ((True, "sent again"), (False, "not on this machine: push from the one that has it")):
        names = [f"{problem} {file.stored_as}" for file, problem in broken.items() if (file in local.files) == is_here]
        if names:
            log(f"{local.key.id}: not as pushed: {', '.join(names)}; {what}: {url}")


def _missing(local: Manifest, stored: Manifest, url: str, replace: bool) -> tuple[StoredFile, ...]:
    contradicted = stored.contradicted(local)
    if contradicted:
        what = f"{url}: has another {', '.join(contradicted)} than the local run"
        raise DifferentError(what, "a measurement is never replaced: pull that one with --reports other")
    missing = stored.lacking(local)
    if missing and not replace:
        what = f"{url}: differs in {', '.join(file.name for file in missing)}"
        raise DifferentError(what, "--replace stores the local files; measurements are never replaced")
    return missing


def _send(
    directory: RunDirectory, storage: Storage, key: RunKey, files: Sequence[StoredFile], broken: Iterable[StoredFile]
) -> int:
    """Upload these files of a run, also those whose object is `broken`; return the number of bytes sent."""
    total_bytes = sum(file.size_bytes for file in files)
    read_bytes = sent_bytes = 0
    with ReadingProgress(total_bytes, key.id, verb="pushing") as progress:
        for file in files:
            target = storage.target(f"{key.folder}/{file.stored_as}")
            path, read = _path(directory, file.name), _after(progress, read_bytes)
            sent_bytes += upload(storage.sender, target, path, file, read, is_broken=file in broken)
            read_bytes += file.size_bytes
    return sent_bytes


def _after(progress: ReadingProgress, before_bytes: int) -> Callable[[int], None]:
    return lambda so_far_bytes: progress.update(before_bytes + so_far_bytes)


def _read_manifest(storage: Storage, key: RunKey) -> Manifest | None:
    path = f"{key.folder}/{MANIFEST_NAME}"
    try:
        answer = storage.client.get_object(**storage.target(path))
    except storage.client.exceptions.NoSuchKey:
        return None
    return Manifest.from_text(answer["Body"].read(MANIFEST_MOST_BYTES + 1), key, storage.url(path))


def _other_run(directory: RunDirectory, key: RunKey, storage: Storage) -> str:
    """Return a message when another local run has the name of a pushed run, else an empty text."""
    if not (directory.path.exists() or directory.summary_json.exists() or directory.report.exists()):
        return ""
    run_id = _run_id(directory)
    if run_id == key.run_id:
        return ""
    here = f"{directory.path} is {run_id}" if run_id else f"{directory.path} has no complete run.json"
    return f"{storage.url(key.folder)} is not the local run ({here}); pull it into another folder: --reports other"


def _run_id(directory: RunDirectory) -> str | None:
    """Return the run_id of a local run, from its run.json or, if only git has its report, from its summary."""
    try:
        if directory.run_json.is_file():
            run = read_json(directory.run_json, RUN_VERSION)
        else:
            run = read_json(directory.summary_json, SUMMARY_VERSION)["run"]
        return str(run["properties"]["run_id"])
    except (UsageError, KeyError, TypeError):
        return None


def _fetch(directory: RunDirectory, storage: Storage, key: RunKey, figures_only: bool) -> bool:
    """Download the missing files of a run, and move them into its directory once verified; return whether any were."""
    with aws_errors(storage.url(key.folder)):
        manifest = _read_manifest(storage, key)
    files = () if manifest is None else manifest.files
    wanted = [file for file in files if not figures_only or file.name in FIGURES]
    missing = [file for file in wanted if not _path(directory, file.name).is_file()]
    if not missing:
        return False
    _check_space(sum(file.size_bytes for file in missing), directory.path, storage.url(key.folder))
    stage = RunDirectory(directory.path.parent / f".pull-{key.run_id}" / directory.name)
    try:
        stage.path.mkdir(parents=True, exist_ok=True)
        done_bytes = 0
        with ReadingProgress(sum(file.size_bytes for file in missing), key.id, verb="pulling") as progress:
            for file in missing:
                url = storage.url(f"{key.folder}/{file.stored_as}")
                path = _path(stage, file.name)
                path.parent.mkdir(exist_ok=True)
                download(storage.client, url, file, path, _after(progress, done_bytes))
                done_bytes += file.size_bytes
        _move_into_run(stage, directory, [file.name for file in missing])
        shutil.rmtree(stage.path.parent)
    except DamagedError:
        _discard(stage)
        raise
    except FileExistsError:
        what = f"{directory.path}: another run took this name during the pull"
        raise UsageError(what, "pull it into another folder: --reports other") from None
    except OSError as error:
        raise UsageError(
            f"{directory.path.parent}: {error.strerror}", "free some space, then repeat the command"
        ) from None
    return True


def _check_space(needed_bytes: int, path: Path, url: str) -> None:
    """Raise a ManifestError when the files of a run are larger than the disk of their future path."""
    there = next(parent for parent in path.absolute().parents if parent.exists())
    free_bytes = shutil.disk_usage(there).free
    if needed_bytes > free_bytes:
        what = f"{url}: its files have {mb_text(needed_bytes)} MB, and {mb_text(free_bytes)} MB are free here"
        raise ManifestError(what, "free some space, or pull with --figures-only")


def _discard(stage: RunDirectory) -> None:
    """Remove the downloaded files of a damaged run, and the plan's folder if it is then empty."""
    shutil.rmtree(stage.path.parent, ignore_errors=True)
    with contextlib.suppress(OSError):  # not empty: other runs
        stage.path.parent.parent.rmdir()


def _move_into_run(stage: RunDirectory, directory: RunDirectory, names: Iterable[str]) -> None:
    """Move downloaded files into the run's directory: a new run's directory at once, and the report last."""
    if not directory.path.exists():
        directory.path.mkdir()  # fails when a run of that name has begun in the meantime
        stage.path.replace(directory.path)
    for name in sorted(names, key=lambda name: (name == REPORT_FILE, name == SUMMARY_FILE, name != RUN_FILE)):
        source, path = _path(stage, name), _path(directory, name)
        if source.is_file():
            path.parent.mkdir(exist_ok=True)
            source.replace(path)
