"""Warns that the JTL contains several runs.

Seen: The JTL has another header line in the middle: JMeter appended a second run to the same file.

Why it matters: All numbers mix several runs, and the time between them counts as time without load.

What to do: Split the file at the named lines and give the parts: `lth table A.jtl B.jtl`. Delete or rename
the JTL before JMeter writes to it again.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.judge.evidence import Evidence, Values
from harness.judge.warning_kind import ReportPart, Severity, WarningKind


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield the lines of further headers, and how many runs they make."""
    if lines := evidence.dropped.header_lines:
        yield {"lines": ", ".join(map(str, lines)), "count": str(len(lines) + 1)}


WARNING = WarningKind(
    code="appended",
    since="1.0.0",
    severity=Severity.DOUBTFUL,
    concerns=(ReportPart.VERDICT, ReportPart.COUNT),
    needs=("dropped",),
    hides=("clock-step", "long-span", "one-state"),
    brief="The JTL contains {count} runs, one after the other",
    text="A header is repeated in line {lines}. Split the file there, or count one run: "
    "lth table FILE --window FROM..TO.",
    page=__doc__,
    found_in=found_in,
)
