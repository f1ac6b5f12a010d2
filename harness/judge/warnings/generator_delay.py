"""Warns that the load generator added much to the p99.

Seen: A thread of JMeter that sleeps for 10 ms again and again woke up late. By estimate, in more than 5 % of the p99 an
answer had arrived and JMeter did not get to run.

Why it matters: That part of the tail is the generator's: it waited for a core, or for its own garbage collection.

What to do: Drive fewer users, or from a machine of its own, or stop other programs.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.judge.evidence import Evidence, Values
from harness.judge.warning_kind import ReportPart, Severity, WarningKind

# Times of JMeter are whole milliseconds, two readings of its clock apart: less is no part of them.
_LEAST_MS = 2.0
_MOST_RATIO = 0.05


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield what the generator added, where that is much of the p99."""
    delay = evidence.generator_delay
    if delay and delay.added_ms > max(_LEAST_MS, _MOST_RATIO * delay.p99_ms):
        yield {"added": f"{delay.added_ms:.0f}", "p99": str(delay.p99_ms)}


WARNING = WarningKind(
    code="generator-delay",
    since="1.2.0",
    severity=Severity.DOUBTFUL,
    concerns=(ReportPart.VERDICT, ReportPart.GENERATOR),
    needs=("run", "generator_delay"),
    is_of_answers=True,
    brief="The load generator added at least {added} ms to the p99 of {p99} ms",
    text="Its threads did not get to run when answers had arrived: part of the tail is its own, not the system's. "
    "Drive fewer users, or from a machine of its own.",
    page=__doc__,
    found_in=found_in,
)
