"""Warns that all cores of a machine were busy.

Seen: all cores were more than 90 % busy.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.base import units
from harness.judge.evidence import Evidence, Values
from harness.judge.machines import machines_of
from harness.judge.warning_kind import ReportPart, WarningKind

HOST_CPU_RATIO = 0.90


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield the machines whose cores were nearly all busy."""
    for machine in machines_of(evidence):
        if evidence.run and machine.host_ratio > HOST_CPU_RATIO:
            cores, advice = machine.cores, "Drive fewer users, or from a larger machine."
            if evidence.run.is_embedded:
                cores += " that generator and system share"
                advice = "Give the system a machine of its own (--target=…), or fewer users."
            if evidence.run.other_runs:
                advice = "Other load tests used them, too: run one after the other."
            yield {"cores": cores, "percent": units.percent_text(machine.host_ratio, 0), "advice": advice}


# Not DOUBTFUL: the system itself may fill its machine. users-time and generator-cpu report a generator that had too
# little of it.
WARNING = WarningKind(
    code="host-cpu",
    since="1.0.0",
    concerns=(ReportPart.VERDICT, ReportPart.HOST),
    needs=("run", "usages"),
    is_of_answers=True,
    brief="The {cores} were {percent} % busy",
    text="Response times include waiting for a core. {advice}",
    page=__doc__,
    found_in=found_in,
)
