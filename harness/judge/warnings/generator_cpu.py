"""Warns that the load generator used nearly all cores of its machine.

Seen: JMeter used more than 80 % of all cores in the measurement window.

Why it matters: A generator that waits for the CPU sends less and measures its own waiting as response time.

What to do: Drive fewer users, use a larger machine, or drive from several ones ([generators](generators.md)). Remove
listeners, large assertions and Beanshell from the plan; they cost most.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.base import units
from harness.judge.evidence import Evidence, Values
from harness.judge.machines import GENERATOR_CPU_RATIO, machines_of
from harness.judge.warning_kind import ReportPart, Severity, WarningKind


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield the machines on which the generator used nearly all cores."""
    for machine in machines_of(evidence):
        if machine.driving_ratio > GENERATOR_CPU_RATIO and not machine.is_part:
            plural, percent = "s" if len(machine.driving) > 1 else "", units.percent_text(machine.driving_ratio, 0)
            yield {"plural": plural, "percent": percent, "cores": machine.cores}


WARNING = WarningKind(
    code="generator-cpu",
    since="1.0.0",
    severity=Severity.DOUBTFUL,
    concerns=(ReportPart.VERDICT, ReportPart.GENERATOR),
    needs=("run", "usages"),
    hides=("users-time", "host-cpu", "generator-delay"),
    is_of_answers=True,
    brief="The load generator{plural} used {percent} % of the {cores}",
    text="It may be the bottleneck, not the system. Drive fewer users, or from more or larger machines.",
    page=__doc__,
    found_in=found_in,
)
