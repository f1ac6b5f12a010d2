"""Formats the outcome of a designed experiment as sentences: its headline, effects, changes and the best values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.base import units
from harness.compare.comparison import INVALID
from harness.experiment.record import FINISHED
from harness.report.results import KeyFigure, Result
from harness.report.tables import one_line
from harness.report.verdict import INTERRUPTED
from harness.tune.best import Best
from harness.tune.effects import CANNOT_TELL, FOUND, NO_EFFECT, Effect, is_better
from harness.tune.factors import Factor, assignments
from harness.tune.outcome import Outcome

# The headline names so many effects; the report has all.
_EFFECTS_NAMED = 3


def headline(outcome: Outcome) -> str:
    """Return the result in one sentence: effects, settings without one, the scatter, and the best values."""
    record, count = outcome.record, len(outcome.counted)
    before = "" if record.state == FINISHED else "INTERRUPTED, so far "
    if outcome.verdict == INVALID:
        return one_line(f"{before}{INVALID}: {outcome.reason.rstrip('.')}.")
    parts = [outcome.reason] if outcome.reason else []
    if outcome.fit is None:
        parts.append("too few runs to distinguish effects from scatter")
    else:
        parts += _effects_text(outcome)
        parts.append(f"run scatter {units.percent_text(outcome.scatter_ratio, 1)} %")
        parts += [best_text(outcome, outcome.best)] if outcome.best else []
    return one_line(f"{before}{outcome.verdict} after {units.plural(count, 'run')}: {'; '.join(parts)}.")


def result_of(outcome: Outcome) -> Result:
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
    )


def _effects_text(outcome: Outcome) -> Iterator[str]:
    factors = outcome.record.factors
    found_effects = sorted(
        (one for one in outcome.effects if one.verdict == FOUND), key=lambda one: -abs(one.delta_ratio)
    )
    if found_effects:
        texts = [f"{effect_name(factors, one)} {change_text(one)}" for one in found_effects[:_EFFECTS_NAMED]]
        more = len(found_effects) - _EFFECTS_NAMED
        texts += [f"and {units.plural(more, 'more effect')}"] if more > 0 else []
        yield f"{outcome.record.metric.phrase} with {', '.join(texts)}"
    for verdict, text in ((NO_EFFECT, "no effect"), (CANNOT_TELL, "cannot tell")):
        effects = [one for one in outcome.effects if _unfound(outcome, one) == verdict]
        if effects:
            names = ", ".join(dict.fromkeys(factors[one.factor_indexes[0]].name for one in effects))
            bound = max(one.bound_ratio for one in effects)
            yield f"{text}: {names} (within {units.percent_text(bound, 1)} %)"


def _unfound(outcome: Outcome, effect: Effect) -> str:
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


def change_text(found: Effect | Best) -> str:
    """Return a change with its interval, such as -65.20 % (-68.02 to -61.93)."""
    change, low, high = map(units.signed_percent, (found.delta_ratio, found.low_ratio, found.high_ratio))
    return f"{change} % ({low} to {high})"


def best_text(outcome: Outcome, best: Best) -> str:
    """Return the best values, how sure that is, and their change from the baseline's."""
    record = outcome.record
    text = f"best: {' '.join(assignments(record.factors, best.choice))}, {sure_text(best)} sure"
    if best.is_baseline:
        return f"{text}, the baseline's"
    direction = "better" if is_better(record.metric, best.delta_ratio) else "worse"
    return f"{text}, {direction} than the baseline's by {change_text(best)}"


def sure_text(best: Best) -> str:
    """Return the probability that no other choice is better in percent; never 100."""
    return "over 99.9 %" if best.sure_ratio > 0.999 else f"{units.percent_text(best.sure_ratio, 1)} %"
