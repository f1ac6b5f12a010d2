"""Exports the shown rows for programs: CSV, JSON and JSON lines, in full precision."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from harness.base.records import to_plain
from harness.metrics.figures import LabelFigures
from harness.report.columns import Column
from harness.report.selection import View
from harness.report.tables import Shown

_TO_QUOTE = re.compile('[",\r\n]')
# A spreadsheet takes a cell that begins so for a formula, which can start programs: owasp.org, "CSV Injection".
_FORMULA = re.compile(r"[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?\d[\d.]*(?:[eE][+-]?\d+)?")
_CSV_KEYS = ("source", "group", "label", "is_total", "is_transaction")


def csv_head(columns: Sequence[Column]) -> str:
    """Return the first line of a CSV: the JSON keys of its columns."""
    return csv_lines([[*_CSV_KEYS, *(column.key for column in columns)]])


def csv_rows(view: View, columns: Sequence[Column]) -> str:
    """Return a line per row, quoted according to RFC 4180; an unknown value is an empty cell."""
    return csv_lines(
        [view.source, row.group, row.figures.label, *map(_dumps, (row.is_total, row.figures.is_transaction))]
        + ["" if (figure := column.figure(row.figures)) is None else json.dumps(figure) for column in columns]
        for row in _rows(view)
    )


def csv_lines(rows: Iterable[Sequence[str]]) -> str:
    """Return a line per row, quoted according to RFC 4180."""
    return "".join(",".join(map(_quoted, row)) + "\n" for row in rows)


def no_formula(text: str) -> str:
    """Return text for a CSV that no spreadsheet executes: an apostrophe before what it would take for a formula."""
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def _quoted(text: str) -> str:
    """Return a field of a CSV; the csv module leaves a lone carriage return unquoted and cannot read it back."""
    text = no_formula(text)
    return '"' + text.replace('"', '""') + '"' if _TO_QUOTE.search(text) else text


def json_lines(view: View, percentiles: Sequence[str]) -> str:
    """Return one line with a JSON object per row."""
    heads = (({"source": view.source, "group": row.group, "is_total": row.is_total}, row) for row in _rows(view))
    return "".join(_dumps({**head, **_figures(row.figures, percentiles)}) + "\n" for head, row in heads)


def json_object(view: View, percentiles: Sequence[str]) -> dict[str, Any]:
    """Return the shown rows as plain data, with the keys of the JSON of a run; without `counts`."""
    summary = view.summary
    return {
        "format_version": summary.format_version,
        "source": view.source,
        "verdict": to_plain(summary.verdict),
        "window": to_plain(summary.window),
        "groups": [_group(group, percentiles) for group in view.groups],
        "whole": _group(view.whole, percentiles) if view.whole else None,
        "remarks": list(view.remarks),
        "caveats": to_plain(summary.warnings),
        "account": to_plain(summary.account),
        "dropped_count": summary.dropped_count,
        "dropped_first": [list(dropped) for dropped in summary.dropped_first],
    }


def json_text(data: Any) -> str:
    """Return plain data and dataclasses as indented JSON."""
    return json.dumps(to_plain(data), indent=1, ensure_ascii=False) + "\n"


def _group(group: Shown, percentiles: Sequence[str]) -> dict[str, Any]:
    return {
        "name": group.name,
        "counts_transactions": group.counts_transactions,
        "labels": [_figures(label, percentiles) for label in group.labels],
        "total": _figures(group.total, percentiles) if group.total else None,
    }


def _figures(figures: LabelFigures, percentiles: Sequence[str]) -> dict[str, Any]:
    values = {key: value for key, value in vars(figures).items() if key != "counts"}
    values["percentiles_ms"] = {text: figures.percentiles_ms[text] for text in percentiles}
    return values


class _Row(NamedTuple):
    """A shown row: the name of its group, its metrics, and whether it is TOTAL."""

    group: str
    figures: LabelFigures
    is_total: bool


def _rows(view: View) -> Iterator[_Row]:
    for group in view.groups:
        for label in group.labels:
            yield _Row(group.name, label, is_total=False)
        if group.total:
            yield _Row(group.name, group.total, is_total=True)


def _dumps(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False)
