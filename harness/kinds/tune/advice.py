"""Derives what to try next from the outcome of a designed experiment."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator

from harness.base import units
from harness.base.command import Command, changed_command
from harness.base.errors import UsageError
from harness.base.project import DEFAULT_PROFILE
from harness.experiment.record import FINISHED
from harness.judge.result import NO_EFFECT, NextStep
from harness.judge.stored_comparisons import CANNOT_TELL
from harness.kinds.tune.best import Best
from harness.kinds.tune.factors import Factor, set_text
from harness.kinds.tune.outcome import TuneOutcome
from harness.metrics.metric import ERRORS

_REPEAT_MOST = 20


def next_steps(outcome: TuneOutcome) -> Iterator[NextStep]:
    """Yield what to try next; the first one is the most useful."""
    if outcome.record.state != FINISHED:
        yield NextStep("Continue the experiment", outcome.record.resume_command)
        return
    if outcome.fit is None:
        yield from _of_uncounted(outcome)
        return
    if outcome.is_coarse:
        phrase = outcome.record.metric.phrase
        yield NextStep(f"{phrase} is near the resolution of the clock (1 ms): judge --metric=average instead.")
    if outcome.best:
        yield from _of_best(outcome, outcome.best)
    yield from map(NextStep, (*_of_undecided(outcome), *_of_idle(outcome)))


def _of_uncounted(outcome: TuneOutcome) -> Iterator[NextStep]:
    """Yield what to do about runs that do not count, or are missing."""
    problems = [one.problem for one in outcome.runs if one.problem]
    if problems:
        count = f"{units.plural(len(problems), 'run')} {'does' if len(problems) == 1 else 'do'}"
        text = f"{count} not count ({problems[-1].rstrip('.')}): remove the cause, then continue"
        yield NextStep(text, outcome.record.resume_command)
    elif outcome.steps_left:
        left = units.plural(len(outcome.steps_left), "run")
        command = changed_command(outcome.record.resume_command, max="8h")
        yield NextStep(f"{left} of the design are missing: continue with more time", command)


def _of_best(outcome: TuneOutcome, best: Best) -> Iterator[NextStep]:
    record = outcome.record
    if (more := _more_errors(outcome, best)) is not None:
        points = f"{units.percent_text(more)} points"
        yield NextStep(f"The best values have {points} more errors than the baseline: look at these first.")
    if not best.is_baseline:
        sides = (tuple(None if level is None else 0 for level in best.choice), best.choice)
        a, b = (set_text(record.factors, side) for side in sides)
        given = Command.parse(shlex.join(["lth", "ab", *record.arguments])).options
        given = tuple(pair for pair in given if pair != ("env", DEFAULT_PROFILE))
        given += (("properties", record.properties),) if record.properties else ()
        own = (("a", a), ("b", b), *given, *(("header", text) for text in record.headers))
        yield NextStep("Confirm the best values", str(Command("ab", own)))
    for factor, level in zip(record.factors, best.choice, strict=True):
        if level is not None and (side := _edge(factor, level)):
            tried = f"{factor.name}={factor.values[level]} is the {side}est value that was tried"
            yield NextStep(f"{tried}: try {side}er ones.")
    if best.equals:
        texts = [set_text(record.factors, choice) for choice in best.equals]
        others = "; ".join(texts)
        yield NextStep(f"These runs cannot distinguish the best values from {others}: choose by cost, or repeat more.")


def _of_undecided(outcome: TuneOutcome) -> Iterator[str]:
    """Yield how many repeats the undecided settings need: intervals shrink with the root of the runs."""
    record = outcome.record
    unsure = [one for one in outcome.effects if one.verdict == CANNOT_TELL and not one.is_pair]
    if not unsure:
        return
    width = max((math.log1p(one.high_ratio) - math.log1p(one.low_ratio)) / 2 for one in unsure)
    times = (width / math.log1p(record.threshold_ratio)) ** 2
    names = ", ".join(dict.fromkeys(record.factors[one.factor_indexes[0]].name for one in unsure))
    repeat = math.ceil(max(times, 1.5) * len(outcome.counted) / len(record.cells))
    if repeat > _REPEAT_MOST:
        yield f"{names}: the scatter is too large for an answer; make the runs longer, or the machine quieter."
    else:
        yield f"{names}: about --repeat={repeat}, or longer runs, would decide."


def _of_idle(outcome: TuneOutcome) -> Iterator[str]:
    """Yield the settings that can be left out: neither they nor a pair with them have an effect."""
    record = outcome.record
    mains = {one.factor_indexes[0] for one in outcome.effects if not one.is_pair}
    unsure = {one.factor_indexes[0] for one in outcome.effects if not one.is_pair and one.verdict != NO_EFFECT}
    idle = [record.factors[index].name for index in sorted(mains - unsure - outcome.active)]
    if idle and len(idle) < len(record.factors):
        bound = units.percent_text(record.threshold_ratio, 0)
        yield f"{', '.join(idle)}: no effect of {bound} % or more; leave it out and vary something else."


def _edge(factor: Factor, level: int) -> str:
    """Return larg or small, without the ending, when the value is the last of the numbers tried; empty otherwise."""
    try:
        numbers = [units.parse_number(value, factor.name, -math.inf, math.inf) for value in factor.values]
    except UsageError:
        return ""
    return "larg" if numbers[level] == max(numbers) else "small" if numbers[level] == min(numbers) else ""


def _more_errors(outcome: TuneOutcome, best: Best) -> float | None:
    """Return by how much (0-1) the best choice has more errors than the baseline; None unless it matters."""
    record = outcome.record
    error_ratios = [
        value
        for index, cell in enumerate(record.cells)
        if all(wanted in (None, level) for level, wanted in zip(cell, best.choice, strict=True))
        and (value := outcome.mean_of(ERRORS, index)) is not None
    ]
    baseline = outcome.mean_of(ERRORS, 0)
    if baseline is None or not error_ratios:
        return None
    more = sum(error_ratios) / len(error_ratios) - baseline
    return more if more > record.thresholds.of(ERRORS) else None
