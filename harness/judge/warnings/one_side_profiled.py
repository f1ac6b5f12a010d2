"""Warns that only one side of a comparison was profiled.

Seen: only one side of a comparison was [profiled](profile.md).
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.judge.evidence import Evidence, Values
from harness.judge.warning_kind import ReportPart, WarningKind


def found_in(_evidence: Evidence) -> Iterator[Values]:
    """Yield nothing: it is not about one run; harness/compare/comparison_warnings.py finds it."""
    yield from ()


WARNING = WarningKind(
    code="one-side-profiled",
    since="1.0.0",
    concerns=(ReportPart.VERDICT,),
    text="Only one side is profiled: {profiled}; not profiled: {others}. Recording takes CPU time of the system: "
    "the profiled side can be slower by that alone. Compare profiled runs with profiled ones.",
    page=__doc__,
    found_in=found_in,
)
