"""The two sides of a comparison: the results of a baseline or contender, and their names."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from harness.base.errors import UsageError
from harness.compare.render import Side
from harness.compare.sources import read_result
from harness.report.run_result import RunResult
from harness.report.selection import parse_pattern
from harness.run.directory import RunDirectory
from harness.run.kinds import RUN_NAME
from harness.run.names import find_paths

# Of the two sides and what is before and after them.
_NAME_MOST = 110


@dataclass(frozen=True)
class Found:
    """A result and its source; `path` is the folder of a run, whether it exists or not."""

    path: Path
    result: RunResult


def read_side(names: Sequence[str], reports: Path) -> list[Found]:
    """Return the results that the names of a side refer to."""
    return [Found(path, read_result(path)) for path in find_paths(names, reports)]


def plans_of(baseline: Sequence[Found], contender: Sequence[Found]) -> list[str]:
    """Return the plans of the runs whose thresholds apply, those of the contender first."""
    return [found.result.run.plan if found.result.run else found.path.parent.name for found in (*contender, *baseline)]


def refuse_duplicates(baseline: Sequence[Found], contender: Sequence[Found]) -> None:
    """Raise a UsageError for a run that is given twice."""
    seen: set[Path] = set()
    for given in (*baseline, *contender):
        path = given.path.resolve()
        if path in seen:
            raise UsageError(f"{given.result.name}: given twice", "compare it with another run: remove one")
        seen.add(path)


def pattern_of_labels(text: str, results: Sequence[Found]) -> re.Pattern[str]:
    """Return the pattern of --label; UsageError when no label of the results matches."""
    pattern = parse_pattern(text)
    known = dict.fromkeys(label.label for found in results for label in found.result.labels)
    if not any(pattern.search(label) for label in known):
        raise UsageError(f"--label {text} matches no label", f"there are: {', '.join(known) or 'none'}")
    return pattern


def with_labels(pattern: re.Pattern[str], side: Sequence[Found]) -> list[Found]:
    """Return the results of a side with only the labels that match a pattern."""
    narrowed = []
    for given in side:
        labels = tuple(label for label in given.result.labels if pattern.search(label.label))
        narrowed.append(replace(given, result=replace(given.result, labels=labels)))
    return narrowed


def is_in(path: Path, reports: Path) -> bool:
    """Return whether a path is a run in the reports folder."""
    return path.resolve().parent.parent == reports.resolve()


def short_names(side: Sequence[Found], plan: Path) -> str:
    """Return the names of a side's runs for a file's name: run-07_1+2+3, with the plan's name for other plans.

    Of many runs the first one and a hash of all names: a file's name has at most 255 bytes.
    """
    parts: list[str] = []
    last = ""
    for given in side:
        name = given.path.name if RUN_NAME.fullmatch(given.path.name) else given.path.name.split(".")[0]
        if given.path.resolve().parent != plan.resolve():
            name = f"{given.path.resolve().parent.name}-{name}"
        head, _, number = name.rpartition("_")
        parts.append(number if head and head == last else name)
        last = head
    whole = "+".join(parts)
    if len(whole) <= _NAME_MOST:
        return whole
    return f"{parts[0]}+{len(parts) - 1}-{sha256(whole.encode()).hexdigest()[:8]}"


def report_side(given: Found, output: Path | None) -> Side:
    """Return a result for the comparison report, with a link from `output` to the run's report."""
    report = RunDirectory(given.path).report if RUN_NAME.fullmatch(given.path.name) else given.path
    is_linked = output is not None and report.suffix == ".md" and report.is_file()
    link = os.path.relpath(report, output.parent) if output is not None and is_linked else ""
    return Side(given.result.name, given.result.kind, given.result.remarks, link)


def name_of(given: Found, reports: Path) -> str:
    """Return the name of a result for a command line."""
    is_in_reports = is_in(given.path, reports)
    return "/".join(given.path.resolve().parts[-2:]) if is_in_reports else os.path.relpath(given.path)
