"""Warns that the rates of a whole file include a long wait for its last answers.

Seen: at least the last 10 s and 5 % of the time are a wait for at most 0.1 % of the samples, at less than a tenth of
the rate before, and the table is of the whole time. JMeter's own reports do the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.base.units import duration_text, plural
from harness.judge.evidence import Evidence, Values
from harness.judge.warning_kind import ReportPart, WarningKind
from harness.metrics.load_seconds import spells_of

_SAMPLES_RATIO, _RATE_RATIO = 0.001, 0.1
_LENGTH_LEAST_S, _LENGTH_RATIO = 10, 0.05


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield how long the last answers were waited for, how many they are, and the throughput before."""
    seconds, load = evidence.seconds, evidence.load
    if load is None or evidence.window.length_s != evidence.window.run_s:
        return
    most, count, last = int(_SAMPLES_RATIO * load.sample_count), 0, []
    for spell in reversed(list(spells_of(seconds))):
        is_waited = spell.value.waiting_count or spell.to_s == len(seconds)
        count += spell.length_s * spell.value.sample_count
        if not is_waited or count > most:
            break
        last.append((spell, count))
    # The first of them are as many as ever.
    while last and last[-1][0].value.sample_count >= _RATE_RATIO * load.sample_count / len(seconds):
        last.pop()
    if not last or not (from_s := last[-1][0].from_s):
        return
    count = last[-1][1]
    length_s = len(seconds) - from_s
    # A gap in them has a warning of its own; an earlier one does not change this.
    if any(gap.to_s > from_s for gap in evidence.gaps) or length_s < max(_LENGTH_LEAST_S, _LENGTH_RATIO * len(seconds)):
        return
    before_per_s = (load.sample_count - count) / from_s
    if count / length_s < _RATE_RATIO * before_per_s:
        answers = plural(count, "answer")
        yield {"length": duration_text(length_s), "answers": answers, "rate": f"{before_per_s:.2f}"}


WARNING = WarningKind(
    code="late-end",
    since="1.2.0",
    concerns=(ReportPart.COUNT,),
    needs=("load", "seconds"),
    text="The last {length} are a wait for {answers}, and the throughput of the whole run includes them: before it was "
    "{rate} req/s. Look for what hung in the system; a response timeout in the plan ends such requests.",
    page=__doc__,
    found_in=found_in,
)
