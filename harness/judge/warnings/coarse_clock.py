"""Warns that the median is near the resolution of the clock.

Seen: the median is below 5 ms, and times are whole milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.judge.evidence import COARSE_CLOCK_MS, Evidence, Values
from harness.judge.warning_kind import ReportPart, WarningKind


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield the median where a step of the clock is much of it."""
    if evidence.load and evidence.load.median_ms < COARSE_CLOCK_MS:
        yield {"median": f"{evidence.load.median_ms}"}


WARNING = WarningKind(
    code="coarse-clock",
    since="1.0.0",
    concerns=(ReportPart.MEDIAN,),
    needs=("load",),
    is_of_answers=True,
    text="The median is {median} ms: response times are near the 1 ms clock resolution. Compare averages and req/s "
    "instead of percentiles.",
    page=__doc__,
    found_in=found_in,
)
