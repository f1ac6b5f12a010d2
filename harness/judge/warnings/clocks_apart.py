"""Warns that the clocks of load generators differ.

Seen: The clock of a load generator was half a second or more from the controller's. Of parts (`--on`) this is
corrected; their clocks were set during the run.

Why it matters: Samples are put together by their time stamps. Users per second, throughput and the measurement window
are shifted.

What to do: Run NTP or chrony on all machines, and check with `chronyc tracking`. Response times are not affected.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.base import units
from harness.judge.evidence import Evidence, Values
from harness.judge.machines import driven, parts_of
from harness.judge.warning_kind import ReportPart, Severity, WarningKind

# Charts over time have whole seconds: half of one puts every second sample into another second.
CLOCKS_APART_MS = 500


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield the generators whose clocks differ from the controller's; of parts what is left after the correction."""
    all_ms = {one.name: one.clock_ahead_ms or 0 for one in driven(evidence)}
    all_ms |= {one.name: one.clock_moved_ms or 0 for one in parts_of(evidence)}
    if apart_ms := {name: ahead_ms for name, ahead_ms in all_ms.items() if abs(ahead_ms) >= CLOCKS_APART_MS}:
        most_ms = max(0, *apart_ms.values()) - min(0, *apart_ms.values())
        clocks = ", ".join(f"{name} {units.ms_text(ahead_ms)} ms" for name, ahead_ms in apart_ms.items())
        yield {"most": f"{units.ms_text(most_ms)} ms", "clocks": clocks}


WARNING = WarningKind(
    code="clocks-apart",
    since="1.0.0",
    severity=Severity.DOUBTFUL,
    concerns=(ReportPart.GENERATORS,),
    needs=("run",),
    brief="The clocks of the load generators differ by {most}",
    text="Users, rates and the measurement window are computed from them. Have NTP set these clocks, and run "
    "again. Ahead of the clock of this machine (negative: behind it): {clocks}.",
    page=__doc__,
    found_in=found_in,
)
