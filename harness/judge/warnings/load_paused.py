"""Warns that the load itself paused.

Seen: no sample ended for a while and few waited, but no row is missing and no clock was set: timers or schedules of the
plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.judge.evidence import Evidence, Values, gaps_text, named_length
from harness.judge.warning_kind import ReportPart, WarningKind


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield the gaps in which the load paused: no row is missing, no clock was set, and too few requests waited."""
    if pauses := evidence.pauses:
        yield {"length": named_length(pauses), "gaps": gaps_text(pauses)}


WARNING = WarningKind(
    code="load-paused",
    since="1.2.0",
    concerns=(ReportPart.WINDOW,),
    needs=("run", "gaps"),
    text="The load paused: no sample ended for {length} ({gaps}), few requests waited, and no row is missing. Look "
    "at the timers and the schedule of the plan.",
    page=__doc__,
    found_in=found_in,
)
