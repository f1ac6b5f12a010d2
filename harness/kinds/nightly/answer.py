"""The answer of a nightly run in one sentence of at most 20 words, and what to do next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from harness.base import units
from harness.compare.render import grown_step
from harness.experiment.record import RUNNING
from harness.judge.result import KeyFigure, NextStep, Result
from harness.judge.verdict import INTERRUPTED
from harness.kinds.nightly.gate import (
    IMPROVED,
    LEARNING,
    NEW_ENVIRONMENT,
    NO_VALUE,
    OK,
    OTHER_WORK,
    REGRESSED,
    WARNED,
    Check,
    accept_command,
)
from harness.kinds.nightly.outcome import NightlyResult
from harness.metrics.figures import TOTAL
from harness.report.first_screen import brief


def headline(result: NightlyResult) -> str:
    """Return the verdict with the largest change, and what else happened as far as 20 words suffice."""
    first, *others = _clauses(result)
    before = "INTERRUPTED, so far " if result.record.state == RUNNING else ""
    return brief(f"{before}{result.verdict}: {first}.", *(f"{text[0].upper()}{text[1:]}." for text in others))


def _clauses(result: NightlyResult) -> list[str]:
    """Return what happened, worst first."""
    states = Counter(check.state for check in result.checks)
    clauses = [text for state in (REGRESSED, WARNED) if (text := _changes(result, state))]
    ends = [outcome.state for outcome in result.outcomes]
    runs = units.plural(len(ends), "run")
    if failed := {state: ends.count(state) for state in dict.fromkeys(ends) if state != OK}:
        (state, count), *more = failed.items()
        clauses.append(", ".join([f"{count} of {runs} {state}", *(f"{one_count} {one}" for one, one_count in more)]))
    if result.record.storage_problems:
        clauses.append("not everything is in the storage")
    if result.missing_labels:
        clauses.append("labels of the suite are missing")
    if not clauses:
        is_judged = states[OK] or states[IMPROVED]
        nothing = "no judged metric regressed" if list(_loads_not_judged(result)) else "no metric regressed"
        clauses.append(f"{runs}, {nothing}" if is_judged else runs)
        clauses += _drifts(result)
    if states[IMPROVED]:
        clauses.append(f"{units.plural(states[IMPROVED], 'metric')} IMPROVED")
    if states[LEARNING]:
        clauses.append(f"{units.plural(states[LEARNING], 'metric')} not judged yet: too few nightly runs")
    return clauses + list(_loads_not_judged(result))


def worst_check(result: NightlyResult, state: str) -> Check | None:
    """Return the check of a state with the largest change: requests no longer sent, then TOTAL; None without one."""
    found = [check for check in result.checks if check.state == state]
    return min(
        found,
        key=lambda check: (bool(check.metric), check.label != TOTAL, -abs(check.change_ratio or 0.0)),
        default=None,
    )


def _changes(result: NightlyResult, state: str) -> str:
    """Return the largest change of a state, and how many more metrics have it; empty without any."""
    check = worst_check(result, state)
    if check is None:
        return ""
    count = sum(one.state == state for one in result.checks)
    loads = sum(any(one.state == state for one in load.checks) for load in result.loads)
    if check.metric is None:
        gone = f"{check.label}: {check.note.partition(';')[0]}"
        return f"{gone}, and {units.plural(count - 1, 'more finding')}" if count > 1 else gone
    label = "" if check.label == TOTAL else f"{check.label} "
    change = units.signed_percent(check.change_ratio, 2 if check.metric.is_share else 1)
    values = f"{check.metric.mean_text(check.baseline)} → {check.metric.mean_text(check.value)} {check.metric.unit}"
    text = f"{label}{check.metric.name} {values} ({change} {check.metric.change_unit})"
    text += " for the first time" if state == WARNED else ""
    if count > 1:
        text += f", and {units.plural(count - 1, 'more metric')}"
    return f"{text} in {units.plural(loads, 'load')}" if loads > 1 else text


def _drifts(result: NightlyResult) -> Iterator[str]:
    """Yield how many metrics are worse, but within the usual differences; nothing without any."""
    since = [check.worse_since for check in result.checks if check.worse_since]
    if since:
        yield f"{units.plural(len(since), 'metric')} worse since {min(since)}, within the usual differences"


def _loads_not_judged(result: NightlyResult) -> Iterator[str]:
    """Yield how many loads have no judged metric, and why."""
    states = Counter(check.state for check in result.checks)
    small = sum(bool(load.too_few) and not any(check.metric for check in load.checks) for load in result.loads)
    whys = ("no run is VALID", "a new history starts", "too few samples")
    for count, why in zip((states[NO_VALUE], states[NEW_ENVIRONMENT], small), whys, strict=True):
        if count:
            yield f"{units.plural(count, 'load')} not judged: {why}"
    if states[OTHER_WORK]:
        yield f"TOTAL of {units.plural(states[OTHER_WORK], 'load')} not judged: other work"


def result_of(result: NightlyResult, first_chart: str = "") -> Result:
    """Return what the report found, for those who show it."""
    record, states = result.record, Counter(check.state for check in result.checks)
    counts = [("runs", len(result.outcomes)), *((f"metrics {state}", states[state]) for state in states)]
    missed = [goal for outcome in result.outcomes for goal in outcome.goals if not goal.is_met]
    return Result(
        kind="nightly",
        title=f"{record.title} {record.name}",
        verdict=INTERRUPTED if record.state == RUNNING else result.verdict,
        headline=headline(result),
        key_figures=tuple(KeyFigure(name, str(count)) for name, count in counts),
        first_chart=first_chart,
        goals=_goals_text(result),
        is_missed=bool(missed),
        next_steps=tuple(_next_steps(result)),
    )


def _goals_text(result: NightlyResult) -> str:
    """Return how many goals of all runs are met, or the first one that is missed; empty without goals."""
    goals = [goal for outcome in result.outcomes for goal in outcome.goals]
    missed = [goal for goal in goals if not goal.is_met]
    if not missed:
        return f"{len(goals)} of {units.plural(len(goals), 'goal')} met." if goals else ""
    more = f", and {units.plural(len(missed) - 1, 'more goal')}" if len(missed) > 1 else ""
    return f"Goal missed: {missed[0].text}{more}."


def _next_steps(result: NightlyResult) -> Iterator[NextStep]:
    record = result.record
    if record.state == RUNNING:
        yield NextStep("Continue the nightly run", record.resume_command)
    if check := worst_check(result, REGRESSED):
        load = next(load for load in result.loads if check in load.checks)
        if load.growth:
            yield grown_step(load.growth.causes, f" since {load.growth.date}")
        yield NextStep("If the change is intended, accept it", accept_command(check))
    elif unfit := next((one for one in result.outcomes if one.state != OK and one.run.run), None):
        yield NextStep(f"Read what to do in the report of {unfit.load.plan}/{unfit.run.run}")
    elif worst_check(result, WARNED):
        yield NextStep("Wait for the next nightly run: it is REGRESSED if that one is no better")
