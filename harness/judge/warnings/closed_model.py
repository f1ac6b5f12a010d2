"""Notes that the load is a closed one.

Seen: the load is a closed one.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.judge.evidence import Evidence, Values
from harness.judge.warning_kind import ReportPart, Severity, WarningKind


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield that users wait for their answers."""
    if evidence.run and not evidence.is_open:
        yield {}  # its text is complete


WARNING = WarningKind(
    code="closed-model",
    since="1.0.0",
    severity=Severity.NOTE,
    concerns=(ReportPart.LOAD,),
    needs=("run",),
    text="Closed model: a user waits for an answer before the next request, so a slow system is asked less often "
    "and waiting is hidden. --rate=… drives at a fixed arrival rate.",
    page=__doc__,
    found_in=found_in,
)
