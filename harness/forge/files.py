"""Reads the result of `make ab`: its report in Markdown and, beside it, its JSON."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

from harness.base import strict_json
from harness.base.errors import UsageError
from harness.experiment.record import RUNNING
from harness.forge.comment import ComparisonReport
from harness.forge.excerpt import without_direction
from harness.run import kinds

# A pull request from elsewhere can put anything into its artefact.
_MOST_BYTES = 1024 * 1024


def read_report(path: Path | None) -> ComparisonReport:
    """Return the report of a comparison.

    `path` is a report, or a folder that contains one; without a path, or in a folder without a report, the comparison
    ended without a result. In a folder, links are not followed.
    """
    if path is None:
        return ComparisonReport()
    if not path.is_dir():
        return _result(path)
    records = sorted(path.rglob(f"{kinds.AB_TEST.named('*')}.json"))
    files = [one for one in records if one.is_file() and not one.is_symlink()]
    if len(files) > 1:
        names = ", ".join(one.relative_to(path).as_posix() for one in files)
        raise UsageError(f"{path} has several results: {names}", "name the report of one of them")
    if not files:
        return ComparisonReport()
    report = files[0].with_suffix(".md")
    if report.is_symlink():
        raise UsageError(f"{report}: a link, not a report", "run the comparison again")
    return _result(report)


def _result(report: Path) -> ComparisonReport:
    text = without_direction(_read(report).decode("utf-8", errors="replace"))
    beside = report.with_suffix(".json")
    if not beside.exists():
        return ComparisonReport(text)
    try:
        data = strict_json.parse_object(_read(beside))
    except ValueError as error:
        raise UsageError(f"{beside}: not the result of a comparison ({error})", "run it again") from None
    is_ended = data.get("state") != RUNNING
    return ComparisonReport(text, _text(data, "verdict", beside), _text(data, "headline", beside), is_ended)


def _text(data: dict[str, Any], key: str, path: Path) -> str:
    value = data.get(key)
    if not isinstance(value, str):
        raise UsageError(f"{path}: not the result of a comparison ({key} is no text)", "run it again")
    return without_direction(value)


def _read(path: Path) -> bytes:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise UsageError(f"{path}: not a file", "name a report, reports/ab/NAME/ab-01.md")
        if path.stat().st_size > _MOST_BYTES:
            raise UsageError(f"{path}: too large for a report", "the limit is 1 MB")
        return path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be read ({error.strerror})", "name a report, reports/ab/NAME/ab-01.md"
        ) from None
