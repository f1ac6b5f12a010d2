"""Shows the numbers in summaries of other tools, alone and beside those of the samples of the same load."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from harness.jtl.inputs import Input, opened
from harness.jtl.readers import SUMMARY, refuse_summary
from harness.jtl.tools.summary import NO_SAMPLES, NoSamplesError, SummaryRow, ToolSummary
from harness.metrics.figures import LOAD, LabelFigures
from harness.report.columns import Column
from harness.report.export import csv_lines
from harness.report.tables import cell, table

if TYPE_CHECKING:
    from harness.judge.summary import RunSummary

# Response times are rounded to whole ms: a smaller difference says nothing.
_ROUNDING_MS = 1.0


class Given(NamedTuple):
    """Files with samples, and summaries beside them."""

    inputs: Sequence[Input]
    summaries: tuple[ToolSummary, ...] = ()


def without_summaries(inputs: Sequence[Input]) -> Given:
    """Return the files with samples, and the summaries that are given beside them; a single file is not opened."""
    if len(inputs) < 2:
        return Given(inputs)
    samples, summaries = [], []
    for given in inputs:
        summary = _summary_in(given) if given.path else None
        if summary is None:
            samples.append(given)
        else:
            summaries.append(summary)
    return Given(samples, tuple(summaries)) if samples else Given(inputs)


def _summary_in(given: Input) -> ToolSummary | None:
    with opened(given) as file:
        if file.kind != SUMMARY:
            return None
        try:
            refuse_summary(file.stream, given.name)
        except NoSamplesError as error:
            return error.summary


def differences(summaries: Sequence[ToolSummary], summary: RunSummary) -> list[str]:
    """Return one line per summary: which of its percentiles and counts differ from those of the samples."""
    load = summary.group(LOAD)
    return [f"{one.tool} itself: {_beside(one.total, load.total)}." for one in summaries] if load else []


def _beside(stated: SummaryRow, counted: LabelFigures) -> str:
    """Return what a tool states otherwise, each value beside ours."""
    counts = [
        f"{theirs} {name} (here {ours})"
        for name, theirs, ours in (
            ("samples", stated.sample_count, counted.sample_count),
            ("errors", stated.error_count, counted.error_count),
        )
        if theirs is not None and theirs != ours
    ]
    times = [
        f"p{name} {theirs:.1f} ms (here {ours} ms)"
        for name, theirs in stated.percentiles_ms.items()
        if (ours := counted.percentiles_ms.get(name)) is not None and abs(theirs - ours) > _ROUNDING_MS
    ]
    return ", ".join([*counts, *times]) or "the same count, errors and percentiles"


def summary_table(summary: ToolSummary, columns: Sequence[Column], *, is_csv: bool = False) -> str:
    """Return the rows and TOTAL as a Markdown table or CSV, with those of the columns that have a value."""
    rows = [cast(LabelFigures, row) for row in (*summary.rows, summary.total)]
    known = [column for column in columns if any(_value(column, row) is not None for row in rows)]
    if is_csv:
        values = [[row.label, *(_csv_text(_value(column, row)) for column in known)] for row in rows]
        return csv_lines([["label", *(column.key for column in known)], *values])
    cells = ([cell(row.label), *(column.text(_value(column, row)) for column in known)] for row in rows)
    return table(("label", *(column.title for column in known)), cells) + "\n"


def _csv_text(value: float | None) -> str:
    return "" if value is None else str(value)


def _value(column: Column, row: LabelFigures) -> float | None:
    """Return the value of a column; None for one that no summary has, such as bytes sent."""
    return column.figure(row) if column.key.startswith("p") or hasattr(row, column.key) else None


def summary_object(name: str, summary: ToolSummary) -> dict[str, Any]:
    """Return the numbers as plain data; `verdict` says why there is none."""
    rows = [{**vars(row), "error_ratio": row.error_ratio} for row in (*summary.rows, summary.total)]
    return {
        "source": name,
        "tool": summary.tool,
        "verdict": NO_SAMPLES,
        "remarks": list(summary.hides),
        "labels": rows[:-1],
        "total": rows[-1],
    }
