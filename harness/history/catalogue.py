"""The contents of the reports folder: runs with the metrics from their JSON, and reports about several runs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from harness.judge.result import Result
from harness.report.run_result import RunResult
from harness.run import kinds
from harness.run.record import RunRecord

_LIST_MARK = re.compile(r"\A(?:(?:#{1,6}|>|[-*+]|\d+[.)])\s+)+")
_DIGITS = re.compile(r"(\d+)")


@dataclass(frozen=True)
class Entry:
    """A run in the reports folder: the `result` from its JSON, or None and the `problem` with reading it.

    `run` is set when run.json exists. `notes` is the text of the report's notes block.
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
        """Start time of JMeter, UTC in ISO 8601; empty when unknown."""
        return self.run.started_at if self.run else ""

    @property
    def order_key(self) -> tuple[str, int, int]:
        """The sort key that puts the oldest run first: start, series, number."""
        return self.started_at, self.series, self.number


@dataclass(frozen=True)
class Document:
    """A report about several runs.

    `folder` is its folder in the reports folder; `kind` is the key of one of `KINDS`.
    """

    folder: str
    name: str
    kind: str
    result: Result

    @property
    def path(self) -> str:
        """Its path in the reports folder."""
        return f"{self.folder}/{self.name}.md"

    @property
    def plan(self) -> str:
        """The plan that it is listed with."""
        return self.folder.rpartition("/")[2]


@dataclass(frozen=True)
class RunSeries:
    """The runs of one series of a plan, newest first, with the sweeps, the test or the experiment that made them."""

    number: int
    entries: tuple[Entry, ...]
    sweeps: tuple[Document, ...]

    @property
    def title(self) -> str:
        """The common part of its runs' names: run-07."""
        return self.entries[0].name.rpartition("_")[0]


@dataclass(frozen=True)
class PlanEntries:
    """Everything of one plan: its series, newest first, and reports that belong to no series."""

    plan: str
    title: str
    series: tuple[RunSeries, ...]
    documents: tuple[Document, ...]


@dataclass(frozen=True)
class Catalogue:
    """All runs and all reports about several runs, unordered."""

    entries: tuple[Entry, ...]
    documents: tuple[Document, ...]

    def plans(self) -> tuple[PlanEntries, ...]:
        """Return the plans by name, each with its series; series are ordered by their newest run."""
        names = {entry.plan for entry in self.entries} | {document.plan for document in self.documents}
        return tuple(self._plan(plan) for plan in sorted(names))

    def _plan(self, plan: str) -> PlanEntries:
        entries = sorted(
            (entry for entry in self.entries if entry.plan == plan), key=lambda entry: entry.order_key, reverse=True
        )
        documents = sorted((document for document in self.documents if document.plan == plan), key=_order_key)
        sweeps = {
            number: [document for document in documents if _series_of(document, plan) == number]
            for number in {entry.series for entry in entries}
        }
        series = tuple(
            RunSeries(number, tuple(entry for entry in entries if entry.series == number), tuple(sweeps[number]))
            for number in dict.fromkeys(entry.series for entry in entries)
        )
        placed = {document for found in sweeps.values() for document in found}
        title = next((entry.run.plan_title for entry in entries if entry.run), "")
        return PlanEntries(plan, title, series, tuple(document for document in documents if document not in placed))


def _series_of(document: Document, plan: str) -> int | None:
    """Return the series of the runs beside a sweep, a test or an experiment: sweep-07 consists of run-07_1 ….

    None for every other document, and for one whose runs are in another folder than `plan`.
    """
    if document.folder != plan:
        return None
    matches = (kind.numbered.fullmatch(document.name) for kind in kinds.KINDS if kind.has_series)
    return next((int(match[1]) for match in matches if match), None)


def _order_key(document: Document) -> tuple[str, list[str | int]]:
    """Return the sort key of documents: kind, name."""
    return document.kind, natural(document.name)


def natural(name: str) -> list[str | int]:
    """Return a sort key that orders run-2 before run-10."""
    return [int(part) if part.isdigit() else part for part in _DIGITS.split(name)]


def first_line(notes: str) -> str:
    """Return the first line of notes with text, without heading or list marks; may be empty."""
    for line in notes.splitlines():
        text = _LIST_MARK.sub("", line.strip(), count=1)
        if any(letter.isalnum() for letter in text) and not text.startswith(("```", "~~~", "<!--", "|")):
            return text
    return ""


def document_kind(folder: str, name: str) -> str | None:
    """Return the key of the kind of a Markdown file in the reports folder; None unless it is about several runs."""
    for kind in kinds.KINDS:
        if name.startswith(kind.named("")):
            return kind.key
    return kinds.SWEEP.key if folder == kinds.SWEEPS_FOLDER else None


def runs_of(entries: Iterable[Entry], plan: str) -> list[Entry]:
    """Return the runs of one plan, oldest first."""
    return sorted((entry for entry in entries if entry.plan == plan), key=lambda entry: entry.order_key)
