"""Find and read the results that arguments name: runs, their JSON, JTL files, Markdown reports of any age."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.base.config import did_you_mean
from harness.base.errors import UsageError
from harness.base.s3_address import SCHEME
from harness.compare.markdown_report import is_generated, metric_tables, own_table, parse_report
from harness.compare.result import JTL, RunResult
from harness.jtl.inputs import Input, resolve
from harness.report.files import STEADY_WINDOW, summary_of_run
from harness.report.jtls import Counting, summary_of_jtls
from harness.report.summary import FORMAT_VERSION, RunSummary
from harness.run.directory import RUN_NAME, RunDirectory, read_object
from harness.run.record import RUNNING

# Labels of this version have no batches; everything else is equal to the current one.
WITHOUT_BATCHES_VERSION = 2
# JMeter writes its samples, and the harness its telemetry, every second.
_STILL_WRITTEN_S = 60
_SUFFIXES = (".json", ".md")
_GLOB_CHARACTERS = frozenset("*?[")
_NAMES_SHOWN = 10
_CHOICE = re.compile(r"(.+\.md)([#:].+)")


def find_paths(names: Iterable[str], reports_dir: Path) -> list[Path]:
    """Return the paths of the named results: a run's folder, even if only its report exists, or a file.

    A name is a path of a run's folder, of its .json or .md, or of a JTL or Markdown file, also with the choice of a
    table (`split_choice`); or a run in `reports_dir`,
    such as killbill-stripe/run-07_1, or run-07_1 when only one plan has it; or a pattern of either. Raise UsageError
    when a name matches nothing, or runs of several plans.
    """
    return [path for name in names for path in _found(name, reports_dir)]


def find_run(name: str, plan: str | None, reports_dir: Path, only_one: str = "name one") -> Path:
    """Return the absolute path of the only run that a name stands for; `only_one` tells a user who named several."""
    path, *others = find_paths(in_plan([name], plan), reports_dir)
    if others:
        raise UsageError(f"{name}: {1 + len(others)} runs", only_one)
    return path.resolve()


def in_plan(names: Iterable[str], plan: str | None) -> list[str]:
    """Return the names, with `plan/` in front of bare run names that are not existing paths."""
    return [f"{plan}/{name}" if plan and "/" not in name and not is_there(Path(name)) else name for name in names]


def read_result(path: Path) -> RunResult:
    """Return the result at a path; a run is read from its JSON, else from its samples, else from its Markdown.

    Raise UsageError when the run is still in progress, or when nothing can be read.
    """
    summary = read_summary(path)
    if summary is not None:
        return RunResult.of(summary)
    if _is_run(path):
        return parse_report(_text(RunDirectory(path).report), _short(path))
    file, choice = split_choice(path)
    if file.suffix == ".md":
        return parse_report(_text(file), _short(file), choice)
    return result_of_jtls(resolve([str(path)]), _short(path))


def read_summary(path: Path) -> RunSummary | None:
    """Return the summary of a run or of a JSON file; None for a JTL and for a run with only a Markdown report.

    Raise UsageError when the run is still in progress, or when nothing can be read.
    """
    if _is_run(path):
        return _summary_of(RunDirectory(path))
    return _summary(path, read_object(path)) if path.suffix == ".json" else None


def result_of_jtls(inputs: Sequence[Input], name: str, columns: Sequence[str] | None = None) -> RunResult:
    """Return the result of JTLs as one run, in its steady window; `columns` are for files without a header line."""
    counting = Counting(window=STEADY_WINDOW, columns=tuple(columns) if columns else None, with_batches=True)
    return replace(RunResult.of(summary_of_jtls(inputs, counting), JTL), name=name)


def pasted_tables(name: str, reports_dir: Path) -> list[str]:
    """Return the names of the tables in a Markdown report: the run's own first; empty when there is no other."""
    paths = find_paths([name], reports_dir)
    report = RunDirectory(paths[0]).report if _is_run(paths[0]) else paths[0]
    if len(paths) != 1 or report.suffix != ".md" or not report.is_file():
        return []
    text = _text(report)
    tables = metric_tables(text)
    own = own_table(tables)
    if is_generated(text) or own is None or len(tables) < 2:
        return []
    order = [own, *(table for table in tables if table is not own)]
    return [f"{report}#{tables.index(table) + 1}" for table in order]


def split_choice(path: Path) -> tuple[Path, str]:
    """Return a Markdown file and the choice of a table in its name: old.md#2, old.md:72 or old.md#Reference run.

    The choice keeps its first character. It is empty for other names, and for a file that has such a name.
    """
    match = _CHOICE.fullmatch(path.name)
    return (path.with_name(match[1]), match[2]) if match and not path.exists() else (path, "")


def _order(path: Path) -> tuple[str, int, int, str]:
    match = RUN_NAME.fullmatch(path.name)
    return path.parent.name, int(match[1]) if match else 0, int(match[2]) if match else 0, path.name


def refuse_stored(name: str) -> None:
    """Raise UsageError for a run in S3: only `table` reads from S3."""
    if name.startswith(SCHEME):
        url = name.partition("/runs/")[0]
        raise UsageError(f"{name}: is in S3", f"pull it first: ./aggregate.py pull {url}")


