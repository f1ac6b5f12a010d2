"""Says which rows include other rows that TOTAL counts, too: of redirects, embedded resources, unmarked transactions.

And which rows include what the plan did after the answer: a sub-result that a post-processor adds moves their end.

JMeter names the parts of a sample after it: Cart-0 is the first part of Cart. Of a bare file the times of a thread show
parts of any name, and that other samples have such names by themselves; of a run its plan does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from harness.base import units
from harness.judge.account.line import Balance, Sides
from harness.judge.evidence import Evidence
from harness.judge.ignored import named, named_counts
from harness.judge.not_sent import is_longer, is_off
from harness.judge.users_counted import counts_by_label
from harness.metrics.figures import LabelFigures
from harness.metrics.threads import FIRST_SUB_SAMPLE

_NUMBERED = re.compile(r"(.+)-\d+")
_BY_NAME = (
    "Its row has the sum of the others: redirects, embedded resources, or what scripts add. The rows of single labels "
    "are right. To write the requests alone, set "
)
_IN_PLAN = '"jmeter.save.saveservice.subresults" = "false" in [properties] of the plan.'
_BY_OPTION = "-Jjmeter.save.saveservice.subresults=false."
_BY_TIME = (
    "They begin with another row of their thread and last longer. The rows of single labels are right. Save the column "
    "responseMessage, which marks Transaction Controllers, or no subresults."
)

_LATE = (
    "A Debug PostProcessor or a script adds a sub-result (or sets the end), which moves the end of the sample beyond "
    "the scripts before it. Remove it, or place it before them."
)


def with_late(evidence: Evidence, sides: Sides) -> Sides:
    """Return the line of what was counted with times that go on after the answer: a doubt if an average is off."""
    late_ms = counts_by_label(evidence.run, lambda group: group.late_ms)
    averages = {
        one.label: (one.average_ms, one.average_ms - late_ms[one.label] / one.sample_count)
        for one in evidence.whole_labels
        if one.label in late_ms and not one.is_transaction
    }
    off = {label: with_ms for label, (with_ms, own_ms) in averages.items() if is_longer(with_ms, own_ms)}
    if not off:
        return sides
    label = max(off, key=lambda one: late_ms[one])
    with_ms, own_ms = averages[label]
    names = named_counts({one: late_ms[one] for one in off})
    sides = replace(sides, right=f"{sides.right}; times that go on after the answer: {names}")
    if sides.is_off:
        return sides
    more, whole = (units.average_text(ms) for ms in (with_ms - own_ms, with_ms))
    brief = f"The times of {label} go on after the answer: {more} of {whole} ms on average"
    ratio = (with_ms - own_ms) / with_ms
    return replace(sides, difference_ratio=ratio, balance=Balance.DOUBT, brief=brief, advice=_LATE)


def with_included(evidence: Evidence, sides: Sides) -> Sides:
    """Return the line of what was counted with rows that include others: a statement, and a doubt if TOTAL is off."""
    labels = [one for one in evidence.whole_labels if not one.is_transaction]
    wholes = _wholes(evidence, labels)
    if not wholes:
        return sides
    names = named([*wholes])
    sides = replace(sides, right=f"{sides.right}; rows that include others: {names}")
    parts = {one.label: one.sample_count for one in labels if _whole_of(one.label) in wholes}
    if sides.is_off or not (is_off(labels, wholes) or is_off(labels, parts)):
        return sides
    ratio = sum(wholes.values()) / sum(one.sample_count for one in labels)
    brief = f"{units.percent_text(ratio, 0)} % of the rows include others, and TOTAL counts both ({names})"
    advice = _BY_NAME + (_IN_PLAN if evidence.run else _BY_OPTION) if parts else _BY_TIME
    return replace(sides, difference_ratio=ratio, balance=Balance.DOUBT, brief=brief, advice=advice)


def _wholes(evidence: Evidence, labels: Sequence[LabelFigures]) -> Mapping[str, int]:
    """Return how many rows of which labels include others: as many as have a first part, else all of a label."""
    steps = {step.label for step in evidence.run.steps} if evidence.run else set()
    parts = {label.label: label for label in labels if label.label not in steps}
    counts = {}
    for label in labels:
        part = parts.get(label.label + FIRST_SUB_SAMPLE)
        is_named = bool(part and _is_part(part, label))
        if label.label in evidence.threads.parents if evidence.threads.row_count else is_named:
            counts[label.label] = min(label.sample_count, part.sample_count if part else label.sample_count)
    return counts


def _is_part(part: LabelFigures, whole: LabelFigures) -> bool:
    """Return whether the samples of a label are few and short enough to be parts of those of another one."""
    is_shorter = part.counts.elapsed_sum_ms <= whole.counts.elapsed_sum_ms
    return is_shorter and part.sample_count <= whole.sample_count


def _whole_of(label: str) -> str:
    """Return the label of the sample that a part is named after; empty for other names."""
    numbered = _NUMBERED.fullmatch(label)
    return numbered[1] if numbered else ""
