"""Warns that failed samples are among those counted.

Seen: failed samples are among those counted.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.base import units
from harness.judge.evidence import Evidence, Values
from harness.judge.warning_kind import ReportPart, WarningKind


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield how many samples of the window failed."""
    if evidence.load and evidence.load.error_count:
        yield {"samples": units.plural(evidence.load.error_count, "failed sample")}


WARNING = WarningKind(
    code="errors-in-figures",
    since="1.0.0",
    concerns=(ReportPart.ERRORS,),
    needs=("load",),
    is_of_answers=True,
    text="All metrics include {samples}: times of failures are not times of work. Read the errors before the "
    "times; --successful of lth table and lth report shows those of the others.",
    page=__doc__,
    found_in=found_in,
)
