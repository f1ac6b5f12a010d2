"""Warns that a closed load waited long enough to hide slow samples.

Seen: No sample of a closed load ended for 3 s or 5 % of the window, while all users waited.

Why it matters: Waiting users of a closed load send nothing. A stall of 10 s is one slow sample per user, so percentiles
hide it.

What to do: Look at garbage collections, locks and the system's log at that time. Read the corrected times, or measure
with a fixed arrival rate: `--rate=100`.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.judge.evidence import Evidence, Values, stall_values
from harness.judge.warning_kind import ReportPart, Severity, WarningKind


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield the stalls of a closed load that are long enough to hide slow samples."""
    if evidence.long_stalls and not evidence.is_open:
        yield stall_values(evidence)


WARNING = WarningKind(
    code="stall",
    since="1.0.0",
    severity=Severity.DOUBTFUL,
    concerns=(ReportPart.VERDICT, ReportPart.TAIL),
    needs=("gaps",),
    is_of_answers=True,
    brief="The system stalled: no sample ended for {length}{users}",
    text="Users of a closed load send nothing meanwhile, so percentiles hide it ({gaps}): read the corrected "
    "times. Look at the system's logs at that time, or drive with --rate=….",
    page=__doc__,
    found_in=found_in,
)
