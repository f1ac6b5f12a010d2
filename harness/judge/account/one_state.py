"""Compares any part of the measurement window with any other: an average is a number of one state only.

Seen: Times, answers, errors or throughput of one part of the window differ from another's.

Why it matters: An average over several states is the number of none of them. The line says how far thirds are apart
within the noise: such a change may be hidden.

What to do: Look at the charts then. Run longer if the system was still warming up, or count one part: `lth table FILE
--window 2m..5m`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from harness.base import units
from harness.judge.account.line import NOT_KNOWN_TEXT, Balance, LineKind, Sides
from harness.judge.evidence import Evidence
from harness.judge.warning_kind import ReportPart
from harness.metrics.one_state import AVERAGE_LEAST_MS, average_extremes, batch_difference
from harness.metrics.steadiness import PRACTICAL_RATIO
from harness.metrics.timeline import SecondFigures

# A value with its unit; seconds of the run have another one.
_VALUE = re.compile(r"(\d[\d,.]*)( ms| %|/s| bytes| requests)")
_ENDS = 2


def measure(evidence: Evidence) -> Sides:
    """Return the average of the window, and whether it is that of its parts."""
    window, load = evidence.window, evidence.load
    if load is None or window.is_steady is None or not evidence.is_span_known or window.is_too_short:
        return Sides()
    left = f"average {units.average_text(load.average_ms)} ms"
    reason = window.reason or _reason_of_batches(evidence)
    if not reason:
        return _in_one_state(left, evidence.seconds[window.from_s : window.to_s])
    what, _, when = reason.partition(": ")
    brief, ends = f"{what[:1].upper()}{what[1:]}", _ends_text(when)
    if window.is_too_sparse:
        return Sides(left, NOT_KNOWN_TEXT, None, Balance.DOUBT, brief, "Run longer, or drive more users.")
    then = f"It was {when}. " if when else ""
    mixed = "Averages and percentiles mix several states. Run longer, or count one interval: "
    advice = f"{_lost_cpu_text(evidence)}{then}{mixed}lth table FILE --window FROM..TO."
    brief = ": ".join(filter(None, (brief, ends)))
    return Sides(left, ends or reason, None, Balance.DOUBT, brief, advice)


def _in_one_state(left: str, seconds: Sequence[SecondFigures]) -> Sides:
    """Return the sides of a window in one state: how far the averages of its thirds are apart."""
    parts = average_extremes(seconds)
    if parts is None:
        return Sides(left, "no difference was seen", None, Balance.BALANCED)
    least, greatest = (units.average_text(value_ms) for value_ms in (parts.least, parts.greatest))
    apart_ratio = parts.greatest / parts.least - 1 if parts.least else None
    is_close = apart_ratio is not None and apart_ratio < PRACTICAL_RATIO - 1
    is_same = is_close or parts.greatest - parts.least <= AVERAGE_LEAST_MS
    right = "the same in all parts" if is_same else f"thirds of {least} to {greatest} ms, within the noise"
    return Sides(left, right, apart_ratio, Balance.BALANCED)


def _reason_of_batches(evidence: Evidence) -> str:
    """Return which number differs between the batches of the window: bytes, the mix of labels, or their errors."""
    load = evidence.load
    labels = {label.label: label.batches for label in evidence.labels if label.batches}
    difference = batch_difference(load.batches if load else None, labels)
    if difference is None or load is None or load.batches is None:
        return ""
    return difference.text(evidence.window.from_s, load.batches.length_s)


def _ends_text(when: str) -> str:
    """Return the least and the greatest value of a text such as `195 ms from 50 to 80 s, otherwise 49 ms`."""
    values = sorted(_VALUE.findall(when), key=lambda value: float(value[0].replace(",", "")))
    if len(values) < _ENDS:
        return ""
    (least, unit), *_, (most, _) = values
    return f"{least} to {most}{unit}"


def _lost_cpu_text(evidence: Evidence) -> str:
    """Return a sentence about the CPU that the run lost, and a blank; empty without one."""
    lost = evidence.lost_cpu
    if lost is None or lost.is_of_warm_up or evidence.run is None:
        return ""
    during, rest = (units.average_text(average) for average in (lost.during_ms, lost.else_ms))
    then = f"when the average was {during} ms instead of {rest} ms; without these seconds the run is steady"
    return f"{lost.text(evidence.run.host.cpu_count)}, {then}. "


LINE = LineKind(
    code="one-state",
    since="1.2.0",
    title="counted = one state",
    concerns=(ReportPart.VERDICT, ReportPart.WINDOW),
    is_of_answers=True,
    formerly=("not-steady",),
    page=__doc__,
    measure=measure,
)
