"""Warns that the samples of one load generator took much longer than those of the others.

Seen: The samples of one load generator took at least 1.5 times as long as those of all others, and 5 ms longer.

Why it matters: All drive the same system, so that generator's machine or network causes the difference. The percentiles
include it.

What to do: Compare its CPU and its network path with those of the others. Run without it to see the system alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.judge.evidence import COARSE_CLOCK_MS, Evidence, Values
from harness.judge.warning_kind import ReportPart, Severity, WarningKind
from harness.metrics.generators import GeneratorFigures

# Generators of one load differ by chance: an average of 200 samples as scattered as response times are by a seventh.
SLOW_GENERATOR_RATIO = 1.5
SLOW_GENERATOR_LEAST_SAMPLES = 200
# One sample of half a minute raises an average, but not a p90.
SLOW_GENERATOR_P90_RATIO = 1.1


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield the generators whose samples took much longer than those of the others, of the same labels."""
    if slow := [one.name for one in evidence.generators if _is_slow(one, evidence)]:
        yield {"names": ", ".join(slow), "factor": f"{SLOW_GENERATOR_RATIO:g}"}


def _is_slow(generator: GeneratorFigures, evidence: Evidence) -> bool:
    shared = evidence.shared_work.get(generator.name)
    others_p90_ms = max((one.p90_ms or 0 for one in evidence.generators if one is not generator), default=0)
    return (
        shared is not None
        and min(shared.sample_count, shared.others_count) >= SLOW_GENERATOR_LEAST_SAMPLES
        and shared.average_ms >= max(SLOW_GENERATOR_RATIO * shared.others_ms, shared.others_ms + COARSE_CLOCK_MS)
        and (generator.p90_ms or 0) >= SLOW_GENERATOR_P90_RATIO * others_p90_ms
    )


WARNING = WarningKind(
    code="slow-generator",
    since="1.0.0",
    severity=Severity.DOUBTFUL,
    concerns=(ReportPart.VERDICT, ReportPart.GENERATORS),
    needs=("shared_work",),
    brief="Load generator {names} was at least {factor} times as slow as the others",
    text="It or its network, not the system, may have been measured. Look at its CPU, or drive without it.",
    page=__doc__,
    found_in=found_in,
)
