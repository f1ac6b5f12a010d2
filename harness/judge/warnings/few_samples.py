"""Warns that there are too few samples for the last percentiles.

Seen: fewer than 1,000 samples for a p95, 5,000 for a p99.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.base import units
from harness.judge.evidence import Evidence, Values
from harness.judge.warning_kind import ReportPart, WarningKind
from harness.metrics.metric import metric_of

# The 95 % interval of a p99 is 23 % of its value at 1,000 samples and 7 % at 20,000.
P95_LEAST_SAMPLES = metric_of("p95").samples_least
P99_LEAST_SAMPLES = metric_of("p99").samples_least


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield how many samples there are, and the percentiles that need more."""
    if evidence.load and evidence.load.sample_count < P99_LEAST_SAMPLES:
        count = evidence.load.sample_count
        p95 = f"p95 ({P95_LEAST_SAMPLES}) or " if count < P95_LEAST_SAMPLES else ""
        yield {"samples": units.plural(count, "sample"), "least": f"{p95}p99 ({P99_LEAST_SAMPLES})"}


WARNING = WarningKind(
    code="few-samples",
    since="1.0.0",
    concerns=(ReportPart.TAIL,),
    needs=("load",),
    is_of_answers=True,
    text="{samples}: too few for a {least}. Run longer before you compare these percentiles.",
    page=__doc__,
    found_in=found_in,
)
