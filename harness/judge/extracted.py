"""Finds what was sent in place of a value: what extractors that found nothing left, and names of variables."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from harness.base.units import plural
from harness.judge.evidence import Evidence
from harness.judge.ignored import named
from harness.judge.users_counted import groups_of
from harness.metrics.figures import LabelFigures

if TYPE_CHECKING:
    from harness.run.group_counts import ExtractionCount

# What was sent after so many of the answers is a doubt. Nobody means to send the name of a variable, or a default such
# as NOT_FOUND. A value of before, or a default that the system may take, are meant for answers without one, unless an
# extractor finds nothing in so many of them.
_SENT_RATIO = 0.05
_KEPT_RATIO, _VALUE_RATIO = 0.5, 0.9
# Defaults as NOT_FOUND, tokenMissing, "no value", null, -1 and ???; not 0, en, guest, or an empty one.
_NOTHING = re.compile(
    r"-1|[?#x*.-]+|.*(?:(?<![A-Za-z])|(?<=[a-z])(?=[A-Z]))"
    r"(?:(?i:not|notfound|null|none|nil|nan|missing|missed|err|error|fail|failed|failure|undefined|unset|unknown|invalid|"
    r"default|nothing|empty|n/?a|nf|nv)|(?i:no)(?=[ _-]\w)|no(?=[A-Z]))"
    r"(?:(?![A-Za-z])|(?<=[a-z])(?=[A-Z])).*",
    re.DOTALL,
)
ADVICE = (
    "The samples succeeded, but their requests lack what the answer should have had. Look at that answer: is it "
    "another page? If the plan may lack the value, let an If Controller or an assertion read it."
)
UNSET_ADVICE = (
    "Nothing set these variables. Look for a misspelt name, a column that the data file lacks, and in jmeter.log for a "
    "script that failed before it set one."
)


LIST_ADVICE = (
    "A ForEach Controller without a value sends nothing. Look at an answer of this step: is it another page, or does "
    "the expression not match? If the list may be empty, give the load data that fills it."
)


def never_found(evidence: Evidence, lists: Mapping[str, Sequence[str]]) -> str:
    """Return the steps never sent whose lists, by step, their extractors found in no answer; empty without any."""
    counts = [one for one in _counted(evidence) if not one.is_unset]
    finders = {name: [one for one in counts if one.variable == name] for names in lists.values() for name in names}
    lost = {name: ones for name, ones in finders.items() if ones and all(one.missed_count == one.count for one in ones)}
    labels = [label for label, names in lists.items() if any(name in lost for name in names)]
    if not labels:
        return ""
    name = next(name for name in lists[labels[0]] if name in lost)
    count, of = sum(one.count for one in lost[name]), named([*dict.fromkeys(one.label for one in lost[name])])
    return f"Never sent: {named(labels)}; the list {name} was in none of {plural(count, 'answer')} of {of}"


def missed_text(evidence: Evidence) -> str:
    """Return which extractors found nothing so that something else was sent; empty where none did that too often."""
    off = [(sent, count, text) for count in _extractions(evidence) for sent, text in _too_often(count)]
    if not off:
        return ""
    _, first, text = max(off, key=lambda triple: triple[0])
    answers = f"{first.missed_count:,} of {first.count:,} answer{'' if first.count == 1 else 's'}"
    others = len({(count.variable, count.label) for _, count, _ in off}) - 1
    more = f" and {plural(others, 'other')}" if others else ""
    return f"An extractor found nothing in {answers} ({first.variable}, of {first.label}{more}): {text}"


def sent_on(evidence: Evidence) -> str:
    """Return the variables of which something else was sent, however seldom; empty without any."""
    counts = [one for one in _extractions(evidence) if one.sent_count]
    return named([f"{one.variable}, of {one.label}, {one.sent_count:,} of {one.count:,}" for one in counts])


def unset_text(evidence: Evidence) -> str:
    """Return of which variables the names were sent; empty where that may be the first iterations of users alone."""
    samples = {one.label: one.sample_count for one in labels_of(evidence)}
    users = 0 if evidence.is_open else evidence.users_most or 0

    def is_off(one: ExtractionCount) -> bool:
        all_count = samples.get(one.label, one.count)
        return one.count >= all_count or one.count > max(users, _SENT_RATIO * all_count)

    if not (off := [one for one in _unset(evidence) if is_off(one)]):
        return ""
    count = plural(sum(one.count for one in off), "sample")
    return f"Names of variables were sent in place of values: {count} ({_named_unset(off)})"


def unset_sent(evidence: Evidence) -> str:
    """Return the variables whose names were sent, however seldom; empty without any."""
    return _named_unset(_unset(evidence))


def _named_unset(counts: Sequence[ExtractionCount]) -> str:
    return named([f"{one.default} of {one.label}" for one in counts])


def _unset(evidence: Evidence) -> Sequence[ExtractionCount]:
    """Return the variables that were sent by their names, most first, without those that an extractor did not find."""
    counts = _counted(evidence)
    told = {one.variable for one in counts if one.sent_unset_count and not one.is_unset}
    return sorted((one for one in counts if one.is_unset and one.variable not in told), key=lambda one: -one.count)


def _counted(evidence: Evidence) -> Sequence[ExtractionCount]:
    if not (groups := groups_of(evidence.run)):
        return ()
    from harness.run.group_counts import extraction_counts  # here: no bare JTL has any

    return extraction_counts(one for group in groups for one in group.extractions)


def labels_of(evidence: Evidence) -> Iterator[LabelFigures]:
    """Yield the labels of the whole run, those of each group."""
    yield from evidence.whole_labels
    for group in evidence.beside:
        yield from group.counted


def _too_often(count: ExtractionCount) -> Iterator[tuple[int, str]]:
    """Yield how often something was sent that is a doubt, and what."""
    default_ratio = 0.0 if _NOTHING.fullmatch(count.default.strip()) else _VALUE_RATIO
    for sent, missed_ratio, text in (
        (count.sent_unset_count, 0.0, "the variable's name was sent"),
        (count.sent_default_count, default_ratio, "its default was sent on"),
        (count.sent_kept_count, _KEPT_RATIO, "an earlier value was sent on"),
    ):
        if sent and sent >= _SENT_RATIO * count.count and count.missed_count >= missed_ratio * count.count:
            yield sent, text


def _extractions(evidence: Evidence) -> Sequence[ExtractionCount]:
    """Return what was counted, most sent first.

    An extractor of several steps finds its variable in some, and keeps it in the others: those say nothing.
    """
    counts = [one for one in _counted(evidence) if not one.is_unset]
    finders = {(one.extractor, one.variable) for one in counts if one.missed_count < one.count}
    return sorted((one for one in counts if not _is_kept(one, finders)), key=lambda one: -one.sent_count)


def _is_kept(count: ExtractionCount, finders: Collection[tuple[str, str]]) -> bool:
    """Return whether an extractor found nothing in any answer of a step, but in those of another one."""
    has_only_kept = count.sent_kept_count == count.sent_count
    is_elsewhere = (count.extractor, count.variable) in finders
    return has_only_kept and count.missed_count == count.count and is_elsewhere
