"""Warns that a stop condition ended the run.

Seen: A stop condition of the run (`STOP`, or `[stop]` of the plan) was met.

Why it matters: The numbers cover only the time before the stop, in which the system was already in trouble. The run
missed a goal.

What to do: Look at the errors and slow requests before the stop, or use fewer users. `--stop=none` runs to the end in
spite of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.judge.evidence import Evidence, Values
from harness.judge.warning_kind import ReportPart, Severity, WarningKind


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield the stop condition that ended the run."""
    if evidence.run and evidence.run.stopped_early:
        yield {"why": evidence.run.stopped_early}


WARNING = WarningKind(
    code="stopped-early",
    since="1.1.0",
    severity=Severity.DOUBTFUL,
    concerns=(ReportPart.VERDICT,),
    needs=("run",),
    hides=("too-short", "too-few-samples", "few-samples"),
    brief="Stopped early: {why}",
    text="The numbers cover only the time before the stop. Look at what failed or was slow then; --stop=none runs to "
    "the end.",
    page=__doc__,
    found_in=found_in,
)
