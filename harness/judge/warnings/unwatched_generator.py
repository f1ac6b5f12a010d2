"""Warns that the CPU of load generators was not watched.

Seen: generators ran on other machines: their CPU is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.judge.evidence import Evidence, Values
from harness.judge.machines import driven
from harness.judge.warning_kind import ReportPart, WarningKind


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield the generators on other machines."""
    if unwatched := [one.name for one in driven(evidence) if not one.is_local]:
        yield {"names": ", ".join(unwatched)}


WARNING = WarningKind(
    code="unwatched-generator",
    since="1.0.0",
    concerns=(ReportPart.GENERATOR,),
    needs=("run",),
    brief="The CPU of load generators on other machines was not watched",
    text="Whether {names} limited the load is not known. Watch CPU and memory there, or drive from more generators "
    "and see whether the times stay.",
    page=__doc__,
    found_in=found_in,
)
