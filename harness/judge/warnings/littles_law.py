"""Warns that the users of a closed load waited inside the load generator (Little's law).

Seen: More users were active than response times and think time account for (Little's law), by 10 % over 10 s or by a
factor of 1.5.

Why it matters: Users were waiting inside the load generator, so it may have limited the load, not the system.

What to do: Look at the generator's CPU and garbage collections. If the plan pauses in a timer that it does not declare,
set `think_time_s` in its TOML file. Else drive from a machine of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.base import units
from harness.judge.evidence import Evidence, Values
from harness.judge.loads import pause_s
from harness.judge.warning_kind import ReportPart, Severity, WarningKind
from harness.metrics.figures import LabelFigures
from harness.metrics.littles_law import LittlesLaw

LITTLES_LAW_TOLERANCE = 0.10
# Users are counted per second: over a shorter time the first and last second alone make the difference.
LITTLES_LAW_LEAST_S = 10.0
# Off by this factor it is a finding over any time; below a second users are not counted.
LITTLES_LAW_FACTOR = 1.5
LITTLES_LAW_FACTOR_LEAST_S = 1.0


def _is_off(law: LittlesLaw, load: LabelFigures) -> bool:
    """Return whether the law is off by more than the two ends of the window can cause.

    A sample counts where it ends: one in flight at the window's beginning counts whole, one at its end not at all.
    """
    at_the_ends = load.average_ms / units.MS_PER_S / law.over_s
    if law.over_s >= LITTLES_LAW_LEAST_S and abs(law.ratio - 1) > LITTLES_LAW_TOLERANCE + at_the_ends:
        return True
    is_far = law.ratio + at_the_ends < 1 / LITTLES_LAW_FACTOR or law.ratio - at_the_ends > LITTLES_LAW_FACTOR
    return law.over_s >= LITTLES_LAW_FACTOR_LEAST_S and is_far


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield both sides of Little's law of each closed load where they differ."""
    run = evidence.run
    # Users of an open load come and go within a second: the samples do not show how many were active.
    if run is None or evidence.is_open:
        return
    loads = {one.group: one for one in run.load.loads or ()}
    checks = [] if loads else [("", evidence.law, evidence.load, evidence.pause_s)]
    for figures in evidence.loads if loads else ():
        if figures.group:
            think_s = pause_s(loads[figures.name], figures.group)
            checks.append((f" of {figures.name}", figures.littles_law, figures.group.total, think_s))
    for name, law, load, think_s in checks:
        if law and load and _is_off(law, load):
            users = {"of": name, "active": f"{law.active_users:.1f}", "busy": f"{law.busy_users:.1f}"}
            round_ms = units.average_text(law.active_users * law.over_s / load.sample_count * units.MS_PER_S)
            accounted_ms = units.average_text(load.average_ms + think_s * units.MS_PER_S)
            yield {**users, "round_ms": round_ms, "accounted_ms": accounted_ms}


WARNING = WarningKind(
    code="littles-law",
    since="1.0.0",
    severity=Severity.DOUBTFUL,
    concerns=(ReportPart.VERDICT, ReportPart.LAW),
    needs=("run",),
    is_of_answers=True,
    brief="The load generator may be the bottleneck: {active} users{of} active, {busy} busy",
    text="Users ÷ throughput is {round_ms} ms, mean response and think time {accounted_ms} ms (Little's law). "
    "Look at the generator's CPU and at pauses that the plan's think_time_s does not include, or drive from a "
    "machine of its own.",
    page=__doc__,
    found_in=found_in,
)
