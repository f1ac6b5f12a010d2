"""Warns that a clock was set during the run.

Seen: Time stamps go back, or the run took another time by the wall clock than by the monotonic clock, by 2 s or more
(INVALID from 10 % of the run on).

Why it matters: Throughput is samples per time. When the clock jumps, throughput, charts over time and the measurement
window are wrong.

What to do: Let NTP slew the clock (chrony without `makestep` after the start), and run again. Of a bare JTL: give the
files one by one, `lth table FILE FILE`.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.judge.clock import clock_set_text
from harness.judge.evidence import Evidence, Values
from harness.judge.warning_kind import ReportPart, Severity, WarningKind


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield where a clock was set, as the record or the rows show it, and what to do."""
    step = evidence.clock_step
    if step and evidence.run:
        brief = clock_set_text(step)
        advice = "Have NTP slew the clock instead of setting it, and run again."
        yield {"brief": brief, "what": f"{step.evidence[:1].upper()}{step.evidence[1:]}", "advice": advice}
    elif step:
        brief = "A clock was set, or several files were put together"
        advice = "Give the files one by one: lth table FILE FILE adds them up."
        yield {"brief": brief, "what": f"In the JTL {step.evidence}", "advice": advice}


WARNING = WarningKind(
    code="clock-step",
    since="1.0.0",
    severity=Severity.DOUBTFUL,
    concerns=(ReportPart.VERDICT, ReportPart.WINDOW),
    needs=("clock_step",),
    hides=("users-time", "one-state"),
    brief="{brief}",
    text="{what}, so throughput and all times of the run may be wrong. {advice}",
    page=__doc__,
    found_in=found_in,
)
