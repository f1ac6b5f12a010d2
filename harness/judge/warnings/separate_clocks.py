"""Warns that the runs of a merged run have the times of different clocks.

Seen: the run was merged from runs of independent generators.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.judge.evidence import Evidence, Values
from harness.judge.machines import parts_of
from harness.judge.warning_kind import ReportPart, WarningKind


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield for how long all generators of a merged run drove together, by their own clocks."""
    generators = evidence.generators
    if generators and evidence.run and evidence.run.is_merged and not parts_of(evidence):
        firsts_s, lasts_s = zip(*((one.first_s, one.last_s) for one in generators), strict=True)
        together, whole = f"{max(0.0, min(lasts_s) - max(firsts_s)):.0f}", f"{max(lasts_s) - min(firsts_s):.0f}"
        yield {"count": str(len(generators)), "together": together, "whole": whole}


WARNING = WarningKind(
    code="separate-clocks",
    since="1.0.0",
    concerns=(ReportPart.GENERATORS,),
    needs=("run", "generators"),
    text="The {count} merged runs have their seconds from the clocks of different machines. By these clocks all "
    "drove together for {together} of {whole} s. Have NTP set the clocks: charts over time and the measurement "
    "window depend on them.",
    page=__doc__,
    found_in=found_in,
)
