"""Compares the whole load with the measurement window: the rest must be ramp-up, warm-up or tail by its figures.

Seen: The part left out is slower, fails more often, or is too large. Or setUp or a step before the window failed,
requests of an open load had no answer, times go on after the answer, or TOTAL counts samples and their parts.

Why it matters: The window is then the half that flatters, and what went wrong is in no number.

What to do: Look at the charts for the part that is left out. Count the whole load: `lth table FILE`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from harness.base import units
from harness.judge.account.line import Balance, LineKind, Sides
from harness.judge.edges import large_edges
from harness.judge.evidence import Evidence
from harness.judge.goals import MOSTLY_ERRORS_RATIO
from harness.judge.included import with_included, with_late
from harness.judge.warning_kind import ReportPart
from harness.metrics.distributions import binomial_at_most
from harness.metrics.figures import ONCE, SETUP, LabelFigures
from harness.metrics.interval import Interval
from harness.metrics.littles_law import waiting_ms
from harness.metrics.load_seconds import spells_of
from harness.metrics.timeline import SecondFigures, total
from harness.metrics.window import STEADY

# A part that is left out is slower when its average is so many times that of the window, and fails more when its share
# of errors is so much higher and chance would give so many standard deviations less.
SLOWER_RATIO, ERRORS_MORE, _DEVIATIONS = 1.5, 0.05, 4.0
# Requests without an answer that waited longer than this share of all others are in doubt when they are so many.
_SLOW, _HUNG_RATIO = 0.99, 0.01
# Users who wait in vain are in doubt when they are more than this share. By chance a request may take so many times as
# long as the longest of the window (Pareto's distribution, exponent 1.5).
_WAITED_RATIO, _LONGER = 0.01, 10
# A step that is only before the window fails by chance as often as the window's, or as this, and so seldom more often.
_USUAL_ERRORS, _FAILED_CHANCE = 0.01, 0.001
# A shorter part, or one of fewer samples, is the edge of every load: its last samples are the longest ones.
PART_LEAST_S, _PART_RESPONSES, _SAMPLES_LEAST = 10, 5.0, 50


def measure(evidence: Evidence) -> Sides:
    """Return the samples of the whole load, and those of the window."""
    return with_included(evidence, with_late(evidence, _measured(evidence)))


def _measured(evidence: Evidence) -> Sides:
    whole, counted, window = evidence.whole, evidence.load, evidence.window
    if whole is None:
        return Sides()
    left = units.plural(whole.sample_count, "sample")
    right = f"{units.plural(counted.sample_count if counted else 0, 'sample')} in the window"
    if counted is None:
        return Sides(left, right, 1.0)
    ratio = 1 - counted.sample_count / whole.sample_count
    if hung := _hung_count(evidence, whole):
        requests = units.plural(whole.sample_count + evidence.closed_waits.count, "request")
        brief = f"{hung} of {requests} were never answered, though all others were long before"
        return Sides(left, right, hung / (whole.sample_count + hung), Balance.DOUBT, brief, _hung_advice(evidence))
    if waited := _waited_in_vain(evidence):
        return replace(Sides(left, right, ratio, Balance.DOUBT, waited, _WAITED_ADVICE), explains=_FOLLOW)
    for brief in _failed_before(evidence):
        return Sides(left, right, ratio, Balance.DOUBT, brief, _FAILED_ADVICE)
    if window.length_s == window.run_s or window.kind != STEADY:
        return Sides(left, right, ratio, Balance.BALANCED)
    if window.slow_down:
        brief = f"The system became slower within the {window.warm_up_cut_s} s that are excluded as warm-up"
        advice = f"In these seconds {window.slow_down}. {_cause(evidence)}"
        return Sides(left, right, ratio, Balance.DOUBT, brief, advice)
    for brief in _worse_parts(evidence):
        return Sides(left, right, ratio, Balance.DOUBT, brief, _ADVICE)
    for edge in large_edges(evidence):
        return Sides(left, right, edge.ratio, Balance.DOUBT, edge.brief, edge.advice, _OF_WINDOW)
    return Sides(left, right, ratio, Balance.BALANCED)


def _cause(evidence: Evidence) -> str:
    """Return the sentence about what made the system slower, or where to look for it."""
    lost = evidence.lost_cpu
    if lost and lost.is_of_warm_up and evidence.run:
        return f"{lost.text(evidence.run.host.cpu_count)}. Run again when the machine is idle."
    return "Look at its CPU, memory and heap at that time."


def _hung_count(evidence: Evidence, whole: LabelFigures) -> int:
    """Return how many requests without an answer had waited for longer than the slow ones when the load ended.

    At any time some wait. A request that takes e waits longer than w in e - w of the time T of the load. So of those
    that are counted, the sum of (e - w) ÷ T is expected to wait longer than w at its end. Few more may by chance.
    """
    least_ms = whole.counts.histogram.quantile_ms(_SLOW) or 0
    hung = sum(count for waited_ms, count in evidence.closed_waits.counts.items() if waited_ms > least_ms)
    over_ms = sum(count * max(0, each_ms - least_ms) for each_ms, count in whole.counts.histogram.counts.items())
    expected = over_ms / units.MS_PER_S / max(1, evidence.window.run_s)
    more = hung - expected - _DEVIATIONS * math.sqrt(max(1.0, expected))
    return hung if more > 0 and hung > _HUNG_RATIO * (whole.sample_count + hung) else 0


def _waited_in_vain(evidence: Evidence) -> str:
    """Return how many users of a closed load waited in the window for answers that came after it; "" for few.

    Requests are in flight at both ends of a window: it has all of their time at its begin, and none at its end. These
    sums, Σ e² ÷ 2 T for samples of times e in a time T, are equal but for chance: where requests do not wait for each
    other, each has a variance of Σ e³ ÷ 3 T. Where they do, one may be of its usual size more. Of times with a heavy
    tail one may be much longer than any before.
    """
    window, load = evidence.window, evidence.load
    if evidence.is_open or load is None:
        return ""
    inside = Interval(window.from_s, window.to_s)
    counted = total(evidence.seconds[window.from_s : window.to_s])
    spells = [*spells_of(evidence.seconds[window.from_s : window.to_s])]
    users_s = sum(spell.length_s * (spell.value.active_users or 0) for spell in spells)
    if not users_s or not counted.sample_count:
        return ""
    more_ms = waiting_ms(evidence.seconds, inside) - counted.elapsed_sum_ms
    times, window_ms = load.counts.histogram.counts.items(), window.length_s * units.MS_PER_S
    squares, cubes = (sum(count * float(each_ms) ** power for each_ms, count in times) for power in (2, 3))
    chance_ms = squares / 2 / window_ms + _DEVIATIONS * math.sqrt(2 / 3 * cubes / window_ms) + _LONGER * load.max_ms
    more = more_ms / units.MS_PER_S / window.length_s
    active = users_s / sum(spell.length_s for spell in spells if spell.value.active_users)
    if more_ms <= chance_ms or more <= _WAITED_RATIO * active:
        return ""
    return f"{more:.1f} of {units.plural(round(active), 'user')} waited for answers that are in no number"


def _hung_advice(evidence: Evidence) -> str:
    names = ", ".join(evidence.closed)
    waited = units.duration_text(max(evidence.closed_waits.counts) / units.MS_PER_S)
    return (
        f"They waited for up to {waited} when the load ended, and no number includes them ({names}). Look for what "
        "hangs in the system; with a response timeout in the plan they are failures."
    )


def _failed_before(evidence: Evidence) -> Iterator[str]:
    """Yield the steps that failed and are not in the window, such as a log-in, by more than chance; and setUp.

    Of setUp most must fail: what it deletes may not be there.
    """
    counted = {label.label for label in evidence.labels}
    usual = max(_USUAL_ERRORS, evidence.load.error_ratio if evidence.load else 0.0)
    once = (label for group in evidence.beside if group.name == ONCE for label in group.counted)
    for label in (*evidence.whole_labels, *once):
        failed, count = label.error_count, label.sample_count
        if label.label in counted or failed <= ERRORS_MORE * count:
            continue
        if 1 - binomial_at_most(failed - 1, count, min(usual, 1.0)) < _FAILED_CHANCE:
            samples = units.plural(count, "sample")
            yield f"{failed} of {samples} of {label.label} failed, and the window has none of them"
    for group in evidence.beside:
        if group.name == SETUP and group.total.error_ratio > MOSTLY_ERRORS_RATIO:
            failed, samples = group.total.error_count, units.plural(group.total.sample_count, "sample")
            yield f"{failed} of {samples} of setUp failed: what it prepares may be missing"


_WAITED_ADVICE = (
    "Their requests ended after the window. Look for what hangs in the system; with a response timeout in the plan "
    "they are failures."
)
# What waits in vain sends nothing. Of a file of which much is left out, the window may be short.
_FOLLOW = ("one-state",)
_OF_WINDOW = (*_FOLLOW, "too-short", "too-few-samples", "few-samples")
_FAILED_ADVICE = "The load then does other work than it is meant to do. Look at the errors by cause."
_ADVICE = "No number in the window includes it. Look at the charts for that time; lth table FILE counts all."


def _worse_parts(evidence: Evidence) -> Iterator[str]:
    """Yield what is worse in a part that is left out than in the window: failures, and in the tail times.

    A slow start is a warm-up.
    """
    window, seconds = evidence.window, evidence.seconds
    counted = seconds[window.from_s : window.to_s]
    parts = (("ramp-up", 0, window.ramp_cut_s), ("warm-up", window.ramp_cut_s, window.from_s))
    for name, from_s, to_s in (*parts, ("tail", window.to_s, window.run_s)):
        part = seconds[from_s:to_s]
        if _count(part) < _SAMPLES_LEAST or to_s - from_s < max(
            PART_LEAST_S, _PART_RESPONSES * _average_ms(counted) / units.MS_PER_S
        ):
            continue
        before_ms, after_ms = _average_ms(counted), _average_ms(part)
        before, after = _errors(counted), _errors(part)
        where = f"{from_s} s to {to_s} s are left out as {name}"
        if after > before + ERRORS_MORE and after > before + _DEVIATIONS * math.sqrt(after / _count(part)):
            percents = f"{units.percent_text(after, 0)} % failed there, {units.percent_text(before)} % in the window"
            yield f"{where}: {percents}"
        elif name == "tail" and after_ms > SLOWER_RATIO * before_ms:
            times = (
                f"{units.average_text(after_ms)} ms on average there, {units.average_text(before_ms)} ms in the window"
            )
            yield f"{where}: {times}"


def _count(seconds: Sequence[SecondFigures]) -> int:
    return total(seconds).sample_count


def _average_ms(seconds: Sequence[SecondFigures]) -> float:
    return total(seconds).elapsed_sum_ms / max(1, _count(seconds))


def _errors(seconds: Sequence[SecondFigures]) -> float:
    return total(seconds).error_count / max(1, _count(seconds))


LINE = LineKind(
    code="read-counted",
    since="1.2.0",
    title="read = counted",
    concerns=(ReportPart.VERDICT, ReportPart.WINDOW, ReportPart.COUNT),
    is_of_answers=True,
    hides=_OF_WINDOW,
    formerly=("fast-warm-up", "sub-samples"),
    page=__doc__,
    measure=measure,
)
