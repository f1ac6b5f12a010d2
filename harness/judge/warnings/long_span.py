"""Warns that the samples of one run are many days apart.

Seen: The first and the last sample are more than 31 days apart.

Why it matters: The file contains several runs, or a clock was wrong. The throughput is spread over that time, and there
are no charts.

What to do: Look at the smallest and largest `timeStamp` of the file. Remove the rows of the wrong time, or split the
file.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.judge.evidence import Evidence, Values
from harness.judge.warning_kind import ReportPart, Severity, WarningKind
from harness.metrics.timeline import SPAN_MAX_S


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield how many days the samples of one run may span, where they span more."""
    if not evidence.is_span_known:
        yield {"days": str(SPAN_MAX_S // (24 * 3600))}


WARNING = WarningKind(
    code="long-span",
    since="1.0.0",
    severity=Severity.DOUBTFUL,
    concerns=(ReportPart.VERDICT,),
    needs=("is_span_known",),
    brief="The samples are more than {days} days apart",
    text="A clock was set, or the file contains several runs: rates are wrong, and there are no charts over time. "
    "Split the file, or drop the samples of the wrong time.",
    page=__doc__,
    found_in=found_in,
)
