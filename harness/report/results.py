"""The result of a report about several runs, as its JSON has it: its verdict, and its headline of one sentence."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from harness.base.errors import UsageError
from harness.report.tables import cell
from harness.report.verdict import INTERRUPTED
from harness.run.directory import json_text, read_object, write_whole
from harness.run.record import RUNNING

_HEADLINE = re.compile(r"^\*\*(.+?)\*\*", re.MULTILINE)
_VERDICT = re.compile(r"[A-Z]+(?: [A-Z]+)*\b")


@dataclass(frozen=True)
class Result:
    """The result of a report: `verdict` such as REGRESSED, empty without one, and `headline` in Markdown.

    While its runs are in progress, or after they were interrupted, a verdict is INTERRUPTED.
    """

    verdict: str = ""
    headline: str = ""


def store_result(report: Path, verdict: str, headline: str) -> None:
    """Write the result of a report into the JSON beside it; `headline` is plain text."""
    path = report.with_suffix(".json")
    write_whole(path, json_text({**read_object(path), "verdict": verdict, "headline": headline}))


def stated_result(report: Path) -> Result:
    """Return the result of a report from the JSON beside it, or else from its Markdown.

    A report of an earlier version has no result in its JSON; a comparison that was not saved, a release and sweeps side
    by side have no JSON.
    """
    try:
        data = read_object(report.with_suffix(".json"))
    except UsageError:
        data = {}
    verdict, headline = data.get("verdict"), data.get("headline")
    if isinstance(verdict, str) and isinstance(headline, str):
        is_open = verdict and data.get("state") == RUNNING
        return Result(INTERRUPTED if is_open else verdict, cell(headline))
    try:
        return _result_in(report.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return Result()


def _result_in(markdown: str) -> Result:
    """Return the result in a report: its first bold line, and the capitals with which that begins."""
    headline = _HEADLINE.search(markdown)
    verdict = _VERDICT.match(headline[1]) if headline else None
    return Result(verdict[0] if verdict else "", headline[1] if headline else "")
