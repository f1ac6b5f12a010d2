"""Says what rows of a bare JTL show of themselves: that some are missing, there twice, cut off, or no successes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from harness.base import units
from harness.judge.account.line import Balance, Sides
from harness.judge.evidence import Evidence

# So many samples of a label took exactly as long as its slowest, many times as many as took any time just below, which
# are of so many different times.
_LIMITED_RATIO, _LIMITED_LEAST, _LIMITED_TIMES, _BESIDE, _OTHER_TIMES = 0.01, 10, 10, 5, 20
# Shorter times are near the clock's resolution, and then many are alike.
_LIMIT_LEAST_MS = 50
# So much longer a latency is no rounding.
_LATENCY_RATIO = 1.05


class RowFinding(NamedTuple):
    """What is wrong with a share of the rows, and what is behind it."""

    ratio: float
    brief: str
    advice: str


def with_rows(evidence: Evidence, sides: Sides) -> Sides:
    """Return the line of what was read with what the rows of a bare file show; a run's own account is better."""
    if evidence.run or sides.is_off or evidence.sorted_by:  # of sorted rows a part is not a part of the time
        return sides
    if evidence.threads.are_ends:
        return replace(sides, right=f"{sides.right}; their time stamps are those of their ends")
    if left := evidence.threads.left_count:
        share = _percent(left / evidence.threads.step_count)
        rest = "of the rows the next one of the user is not there, lost or left out by the plan"
        sides = replace(sides, right=f"{sides.right}; after {share} {rest}")
    finding = next((found for find in _FINDERS if (found := find(evidence))), None)
    if finding is None:
        return sides
    ratio, brief, advice = finding
    return replace(sides, difference_ratio=ratio, balance=Balance.DOUBT, brief=brief, advice=advice)


def _repeated(evidence: Evidence) -> RowFinding | None:
    threads = evidence.threads
    if not threads.repeated_count:
        return None
    ratio = threads.repeated_count / threads.row_count
    advice = "A listener of the plan wrote to the file of -l, too, and they count twice. Give the file without them."
    return RowFinding(ratio, f"{_percent(ratio)} of the rows are in the JTL twice", advice)


def _copied(evidence: Evidence) -> RowFinding | None:
    threads = evidence.threads
    if not threads.copied_count:
        return None
    ratio = threads.copied_count / threads.row_count
    first, second = threads.copied
    brief = f"{_percent(2 * ratio)} of the rows are copies of each other ({first} and {second})"
    return RowFinding(
        ratio, brief, "They are alike to the millisecond, and count twice. Give one of both: lth table FILE."
    )


def _overlapping(evidence: Evidence) -> RowFinding | None:
    threads = evidence.threads
    if not threads.overlapping_count or evidence.has_other_unit:
        return None
    ratio = threads.overlapping_count / threads.row_count
    advice = (
        "A thread does one request at a time. Runs or load generators in one file have the same threads, which count "
        "once. Give the files one by one: lth table FILE FILE. Or elapsed is not in ms."
    )
    return RowFinding(ratio, f"{_percent(ratio)} of the rows begin before their thread's last one has ended", advice)


def _silent(evidence: Evidence) -> RowFinding | None:
    threads = evidence.threads
    if not threads.silent_count:
        return None
    ratio = threads.silent_count / threads.user_count
    users = f"{threads.silent_count} of {units.plural(threads.user_count, 'user')} of {threads.silent_group}"
    advice = "By grpThreads they were active. Look for lost rows, or for users who waited all the time for an answer."
    return RowFinding(ratio, f"{users} {'has' if threads.silent_count == 1 else 'have'} no row", advice)


def _skipped(evidence: Evidence) -> RowFinding | None:
    threads = evidence.threads
    if not threads.skipped_count:
        return None
    ratio = threads.skipped_count / threads.step_count
    advice = (
        "Their users send one request after the other, and the next one is missing, while its time passed. Such a file "
        "has only successes, only last tries, or lost rows. Give the file of jmeter -l."
    )
    return RowFinding(ratio, f"After {_percent(ratio)} of the rows the next one of the user is missing", advice)


def _limited(evidence: Evidence) -> RowFinding | None:
    for label in evidence.whole_labels:
        counts = label.counts.histogram.counts
        if label.max_ms < _LIMIT_LEAST_MS or len(counts) <= _OTHER_TIMES:
            continue
        count, ratio = counts[label.max_ms], counts[label.max_ms] / label.sample_count
        below = max(counts[each_ms] for each_ms in sorted(counts)[-_BESIDE - 1 : -1])
        is_many = ratio >= _LIMITED_RATIO and count >= max(_LIMITED_LEAST, _LIMITED_TIMES * below)
        if is_many and label.error_count < count / 2:  # else a timeout of the client ended them
            times = f"exactly {label.max_ms:,} ms, and none longer"
            advice = "Something cut longer times off, and averages and percentiles are too low. Give the first file."
            return RowFinding(ratio, f"{_percent(ratio)} of {label.label} took {times}", advice)
    return None


def _late_first_byte(evidence: Evidence) -> RowFinding | None:
    for label in evidence.whole_labels:
        latency_ms, average_ms = label.latency_ms, label.average_ms
        if latency_ms is not None and latency_ms > _LATENCY_RATIO * average_ms + 1:
            times = f"{units.average_text(latency_ms)} and {units.average_text(average_ms)} ms"
            brief = f"Latency is longer than elapsed on average ({label.label}: {times})"
            return RowFinding(
                1 - average_ms / latency_ms, brief, "It is a part of elapsed. Give the file as JMeter wrote it, in ms."
            )
    return None


def _passed(evidence: Evidence) -> RowFinding | None:
    threads = evidence.threads
    if not threads.passed_count:
        return None
    ratio = threads.passed_count / threads.row_count
    advice = "A script made them successes, so the share of errors lacks them. Look at the column failureMessage."
    return RowFinding(ratio, f"{_percent(ratio)} of the rows are successes of which an assertion failed", advice)


def _percent(ratio: float) -> str:
    return f"{units.percent_text(ratio, 0)} %"


# In the order in which they explain each other.
_FINDERS: tuple[Callable[[Evidence], RowFinding | None], ...] = (
    _repeated,
    _copied,
    _overlapping,
    _silent,
    _skipped,
    _limited,
    _late_first_byte,
    _passed,
)
