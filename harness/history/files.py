"""Read the reports folder; unreadable runs are listed with the reason."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from harness.base.errors import UsageError
from harness.base.kept import KeptData, stamps
from harness.base.records import build, to_plain
from harness.history.catalogue import Catalogue, Document, Entry, document_kind, natural
from harness.report.notes import notes_of
from harness.report.results import stated_result
from harness.report.stored_results import read_stored, text_of
from harness.run import kinds
from harness.run.directory import RunDirectory
from harness.run.kinds import RUN_NAME


def read_catalogue(reports_dir: Path) -> Catalogue:
    """Return all runs and all reports about several runs in `reports_dir`; UsageError without such a folder.

    Of kinds with a folder only the reports are in the catalogue; their runs are in that of their own folder.
    """
    if not reports_dir.is_dir():
        raise UsageError(f"{reports_dir}: no such folder", "start a run first: lth run")
    paths = sorted(reports_dir.glob("*/*"))
    documents = []
    for path in paths:
        is_report = path.suffix == ".md" and not RUN_NAME.fullmatch(path.stem)
        if is_report and (key := document_kind(path.parent.name, path.stem)):
            documents.append(Document(path.parent.name, path.stem, key, stated_result(path)))
    for kind in kinds.KINDS:
        for path in sorted(reports_dir.glob(f"{kind.folder}/*/{kind.named('*')}.md")) if kind.folder else ():
            folder = path.parent.relative_to(reports_dir).as_posix()
            documents.append(Document(folder, path.stem, kind.key, stated_result(path)))
    kept = KeptData("runs", reports_dir)
    entries = tuple(_kept_entry(path, kept) for path in _run_folders(paths))
    kept.write()
    return Catalogue(entries, tuple(documents))


def entries_of(plan: Path, most: int | None = None) -> tuple[Entry, ...]:
    """Return the runs in the folder of a plan, or only the latest ones by name."""
    folders = _run_folders(sorted(plan.iterdir()) if plan.is_dir() else ())
    latest = sorted(folders, key=lambda path: natural(path.name))[-most:] if most else folders
    return tuple(read_entry(RunDirectory(path)) for path in latest)


def _run_folders(paths: Iterable[Path]) -> list[Path]:
    folders: dict[Path, None] = {}
    for path in paths:
        if RUN_NAME.fullmatch(path.stem) and (path.suffix in (".json", ".md") or (path / "run.json").is_file()):
            folders[path.with_suffix("") if path.suffix in (".json", ".md") else path] = None
    return list(folders)


def _kept_entry(path: Path, kept: KeptData) -> Entry:
    """Return the entry of a run, which is read again only when one of its files changed."""
    directory = RunDirectory(path)
    name = f"{directory.plan}/{directory.name}"
    made_of = stamps((directory.run_json, directory.summary_json, directory.report))
    if made_of and (data := kept.get(name, made_of)):
        with suppress(ValueError):
            entry = build(Entry, data)
            return replace(entry, result=entry.result and replace(entry.result, run=entry.run))
    entry = read_entry(directory)
    if made_of and (entry.result is None or entry.result.run == entry.run):
        # The record of the run is in both.
        once = replace(entry, result=entry.result and replace(entry.result, run=None))
        kept.put(name, made_of, to_plain(once, is_short=True))
    return entry


def read_entry(directory: RunDirectory) -> Entry:
    """Return the entry of a run; problems are part of the entry and raise no error."""
    match = RUN_NAME.fullmatch(directory.name)
    assert match, directory.name
    run, result, problem = read_stored(directory)
    has_report = directory.report.is_file()
    notes = notes_of(text_of(directory.report)) if has_report else None
    if notes is None:
        notes = run.note if run else ""
    return Entry(
        plan=directory.plan,
        name=directory.name,
        series=int(match[1]),
        number=int(match[2]),
        run=run,
        result=result,
        problem=problem,
        notes=notes,
        has_report=has_report,
    )
