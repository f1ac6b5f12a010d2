"""Compares any part of the measurement window with any other: an average is a number of one state only.

Seen: Response times or throughput changed during the measurement: they drifted, jumped, or differed for a while.

Why it matters: An average over several states is the number of none of them. A longer or shorter run has another
result.

What to do: Look at the charts for the time that the reason names. Run longer if the system was still warming up, or
count one part: `./aggregate.py table FILE --window 2m..5m`.
"""

from __future__ import annotations

from harness.base import units
from harness.judge.account.line import Balance, LineKind, Sides
from harness.judge.evidence import Evidence
from harness.judge.warning_kind import ReportPart


def measure(evidence: Evidence) -> Sides:
    """Return the average of the window, and whether it is that of its parts."""
    window, load = evidence.window, evidence.load
    if load is None or window.is_steady is None or not evidence.is_span_known or window.is_too_short:
        return Sides()
    left, right = f"average {units.average_text(load.average_ms)} ms", "the same in all parts"
    if not window.reason:
        return Sides(left, right, None, Balance.BALANCED)
    advice = (
        f"{_lost_cpu_text(evidence)}Averages and percentiles mix several states. Run longer, or count one interval: "
        "./aggregate.py table FILE --window FROM..TO."
    )
    return Sides(left, window.reason, None, Balance.DOUBT, f"Not steady: {window.reason}", advice)


def _lost_cpu_text(evidence: Evidence) -> str:
    """Return a sentence about the CPU that the run lost, and a blank; empty without one."""
    lost = evidence.lost_cpu
    if lost is None or evidence.run is None:
        return ""
    of = f"{lost.cores:.1f} of {units.plural(evidence.run.host.cpu_count, 'core')}"
    what = f"The hypervisor took {of}" if lost.is_stolen else f"Other programs used {of}"
    during, rest = (units.average_text(average) for average in (lost.during_ms, lost.else_ms))
    when = f"from {lost.from_s} s to {lost.to_s} s, when the average was {during} ms instead of {rest} ms"
    return f"{what} {when}; without these seconds the run is steady. "


LINE = LineKind(
    code="one-state",
    since="1.2.0",
    title="counted = one state",
    concerns=(ReportPart.VERDICT, ReportPart.WINDOW),
    is_of_answers=True,
    page=__doc__,
    measure=measure,
)
