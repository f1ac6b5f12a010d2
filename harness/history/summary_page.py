"""Render SUMMARY.md: a row for each run of each plan, and links to reports about several runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import quote

from harness.base import units
from harness.history.catalogue import Catalogue, Document, Entry, PlanEntries, first_line
from harness.judge.verdict import Verdict
from harness.metrics.metric import Table, columns_of_runs
from harness.report.notes import NOTES_BEGIN, NOTES_END
from harness.report.run_result import LabelResult
from harness.report.setup import users_text
from harness.report.tables import cell, table
from harness.report.template import filled
from harness.run import kinds
from harness.run.kinds import level_note


@dataclass(frozen=True)
class Figure:
    """A metric column in a list of runs: its head, its value for a label, and its printed form."""

    title: str
    value: Callable[[LabelResult], float | None]
    text: Callable[[float | None], str]


class Facts(NamedTuple):
    """The columns of a run before its metrics, as text; empty when unknown. `profile` includes the values of SET."""

    started: str
    users: str
    profile: str


class FigureCell(NamedTuple):
    """A metric of a run as a number and as text; None and empty when unknown."""

    value: float | None
    text: str


def figures_of(shown: Table) -> tuple[Figure, ...]:
    """Return the columns of a list of runs: samples, then the metrics."""
    samples = Figure("samples", lambda label: label.sample_count, lambda count: "" if count is None else f"{count:.0f}")
    return (samples, *(Figure(metric.title, metric.of, metric.text) for metric in columns_of_runs(shown)))


FIGURES = figures_of(Table.RUNS)
_FACTS = ("run", "verdict", "started UTC", "users", "profile")
_HEADS = (*_FACTS, *(figure.title for figure in FIGURES))
# The start of a tag, but not of a URL in angle brackets.
_HTML = re.compile(r"<(?=[A-Za-z/!?])(?!(?:https?|mailto):)")
# The target of a Markdown link that is relative: no scheme, no anchor, no root.
_RELATIVE = re.compile(r"(\]\()(?![a-zA-Z][\w+.-]*:|[#/])")


def summary_page(catalogue: Catalogue, notes: str) -> str:
    """Return SUMMARY.md; `notes` is the text of its notes block."""
    return filled(
        "harness.history",
        "summary.md.j2",
        count_line=count_line(catalogue.entries),
        newest=list(_newest(catalogue)),
        plans=[_plan(plan) for plan in catalogue.plans()],
        notes=notes,
        notes_begin=NOTES_BEGIN,
        notes_end=NOTES_END,
    )


def _newest(catalogue: Catalogue) -> Iterator[str]:
    """Yield what the newest run of each plan found."""
    for plan in catalogue.plans():
        entry = next((entry for series in plan.series for entry in series.entries), None)
        if entry and entry.result:
            result = entry.result.stated
            yield f"{result.mark} {_run_link(entry)} of {cell(plan.plan)}: {cell(result.headline)}".lstrip()


def count_line(entries: Sequence[Entry]) -> str:
    """Return the number of runs, and how many need attention."""
    line = units.plural(len(entries), "run")
    states = [verdict_text(entry) for entry in entries]
    odd = [
        f"{count} {text}"
        for text, count in (
            ("DOUBTFUL", sum(state.startswith("DOUBTFUL") for state in states)),
            ("INVALID", sum(state.startswith("INVALID") for state in states)),
            ("INTERRUPTED", sum(state.startswith("INTERRUPTED") for state in states)),
            ("with a goal missed", sum("goal missed" in state for state in states)),
            ("without metrics", sum(entry.result is None for entry in entries)),
        )
        if count
    ]
    return line + (": " + ", ".join(odd) if odd else "") + "."


def _plan(plan: PlanEntries) -> dict[str, object]:
    return {
        "plan": cell(plan.plan),
        "title": cell(plan.title),
        "links": [
            (kind.title, [_link(document) for document in plan.documents if document.kind == kind.key])
            for kind in kinds.KINDS
            if any(document.kind == kind.key for document in plan.documents)
        ],
        "series": [
            {
                "title": series.title,
                "sweeps": [_link(sweep) for sweep in series.sweeps],
                "notes": [
                    f"{_run_link(entry)}: {_from_above(first, entry.plan)}"
                    for entry in series.entries
                    if (first := first_line(entry.notes)) and first not in map(_level_note, series.sweeps)
                ],
                "table": table(_HEADS, [_row(entry) for entry in series.entries], len(_FACTS)),
                "problems": [f"{_run_link(entry)}: {cell(entry.problem)}" for entry in series.entries if entry.problem],
            }
            for series in plan.series
        ],
    }


def _level_note(sweep: Document) -> str:
    """Return the automatic note of a sweep's runs; it is hidden because the sweep is listed above them."""
    return level_note(sweep.name)


def _row(entry: Entry) -> list[str]:
    return [
        _run_link(entry),
        cell(verdict_text(entry)),
        *(cell(text) for text in facts(entry)),
        *(figure.text for figure in figures(entry)),
    ]


def facts(entry: Entry) -> Facts:
    """Return the facts of a run."""
    run = entry.run
    profile = ", ".join((run.profile, *run.set_values)) if run else ""
    return Facts(start_text(entry.started_at), users_text(run.load) if run else "", profile)


def figures(entry: Entry) -> list[FigureCell]:
    """Return the metrics of a run's TOTAL."""
    total = entry.result.total if entry.result else None
    values = [figure.value(total) if total else None for figure in FIGURES]
    return [FigureCell(value, figure.text(value)) for figure, value in zip(FIGURES, values, strict=True)]


def start_text(started_at: str) -> str:
    """Return a readable start time: 2026-11-21 08:11 for 2026-11-21T08:11:34Z."""
    return started_at[:16].replace("T", " ")


def verdict_text(entry: Entry) -> str:
    """Return a short verdict: the state, the first reason, and whether a goal was missed."""
    if entry.result is None:
        return "no metrics"
    verdict = entry.result.verdict
    return f"{verdict.state}{_because(verdict)}" if verdict else "not judged"


def _because(verdict: Verdict) -> str:
    reason = f": {verdict.reasons[0]}" if verdict.reasons else ""
    return reason + (", goal missed" if verdict.goals_missed else "")


def _run_link(entry: Entry) -> str:
    if entry.has_report:
        return f"[{entry.name}]({quote(entry.id)}.md)"
    return entry.name


def _link(document: Document) -> str:
    link = f"[{cell(document.name)}]({quote(document.path)})"
    headline = document.result.headline
    return f"{link}: {cell(headline)}" if headline else link


def _from_above(markdown: str, folder: str) -> str:
    """Return a line of Markdown for use one folder higher: relative links adapted, HTML escaped."""
    plain = "`".join(part if index % 2 else _HTML.sub("&lt;", part) for index, part in enumerate(markdown.split("`")))
    return _RELATIVE.sub(rf"\g<1>{quote(folder)}/", plain)
