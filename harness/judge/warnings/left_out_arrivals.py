"""Warns that arrivals of an open load had no room in the load generator.

Seen: An open load (`--rate`) had more users waiting than JMeter's heap has room for. JMeter did not start the users who
came then.

Why it matters: The rate was lower than requested, and the waiting of the missing users is in no percentile: the system
looks better than it is.

What to do: The system could not keep up: read its errors and p99 first. Use a lower rate, or raise `heap_mb` in
`[generator]` of the profile.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.judge.evidence import Evidence, Values
from harness.judge.warning_kind import ReportPart, Severity, WarningKind


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield how many arrivals of an open load had no room in the load generator."""
    run = evidence.run
    if run and run.left_out_arrivals:
        count, plural = run.left_out_arrivals, "s were" if run.left_out_arrivals > 1 else " was"
        heap, most = str(run.generator_heap_mb), f"{run.users_most:,}"
        yield {"arrivals": f"{count:,} arrival{plural}", "most": most, "heap": heap}


WARNING = WarningKind(
    code="left-out-arrivals",
    since="1.1.0",
    severity=Severity.DOUBTFUL,
    concerns=(ReportPart.VERDICT, ReportPart.LOAD),
    needs=("run",),
    brief="{arrivals} not made: {most} users were waiting",
    text="The system was slower than the rate. Each waiting user takes memory of the load generator, whose heap of "
    "{heap} MB has room for {most}. Look at the errors and the p99; drive a lower rate, or raise heap_mb in "
    "[generator] of the profile.",
    page=__doc__,
    found_in=found_in,
)
