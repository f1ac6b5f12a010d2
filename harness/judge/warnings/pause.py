"""Warns of the stalls that do not make a run DOUBTFUL.

Seen: shorter than `stall`, outside of the window, or of an open load.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.judge.evidence import Evidence, Values, stall_values
from harness.judge.warning_kind import ReportPart, WarningKind


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield all other stalls."""
    if evidence.stalls and (evidence.is_open or not evidence.long_stalls):
        yield stall_values(evidence)


WARNING = WarningKind(
    code="pause",
    since="1.0.0",
    concerns=(ReportPart.WINDOW,),
    needs=("gaps",),
    is_of_answers=True,
    text="The system stalled: no sample ended for {length}{users} ({gaps}). Look at its logs and garbage "
    "collections at that time.",
    page=__doc__,
    found_in=found_in,
)
