"""Finds the results that names ask for: runs, their JSON, bare JTLs, Markdown reports."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from harness.errors import UsageError
from harness.io.results import summary_of_run
from harness.io.rundir import RUN_NAME, RunDirectory, read_json
from harness.result import RunResult
from harness.summary import FORMAT_VERSION, RunSummary


def find_results(names: Iterable[str], reports_dir: Path) -> list[RunResult]:
    """Return the results of names, in their order: paths, or runs such as killbill-stripe/run-07_1 in `reports_dir`."""
    return [read_result(reports_dir / name) for name in names]


def read_result(path: Path) -> RunResult:
    """Return the result of a run: from its JSON, else from its samples."""
    directory = RunDirectory(path.with_suffix("") if path.suffix in (".json", ".md") else path)
    if directory.summary_json.is_file():
        return RunResult.of(RunSummary.from_json(read_json(directory.summary_json, FORMAT_VERSION)))
    return RunResult.of(summary_of_run(directory))


def all_runs(reports_dir: Path) -> list[RunDirectory]:
    """Return every run below `reports_dir` that has a JSON or a run.json, by plan and then by series and number."""
    if not reports_dir.is_dir():
        raise UsageError(f"{reports_dir}: there is no such folder", "make a run first: make run")
    found = {
        path.with_suffix("") if path.suffix == ".json" else path
        for path in reports_dir.glob("*/run-*")
        if RUN_NAME.fullmatch(path.stem) and (path.suffix == ".json" or (path / "run.json").is_file())
    }
    return [RunDirectory(path) for path in sorted(found, key=_order)]


def _order(path: Path) -> tuple[str, int, int]:
    match = RUN_NAME.fullmatch(path.name)
    assert match
    return path.parent.name, int(match[1]), int(match[2])
