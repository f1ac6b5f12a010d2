"""What the reports folder holds: each run with its figures as its JSON says them, and reports about several runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from harness.base.errors import UsageError
from harness.base.records import build
from harness.compare.result import RUN, RunResult
from harness.metrics.figures import LOAD
from harness.report.summary import FORMAT_VERSION
from harness.run.record import RunRecord

# Format 2 says the same of a run as a whole; what format 3 added stands within the labels.
OLDEST_VERSION = 2
SWEEP, COMPARISON, HISTORY = "sweep", "comparison", "history"
_LABEL_KEYS = (
    "label", "sample_count", "error_count", "error_ratio", "average_ms", "percentiles_ms", "min_ms", "max_ms",
    "rate_per_s", "received_bytes_per_s",
)  # fmt: skip
_LIST_MARK = re.compile(r"\A(?:(?:#{1,6}|>|[-*+]|\d+[.)])\s+)+")
_DIGITS = re.compile(r"(\d+)")


@dataclass(frozen=True)
class Entry:
    """A run in the reports folder: `result` as its JSON has it, or None and the `problem` that there is with it.

    `run` is there as soon as run.json is. `notes` is what people wrote into the report's notes block.
    """

    plan: str
    name: str
    series: int
    number: int
    run: RunRecord | None
    result: RunResult | None
    problem: str = ""
    notes: str = ""
    has_report: bool = True

    @property
    def id(self) -> str:
        """Plan and run, such as killbill-stripe/run-07_1."""
        return f"{self.plan}/{self.name}"

    @property
    def started_at(self) -> str:
        """When JMeter was started, UTC in ISO 8601; empty when that is not known."""
        return self.run.started_at if self.run else ""

    @property
    def newest(self) -> tuple[str, int, int]:
        """What runs are sorted by: the start, then series and number."""
        return self.started_at, self.series, self.number


@dataclass(frozen=True)
class Document:
    """A report about several runs: a sweep, a comparison, a history; `headline` is its first sentence in bold."""

    folder: str
    name: str
    kind: str
    headline: str = ""

    @property
    def path(self) -> str:
        """Where it stands in the reports folder."""
        return f"{self.folder}/{self.name}.md"


@dataclass(frozen=True)
class Series:
    """The runs of one series of a plan, newest first, with the sweeps that made them."""

    number: int
    entries: tuple[Entry, ...]
    sweeps: tuple[Document, ...]

    @property
    def title(self) -> str:
        """How its runs are named: run-07."""
        return self.entries[0].name.rpartition("_")[0]


@dataclass(frozen=True)
class PlanShelf:
    """All there is of one plan: its series, newest first, and the reports that belong to no series of it."""

    plan: str
    title: str
    series: tuple[Series, ...]
    documents: tuple[Document, ...]


@dataclass(frozen=True)
class Catalogue:
    """Every run and every report about several runs, in no order that means anything."""

    entries: tuple[Entry, ...]
    documents: tuple[Document, ...]

    def shelves(self) -> tuple[PlanShelf, ...]:
        """Return the plans by name, each with its series; a series is as new as its newest run."""
        plans = {entry.plan for entry in self.entries} | {document.folder for document in self.documents}
        return tuple(self._shelf(plan) for plan in sorted(plans))

    def _shelf(self, plan: str) -> PlanShelf:
        entries = sorted(
            (entry for entry in self.entries if entry.plan == plan), key=lambda entry: entry.newest, reverse=True
        )
        documents = sorted((document for document in self.documents if document.folder == plan), key=_by_kind)
        sweeps = {
            number: [document for document in documents if _series_of(document) == number]
            for number in {entry.series for entry in entries}
        }
        series = tuple(
            Series(number, tuple(entry for entry in entries if entry.series == number), tuple(sweeps[number]))
            for number in dict.fromkeys(entry.series for entry in entries)
        )
        placed = {document for found in sweeps.values() for document in found}
        title = next((entry.run.plan_title for entry in entries if entry.run), "")
        return PlanShelf(plan, title, series, tuple(document for document in documents if document not in placed))


def _series_of(document: Document) -> int | None:
    """Return the series whose runs a sweep is made of: sweep-07 is of run-07_1 and so on."""
    match = re.fullmatch(r"sweep-(\d+)", document.name)
    return int(match[1]) if match else None


def _by_kind(document: Document) -> tuple[str, list[str | int]]:
    return document.kind, natural(document.name)


def natural(name: str) -> list[str | int]:
    """Return what names are sorted by so that run-2 comes before run-10."""
    return [int(part) if part.isdigit() else part for part in _DIGITS.split(name)]


def outline(data: Mapping[str, Any], where: str) -> RunResult:
    """Return the result of a run's JSON with the figures that stand in it: nothing is counted again, and no batches.

    A list of a thousand runs is read in the time that the files' text takes. UsageError, without the name of the run,
    when there is no such result in it.
    """
    version = data.get("format_version")
    if not isinstance(version, int) or version < OLDEST_VERSION:
        raise UsageError("its JSON is of an older format", f"./aggregate.py report {where}")
    if version > FORMAT_VERSION:
        raise UsageError("its JSON is of a newer format", "use the version of the harness that wrote it")
    try:
        load = next((group for group in data["groups"] if group["name"] == LOAD), None)
        found = {
            **{key: data[key] for key in ("run", "verdict", "window", "origin_s")},
            "warnings": data["caveats"],
            "name": data["source"],
            "kind": RUN,
            "total": _label(load["total"]) if load else None,
            "labels": [_label(label) for label in load["labels"]] if load else [],
            "usages": data["observed"]["usages"],
            "whole": _label(data["whole"]["total"]) if data["whole"] else None,
        }
        return build(RunResult, found)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise UsageError("its JSON is not a run's", f"./aggregate.py report {where}") from None


def _label(figures: Mapping[str, Any]) -> dict[str, Any]:
    return {key: figures[key] for key in _LABEL_KEYS}


def first_line(notes: str) -> str:
    """Return the first line of notes that says something, without the mark of a heading or a list; may be empty."""
    for line in notes.splitlines():
        words = _LIST_MARK.sub("", line.strip(), count=1)
        if any(letter.isalnum() for letter in words) and not words.startswith(("```", "~~~", "<!--", "|")):
            return words
    return ""


def headline_of(markdown: str) -> str:
    """Return the text of a report's first line in bold, where it says what was found; empty when there is none."""
    for line in markdown.splitlines():
        match = re.match(r"\*\*(.+?)\*\*", line)
        if match:
            return match[1]
    return ""


def document_kind(folder: str, name: str) -> str | None:
    """Return what a Markdown file of the reports folder is about; None when it is none of several runs."""
    for prefix, kind in (("sweep-", SWEEP), ("compare-", COMPARISON), ("history-", HISTORY)):
        if name.startswith(prefix):
            return kind
    return SWEEP if folder == "sweeps" else None


def runs_of(entries: Iterable[Entry], plan: str) -> list[Entry]:
    """Return the runs of one plan, oldest first."""
    return sorted((entry for entry in entries if entry.plan == plan), key=lambda entry: entry.newest)
