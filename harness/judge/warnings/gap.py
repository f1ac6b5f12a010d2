"""Warns that rows are missing, or that the time between two of them never passed.

Seen: JMeter wrote more rows than the JTL has. Or the number is not known, and no sample ended for a while, but too few
waited for a stall (INVALID from 10 % on).

Why it matters: Rows are missing, so counts and throughput are too low, or the time between them never passed.

What to do: Look for a full disk or a killed JMeter in `jmeter.log`, and run again. To use one part of the file:
`lth table FILE --window FROM..TO`.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.judge.account import hole_cause, missing_rows_text
from harness.judge.evidence import Evidence, Values, gaps_text, named_length
from harness.judge.warning_kind import ReportPart, Severity, WarningKind


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield how many rows are missing, or how long the gaps are that nothing explains, and the throughput without."""
    holes, load, rest = evidence.holes, evidence.load, ""
    if evidence.missing_row_count:
        brief = missing_rows_text(evidence)
        where = f" No sample ended from {gaps_text(holes)}." if holes else ""
        why = f"All numbers lack them: a full disk loses rows, and so does a file that was cut.{where}"
        yield {"brief": f"{brief[:1].upper()}{brief[1:]}", "why": why}
        return
    if not holes:
        return
    hole_s = sum(gap.length_s for gap in holes)
    if load and load.rate_per_s and evidence.window.length_s == evidence.window.run_s:
        rest_s = load.sample_count / load.rate_per_s - hole_s
        rest = f" Without it the throughput is {load.sample_count / rest_s:.1f} req/s." if rest_s >= 1 else ""
    cause = hole_cause(evidence)
    brief = f"{cause[:1].upper()}{cause[1:]}: no samples for {named_length(holes)}"
    yield {"brief": brief, "why": f"This is no stall: too few samples waited meanwhile ({gaps_text(holes)}).{rest}"}


WARNING = WarningKind(
    code="gap",
    since="1.0.0",
    severity=Severity.DOUBTFUL,
    concerns=(ReportPart.VERDICT, ReportPart.WINDOW),
    hides=("littles-law", "not-steady"),
    brief="{brief}",
    text="{why} Run again, or count one part: lth table FILE --window FROM..TO.",
    page=__doc__,
    found_in=found_in,
)
