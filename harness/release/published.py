"""Lays out published figures of releases, of which there are no runs: the tables of a report, from a CSV.

A line of the CSV is one figure: release,workload,users,subject,metric,value. The subject is a label, a service or a
job, empty for all requests; the metric has its unit. Texts are kept as they are, so nothing is lost by rounding.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from harness.base import units
from harness.base.errors import UsageError
from harness.base.plain_text import one_line
from harness.judge.result import Result
from harness.release.cells import TitledTable
from harness.report.first_screen import first_screen
from harness.report.tables import cell
from harness.report.template import filled
from harness.report.wide_tables import narrow_tables

COLUMNS = ("release", "workload", "users", "subject", "metric", "value")
WHY = "published figures are totals: without runs nothing says whether a change is noise"


class Figure(NamedTuple):
    """A published figure, as texts."""

    release: str
    workload: str
    users: str
    subject: str
    metric: str
    value: str


def is_published(text: str) -> bool:
    """Return whether a CSV has published figures, and not the levels of a sweep or the samples of a JTL."""
    return text.lstrip("\ufeff").partition("\n")[0].strip().split(",")[0] == COLUMNS[0]


def parse_published(text: str, name: str) -> list[Figure]:
    """Return the figures of a CSV. UsageError names the line of what is missing, or given twice."""
    figures: dict[tuple[str, ...], Figure] = {}
    for number, row in enumerate(csv.reader(text.lstrip("\ufeff").splitlines()), start=1):
        where, texts = f"{name}:{number}", [one_line(one) for one in row]
        if number == 1:
            if tuple(texts) != COLUMNS:
                raise UsageError(f"{where}: the columns are {', '.join(texts)}", f"give {', '.join(COLUMNS)}")
        elif texts:
            if len(texts) != len(COLUMNS):
                raise UsageError(f"{where}: {len(texts)} cells for {len(COLUMNS)} columns", "give one cell per column")
            figure = Figure(*texts)
            if not (figure.release and figure.metric and figure.value):
                raise UsageError(f"{where}: a cell is empty", "give release, metric and value in each line")
            if figures.setdefault(figure[:-1], figure) is not figure:
                raise UsageError(f"{where}: {figure.metric} of {figure.release} is given twice", "remove one line")
    if not figures:
        raise UsageError(f"{name}: has no figures", f"give lines of {', '.join(COLUMNS)}")
    return list(figures.values())


def releases_of(figures: Iterable[Figure]) -> list[str]:
    """Return the releases in order: that of the page, the last one, earlier ones."""
    return list(dict.fromkeys(one.release for one in figures))


def published_tables(figures: Sequence[Figure]) -> list[TitledTable]:
    """Return a table per metric, a row per workload, number of users and subject, with the change in % where known."""
    new, *bases = releases_of(figures)
    keys = [name for name in ("workload", "users", "subject") if any(getattr(one, name) for one in figures)]
    tables = []
    for metric in dict.fromkeys(one.metric for one in figures):
        rows: dict[tuple[str, ...], dict[str, str]] = {}
        for one in (one for one in figures if one.metric == metric):
            rows.setdefault(tuple(getattr(one, key) for key in keys), {})[one.release] = one.value
        texts = []
        for key, values in rows.items():
            changes = [text for base in bases for text in (values.get(base, ""), _change(values, base, new))]
            texts.append([*map(cell, key), cell(values.get(new, "")), *map(cell, changes)])
        columns = [*keys, cell(new), *(head for base in bases for head in (cell(base), "change %"))]
        shape = {"text_columns": len(keys), "kept": len(keys) + 1, "together": 2}
        tables.append(TitledTable(metric, narrow_tables(columns, texts, **shape)))
    return tables


def _change(values: dict[str, str], base: str, new: str) -> str:
    try:
        earlier, later = float(values[base]), float(values[new])
    except (KeyError, ValueError):
        return ""
    return units.signed_percent(later / earlier - 1) if earlier else ""


def published_result(figures: Sequence[Figure]) -> Result:
    """Return what the page says: that nothing is judged."""
    new, *bases = releases_of(figures)
    title = f"{new} beside {', '.join(bases)}" if bases else new
    return Result(kind="release", title=title, headline=f"Published figures of {title}: no verdict.")


def published_page(figures: Sequence[Figure], notes: str, command: str) -> str:
    """Return the page as Markdown."""
    result = published_result(figures)
    return filled(
        "harness.release",
        "published.md.j2",
        command=one_line(command),
        title=cell(result.title),
        first_screen=first_screen(result),
        why=WHY,
        notes=notes,
        tables=[TitledTable(cell(one.title), one.table) for one in published_tables(figures)],
    )
