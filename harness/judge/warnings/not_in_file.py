"""Warns that the file of another tool lacks something.

Seen: the file of another tool lacks errors or exact times.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.judge.evidence import Evidence, Values
from harness.judge.warning_kind import ReportPart, WarningKind


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield what the file of another tool does not say."""
    yield from ({"what": what} for what in evidence.dropped.unknown)


WARNING = WarningKind(
    code="not-in-file",
    since="1.1.0",
    concerns=(ReportPart.VERDICT, ReportPart.ERRORS),
    needs=("dropped",),
    text="{what}.",
    page=__doc__,
    found_in=found_in,
)
