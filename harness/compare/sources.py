"""Read the results that arguments name: runs, their JSON, JTL files, files of other tools, Markdown reports."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.base.errors import UsageError
from harness.base.records import read_record
from harness.base.regular import regular
from harness.jtl.inputs import Input, opened, resolve
from harness.jtl.tools.summary import NoSamplesError, ToolSummary
from harness.judge.summary import FORMAT_VERSION, RunSummary
from harness.metrics.window import STEADY_WINDOW
from harness.report.jtls import Counting, summary_of_jtls
from harness.report.markdown_report import is_generated, metric_tables, own_table, parse_report
from harness.report.run_result import JTL, SUMMARY, LabelResult, RunResult
from harness.run.directory import RunDirectory, read_object
from harness.run.names import find_paths, is_run, split_choice


def read_result(path: Path) -> RunResult:
    """Return the result at a path; a run is read from its JSON, else from its samples, else from its Markdown.

    Raise UsageError when the run is still in progress, or when nothing can be read.
    """
    _refuse_pipe(path)
    summary = read_summary(path)
    if summary is not None:
        jmx = RunDirectory(path).effective_plan
        return replace(RunResult.of(summary), jmx=str(jmx) if is_run(path) and jmx.is_file() else "")
    if is_run(path):
        return parse_report(_text(RunDirectory(path).report), _short(path))
    chosen = split_choice(path)
    if chosen.file.suffix == ".md":
        return parse_report(_text(chosen.file), _short(chosen.file), chosen.choice)
    try:
        return result_of_jtls(resolve([str(path)]), _short(path))
    except NoSamplesError as error:
        return _result_of_tool(error.summary, _short(path))


def read_summary(path: Path) -> RunSummary | None:
    """Return the summary of a run or of its JSON; None for a file with samples and a run with only a Markdown report.

    Raise UsageError when the run is still in progress, or when nothing can be read.
    """
    if is_run(path):
        return _summary_of(RunDirectory(path))
    return _summary(path, read_object(path)) if path.suffix == ".json" and not _is_readable(path) else None


def _is_readable(path: Path) -> bool:
    """Return whether a file has samples or the summary of another tool, whatever its name is."""
    try:
        with opened(Input(path.name, path)):
            return True
    except UsageError:
        return False


def _result_of_tool(summary: ToolSummary, name: str) -> RunResult:
    """Return the result in the summary of another tool."""
    labels = tuple(LabelResult.of_tool(row) for row in summary.rows)
    total = LabelResult.of_tool(summary.total)
    return RunResult(name, SUMMARY, total=total, labels=labels, remarks=summary.texts)


def result_of_jtls(inputs: Sequence[Input], name: str, columns: Sequence[str] | None = None) -> RunResult:
    """Return the result of JTLs as one run, in its steady window; `columns` are for files without a header line."""
    counting = Counting(window=STEADY_WINDOW, columns=tuple(columns) if columns else None)
    return replace(RunResult.of(summary_of_jtls(inputs, counting), JTL), name=name)


def pasted_tables(name: str, reports_dir: Path) -> list[str]:
    """Return the names of the tables in a Markdown report: the run's own first; empty when there is no other."""
    paths = find_paths([name], reports_dir)
    report = RunDirectory(paths[0]).report if is_run(paths[0]) else paths[0]
    if len(paths) != 1 or report.suffix != ".md" or not report.is_file():
        return []
    text = _text(report)
    tables = metric_tables(text)
    own = own_table(tables)
    if is_generated(text) or own is None or len(tables) < 2:
        return []
    order = [own, *(table for table in tables if table is not own)]
    return [f"{report}#{tables.index(table) + 1}" for table in order]


def _summary_of(directory: RunDirectory) -> RunSummary | None:
    """Return the summary of a run; None when only its Markdown report exists."""
    if directory.summary_json.is_file():
        return _summary(directory.summary_json, read_object(directory.summary_json))
    data = read_object(directory.run_json) if directory.run_json.is_file() else None
    if directory.report.is_file() and (data is None or not directory.samples.is_file()):
        return None
    from harness.report.files import summary_of_run  # imported late: most runs have a report

    return summary_of_run(directory)


def _summary(path: Path, data: dict[str, Any]) -> RunSummary:
    """Return the summary in a JSON file; UsageError for another file or format."""
    version = data.get("format_version")
    if isinstance(version, int) and version > FORMAT_VERSION:
        raise UsageError(
            f"{_short(path)}: written by a newer version of this harness (format {version}, this one reads "
            f"{FORMAT_VERSION})",
            "update this checkout",
        )
    if version != FORMAT_VERSION:
        raise UsageError(f"{_short(path)}: not the JSON of a run", "name the run-<series>_<n>.json of one")
    return read_record(RunSummary, data, _short(path))


def _refuse_pipe(path: Path) -> None:
    """Raise UsageError for what is neither a file nor a folder: it would be read twice."""
    try:
        if not path.is_dir() and path.exists():
            regular(path, math.inf)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})", "name another file") from None


def _text(path: Path) -> str:
    try:
        return regular(path).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})", "name another file") from None


def _short(path: Path) -> str:
    """Return the last two parts of a path: plan and run, without the local folders."""
    return "/".join(path.resolve().parts[-2:])
