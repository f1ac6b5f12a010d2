"""Repeats the notes of the plan about its statistics.

Seen: the plan itself has a warning.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.judge.evidence import Evidence, Values
from harness.judge.warning_kind import ReportPart, WarningKind


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield the notes of the plan about its statistics."""
    yield from ({"note": note} for note in (evidence.run.plan_notes if evidence.run else ()))


WARNING = WarningKind(
    code="plan",
    since="1.0.0",
    concerns=(ReportPart.SYSTEM,),
    needs=("run",),
    text="{note}",
    page=__doc__,
    found_in=found_in,
)
