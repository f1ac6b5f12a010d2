"""Warns that there are so few samples that every average depends on chance.

Seen: Fewer than 100 samples are in the measurement window.

Why it matters: The p90 of 100 samples depends on its ten slowest; with fewer, chance decides. A p95 needs 1,000 and a
p99 needs 5,000 samples.

What to do: Run longer, with more users, or with less think time. Repeats help, too: `lth sweep --repeat=3` counts them
together.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.judge.evidence import Evidence, Values, longer, of_least_samples_s
from harness.judge.warning_kind import ReportPart, Severity, WarningKind
from harness.metrics.window import LEAST_SAMPLES


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield how many samples there are where any average depends on chance, and what to do."""
    if evidence.load and evidence.load.sample_count < LEAST_SAMPLES:
        remedy = longer(evidence, of_least_samples_s(evidence))
        yield {"count": str(evidence.load.sample_count), "least": str(LEAST_SAMPLES), "remedy": remedy}


WARNING = WarningKind(
    code="too-few-samples",
    since="1.0.0",
    severity=Severity.DOUBTFUL,
    concerns=(ReportPart.VERDICT, ReportPart.COUNT),
    needs=("load",),
    hides=("few-samples",),
    is_of_answers=True,
    brief="Too few samples: {count} measured, {least} needed",
    text="Averages and percentiles of so few depend on chance. {remedy}",
    page=__doc__,
    found_in=found_in,
)
