"""Read the reports folder; unreadable runs are listed with the reason."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
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
from harness.run.record import RunRecord

# To read so many runs takes longer than to look into what is kept of all.
_MANY = 50


def read_catalogue(reports_dir: Path) -> Catalogue:
    """Return all runs and all reports about several runs in `reports_dir`; UsageError without such a folder.

    Of kinds with a folder only the reports are in the catalogue; their runs are in that of their own folder. Results in
    the catalogue have neither account nor key figures nor next steps, which `read_entry` reads.
    """
    if not reports_dir.is_dir():
        raise UsageError(f"{reports_dir}: no such folder", "start a run first: lth run")
    names = {folder: _listed(f"{reports_dir}/{folder}") for folder in _listed(str(reports_dir))}
    documents = []
    for folder, listed in names.items():
        for name in listed:
            stem, dot, suffix = name.rpartition(".")
            if dot and suffix == "md" and not RUN_NAME.fullmatch(stem) and (key := document_kind(folder, stem)):
                documents.append(Document(folder, stem, key, stated_result(reports_dir / folder / name)))
    for kind in kinds.KINDS:
        for path in sorted(reports_dir.glob(f"{kind.folder}/*/{kind.named('*')}.md")) if kind.folder else ():
            folder = path.parent.relative_to(reports_dir).as_posix()
            documents.append(Document(folder, path.stem, kind.key, stated_result(path)))
    kept = KeptData("runs", reports_dir)
    found = [f"{folder}/{run}" for folder, listed in names.items() for run in _runs(reports_dir / folder, listed)]
    entries = tuple(_kept_entry(reports_dir, run, kept) for run in found)
    kept.write()
    return Catalogue(entries, tuple(documents))


def entries_of(plan: Path, most: int | None = None) -> tuple[Entry, ...]:
    """Return the runs in the folder of a plan, or only the latest ones by name."""
    runs = _runs(plan, _listed(str(plan)))
    latest = sorted(runs, key=natural)[-most:] if most else runs
    return tuple(read_entry(RunDirectory(plan / run)) for run in latest)


def entries_at(reports_dir: Path, runs: Sequence[Path]) -> list[Entry]:
    """Return the entries of runs in the reports folder, in their order."""
    if len(runs) < _MANY:
        return [read_entry(RunDirectory(path)) for path in runs]
    known = {f"{entry.plan}/{entry.name}": entry for entry in read_catalogue(reports_dir).entries}
    directories = map(RunDirectory, runs)
    return [known.get(f"{one.plan}/{one.name}") or read_entry(one) for one in directories]


def _listed(folder: str) -> list[str]:
    """Return the sorted names in a folder; none of one that cannot be read."""
    with suppress(OSError):
        return sorted(os.listdir(folder))  # noqa: PTH208 - a path for each of thousands takes longer than the rest
    return []


def _runs(folder: Path, names: Collection[str]) -> list[str]:
    """Return which runs the names in a folder are of: a run has its own folder, or files beside it."""
    there: dict[str, None] = {}
    for name in names:
        run, dot, suffix = name.partition(".")
        if RUN_NAME.fullmatch(run) and (
            suffix in ("json", "md") or (not dot and (folder / run / "run.json").is_file())
        ):
            there[run] = None
    return list(there)


def _kept_entry(reports_dir: Path, run: str, kept: KeptData) -> Entry:
    """Return the brief entry of a run, which is read again only when one of its files changed."""
    path = f"{reports_dir}/{run}"
    made_of = stamps((f"{path}/run.json", f"{path}.json", f"{path}.md"))
    if made_of and isinstance(data := kept.get(run, made_of), dict):
        with suppress(ValueError):
            record, result = data.get("run"), data.get("result")
            if record:
                record = build(RunRecord, record)
            if isinstance(result, dict):  # the record of the run is in both: it is built once
                result = {**result, "run": record}
            return build(Entry, {**data, "run": record, "result": result})
    entry = _brief(read_entry(RunDirectory(Path(path))))
    if made_of and (entry.result is None or entry.result.run == entry.run):
        once = replace(entry, result=entry.result and replace(entry.result, run=None))
        kept.put(run, made_of, to_plain(once, is_short=True))
    return entry


def _brief(entry: Entry) -> Entry:
    """Return an entry without what only the page of its run shows."""
    if entry.result is None:
        return entry
    stated = entry.result.result and replace(entry.result.result, key_figures=(), next_steps=())
    return replace(entry, result=replace(entry.result, result=stated, account=()))


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
