"""Warns that the measurement window mixes several states.

Seen: Response times or throughput changed during the measurement: they drifted, jumped, or differed for a while.

Why it matters: An average over several states is the number of none of them. A longer or shorter run has another
result.

What to do: Look at the charts for the time that the reason names. Run longer if the system was still warming up, or
count one part: `lth table FILE --window 2m..5m`.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.base import units
from harness.judge.evidence import Evidence, Values
from harness.judge.warning_kind import ReportPart, Severity, WarningKind


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield why the window is not steady, and the CPU that others used in just those seconds."""
    if evidence.is_span_known and evidence.window.reason:
        yield {"why": evidence.window.reason, "lost": _lost_cpu_text(evidence)}


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


WARNING = WarningKind(
    code="not-steady",
    since="1.0.0",
    severity=Severity.DOUBTFUL,
    concerns=(ReportPart.VERDICT, ReportPart.WINDOW),
    needs=("window",),
    is_of_answers=True,
    brief="Not steady: {why}",
    text="{lost}Averages and percentiles mix several states. Run longer, or count one interval: "
    "lth table FILE --window FROM..TO.",
    page=__doc__,
    found_in=found_in,
)
