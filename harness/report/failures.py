"""Counts the stored failures of a run, and writes them as a page with a section for each row of the table of errors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from harness.base.units import plural
from harness.metrics.tally import ErrorKey
from harness.report.exchanges import Section, exchange_page
from harness.report.summary import RunSummary, StoredFailures
from harness.run.exchanges import Exchange


def stored_failures(exchanges: Iterable[Exchange]) -> tuple[StoredFailures, ...]:
    """Return how many exchanges there are of each cause, in order of appearance."""
    of_cause: dict[ErrorKey, list[Exchange]] = {}
    for one in exchanges:
        of_cause.setdefault(one.key, []).append(one)
    return tuple(
        StoredFailures(*key, len(found), tuple(one.trace_id for one in found if one.trace_id))
        for key, found in of_cause.items()
    )


def anchor(number: int) -> str:
    """Return the id of the section for a row of the table of errors, counted from 0."""
    return f"error-{number + 1}"


def failures_page(summary: RunSummary, exchanges: Sequence[Exchange]) -> str:
    """Return the page: a section for each row of the table of errors, then the causes that the table does not list."""
    counts = {ErrorKey(kind.label, kind.code, kind.cause): kind.count for kind in summary.errors}
    others = dict.fromkeys(one.key for one in exchanges if one.key not in counts)
    sections = []
    for number, key in enumerate((*counts, *others)):
        if own := [one for one in exchanges if one.key == key]:
            count = plural(counts[key], "failure") if key in counts else "not in the table of errors"
            heading = f"{key.label}: {key.code} {key.cause} ({count}; the first {len(own)})"
            sections.append(Section(anchor(number), heading, (), own))
    return exchange_page(f"Failed requests of {summary.source}", sections)
