"""Warns that parts of samples are counted beside them.

Seen: rows of redirects and embedded resources are counted beside their request.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.judge.evidence import LABELS_NAMED, Evidence, Values
from harness.judge.warning_kind import ReportPart, WarningKind

# How JMeter names the first part of a sample: GET /-0 beside GET /.
_FIRST_SUB_SAMPLE = "-0"


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield the labels whose parts have rows of their own."""
    labels = dict.fromkeys(code.label for code in evidence.codes)
    if doubled := [label for label in labels if f"{label}{_FIRST_SUB_SAMPLE}" in labels]:
        yield {"labels": ", ".join(doubled[:LABELS_NAMED]) + (", …" if len(doubled) > LABELS_NAMED else "")}


WARNING = WarningKind(
    code="sub-samples",
    since="1.0.0",
    concerns=(ReportPart.COUNT,),
    needs=("codes",),
    text="Redirects and embedded resources have rows of their own beside their request ({labels}): TOTAL counts "
    "both. jmeter.save.saveservice.subresults=false writes the requests alone.",
    page=__doc__,
    found_in=found_in,
)
