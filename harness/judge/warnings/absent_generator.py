"""Warns that a load generator began late or ended early.

Seen: One load generator began later or ended earlier than the others, by more than 5 s and 2 % of the run.

Why it matters: For that time the load was smaller than requested, and users and throughput of the run are averages over
two different loads.

What to do: Read the log of that generator for failed starts, full disks or lost connections. Check that all have the
same plan and data, and run again.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.base import units
from harness.judge.evidence import Evidence, Values
from harness.judge.warning_kind import ReportPart, Severity, WarningKind

# Generators start within a second or two of each other. One that is absent for longer than this changes the load.
ABSENT_LEAST_S = 5.0
ABSENT_RATIO = 0.02


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield the generators that began late or ended early."""
    generators = evidence.generators
    if not generators:
        return
    first_s, last_s = min(one.first_s for one in generators), max(one.last_s for one in generators)
    least_s = max(ABSENT_LEAST_S, ABSENT_RATIO * (last_s - first_s))
    longest_s = (evidence.longest_ms or 0) / units.MS_PER_S
    late = [one for one in generators if one.first_s - first_s > least_s]
    # A sample that takes long ends late: without one a generator may seem to have stopped before the others.
    early = [one for one in generators if last_s - one.last_s > least_s + longest_s]
    if late or early:
        began = ", ".join(f"{one.name} {one.first_s:.0f} s" for one in late)
        ended = ", ".join(f"{one.name} {one.last_s:.0f} s" for one in early)
        when = [f"began late ({began})"] * bool(late) + [f"ended early ({ended})"] * bool(early)
        names = ", ".join(dict.fromkeys(one.name for one in (*late, *early)))
        yield {"names": names, "when": " or ".join(when), "first": f"{first_s:.0f}", "last": f"{last_s:.0f}"}


WARNING = WarningKind(
    code="absent-generator",
    since="1.0.0",
    severity=Severity.DOUBTFUL,
    concerns=(ReportPart.VERDICT, ReportPart.GENERATORS),
    needs=("generators",),
    brief="Load generator {names} was absent for part of the load",
    text="The load lasted from {first} s to {last} s, but generators {when}. Look into their logs, and run again.",
    page=__doc__,
    found_in=found_in,
)
