"""Warns that the median is near the resolution of the clock.

Seen: the median is below five steps of the clock.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from harness.judge.evidence import COARSE_CLOCK_MS, Evidence, Values
from harness.judge.warning_kind import ReportPart, WarningKind

# So many different times are no multiples of a step by chance; nor those of the clock of Windows, which are rounded.
_TIMES_LEAST, _WINDOWS_MS, _OF_WINDOWS_LEAST = 5, 15.625, 8


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield the median where a step of the clock is much of it, and the step."""
    if evidence.load is None:
        return
    step_ms = _step_ms(evidence.load.counts.histogram.counts)
    if evidence.load.median_ms < COARSE_CLOCK_MS * step_ms:
        yield {"median": f"{evidence.load.median_ms}", "step": f"{step_ms:.0f}"}


def _step_ms(counts: Mapping[int, int]) -> float:
    """Return the step of the clock that measured these times."""
    if len(counts) < _TIMES_LEAST:
        return 1.0
    if (step_ms := math.gcd(*counts)) > 1:
        return float(step_ms)
    if len(counts) >= _OF_WINDOWS_LEAST and all(_is_near(each_ms) for each_ms in counts):
        return _WINDOWS_MS
    return 1.0


def _is_near(time_ms: int) -> bool:
    """Return whether a time is a multiple of the clock of Windows."""
    return abs(time_ms - round(time_ms / _WINDOWS_MS) * _WINDOWS_MS) <= 1


WARNING = WarningKind(
    code="coarse-clock",
    since="1.0.0",
    concerns=(ReportPart.MEDIAN,),
    needs=("load",),
    is_of_answers=True,
    text="The median is {median} ms: response times are near the {step} ms clock resolution. Compare averages and "
    "req/s instead of percentiles.",
    page=__doc__,
    found_in=found_in,
)
