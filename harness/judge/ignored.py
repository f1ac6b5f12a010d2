"""Says which results the plan hid: no row has what it ignored, and a failure may have the row of a success."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from harness.base import units
from harness.judge.account.line import Balance, Sides
from harness.judge.evidence import Evidence
from harness.judge.users_counted import groups_of
from harness.metrics.figures import CodeCount, is_of_http
from harness.run.group_counts import IgnoredCount, LabelCount, ignored_counts, label_counts

# With what is ignored, an average is longer by so much, and by so many standard deviations.
SLOWER_RATIO, _DEVIATIONS = 1.1, 4.0
_NAMED_MOST = 3
# So many of a step's answers may be 5xx and count as successes, and so many of all requests may be sent twice.
_HIDDEN_RATIO = 0.05
_SERVER_ERRORS = (
    "The share of errors lacks them. An assertion ignores the status (assume_success), or a script sets the success. "
    "If they are meant, assert on their code, such as 503."
)
_REPEATED = (
    "The share of errors lacks them, and their times are part of the next try's. Leave httpclient4.retrycount at 0."
)
_WHY = "A script, an assertion or the sampler itself calls setIgnore on them, and no number includes them."


def ignored_of(evidence: Evidence) -> tuple[IgnoredCount, ...]:
    """Return the ignored results of the load by label, most first; none where they are not counted."""
    counts = ignored_counts(one for group in groups_of(evidence.run) for one in group.ignored)
    return tuple(sorted(counts, key=lambda one: -one.count))


def with_ignored(evidence: Evidence, sides: Sides) -> Sides:
    """Return the line of what was read with what the plan ignored: a statement, and a doubt if that flatters."""
    ignored = ignored_of(evidence)
    if not ignored:
        return _with_made_good(evidence, sides)
    count = sum(one.count for one in ignored)
    of = named([one.label for one in ignored])
    sides = replace(sides, right=f"{sides.right}; ignored by the plan: {units.plural(count, 'result')} ({of})")
    if sides.is_off:
        return sides
    if failed := [one for one in ignored if one.failed_count]:
        failures = units.plural(sum(one.failed_count for one in failed), "failure")
        brief = f"The plan ignored {failures} ({named([one.label for one in failed])})"
        advice = f"{_WHY} Remove that, or do not let a result fail that is none, such as of a poll."
    elif slower := [text for one in ignored if (text := _slower(evidence, one))]:
        brief = f"The plan ignored slow results ({slower[0]})"
        advice = f"{_WHY} Remove that, or count them under a name of their own."
    else:
        return _with_made_good(evidence, sides)
    ratio = count / max(1, evidence.row_count + count)
    return replace(sides, difference_ratio=ratio, balance=Balance.DOUBT, brief=brief, advice=advice)


def _with_made_good(evidence: Evidence, sides: Sides) -> Sides:
    """Return the line with failures that scripts made successes, whose code does not tell it either."""
    made = label_counts(one for group in groups_of(evidence.run) for one in group.made_good)
    if sides.is_off or not made:
        return _with_server_errors(evidence, _with_repeated(evidence, sides))
    count = sum(one.count for one in made)
    made_text = "1 failure a success" if count == 1 else f"{count:,} failures successes"
    brief = f"The plan made {made_text} with another code ({named_counts(made)})"
    advice = "A script calls setSuccessful and setResponseCode on them. Leave at least the code as it was."
    ratio = count / max(1, evidence.row_count)
    return replace(sides, difference_ratio=ratio, balance=Balance.DOUBT, brief=brief, advice=advice)


def _with_repeated(evidence: Evidence, sides: Sides) -> Sides:
    """Return the line with requests that the client sent again: a statement, and a doubt if they are many."""
    repeated = label_counts(one for group in groups_of(evidence.run) for one in group.repeated)
    if not repeated:
        return sides
    count = sum(one.count for one in repeated)
    sides = replace(sides, right=f"{sides.right}; sent again by the client: {count:,} ({named_counts(repeated)})")
    ratio = count / max(1, evidence.row_count)
    if sides.is_off or ratio <= _HIDDEN_RATIO:
        return sides
    brief = f"Failed connections have no row: {units.plural(count, 'request')} sent again ({named_counts(repeated)})"
    return replace(sides, difference_ratio=ratio, balance=Balance.DOUBT, brief=brief, advice=_REPEATED)


def _with_server_errors(evidence: Evidence, sides: Sides) -> Sides:
    """Return the line with errors of the server that count as successes."""
    wrong = server_errors(evidence)
    if sides.is_off or not wrong:
        return sides
    count = sum(wrong.values())
    brief = f"{units.plural(count, 'answer')} of 5xx counted as success ({named(list(wrong))})"
    ratio = count / sum(code.sample_count for code in evidence.codes if not code.is_transaction)
    return replace(sides, difference_ratio=ratio, balance=Balance.DOUBT, brief=brief, advice=_SERVER_ERRORS)


def server_errors(evidence: Evidence) -> Mapping[str, int]:
    """Return how many errors of the server are successes, by label, most first: of steps that have a lot of them.

    A step whose plan names such a code has none.
    """
    meant = {step.label for step in evidence.run.steps if step.expects_5xx} if evidence.run else set[str]()
    counts, wrong = Counter[str](), Counter[str]()
    for code in evidence.codes:
        if not code.is_transaction:
            counts[code.label] += code.sample_count
            is_wrong = is_server_error(code) and code.label not in meant
            wrong[code.label] += code.sample_count - code.error_count if is_wrong else 0
    return {label: count for label, count in wrong.most_common() if count > _HIDDEN_RATIO * counts[label]}


def is_server_error(code: CodeCount) -> bool:
    """Return whether a code is one of HTTP for errors of the server."""
    return is_of_http(code.code) and code.code.startswith("5")


def _slower(evidence: Evidence, ignored: IgnoredCount) -> str:
    """Return the label and its average with and without what is ignored; empty unless that is slower, not by chance."""
    label = next((one for one in evidence.whole_labels if one.label == ignored.label), None)
    if label is None or not label.sample_count:
        return ""
    average_ms, count = label.average_ms, label.sample_count
    with_ms = (average_ms * count + ignored.took_ms) / (count + ignored.count)
    chance_ms = _DEVIATIONS * label.stddev_ms / math.sqrt(ignored.count)
    if with_ms <= SLOWER_RATIO * average_ms or ignored.took_ms / ignored.count - average_ms <= chance_ms:
        return ""
    averages = (units.average_text(each_ms) for each_ms in (with_ms, average_ms))
    return "{}: {} ms on average with them, not {} ms".format(ignored.label, *averages)


def named_counts(counts: Iterable[LabelCount]) -> str:
    """Return the first labels, most frequent first."""
    return named([one.label for one in sorted(counts, key=lambda one: -one.count)])


def named(labels: Sequence[str]) -> str:
    """Return the first labels of several."""
    more = len(labels) - _NAMED_MOST
    return ", ".join(labels[:_NAMED_MOST]) + (f" and {more} more" if more > 0 else "")
