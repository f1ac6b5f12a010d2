"""Warns that profiling took much of the system's CPU time.

Seen: The parts of a profile together took more than 3 % of the CPU time of a JVM, or of one core if it used less.

Why it matters: The system is slower than without the profile: compare with profiled runs only.

What to do: Run without a profile for the numbers, and with one to find a cause.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.base import units
from harness.judge.evidence import Evidence, Values
from harness.judge.warning_kind import ReportPart, Severity, WarningKind

_MOST_RATIO = 0.03


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield the JVMs whose profile cost much."""
    for profile in evidence.profiles:
        ratio = sum(cost.ratio for cost in profile.costs)
        if ratio > _MOST_RATIO:
            most = profile.costs[0]
            share = units.percent_text(most.ratio, 1)
            yield {
                "process": profile.process,
                "percent": units.percent_text(ratio, 1),
                "part": f"{most.part} {share} %",
            }


WARNING = WarningKind(
    code="profile-cost",
    since="1.2.0",
    severity=Severity.DOUBTFUL,
    concerns=(ReportPart.VERDICT, ReportPart.SYSTEM),
    needs=("run", "profiles"),
    brief="Profiling took {percent} % of the CPU time of {process}",
    text="Most of it: {part}. The system is slower than without. Run without a profile for the numbers, and with one "
    "for causes.",
    page=__doc__,
    found_in=found_in,
)
