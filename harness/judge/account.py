"""Compares what JMeter itself counted with what was read: the users that died, the rows that it wrote, the clock.

Each function yields the values for one text per case found, and nothing where all is well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.base import units
from harness.judge.evidence import GAP_INVALID_RATIO, Evidence, Values, gaps_text, named_length
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
        return [_clock_was_set(step)]
    unloaded = [gap for gap in evidence.gaps if not gap.is_waited and evidence.began_after(gap)]
    most_s = GAP_INVALID_RATIO * evidence.window.run_s
    if sum(gap.length_s for gap in unloaded) > most_s:
        return [_late_generators(evidence, unloaded)]
    missing, rows = evidence.missing_row_count, evidence.run.rows
    if missing and rows and missing > GAP_INVALID_RATIO * rows.written_count:
        return [_missing_rows(evidence)]
    hole_s = sum(gap.length_s for gap in holes)
    if holes and evidence.dropped.count:
        return [f"samples of at least {named_length(holes)} are missing from the JTL: {gaps_text(holes)}"]
    if holes and hole_s > most_s:
        times = f"{units.duration_text(hole_s)} of {units.duration_text(evidence.window.run_s)}"
        return [f"{_hole_cause(evidence)}: no sample ended for {times}, and too few waited for a stall"]
    return []


def _missing_rows(evidence: Evidence) -> str:
    rows = evidence.run.rows if evidence.run else None
    assert rows is not None  # otherwise it is not known that rows are missing
    least = "at least " if rows.at_least else ""
    count = evidence.missing_row_count
    verb = "is" if count == 1 else "are"
    return f"{least}{count} of {units.plural(rows.written_count, 'row')} that JMeter wrote {verb} missing"


def _hole_cause(evidence: Evidence) -> str:
    """Return what a gap may be: of the two causes only those that are not excluded."""
    rows = evidence.run.rows if evidence.run else None
    is_counted = rows is not None and not rows.at_least and not evidence.dropped.count
    return "a clock was set, or the load paused" if is_counted else "rows are missing, or a clock was set"


def _clock_was_set(step: ClockStep) -> str:
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


def clock_step(evidence: Evidence) -> Iterator[Values]:
    """Yield where a clock was set, as the record or the rows show it, and what to do."""
    step = evidence.clock_step
    if step and evidence.run:
        brief = _clock_was_set(step)
        advice = "Have NTP slew the clock instead of setting it, and run again."
        yield {"brief": brief, "what": f"{step.evidence[:1].upper()}{step.evidence[1:]}", "advice": advice}
    elif step:
        brief = "A clock was set, or several files were put together"
        advice = "Give the files one by one: ./aggregate.py table FILE FILE adds them up."
        yield {"brief": brief, "what": f"In the JTL {step.evidence}", "advice": advice}


def hole(evidence: Evidence) -> Iterator[Values]:
    """Yield how many rows are missing, or how long the gaps are that nothing explains, and the throughput without."""
    holes, load, rest = evidence.holes, evidence.load, ""
    if evidence.missing_row_count:
        brief = _missing_rows(evidence)
        where = f" No sample ended from {gaps_text(holes)}." if holes else ""
        why = f"All numbers lack them: a full disk loses rows, and so does a file that was cut.{where}"
        yield {"brief": f"{brief[:1].upper()}{brief[1:]}", "why": why}
        return
    if not holes:
        return
    hole_s = sum(gap.length_s for gap in holes)
    if load and load.rate_per_s and evidence.window.length_s == evidence.window.run_s:
        rest_s = load.sample_count / load.rate_per_s - hole_s
        rest = f" Without it the throughput is {load.sample_count / rest_s:.1f} req/s." if rest_s >= 1 else ""
    cause = _hole_cause(evidence)
    brief = f"{cause[:1].upper()}{cause[1:]}: no samples for {named_length(holes)}"
    yield {"brief": brief, "why": f"This is no stall: too few samples waited meanwhile ({gaps_text(holes)}).{rest}"}


def paused(evidence: Evidence) -> Iterator[Values]:
    """Yield the gaps in which the load paused: no row is missing, no clock was set, and too few requests waited."""
    if pauses := evidence.pauses:
        yield {"length": named_length(pauses), "gaps": gaps_text(pauses)}


def heap_dumps(evidence: Evidence) -> Iterator[Values]:
    """Yield each heap dump of JMeter in the run directory, with its size."""
    run = evidence.run
    for name, size in (run.heap_dumps if run else {}).items():
        yield {"path": f"{run.name if run else ''}/{name}", "size": f"{units.mb_text(size)} MB"}
