"""Warns that the machines of a run with --on had too little CPU.

Seen: On some machines of a run with `--on`, JMeter used more than 80 % of the cores.

Why it matters: As [above](#generator-cpu): what waits there for the CPU counts as response time of the system.

What to do: Name as many machines as the warning says, or drive fewer users.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from harness.base import units
from harness.judge.evidence import Evidence, Values
from harness.judge.machines import GENERATOR_CPU_RATIO, machines_of, parts_of
from harness.judge.warning_kind import ReportPart, Severity, WarningKind

# Above it, what was missing is not known.
FULL_CPU_RATIO = 0.95


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield how many machines of parts had too little CPU, and how many parts keep the busiest one below the limit.

    Parts have equal shares, so the work of each falls with their number. A machine that is full may need even more.
    """
    machines = [machine for machine in machines_of(evidence) if machine.is_part]
    if busy := [machine for machine in machines if machine.driving_ratio > GENERATOR_CPU_RATIO]:
        most, count = max(machine.driving_ratio for machine in busy), len(parts_of(evidence))
        yield {
            "parts": f"{units.plural(count, 'part')} {'is' if count == 1 else 'are'}",
            "busy": str(len(busy)),
            "limit": units.percent_text(GENERATOR_CPU_RATIO, 0),
            "machines": ", ".join(f"{units.percent_text(one.driving_ratio, 0)} % of the {one.cores}" for one in busy),
            "enough": f"{'at least ' * (most > FULL_CPU_RATIO)}{math.ceil(count * most / GENERATOR_CPU_RATIO)}",
        }


WARNING = WarningKind(
    code="few-parts",
    since="1.1.0",
    severity=Severity.DOUBTFUL,
    concerns=(ReportPart.VERDICT, ReportPart.GENERATORS),
    needs=("run", "usages"),
    hides=("users-time",),
    brief="{parts} too few: {busy} above {limit} % CPU; {enough} would do",
    text="These may be the bottleneck, not the system: {machines}. Drive with that many parts, or fewer users.",
    page=__doc__,
    found_in=found_in,
)
