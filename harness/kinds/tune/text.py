"""Formats the outcome of a designed experiment as sentences: its headline, effects, changes and the best values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.base import units
from harness.compare.comparison import INVALID
from harness.experiment.record import FINISHED
from harness.judge.result import FOUND, NO_EFFECT, KeyFigure, Result
from harness.judge.stored_comparisons import CANNOT_TELL
from harness.judge.verdict import INTERRUPTED
from harness.kinds.tune.advice import next_steps
from harness.kinds.tune.best import Best
from harness.kinds.tune.effects import Effect
from harness.kinds.tune.factors import Factor, assignments
from harness.kinds.tune.outcome import TuneOutcome
from harness.report.first_screen import brief


def headline(outcome: TuneOutcome) -> str:
    """Return the verdict with the values to set, or what is missing, in at most 20 words."""
    before = "" if outcome.record.state == FINISHED else "INTERRUPTED, so far "
    if outcome.verdict == INVALID:
        return brief(f"{before}{INVALID}: {outcome.reason.rstrip('.')}.")
    first, *others = _answers(outcome)
    return brief(f"{before}{outcome.verdict} after {units.plural(len(outcome.counted), 'run')}: {first}.", *others)


def _answers(outcome: TuneOutcome) -> Iterator[str]:
    """Yield the clause of the answer, and then sentences about the other settings."""
    if outcome.fit is None:
        yield "too few runs to distinguish effects from scatter"
        return
    if outcome.best:
        yield best_text(outcome, outcome.best)
    found = [one for one in outcome.effects if one.verdict == FOUND and not one.is_pair]
    if outcome.best and found and outcome.best.is_baseline:
        largest = max(found, key=lambda one: abs(one.delta_ratio))
        change = units.signed_percent(largest.delta_ratio, 1)
        yield f"With {effect_name(outcome.record.factors, largest)} {outcome.record.metric.name} {change} %."
    undecided = _unfound_names(outcome, CANNOT_TELL)
    if outcome.verdict == NO_EFFECT:
        bound = units.percent_text(max(one.bound_ratio for one in outcome.effects), 1)
        yield f"{outcome.record.metric.name} changes by less than {bound} %"
    elif not outcome.best:
        yield outcome.work or f"undecided: {undecided}"
    if outcome.best and undecided:
        yield f"Undecided: {undecided}."
    if outcome.best and (idle := _unfound_names(outcome, NO_EFFECT)):
        yield f"No effect: {idle}."


def result_of(outcome: TuneOutcome) -> Result:
    """Return what the report found, for those who show it."""
    record, found = outcome.record, [one for one in outcome.effects if one.verdict == FOUND]
    changes = [(effect_name(record.factors, one), units.signed_percent(one.delta_ratio)) for one in found]
    return Result(
        kind="tune",
        title=f"{record.plan}: which settings matter ({record.name})",
        verdict=outcome.verdict if record.state == FINISHED else INTERRUPTED,
        headline=headline(outcome),
        key_figures=tuple(KeyFigure(name, change, "%") for name, change in changes),
        first_chart=f"{record.name}/effects.svg" if outcome.fit else "",
        next_steps=tuple(next_steps(outcome)),
    )


def _unfound_names(outcome: TuneOutcome, verdict: str) -> str:
    """Return the settings with a verdict other than FOUND; empty without any."""
    found = [one for one in outcome.effects if _unfound(outcome, one) == verdict]
    return ", ".join(dict.fromkeys(outcome.record.factors[one.factor_indexes[0]].name for one in found))


def _unfound(outcome: TuneOutcome, effect: Effect) -> str:
    """Return the verdict on an effect's factor: NO EFFECT or CANNOT TELL; empty for a found one, and for a pair.

    With one undecided value, all values of a factor are undecided.
    """
    if effect.is_pair or effect.factor_indexes[0] in outcome.active:
        return ""
    verdicts = {one.verdict for one in outcome.effects if one.factor_indexes == effect.factor_indexes}
    return CANNOT_TELL if CANNOT_TELL in verdicts else NO_EFFECT


def effect_name(factors: Sequence[Factor], effect: Effect) -> str:
    """Return what an effect is of: plugin_threads 2 → 60, or the assignments of two values joined by ×."""
    if not effect.is_pair:
        factor = factors[effect.factor_indexes[0]]
        return f"{factor.name} {factor.values[0]} → {factor.values[effect.levels[0]]}"
    pairs = zip(effect.factor_indexes, effect.levels, strict=True)
    return " × ".join(factors[index].assignment(level) for index, level in pairs)


def best_text(outcome: TuneOutcome, best: Best) -> str:
    """Return the best values, how sure that is, and their change from the baseline's."""
    record = outcome.record
    verb = "keep" if best.is_baseline else "set"
    text = f"{verb} {' '.join(assignments(record.factors, best.choice))} ({sure_text(best)} sure)"
    change = f", {record.metric.name} {units.signed_percent(best.delta_ratio, 1)} %"
    return text if best.is_baseline else text + change


def sure_text(best: Best) -> str:
    """Return the probability that no other choice is better in percent; never 100."""
    return "over 99.9 %" if best.sure_ratio > 0.999 else f"{units.percent_text(best.sure_ratio, 1)} %"
