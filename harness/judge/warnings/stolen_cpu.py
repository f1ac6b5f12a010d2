"""Warns that the hypervisor gave CPU time to other virtual machines.

Seen: The hypervisor gave more than 5 % of the CPU time to other virtual machines (steal).

Why it matters: Programs stood still without noticing it, and response times include that. It changes from minute to
minute, so repeats differ.

What to do: Run again later, use an instance with dedicated cores, or one without CPU credits.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.base import units
from harness.judge.evidence import Evidence, Values
from harness.judge.lost_cpu import STOLEN_CPU_RATIO
from harness.judge.machines import machines_of
from harness.judge.warning_kind import ReportPart, Severity, WarningKind
from harness.run.telemetry.processes import STOLEN


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield the virtual machines whose hypervisor gave much of their time to others."""
    for machine in machines_of(evidence):
        ratio = machine.used.get(STOLEN, 0.0) / machine.core_count
        if ratio > STOLEN_CPU_RATIO:
            yield {"percent": units.percent_text(ratio, 0), "cores": machine.cores}


WARNING = WarningKind(
    code="stolen-cpu",
    since="1.0.0",
    severity=Severity.DOUBTFUL,
    concerns=(ReportPart.VERDICT, ReportPart.HOST),
    needs=("run", "usages"),
    hides=("host-cpu",),
    brief="The hypervisor gave {percent} % of the {cores} to other virtual machines",
    text="Response times include waiting for the CPU (steal). Run again later, or on a machine with cores of its own.",
    page=__doc__,
    found_in=found_in,
)
