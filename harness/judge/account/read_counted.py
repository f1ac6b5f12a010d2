"""Compares the whole load with the measurement window: the rest must be ramp-up, warm-up or tail by its figures.

Seen: The part of the load that is left out is slower than the part that is counted, or fails more often, and is no
warm-up that gets faster.

Why it matters: The window is then the half that flatters, and what went wrong is in no number.

What to do: Look at the charts for the part that is left out. Count the whole load: `lth table FILE`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from harness.base import units
from harness.judge.account.line import Balance, LineKind, Sides
from harness.judge.evidence import Evidence
from harness.judge.warning_kind import ReportPart
from harness.metrics.timeline import SecondFigures, total
from harness.metrics.window import STEADY

# A part that is left out is slower when its average is so many times that of the window, and fails more when its share
# of errors is so much higher and chance would give so many standard deviations less.
SLOWER_RATIO, ERRORS_MORE, _DEVIATIONS = 1.5, 0.05, 4.0
# A shorter part, or one of fewer samples, is the edge of every load: its last samples are the longest ones.
PART_LEAST_S, _PART_RESPONSES, _SAMPLES_LEAST = 10, 5.0, 50


def measure(evidence: Evidence) -> Sides:
    """Return the samples of the whole load, and those of the window."""
    whole, counted, window = evidence.whole, evidence.load, evidence.window
    if whole is None:
        return Sides()
    left = units.plural(whole.sample_count, "sample")
    right = f"{units.plural(counted.sample_count if counted else 0, 'sample')} in the window"
    if counted is None:
        return Sides(left, right, 1.0)
    ratio = 1 - counted.sample_count / whole.sample_count
    if window.length_s == window.run_s or window.kind != STEADY:
        return Sides(left, right, ratio, Balance.BALANCED)
    if window.slow_down:
        brief = f"The system became slower within the {window.warm_up_cut_s} s that are excluded as warm-up"
        advice = f"In these seconds {window.slow_down}. Look at its CPU, memory and heap at that time."
        return Sides(left, right, ratio, Balance.DOUBT, brief, advice)
    for brief in _worse_parts(evidence):
        return Sides(left, right, ratio, Balance.DOUBT, brief, _ADVICE)
    return Sides(left, right, ratio, Balance.BALANCED)


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
    concerns=(ReportPart.VERDICT, ReportPart.WINDOW),
    is_of_answers=True,
    formerly=("fast-warm-up",),
    page=__doc__,
    measure=measure,
)