def _found(name: str, reports_dir: Path) -> list[Path]:
    refuse_stored(name)
    path = Path(name)
    if is_there(path):
        return [_run_or_file(path)]
    # make and reports print paths relative to the reports folder or to its parent.
    bases = [reports_dir, reports_dir.parent]
    if _GLOB_CHARACTERS & set(name):
        matches = _matches(Path(), name) or next((found for base in bases if (found := _matches(base, name))), [])
        return matches or _of_one_plan(_matches(reports_dir, f"*/{name}"), name, reports_dir)
    for base in bases:
        if is_there(base / name):
            return [_run_or_file(base / name)]
    plans = sorted(path for path in reports_dir.glob("*") if path.is_dir())
    return _of_one_plan([_run_or_file(plan / name) for plan in plans if is_there(plan / name)], name, reports_dir)


def is_there(path: Path) -> bool:
    """Return whether a path is a file, a folder, or a run of which only the JSON or the report exists."""
    is_beside = any(path.with_name(path.name + suffix).is_file() for suffix in _SUFFIXES if path.name)
    return is_beside or split_choice(path)[0].exists()


def _run_or_file(path: Path) -> Path:
    """Return the folder of the run that a path belongs to; otherwise the path itself."""
    folder = path.with_suffix("") if path.suffix in _SUFFIXES else path
    return folder if RUN_NAME.fullmatch(folder.name) or (path.is_dir() and (path / "run.json").is_file()) else path


def _is_run(path: Path) -> bool:
    return bool(RUN_NAME.fullmatch(path.name)) or (path / "run.json").is_file()


def _matches(base: Path, pattern: str) -> list[Path]:
    """Return the matches of a pattern in a folder: files and runs, each run once, sorted by number."""
    if Path(pattern).is_absolute():
        base, pattern = Path(Path(pattern).anchor), str(Path(pattern).relative_to(Path(pattern).anchor))
    patterns = [pattern, *(pattern + suffix for suffix in _SUFFIXES)]  # runs from git have reports but no folder
    try:
        paths = [path for one in patterns for path in base.glob(one) if not path.name.startswith(".")]
    except ValueError as error:
        raise UsageError(f"{pattern}: not a pattern ({error})", "give one such as run-07_*") from None
    found = {_run_or_file(path) for path in paths}
    return sorted((path for path in found if _is_run(path) or path.is_file()), key=_order)


def _of_one_plan(paths: Sequence[Path], name: str, reports_dir: Path) -> list[Path]:
    plans = sorted({path.parent.name for path in paths})
    if not plans:
        raise _unknown(name, reports_dir)
    if len(plans) > 1:
        raise UsageError(
            f"{name}: {len(plans)} plans have it",
            f"choose one: {', '.join(f'{p}/{name}' for p in plans)}, or pass --plan",
        )
    return list(paths)


def _unknown(name: str, reports_dir: Path) -> UsageError:
    runs = sorted({_run_or_file(path) for path in reports_dir.glob("*/run-*")}, key=_order)
    ids = [f"{path.parent.name}/{path.name}" for path in runs if _is_run(path)]
    names = ids if "/" in name else [path.name for path in runs]
    dots = "…, " if len(ids) > _NAMES_SHOWN else ""
    known = f"there are: {dots}{', '.join(ids[-_NAMES_SHOWN:])}" if ids else "there are no runs yet"
    return UsageError(f"{name}: neither a file nor a run in {reports_dir.name}/", f"{did_you_mean(name, names)}{known}")


def _summary_of(directory: RunDirectory) -> RunSummary | None:
    """Return the summary of a run; None when only its Markdown report exists."""
    if directory.summary_json.is_file():
        return _summary(directory.summary_json, read_object(directory.summary_json), directory)
    data = directory.read_run()
    if data is not None and data.get("state") == RUNNING and _is_written_to(directory.path):
        raise UsageError(
            f"{_short(directory.path)}: this run is still in progress, or was killed just now", "wait until it ends"
        )
    if directory.report.is_file() and (data is None or not directory.samples.is_file()):
        return None
    return summary_of_run(directory)


def _is_written_to(folder: Path) -> bool:
    newest_s = max((path.stat().st_mtime for path in folder.iterdir()), default=0.0)
    return time.time() - newest_s < _STILL_WRITTEN_S


def _summary(path: Path, data: dict[str, Any], directory: RunDirectory | None = None) -> RunSummary:
    """Return the summary in a JSON file; without batches, recompute it from the samples if they exist."""
    version = data.get("format_version")
    if version == FORMAT_VERSION:
        return RunSummary.from_json(data, _short(path))
    if isinstance(version, int) and version > FORMAT_VERSION:
        raise UsageError(
            f"{_short(path)}: written by a newer version of this harness (format {version}, this one reads "
            f"{FORMAT_VERSION})",
            "update this checkout",
        )
    if version != WITHOUT_BATCHES_VERSION or "groups" not in data:
        raise UsageError(f"{_short(path)}: not the JSON of a run", "name the run-<series>_<n>.json of one")
    if directory is not None and directory.samples.is_file() and directory.run_json.is_file():
        return summary_of_run(directory)
    try:
        data = _with_batches_unknown(data)
    except (KeyError, TypeError):
        raise UsageError(f"{_short(path)}: not the JSON of a run", "render it again: ./aggregate.py report") from None
    return RunSummary.from_json(data, _short(path))


def _with_batches_unknown(data: dict[str, Any]) -> dict[str, Any]:
    groups = [*data["groups"], *([data["whole"]] if data["whole"] else [])]
    for figures in (figures for group in groups for figures in (*group["labels"], group["total"])):
        figures["batches"] = None
    return {**data, "format_version": FORMAT_VERSION}


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})", "name another file") from None


def _short(path: Path) -> str:
    """Return the last two parts of a path: plan and run, without the local folders."""
    return "/".join(path.resolve().parts[-2:])
