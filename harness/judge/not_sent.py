"""Says which rows are no requests: JMeter answered them itself, of its cache, or a step of the plan sends nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from harness.base import units
from harness.judge.account.line import Balance, Sides
from harness.judge.evidence import Evidence
from harness.judge.ignored import named
from harness.judge.users_counted import counts_by_label, groups_of
from harness.metrics.figures import LabelFigures

# Without these rows an average, or a rate, is another one by so much.
_OFF_RATIO = 0.1
# Averages that differ by less are the same: JMeter's times are whole milliseconds.
_SAME_MS = 0.1
# A label without a byte of which most rows are such is a step that sends nothing: now and then a script takes longer.
_STEP_RATIO = 0.5
# Of a file only times and bytes are known: nearly all rows of such a step are such.
_NEARLY_ALL_RATIO = 0.95
# A request takes 0.1 ms or more, so that of those below a millisecond a tenth ends in the next one. Fewer than this up
# to _NEAR_MS were never sent; so many are no chance.
_NEXT_RATIO, _NEAR_MS, _LEAST = 0.05, 4, 20


class _Off(NamedTuple):
    """A label, "" for TOTAL, of which a number is off, and the share of its rows that are no requests."""

    label: str
    ratio: float


def with_not_sent(evidence: Evidence, sides: Sides) -> Sides:
    """Return the line of what was read with the rows that are no requests: a statement, and a doubt if they flatter."""
    counts = _not_sent(evidence)
    if not counts:
        return sides
    labels = sorted(counts, key=lambda label: -counts[label])
    of = f"{units.plural(sum(counts.values()), 'row')} ({named(labels)})"
    sides = replace(sides, right=f"{sides.right}; never sent: {of}")
    if sides.is_off or not (off := _most_off(evidence, counts)):
        return sides
    of_label = f" of {off.label}" if off.label else ""
    share = f"{units.percent_text(off.ratio, 0)} % of the rows{of_label}"
    brief = f"{share} are no requests: nothing was sent for them ({named(labels)})"
    return replace(sides, difference_ratio=off.ratio, balance=Balance.DOUBT, brief=brief, advice=_ADVICE)


_ADVICE = (
    "They count with their 0 ms in averages, percentiles and req/s. Let the Cache Manager write no rows "
    "(cached_resource_mode=RETURN_NO_SAMPLE); make a script a PreProcessor; remove a step that sends nothing, or call "
    "SampleResult.setIgnore() in it."
)


def _most_off(evidence: Evidence, counts: Mapping[str, int]) -> _Off | None:
    """Return TOTAL, else the label with most such rows, if a number of it is off; None if none is.

    A label of nothing else says so by its name and 0 ms.
    """
    labels = [one for one in evidence.whole_labels if not one.is_transaction]
    whole, unsent = sum(one.sample_count for one in labels), sum(counts.values())
    if whole > unsent and is_off(labels, counts):
        return _Off("", unsent / whole)
    partly = [one for one in labels if one.counts.sent_bytes != 0 and one.label in counts and is_off([one], counts)]
    off = [_Off(one.label, counts[one.label] / one.sample_count) for one in partly]
    return max(off, key=lambda one: one.ratio, default=None)


def is_longer(with_ms: float, own_ms: float) -> bool:
    """Return whether an average is another one than without what does not belong to it; 0.1 ms are not told apart."""
    return with_ms - own_ms > max(_OFF_RATIO * own_ms, _SAME_MS)


def is_off(labels: Sequence[LabelFigures], counts: Mapping[str, int]) -> bool:
    """Return whether the rate, or the average, is another one without so many rows of the labels."""
    count, time_ms = sum(one.sample_count for one in labels), sum(one.counts.elapsed_sum_ms for one in labels)
    unsent = sum(counts.get(one.label, 0) for one in labels)
    unsent_ms = sum(one.counts.elapsed_sum_ms for one in labels if counts.get(one.label) == one.sample_count)
    if unsent >= count:
        return False
    with_ms, without_ms = time_ms / count, (time_ms - unsent_ms) / (count - unsent)
    return count > (1 + _OFF_RATIO) * (count - unsent) or abs(without_ms - with_ms) > _OFF_RATIO * without_ms


def _not_sent(evidence: Evidence) -> Mapping[str, int]:
    """Return the rows that are no requests, by label: as the agent counted, else as their times and bytes show."""
    labels = [one for one in evidence.whole_labels if not one.is_transaction]
    if groups_of(evidence.run):
        counts = counts_by_label(evidence.run, lambda group: group.not_sent)
        return {one.label: _of_step(one, counts[one.label]) for one in labels if one.label in counts}
    is_sent = any(one.counts.sent_bytes for one in labels)
    return {one.label: count for one in labels if (count := _at_once(one, is_sent))}


def _of_step(label: LabelFigures, count: int) -> int:
    """Return all rows of a step that sends nothing, else as many as were counted."""
    is_step = label.counts.sent_bytes == 0 and count > _STEP_RATIO * label.sample_count
    return label.sample_count if is_step else min(count, label.sample_count)


def _at_once(label: LabelFigures, is_sent: bool) -> int:
    """Return the successes of 0 ms that no request can be; `is_sent` where other rows say that they sent something.

    The others of the label take several ms, or all of its rows are such and sent no byte.
    """
    times = label.counts.histogram.counts
    count = times.get(0, 0) - label.error_count
    near = sum(times.get(ms, 0) for ms in range(1, _NEAR_MS + 1))
    if count < _LEAST or near > _NEXT_RATIO * count:
        return 0
    rest = sorted(ms for ms in times if ms > _NEAR_MS)
    if label.counts.sent_bytes == 0:
        return label.sample_count if is_sent and count >= _NEARLY_ALL_RATIO * label.sample_count else 0
    return count if _is_fine(rest) else 0


def _is_fine(times_ms: Sequence[int]) -> bool:
    """Return whether three times follow each other: a clock of 10 or 16 ms gives no such ones."""
    steps = [after - before for before, after in pairwise(times_ms)]
    return (1, 1) in pairwise(steps)
