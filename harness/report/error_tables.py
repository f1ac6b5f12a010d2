"""Formats the errors of a run as Markdown: by cause, and by Transaction Controller."""

from __future__ import annotations

from collections import Counter
from urllib.parse import quote

from harness.judge.summary import RunSummary
from harness.metrics.figures import LOAD
from harness.report.exchanges import anchor
from harness.report.tables import cell, table


def error_table(summary: RunSummary, folder: str) -> str:
    """Return the table of errors by cause, with an example message if any message differs from the cause.

    The column `stored` links to the failed requests of a cause in the page of the run directory `folder`. A traced run
    also has the trace id of the first of them.
    """
    has_more = any(kind.example != kind.cause for kind in summary.errors)
    stored = {(one.label, one.code, one.cause): one for one in summary.stored_failures}
    is_traced = any(one.trace_ids for one in summary.stored_failures)
    rows = []
    for number, kind in enumerate(summary.errors):
        example = [cell(kind.example if kind.example != kind.cause else "")] if has_more else []
        times = [f"{kind.first_s:.1f}", f"{kind.last_s:.1f}"]
        row = [cell(kind.label), cell(kind.code), cell(kind.cause), *example, str(kind.count), *times]
        if stored:
            failures = stored.get((kind.label, kind.code, kind.cause))
            row.append(f"[{failures.count}]({quote(folder)}/failures.html#{anchor(number)})" if failures else "")
            if is_traced:
                row.append(cell(failures.trace_ids[0]) if failures and failures.trace_ids else "")
        rows.append(row)
    texts = ("label", "code", "cause", *(["example"] if has_more else []))
    of_stored = (["stored"] if stored else []) + (["first trace id"] if is_traced else [])
    columns = (*texts, "count", "first s", "last s", *of_stored)
    return table(columns, rows, text_columns=len(texts))


def failed_transactions(summary: RunSummary) -> str:
    """Return how often each Transaction Controller failed because of its samples; empty without failed samples."""
    groups = [group for group in summary.groups if group.name != LOAD or summary.whole is None]
    labels = [label for group in (*groups, *([summary.whole] if summary.whole else [])) for label in group.labels]
    of_requests = Counter[str]()
    for label in labels:
        of_requests[label.label] += 0 if label.is_transaction else label.error_count
    if not of_requests.total():
        return ""
    listed = Counter[str]()
    for kind in summary.errors:
        listed[kind.label] += kind.count
    # A request may have the name of the transaction.
    own = {name: max(0, count - of_requests[name]) for name, count in listed.items()}
    counts = [(label.label, label.error_count - own.get(label.label, 0)) for label in labels if label.is_transaction]
    return ", ".join(f"{cell(name)} {count}" for name, count in counts if count > 0)
