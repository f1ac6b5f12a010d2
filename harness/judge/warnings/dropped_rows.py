"""Warns that records of the JTL could not be used.

Seen: records of the JTL could not be used.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.base import units
from harness.judge.evidence import Evidence, Values
from harness.judge.warning_kind import ReportPart, WarningKind


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield how many records could not be used, and the first of them."""
    dropped = evidence.dropped
    if dropped.count:
        more = " and more" if dropped.count > len(dropped.first) else ""
        yield {"records": units.plural(dropped.count, "record"), "first": f"{dropped.first_text}{more}"}


WARNING = WarningKind(
    code="dropped-rows",
    since="1.0.0",
    concerns=(ReportPart.VERDICT, ReportPart.COUNT),
    needs=("dropped",),
    brief="{records} of the JTL could not be used",
    text="No metric includes them ({first}). Look at these lines: a full disk or a killed JMeter leaves torn ones.",
    page=__doc__,
    found_in=found_in,
)
