"""Says which results the plan hid: no row has what it ignored, and a failure may have the row of a success."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from harness.base import units
from harness.judge.account.line import Balance, Sides
from harness.judge.evidence import Evidence
from harness.judge.users_counted import counts_by_label, groups_of
from harness.metrics.figures import CodeCount, is_of_http, is_unanswered

if TYPE_CHECKING:
    from harness.run.group_counts import GroupCounts, IgnoredCount, LabelCount

# With what is ignored, an average is longer by so much, and by so many standard deviations.
SLOWER_RATIO, _DEVIATIONS = 1.1, 4.0
_NAMED_MOST = 3
# So many of a step's requests may be refused and count as successes, and so many of all may be sent twice.
_HIDDEN_RATIO = 0.05
# Codes of 4xx that are an answer: the system looked, and said how the thing asked for is: absent, gone, or in another
# state. All others refuse the request before its work: who asks (401, 403, 407), when (408, 429), or how (400, 422).
_ANSWERS = frozenset({"404", "409", "410", "412", "416"})
_OF_5XX, _UNANSWERED = "5xx", "without an answer"
_REFUSED = (
    "The share of errors lacks them. An assertion ignores the status (assume_success), or a script sets the success."
)
_MEANT = "If they are meant, assert on their code, such as 401."
_MEANT_IN_FILE = "Whether they are meant, this file does not say: lth run knows a plan that asserts on their code."
_REPEATED = (
    "The share of errors lacks them, and their times are part of the next try's. Leave httpclient4.retrycount at 0."
)
_CLOSED = (
    "The server closed the connection, which a TCP Sampler takes for the end of an answer. Look for a server that is "
    "down or overloaded. If it is meant to answer nothing, give the step an assertion."
)
_EXITED = (
    "An OS Process Sampler fails by the exit code only with its option to check it: switch that on. If the code is "
    "meant, give the step an assertion."
)
# Successes that are none: what is said of them, what they are, their counts, and what to do.
_HIDDEN: tuple[tuple[str, str, Callable[[GroupCounts], Sequence[LabelCount]], str], ...] = (
    (_UNANSWERED, "request", lambda group: group.unanswered, _CLOSED),
    ("with an error as exit code", "program", lambda group: group.exited, _EXITED),
)
_WHY = "A script, an assertion or the sampler itself calls setIgnore on them, and no number includes them."


def ignored_of(evidence: Evidence) -> tuple[IgnoredCount, ...]:
    """Return the ignored results of the load by label, most first; none where they are not counted."""
    if not (groups := groups_of(evidence.run)):
        return ()
    from harness.run.group_counts import ignored_counts  # here: no bare JTL has any

    counts = ignored_counts(one for group in groups for one in group.ignored)
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
    """Return the line with failures that scripts made successes, whose code does not tell it."""
    made = counts_by_label(evidence.run, lambda group: group.made_good)
    if sides.is_off or not made:
        return _with_refused(evidence, _with_hidden(evidence, _with_repeated(evidence, sides)))
    count = sum(made.values())
    made_text = "1 failure a success" if count == 1 else f"{count:,} failures successes"
    brief = f"The plan made {made_text} ({named_counts(made)})"
    advice = "A script calls setSuccessful on them, with another code or after a failed assertion. Let them fail."
    ratio = count / max(1, evidence.row_count)
    return replace(sides, difference_ratio=ratio, balance=Balance.DOUBT, brief=brief, advice=advice)


def _with_repeated(evidence: Evidence, sides: Sides) -> Sides:
    """Return the line with requests that the client sent again: a statement, and a doubt if they are many."""
    repeated = counts_by_label(evidence.run, lambda group: group.repeated)
    if not repeated:
        return sides
    count = sum(repeated.values())
    sides = replace(sides, right=f"{sides.right}; sent again by the client: {count:,} ({named_counts(repeated)})")
    ratio = count / max(1, evidence.row_count)
    if sides.is_off or ratio <= _HIDDEN_RATIO:
        return sides
    brief = f"Failed connections have no row: {units.plural(count, 'request')} sent again ({named_counts(repeated)})"
    return replace(sides, difference_ratio=ratio, balance=Balance.DOUBT, brief=brief, advice=_REPEATED)


def _with_hidden(evidence: Evidence, sides: Sides) -> Sides:
    """Return the line with successes that are none: a statement, and a doubt if a step has a lot of them."""
    samples = {one.label: one.sample_count for one in evidence.whole_labels}
    for what, noun, get, advice in _HIDDEN:
        counts = counts_by_label(evidence.run, get)
        if not counts:
            continue
        stated = f"{what}: {sum(counts.values()):,} ({named_counts(counts)})"
        sides = replace(sides, right=f"{sides.right}; {stated}")
        many = {label: count for label, count in counts.items() if count > _HIDDEN_RATIO * samples.get(label, count)}
        if many and not sides.is_off:
            count = sum(many.values())
            brief = f"{units.plural(count, noun)} {what} counted as success ({named_counts(many)})"
            ratio = count / max(1, evidence.row_count)
            sides = replace(sides, difference_ratio=ratio, balance=Balance.DOUBT, brief=brief, advice=advice)
    return sides


def _with_refused(evidence: Evidence, sides: Sides) -> Sides:
    """Return the line with refusals that count as successes."""
    wrong = refused(evidence)
    if sides.is_off or not wrong:
        return sides
    labels = {code.label: _successes(one for one in wrong if one.label == code.label) for code in wrong}
    kinds = Counter[str]()
    for code in wrong:
        kinds[refusal_of(code.code)] += _successes([code])
    unanswered = kinds.pop(_UNANSWERED, 0)
    what = units.plural(_successes(wrong), "request" if unanswered else "answer")
    codes = " or ".join(kind for kind, _ in kinds.most_common(_NAMED_MOST))
    said = " or ".join([f"of {codes}"] * bool(codes) + [_UNANSWERED] * bool(unanswered))
    brief = f"{what} {said} counted as success ({named(sorted(labels, key=lambda label: -labels[label]))})"
    meant = _MEANT if evidence.run else _MEANT_IN_FILE
    ratio = _successes(wrong) / sum(code.sample_count for code in evidence.codes if not code.is_transaction)
    return replace(sides, difference_ratio=ratio, balance=Balance.DOUBT, brief=brief, advice=f"{_REFUSED} {meant}")


def refused(evidence: Evidence) -> tuple[CodeCount, ...]:
    """Return the refusals that are successes, of steps that have a lot of them.

    A step has none whose plan names a 5xx, or for other refusals checks its code.
    """
    steps = evidence.run.steps if evidence.run else ()
    erring, checked = {one.label for one in steps if one.expects_5xx}, {one.label for one in steps if one.checks_code}
    counts, wrong = Counter[str](), defaultdict[str, list[CodeCount]](list)
    for code in evidence.codes:
        if not code.is_transaction:
            counts[code.label] += code.sample_count
            kind = refusal_of(code.code)
            if kind and code.sample_count > code.error_count:
                wrong[code.label] += [code] if code.label not in (erring if kind == _OF_5XX else checked) else []
    many = (codes for label, codes in wrong.items() if _successes(codes) > _HIDDEN_RATIO * counts[label])
    return tuple(code for codes in many for code in codes)


def _successes(codes: Iterable[CodeCount]) -> int:
    return sum(code.sample_count - code.error_count for code in codes)


def refusal_of(code: str) -> str:
    """Return 5xx, a code of 4xx, or "without an answer" for a request whose work was not done; empty for others."""
    if is_unanswered(code):
        return _UNANSWERED
    if not is_of_http(code) or code[0] not in "45" or code in _ANSWERS:
        return ""
    return _OF_5XX if code.startswith("5") else code


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


def named_counts(counts: Mapping[str, int]) -> str:
    """Return the first labels of counts, most frequent first."""
    return named(sorted(counts, key=lambda label: -counts[label]))


def named(labels: Sequence[str]) -> str:
    """Return the first labels of several."""
    more = len(labels) - _NAMED_MOST
    return ", ".join(labels[:_NAMED_MOST]) + (f" and {more} more" if more > 0 else "")
