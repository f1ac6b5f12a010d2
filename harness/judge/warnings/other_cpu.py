"""Warns that other programs used the CPU.

Seen: Programs that do not belong to the run used more than 10 % of all cores.

Why it matters: System and generator had less CPU than the machine has. The next run may have more, so the difference
looks like a change of the system.

What to do: `top` lists it: builds, backups, browsers, other containers. Stop it or wait.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.base import units
from harness.judge.evidence import Evidence, Values
from harness.judge.lost_cpu import OTHER_CPU_RATIO
from harness.judge.machines import machines_of
from harness.judge.warning_kind import ReportPart, Severity, WarningKind
from harness.run.telemetry.processes import HOST, STOLEN


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield the machines on which processes outside of the run used many of the cores."""
    for machine in machines_of(evidence):
        listed = sum(cores for process, cores in machine.used.items() if process not in (HOST, STOLEN))
        other_ratio = (machine.used.get(HOST, 0.0) - listed) / machine.core_count
        if other_ratio > OTHER_CPU_RATIO:
            yield {"percent": units.percent_text(other_ratio, 0), "machine": machine.cpu}


WARNING = WarningKind(
    code="other-cpu",
    since="1.0.0",
    severity=Severity.DOUBTFUL,
    concerns=(ReportPart.VERDICT, ReportPart.HOST),
    needs=("run", "usages"),
    brief="Other programs used {percent} % of {machine} during the measurement",
    text="Run again when the machine is idle; top lists what is running.",
    page=__doc__,
    found_in=found_in,
)
