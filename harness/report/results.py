"""The result of a report: its JSON has one, and the site, comments, messages and lists of reports show that one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from harness.base.errors import UsageError
from harness.base.records import build, to_plain
from harness.base.regular import regular
from harness.judge.result import FOUND, Result
from harness.judge.verdict import INTERRUPTED
from harness.report.tables import cell
from harness.run.directory import json_text, read_object, write_whole
from harness.run.record import RUNNING

if TYPE_CHECKING:
    from harness.report.charts.chart import Chart

KEY = "result"
# The verdicts of which one is the whole's when parts differ, worst first.
_WORST_FIRST = (
    INTERRUPTED, "INVALID", "REGRESSED", "CONGESTION COLLAPSE", "CANNOT TELL", "DOUBTFUL", "GRACEFUL", FOUND, "OK",
)  # fmt: skip
# A line in bold, and a paragraph of such lines: where the Markdown of every version has the headline.
_MARK = r"^(?:(?:\u2705|\u26a0\ufe0f|\u274c) )?"
_BOLD = re.compile(_MARK + r"\*\*(.+?)(?<!:)\*\*", re.MULTILINE)
# The titles of the lists of a first screen end with a colon.
_HEADLINE = re.compile(f"(?:{_MARK}" + r"\*\*.+(?<!:)\*\*.*(?:\n+|\Z))+", re.MULTILINE)
_CAPITALS = re.compile(r"[A-Z]+(?: [A-Z]+)*\b")
_LINK = re.compile(r"(?<!\\)\[([^\]\n]+)\]\([^)\n]*\)")
_ESCAPED = re.compile(r"\\([^\w\s])")


def chart_path(folder: str, charts: Iterable[Chart]) -> str:
    """Return the path of the first of the charts in the folder of a report; empty without one."""
    return next((f"{folder}/{chart.name}" for chart in charts), "")


def worst(verdicts: Iterable[str]) -> str:
    """Return the worst of some verdicts; empty without any."""
    there = set(verdicts)
    return next((verdict for verdict in _WORST_FIRST if verdict in there), "")


def store_result(report: Path, result: Result) -> None:
    """Write the result of a report into the JSON beside it, a record whose other keys stay as they are."""
    path = report.with_suffix(".json")
    write_whole(path, json_text({**read_object(path), KEY: to_plain(result)}))


def write_result(report: Path, data: Mapping[str, Any]) -> None:
    """Write the JSON beside a report that has no record; `data` contain its command. Any other file there is kept."""
    path = report.with_suffix(".json")
    if path != report and (not path.exists() or _is_earlier(path)):
        write_whole(path, json_text(data))


def _is_earlier(path: Path) -> bool:
    """Return whether `write_result` wrote a file: it has a command, and is no record."""
    try:
        data = read_object(path)
    except UsageError:
        return False
    return {"format_version", "command"} <= data.keys() and "state" not in data


def stated_result(report: Path) -> Result:
    """Return the result of a report from the JSON beside it.

    The Markdown is read only without one: for a report of an earlier version, and for a sweep or a nightly in progress.
    """
    try:
        return result_in(read_object(report.with_suffix(".json")))
    except (UsageError, ValueError):
        pass
    try:
        return result_in_markdown(regular(report).read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return Result()


def result_in(data: Mapping[str, Any]) -> Result:
    """Return the result in the JSON of a report; ValueError without one.

    The JSON of an earlier version may have only a verdict and a headline.
    """
    if KEY in data:
        return build(Result, data[KEY], KEY)
    result = build(Result, {key: data.get(key) for key in ("verdict", "headline")})
    is_open = result.verdict and data.get("state") == RUNNING
    return replace(result, verdict=INTERRUPTED) if is_open else result


def result_in_markdown(markdown: str) -> Result:
    """Return the result in a report: its first bold line, and the capitals with which that begins as the verdict."""
    found = _BOLD.search(markdown)
    headline = _ESCAPED.sub(r"\1", _LINK.sub(r"\1", found[1])) if found else ""
    verdict = _CAPITALS.match(headline)
    return Result(verdict=verdict[0] if verdict else "", headline=headline)


class HeadlineParts(NamedTuple):
    """The Markdown of a report before and behind its headline."""

    before: str
    behind: str


def around_headline(markdown: str) -> HeadlineParts:
    """Return a report without its headline, in whose place that of its result is shown."""
    found = _HEADLINE.search(markdown)
    return HeadlineParts(markdown[: found.start()], markdown[found.end() :]) if found else HeadlineParts("", markdown)


def with_headline(markdown: str, result: Result) -> str:
    """Return a report with the headline of its result."""
    if not result.headline:
        return markdown
    return _HEADLINE.sub(lambda _: f"{headline_line(result)}\n\n", markdown, count=1)


def headline_line(result: Result) -> str:
    """Return the first line of a report in Markdown: the mark and, in bold, verdict and answer."""
    return f"{result.mark} **{cell(result.headline)}**".lstrip()
