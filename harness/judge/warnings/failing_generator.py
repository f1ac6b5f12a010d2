"""Warns that the samples of one load generator failed much more often than those of the others.

Seen: One load generator had at least twice the share of errors of the others, and 1 point more.

Why it matters: The system is the same for all of them. A cause at that generator, such as used-up ports, missing data
files or a firewall, makes the error rate wrong.

What to do: Read its `jmeter.log` and the failed samples. Correct it, or drive without it.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.judge.evidence import Evidence, Values
from harness.judge.warning_kind import ReportPart, Severity, WarningKind
from harness.metrics.generators import SharedWork

FAILING_GENERATOR_RATIO = 2.0
FAILING_GENERATOR_LEAST_RATIO = 0.01
FAILING_GENERATOR_LEAST_ERRORS = 10


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield the generators with a much higher share of failed samples than the others, of the same labels."""
    if failing := [one for one, shared in evidence.shared_work.items() if _is_failing(shared)]:
        yield {"names": ", ".join(failing), "factor": f"{FAILING_GENERATOR_RATIO:g}"}


def _is_failing(shared: SharedWork) -> bool:
    ratio = shared.others_error_ratio
    least = max(FAILING_GENERATOR_RATIO * ratio, ratio + FAILING_GENERATOR_LEAST_RATIO)
    return shared.error_count >= FAILING_GENERATOR_LEAST_ERRORS and shared.error_ratio >= least


WARNING = WarningKind(
    code="failing-generator",
    since="1.0.0",
    severity=Severity.DOUBTFUL,
    concerns=(ReportPart.VERDICT, ReportPart.GENERATORS),
    needs=("shared_work",),
    brief="Load generator {names} failed at least {factor} times as often as the others",
    text="It may not reach the system, or lack data or ports. Look into its log, or drive without it.",
    page=__doc__,
    found_in=found_in,
)
