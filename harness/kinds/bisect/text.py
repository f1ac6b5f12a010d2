"""Formats the outcome of a bisection as sentences: its headline, the suspects and what to do next."""

from __future__ import annotations

import math
from collections.abc import Iterator

from harness.base import units
from harness.base.command import Command, changed_command
from harness.compare.comparison import CANNOT_TELL, INVALID
from harness.compare.render import grown_step
from harness.experiment.record import FINISHED
from harness.judge.result import FOUND, NO_EFFECT, KeyFigure, NextStep, Result
from harness.judge.verdict import INTERRUPTED
from harness.kinds.bisect.decision import RUNS_MOST, SURE, Suspect
from harness.kinds.bisect.outcome import BisectOutcome
from harness.kinds.bisect.posterior import LikelyChange
from harness.metrics.metric import is_better
from harness.report.first_screen import brief, shortest

CHART = "probability.svg"
# A subject has at most so many words in the headline.
_SUBJECT_WORDS = 10
# An interval of 95 % is 1.96 standard errors wide on each side; a change of 2.8 is found in 80 %.
_FOUND_PER_REACH = 2.8 / 1.96


def headline(outcome: BisectOutcome) -> str:
    """Return the verdict with the commit, or what is missing, in at most 20 words."""
    before = "" if outcome.record.state == FINISHED else "INTERRUPTED, so far "
    if outcome.verdict == INVALID:
        return brief(f"{before}{INVALID}: {outcome.failure.rstrip('.')}.")
    return brief(*_sentences(outcome, before))


def _sentences(outcome: BisectOutcome, before: str) -> Iterator[str]:
    """Yield the answer, `before` in front of it, and what else is worth a sentence."""
    posterior, decision, metric = outcome.found, outcome.decision, outcome.record.metric.name
    after = f"after {units.plural(len(outcome.counted), 'run')}"
    if posterior is None or not decision.suspects:
        yield f"{before}{CANNOT_TELL} {after}: too few runs at both ends."
        return
    whole = posterior.whole()
    if decision.named:
        yield _shortened(f"{before}{FOUND}", outcome, decision.named)
        if is_better(outcome.record.metric, decision.named.change.ratio):
            yield "It is better: good and bad exchanged?"
    elif decision.verdict == FOUND:
        changes = ", ".join(f"{units.signed_percent(change.ratio, 0)} %" for _, _, change in posterior.parts())
        yield f"{before}{FOUND} {_percent(posterior.several)}: no single commit: {metric} {changes}."
    elif decision.verdict == NO_EFFECT and outcome.work:
        yield f"{before}{CANNOT_TELL} {after}: {outcome.work}."
    elif decision.verdict == NO_EFFECT:
        bound = units.percent_text(max(abs(whole.low_ratio), abs(whole.high_ratio)), 1)
        yield f"{before}{NO_EFFECT} {after}: {metric} of both ends differs by less than {bound} %."
    elif posterior.none >= 1 - SURE:
        difference = units.percent_text(abs(whole.ratio), 0)
        yield f"{before}{CANNOT_TELL} {after}: the difference is {difference} %, this benchmark sees {_seen(whole)} %."
    else:
        yield _shortened(f"{before}{CANNOT_TELL} {after}:", outcome, decision.suspects[0])


def _shortened(before: str, outcome: BisectOutcome, suspect: Suspect) -> str:
    """Return a sentence about a suspect, with as many words of its subject as fit."""
    return shortest(*(f"{before} {suspect_text(outcome, suspect, words)}." for words in range(_SUBJECT_WORDS, -1, -1)))


def _seen(whole: LikelyChange) -> str:
    """Return the smallest change that so many runs find in 80 %, as a percentage."""
    reach = (math.log1p(whole.high_ratio) - math.log1p(whole.low_ratio)) / 2
    return units.percent_text(math.expm1(reach * _FOUND_PER_REACH), 0)


def _percent(ratio: float) -> str:
    """Return a probability; never 100 %."""
    return "over 99 %" if ratio > 0.99 else f"{units.percent_text(ratio, 0)} %"


def suspect_text(outcome: BisectOutcome, suspect: Suspect, subject_words: int) -> str:
    """Return a suspect with its probability and change, such as 91 %: a3f2c1 Use a lock (p95 +14 %, 9 to 19).

    With CANNOT TELL it has no change.
    """
    candidate = outcome.record.candidates[suspect.positions[-1]]
    words = candidate.title.split()
    title = " ".join(words[: subject_words + 1]) + ("…" if len(words) > subject_words + 1 else "")
    others = len(suspect.positions) - 1
    more = f" or {others} before it" if others else ""
    text = f"{_percent(suspect.probability)}: {title}{more}"
    if outcome.decision.verdict == CANNOT_TELL:
        return text
    return f"{text} ({outcome.record.metric.name} {change_text(suspect.change)})"


def change_text(change: LikelyChange) -> str:
    """Return a change with its interval, such as +14 %, 9 to 19."""
    low, high = (units.percent_text(ratio, 0) for ratio in (change.low_ratio, change.high_ratio))
    return f"{units.signed_percent(change.ratio, 0)} %, {low} to {high}"


def result_of(outcome: BisectOutcome) -> Result:
    """Return what the report found, for those who show it."""
    record, named = outcome.record, outcome.decision.named
    change = (KeyFigure(record.metric.name, units.signed_percent(named.change.ratio, 0), "%"),) if named else ()
    return Result(
        kind="bisect",
        title=f"{record.plan}: what changed {record.metric.name} ({record.name})",
        verdict=outcome.verdict if record.state == FINISHED else INTERRUPTED,
        headline=headline(outcome),
        key_figures=change,
        first_chart=f"{record.name}/{CHART}" if outcome.decision.suspects else "",
        next_steps=tuple(_next_steps(outcome)),
    )


def _next_steps(outcome: BisectOutcome) -> Iterator[NextStep]:
    record, named = outcome.record, outcome.decision.named
    if outcome.causes:
        yield grown_step(outcome.causes)
    if record.state != FINISHED:
        yield NextStep("Continue the bisection", record.resume_command)
    elif outcome.verdict == INVALID:
        yield NextStep("Remove the cause, then repeat the bisection", record.command)
    elif named and (commit := record.candidates[named.positions[-1]].commit):
        yield NextStep("See what it changed", f"git show {commit[:12]}")
    elif outcome.verdict == FOUND and not named and outcome.found and record.candidates[0].commit:
        start, end, _ = max(outcome.found.parts(), key=lambda part: abs(part[2].ratio))
        good, bad = (record.candidates[index].text for index in (start, end))
        ends = Command.of("bisect", good=good, bad=bad, metric=record.metric_name, plan=record.plan)
        if end - start > 1:
            yield NextStep("Bisect the larger part alone", str(ends))
    elif outcome.verdict == CANNOT_TELL and len(outcome.counted) < RUNS_MOST:
        yield NextStep("Continue it with more time", changed_command(record.resume_command, max="3h"))
    elif outcome.verdict == CANNOT_TELL:
        yield NextStep("Repeat it with longer runs", changed_command(record.command, duration="10m"))
