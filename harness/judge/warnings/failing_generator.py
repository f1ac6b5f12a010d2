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
from harness.metrics.generators import GeneratorFigures

FAILING_GENERATOR_RATIO = 2.0
FAILING_GENERATOR_LEAST_RATIO = 0.01
FAILING_GENERATOR_LEAST_ERRORS = 10


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield the generators with a much higher share of failed samples than the others."""
    if failing := [one.name for one in evidence.generators if _is_failing(one, evidence.generators)]:
        yield {"names": ", ".join(failing), "factor": f"{FAILING_GENERATOR_RATIO:g}"}


def _is_failing(generator: GeneratorFigures, generators: tuple[GeneratorFigures, ...]) -> bool:
    others = [one for one in generators if one is not generator]
    ratio = sum(one.error_count for one in others) / max(1, sum(one.sample_count for one in others))
    return (
        generator.error_ratio is not None
        and generator.error_count >= FAILING_GENERATOR_LEAST_ERRORS
        and generator.error_ratio >= max(FAILING_GENERATOR_RATIO * ratio, ratio + FAILING_GENERATOR_LEAST_RATIO)
    )


WARNING = WarningKind(
    code="failing-generator",
    since="1.0.0",
    severity=Severity.DOUBTFUL,
    concerns=(ReportPart.VERDICT, ReportPart.GENERATORS),
    needs=("generators",),
    brief="Load generator {names} failed at least {factor} times as often as the others",
    text="It may not reach the system, or lack data or ports. Look into its log, or drive without it.",
    page=__doc__,
    found_in=found_in,
)
