"""Warns that a load generator was stopped for a while.

Seen: The load generator's process was stopped by a signal such as SIGSTOP, by a debugger, or with the container.

Why it matters: It sent nothing in that time. Samples that were in flight look longer than they were: the percentiles
are those of the pause.

What to do: Do not suspend the machine, the terminal job (Ctrl-Z) or the container during a run.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.base import units
from harness.judge.evidence import Evidence, Values
from harness.judge.warning_kind import ReportPart, Severity, WarningKind


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield when a signal or a debugger had stopped a load generator."""
    for stop in evidence.stops:
        length = units.duration_text(stop.to_s - stop.from_s)
        yield {"process": stop.process, "length": length, "when": f"{stop.from_s:.0f} s to {stop.to_s:.0f} s"}


WARNING = WarningKind(
    code="generator-stopped",
    since="1.0.0",
    severity=Severity.DOUBTFUL,
    concerns=(ReportPart.VERDICT, ReportPart.TAIL),
    needs=("stops",),
    brief="The load generator was stopped for {length} ({when})",
    text="A signal such as SIGSTOP or a debugger stopped {process}: it sent nothing, and samples of that time seem "
    "longer. Run again.",
    page=__doc__,
    found_in=found_in,
)
