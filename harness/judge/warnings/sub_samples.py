"""Warns that parts of samples are counted beside them.

Seen: rows of redirects, embedded resources and other parts are counted beside the row that includes them.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.judge.evidence import LABELS_NAMED, Evidence, Values
from harness.judge.warning_kind import ReportPart, WarningKind
from harness.metrics.threads import FIRST_SUB_SAMPLE


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield the labels whose parts have rows of their own."""
    labels = dict.fromkeys(code.label for code in evidence.codes)
    if doubled := [label for label in labels if f"{label}{FIRST_SUB_SAMPLE}" in labels]:
        what = f"Redirects and embedded resources have rows of their own beside their request ({_named(doubled)})"
        remedy = "jmeter.save.saveservice.subresults=false writes the requests alone."
        yield {"what": what, "remedy": remedy}
    if parents := [label for label in evidence.threads.parents if label not in doubled]:
        what = f"Rows include other rows of their thread ({_named(parents)})"
        remedy = "Of a Transaction Controller, the column responseMessage marks them; else save no subresults."
        yield {"what": what, "remedy": remedy}


def _named(labels: list[str]) -> str:
    return ", ".join(labels[:LABELS_NAMED]) + (", …" if len(labels) > LABELS_NAMED else "")


WARNING = WarningKind(
    code="sub-samples",
    since="1.0.0",
    concerns=(ReportPart.COUNT,),
    needs=("codes",),
    text="{what}: TOTAL counts both. {remedy}",
    page=__doc__,
    found_in=found_in,
)
