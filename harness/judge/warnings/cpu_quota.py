"""Warns that processes had to wait for their CPU quota.

Seen: a CPU quota was used up in more than 5 % of its periods.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.base import units
from harness.judge.evidence import Evidence, Values
from harness.judge.warning_kind import ReportPart, WarningKind

# A few throttled periods at the start of a process are usual.
QUOTA_RATIO = 0.05


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield the processes whose CPU quota was used up in many of its periods."""
    if over := [usage for usage in evidence.usages if (usage.throttled_ratio or 0.0) > QUOTA_RATIO]:
        shares = (f"{usage.process} {units.percent_text(usage.throttled_ratio, 0)} %" for usage in over)
        yield {"shares": ", ".join(shares)}


WARNING = WarningKind(
    code="cpu-quota",
    since="1.0.0",
    concerns=(ReportPart.VERDICT, ReportPart.HOST),
    needs=("usages",),
    brief="A CPU quota was used up in part of its periods: {shares}",
    text="These processes wait until the next period, usually 100 ms, and response times include that. Raise the "
    "quota (cpu.max, --cpus), or drive fewer users.",
    page=__doc__,
    found_in=found_in,
)
