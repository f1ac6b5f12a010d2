"""Warns that another load test ran at the same time.

Seen: Another load test drove its system from this machine at the same time.

Why it matters: Both shared cores, memory and network. Neither result is its system's alone: comparisons find
differences that do not exist.

What to do: Run one after the other, or on different machines. The report names the other run and its process.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.base import units
from harness.judge.evidence import Evidence, Values
from harness.judge.warning_kind import ReportPart, Severity, WarningKind


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield the runs whose load was on at the same time."""
    if runs := evidence.run.other_runs if evidence.run else ():
        tests = "Another load test" if len(runs) == 1 else f"{len(runs)} other load tests"
        they = "It shares" if len(runs) == 1 else "They share"
        yield {"tests": tests, "they": they, "runs": units.first_two(runs)}


WARNING = WarningKind(
    code="other-run",
    since="1.0.0",
    severity=Severity.DOUBTFUL,
    concerns=(ReportPart.VERDICT, ReportPart.HOST),
    needs=("run",),
    hides=("other-cpu",),
    brief="{tests} ran on this machine at the same time",
    text="{they} its cores and memory: {runs}. Run one after the other.",
    page=__doc__,
    found_in=found_in,
)
