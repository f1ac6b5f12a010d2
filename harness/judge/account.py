"""Compares what JMeter itself counted with what was read: the users that died, the rows that it wrote, the clock.

Each function yields the values for one text per case found, and nothing where all is well.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.base import units
from harness.judge.evidence import GAP_INVALID_RATIO, Evidence, gaps_text, named_length
from harness.metrics.gaps import Gap
from harness.run.record import DeathRecord
from harness.run.telemetry.clock_steps import ClockStep

_CAUSES_NAMED = 3
_HEAP = "java.lang.OutOfMemoryError: Java heap space"
_NO_THREAD = "unable to create native thread"


def dead_users(evidence: Evidence) -> list[str]:
    """Return why the run is INVALID: users that an Error or an exception ended did not do what they were to do."""
    run = evidence.run
    if run is None or not run.deaths:
        return []
    whole = sum(death.count for death in run.deaths)
    users = sum(death.count for death in run.deaths if death.what == "user")
    first = min(run.deaths, key=lambda death: death.first_ms)
    if not users:
        who = f"{units.plural(whole, 'download')} of embedded resources"
    elif run.load.users and users <= run.load.users:
        who = f"{users} of {units.plural(run.load.users, 'user')}"
    else:
        who = units.plural(users, "user")
    causes = [_cause_text(death) for death in (first, *(one for one in run.deaths if one is not first))]
    named = "; ".join(dict.fromkeys(causes[:_CAUSES_NAMED]))
    when = ""
    if evidence.origin_s is not None:
        when = f", first at {max(0, first.first_ms // units.MS_PER_S - evidence.origin_s)} s"
    return [f"{who} died: {named}{when}; {_remedy(run.deaths, run.generator_heap_mb)}"]


def _cause_text(death: DeathRecord) -> str:
    """Return the cause without the packages of its class."""
    name, colon, message = death.cause.partition(": ")
    return f"{name.rpartition('.')[2]}{colon}{message}"


def _remedy(deaths: Sequence[DeathRecord], heap_mb: int) -> str:
    causes = [death.cause for death in deaths]
    if any(_NO_THREAD in cause for cause in causes):
        return "raise the limit of threads (ulimit -u, or pids of the container), or drive fewer users"
    if any(cause.startswith(_HEAP) or "GC overhead" in cause for cause in causes):
        return f"set heap_mb = {2 * heap_mb} in [generator] of the profile"
    if any("Metaspace" in cause for cause in causes):
        return "set jvm_args = '-XX:MaxMetaspaceSize=512m' in [generator] of the profile"
    if any("StackOverflowError" in cause for cause in causes):
        return "set jvm_args = '-Xss4m' in [generator] of the profile"
    return "jmeter.log has more"


def false_time(evidence: Evidence) -> list[str]:
    """Return why the run is INVALID: its time stamps do not cover the time that it took, or rows are missing."""
    if evidence.run is None:
        return []
    step, holes = evidence.clock_step, evidence.holes
    if step and step.is_large:
        return [clock_set_text(step)]
    unloaded = [gap for gap in evidence.gaps if not gap.is_waited and evidence.began_after(gap)]
    most_s = GAP_INVALID_RATIO * evidence.window.run_s
    if sum(gap.length_s for gap in unloaded) > most_s:
        return [_late_generators(evidence, unloaded)]
    missing, rows = evidence.missing_row_count, evidence.run.rows
    if missing and rows and missing > GAP_INVALID_RATIO * rows.written_count:
        return [missing_rows_text(evidence)]
    hole_s = sum(gap.length_s for gap in holes)
    if holes and evidence.dropped.count:
        return [f"samples of at least {named_length(holes)} are missing from the JTL: {gaps_text(holes)}"]
    if holes and hole_s > most_s:
        times = f"{units.duration_text(hole_s)} of {units.duration_text(evidence.window.run_s)}"
        return [f"{hole_cause(evidence)}: no sample ended for {times}, and too few waited for a stall"]
    return []


def missing_rows_text(evidence: Evidence) -> str:
    rows = evidence.run.rows if evidence.run else None
    assert rows is not None  # otherwise it is not known that rows are missing
    least = "at least " if rows.at_least else ""
    count = evidence.missing_row_count
    verb = "is" if count == 1 else "are"
    return f"{least}{count} of {units.plural(rows.written_count, 'row')} that JMeter wrote {verb} missing"


def hole_cause(evidence: Evidence) -> str:
    """Return what a gap may be: of the two causes only those that are not excluded."""
    rows = evidence.run.rows if evidence.run else None
    is_counted = rows is not None and not rows.at_least and not evidence.dropped.count
    return "a clock was set, or the load paused" if is_counted else "rows are missing, or a clock was set"


def clock_set_text(step: ClockStep) -> str:
    return f"A clock was set by about {_signed(step.step_s)} during the run"


def _late_generators(evidence: Evidence, gaps: Sequence[Gap]) -> str:
    """Return which generators began only when all others had ended, and for how long there was no load."""
    first_s = min(one.first_s for one in evidence.generators)
    late = {one.name: one.first_s - first_s for gap in gaps for one in evidence.began_after(gap)}
    began = [f"{name} began {units.duration_text(late_s)} after the first one" for name, late_s in late.items()]
    length_s = sum(gap.length_s for gap in gaps)
    times = f"{units.duration_text(length_s)} of {units.duration_text(evidence.window.run_s)}"
    return f"there was no load for {times}: generator {', '.join(began)}, when the others had ended"


def _signed(seconds: float) -> str:
    return f"{'+' if seconds > 0 else '−'}{units.duration_text(abs(seconds))}"
