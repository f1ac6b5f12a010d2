"""Defines what the agent in JMeter counts of each thread group: pauses, users, arrivals, and what the end cuts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

from harness.base.secrecy import masked
from harness.base.units import MS_PER_S

# Why users ended early: the data file had no more rows, a sample failed, the plan stopped the user or the test, an
# error ended the user, or it had done all its iterations.
NO_DATA, FAILED, STOP, STOP_TEST, DIED, DONE = "no data", "failed", "stop", "stop test", "died", "done"
# The same in the words of a report.
_WORDS = {
    NO_DATA: "had no more rows of a data file",
    FAILED: "were stopped on a failed sample",
    STOP: "were stopped by the plan",
    STOP_TEST: "ended when the plan stopped the test",
    DIED: "died",
    DONE: "had done their iterations",
}
# What is counted by label, by the field, and as the agent names it.
LABEL_COUNTS = {
    "cut": "cut",
    "closed": "closed",
    "made_good": "made good",
    "not_sent": "not sent",
    "unanswered": "unanswered",
    "exited": "exited",
    "repeated": "repeated",
    "script_failed": "script failed",
    "conditions": "condition",
    "bad_conditions": "bad condition",
    "without_data": "without data",
    "head_sent": "with header",
    "idle": "idle",
    "locked_ms": "locked",
    "scripts_ms": "in scripts",
    "late_ms": "late",
    "together_ms": "together",
    "beyond_ms": "beyond",
    "awaited_ms": "awaited",
    "outside_ms": "outside",
    "paced": "paced",
    "paced_due": "due",
}
# A series has at most so many values: of a longer run each is that of several seconds.
_MOST_VALUES = 7200
_STEPS_S = (1, 2, 5, 10, 30, 60, 300, 600, 3600)


@dataclass(frozen=True)
class LabelCount:
    """How many samples of a label."""

    label: str
    count: int


@dataclass(frozen=True)
class IgnoredCount:
    """Results of a label that the plan ignored, for which it called `setIgnore`: no row has them.

    `took_ms` is the sum of their response times.
    """

    label: str
    count: int
    failed_count: int
    took_ms: int


@dataclass(frozen=True)
class ExtractionCount:
    """What an extractor found for a variable in the successful answers of a label.

    In `missed_count` of `count` it found nothing. After so many of these a successful sample sent what was left: the
    name of a variable that is not set, its value of before, or `default`. Misses that the plan knows of, as it reads
    the variable in a condition or a script, are none of them.

    Without an extractor, `default` is the name of a variable that nothing set, and that `count` samples sent.
    """

    extractor: str
    variable: str
    label: str
    default: str
    count: int
    missed_count: int
    sent_unset_count: int
    sent_kept_count: int
    sent_default_count: int

    @property
    def sent_count(self) -> int:
        """How many misses were sent on."""
        return self.sent_unset_count + self.sent_kept_count + self.sent_default_count

    @property
    def is_unset(self) -> bool:
        """Whether it is of a variable that nothing set, without an extractor."""
        return not self.extractor and self.default == f"${{{self.variable}}}"


@dataclass(frozen=True)
class RedirectCount:
    """Successful samples of a label that redirects led to another page.

    `asked` is the path that the first of them asked for, `page` that of the page.
    """

    label: str
    asked: str
    page: str
    count: int


@dataclass(frozen=True)
class EarlyEnd:
    """Users that ended before the load did, the first of them at `first_ms` (ms since 1970).

    `cause` is one of the causes of this module. `detail` is what JMeter says of it: the message of the data file, the
    label of the sample, or the name of the element that stopped the user; empty when there is none.
    """

    cause: str
    detail: str
    count: int
    first_ms: int

    @property
    def is_done(self) -> bool:
        """Whether the users had done all their iterations."""
        return self.cause == DONE

    @property
    def stops_test(self) -> bool:
        """Whether the plan stopped the whole test."""
        return self.cause == STOP_TEST

    @property
    def words(self) -> str:
        """The cause in the words of a report; empty for one of another version."""
        words = _WORDS.get(self.cause, "")
        return words.replace("were ", "was ", 1) if self.count == 1 else words


_Count = TypeVar("_Count", ExtractionCount, RedirectCount)
_EXTRACTION_NAMES = ("extractor", "variable", "label", "default")
_SUMS = tuple(field.name for field in fields(ExtractionCount) if field.name not in _EXTRACTION_NAMES)


@dataclass(frozen=True)
class GroupCounts:
    """What the users of a thread group did, counted by the agent in JMeter.

    The series have a value for each `step_s` seconds from `from_s` on (seconds since 1970): `pause_ms` is the sum of
    the times that its users paused in timers, as they were asked to, `alive_ms` of the times that they were there.
    `pause_count` is the number of pauses. `arrivals` are those that an open group made; None for other groups. `cut`
    are parent transactions that their user's end cut, `closed` are samples that failed because their user was
    interrupted, as at the end of the load. The time of `ignored` results is one of the pauses. `made_good` are failures
    that the plan made successes, of samplers with another code. `not_sent` are successful samples for which nothing was
    sent, such as those of a cache, `unanswered` those that got no byte of an answer, and `exited` those of programs
    that ended with an error. `repeated` are requests that the client sent again after a failed connection.
    `script_failed` are scripts and functions beside samples that failed, which JMeter only logs. `conditions` are those
    of controllers that were read, by controller, and `bad_conditions` those of them that failed, or that JMeter could
    not read. `without_data` are samples that were sent with the mark of a data file's end, `head_sent` with its header
    as data, and `idle` are users who paused without a sample for more than half of their time, by step. `locked_ms` is
    how long users waited for each other, by Critical Section Controller, `late_ms` how long the times of samples go on
    after the answer, by label, `beyond_ms` how much longer samples say that they took than they did, `awaited_ms` the
    times of samples that only wait for messages, and `outside_ms` what samplers took outside of their samples, which is
    one of the pauses. `extractions` is what its extractors found, and `redirects` are samples that ended at another
    page.
    """

    name: str
    from_s: int
    step_s: int
    pause_ms: tuple[int, ...]
    pause_count: int
    alive_ms: tuple[int, ...]
    arrivals: tuple[int, ...] | None
    cut: tuple[LabelCount, ...] = ()
    closed: tuple[LabelCount, ...] = ()
    ended_early: tuple[EarlyEnd, ...] = ()
    ignored: tuple[IgnoredCount, ...] = ()
    made_good: tuple[LabelCount, ...] = ()
    not_sent: tuple[LabelCount, ...] = ()
    unanswered: tuple[LabelCount, ...] = ()
    exited: tuple[LabelCount, ...] = ()
    repeated: tuple[LabelCount, ...] = ()
    script_failed: tuple[LabelCount, ...] = ()
    conditions: tuple[LabelCount, ...] = ()
    bad_conditions: tuple[LabelCount, ...] = ()
    without_data: tuple[LabelCount, ...] = ()
    head_sent: tuple[LabelCount, ...] = ()
    idle: tuple[LabelCount, ...] = ()
    locked_ms: tuple[LabelCount, ...] = ()
    scripts_ms: tuple[LabelCount, ...] = ()
    late_ms: tuple[LabelCount, ...] = ()
    together_ms: tuple[LabelCount, ...] = ()
    beyond_ms: tuple[LabelCount, ...] = ()
    awaited_ms: tuple[LabelCount, ...] = ()
    outside_ms: tuple[LabelCount, ...] = ()
    paced: tuple[LabelCount, ...] = ()
    paced_due: tuple[LabelCount, ...] = ()
    extractions: tuple[ExtractionCount, ...] = ()
    redirects: tuple[RedirectCount, ...] = ()

    def pauses_s(self, from_ms: float, to_ms: float) -> float:
        """Return how long all its users paused between two times (ms since 1970), in seconds."""
        return self._between(self.pause_ms, from_ms, to_ms) / MS_PER_S

    def users_s(self, from_ms: float, to_ms: float) -> float:
        """Return how long all its users were there between two times (ms since 1970), in seconds."""
        return self._between(self.alive_ms, from_ms, to_ms) / MS_PER_S

    def arrival_count(self, from_ms: float, to_ms: float) -> float | None:
        """Return how many arrivals there were between two times (ms since 1970); None if it is not open."""
        return None if self.arrivals is None else self._between(self.arrivals, from_ms, to_ms)

    def _between(self, values: Sequence[int], from_ms: float, to_ms: float) -> float:
        step_ms = self.step_s * MS_PER_S
        begin, end = ((ms - self.from_s * MS_PER_S) / step_ms for ms in (from_ms, to_ms))
        return sum(
            values[at] * (min(end, at + 1) - max(begin, at))
            for at in range(max(0, int(begin)), min(len(values), int(end) + 1))
            if min(end, at + 1) > max(begin, at)
        )

    def masked(self, secrets: Iterable[str]) -> GroupCounts:
        """Return the counts without secrets in names and messages."""
        hidden = tuple(secrets)

        def without(counts: tuple[LabelCount, ...]) -> tuple[LabelCount, ...]:
            return tuple(LabelCount(masked(one.label, hidden), one.count) for one in counts)

        ends = tuple(replace(end, detail=masked(end.detail, hidden)) for end in self.ended_early)
        ignored = tuple(replace(one, label=masked(one.label, hidden)) for one in self.ignored)
        extractions = _texts_masked(self.extractions, _EXTRACTION_NAMES, hidden)
        counts: dict[str, Any] = {name: without(getattr(self, name)) for name in LABEL_COUNTS}
        redirects = _texts_masked(self.redirects, ("label", "asked", "page"), hidden)
        counts |= {"ended_early": ends, "ignored": ignored, "extractions": extractions, "redirects": redirects}
        return replace(self, name=masked(self.name, hidden), **counts)

    @classmethod
    def of_all(cls, parts: Sequence[tuple[int, tuple[GroupCounts, ...]]]) -> tuple[GroupCounts, ...]:
        """Return the sums of several JMeters by group: pairs of by how many ms a clock is ahead, and its groups.

        Nothing when those of one are not known. A value of another clock is divided between the seconds that it is in.
        """
        if not all(groups for _, groups in parts):
            return ()
        by_name = defaultdict[str, list[tuple[int, GroupCounts]]](list)
        for ahead_ms, groups in parts:
            for group in groups:
                by_name[group.name].append((ahead_ms, group))
        return tuple(_sum(name, several) for name, several in by_name.items())


def _texts_masked(counts: Iterable[Any], names: Sequence[str], hidden: Sequence[str]) -> tuple[Any, ...]:
    return tuple(replace(one, **{name: masked(getattr(one, name), hidden) for name in names}) for one in counts)


def coarse(group: GroupCounts) -> GroupCounts:
    """Return the counts of a group with as many seconds in a value as a long run needs."""
    count = len(group.alive_ms) * group.step_s
    if count <= _MOST_VALUES * group.step_s:
        return group
    return _sum(group.name, [(0, group)], next(one for one in _STEPS_S if count <= one * _MOST_VALUES))


def _sum(name: str, parts: Sequence[tuple[int, GroupCounts]], step_s: int = 0) -> GroupCounts:
    groups = [group for _, group in parts]
    step_s = step_s or max(group.step_s for group in groups)
    begins = [group.from_s - ahead_ms / MS_PER_S for ahead_ms, group in parts]
    from_s = int(min(begins) // step_s) * step_s

    def added(series: Sequence[Sequence[int]]) -> tuple[int, ...]:
        ends = [begin + group.step_s * len(group.alive_ms) for begin, group in zip(begins, groups, strict=True)]
        size = -int((from_s - max(ends)) // step_s)
        totals = [0] * size
        for begin, group, values in zip(begins, groups, series, strict=True):
            sums = _sums(values, (begin - from_s) / step_s, group.step_s / step_s, size)
            for at in range(size):
                totals[at] += sums[at + 1] - sums[at]
        return tuple(totals)

    arrivals = [group.arrivals for group in groups if group.arrivals is not None]
    ends = [replace(end, first_ms=end.first_ms - ahead_ms) for ahead_ms, group in parts for end in group.ended_early]
    return GroupCounts(
        name,
        from_s,
        step_s,
        added([group.pause_ms for group in groups]),
        sum(group.pause_count for group in groups),
        added([group.alive_ms for group in groups]),
        added(arrivals) if len(arrivals) == len(groups) else None,
        ended_early=early_ends(ends),
        ignored=ignored_counts(one for group in groups for one in group.ignored),
        extractions=extraction_counts(one for group in groups for one in group.extractions),
        redirects=redirect_counts(one for group in groups for one in group.redirects),
        **{name: label_counts(one for group in groups for one in getattr(group, name)) for name in LABEL_COUNTS},
    )


def _sums(values: Sequence[int], begin: float, width: float, size: int) -> list[int]:
    """Return what has come together of a series at each of `size` + 1 marks; each value is spread over its width.

    The sums are whole numbers, so that the differences between them add up to the same total.
    """
    whole = [0]
    for value in values:
        whole.append(whole[-1] + value)
    sums = []
    for mark in range(size + 1):
        at = min(max(0.0, (mark - begin) / width), len(values))
        before = int(at)
        rest = values[before] * (at - before) if before < len(values) else 0
        sums.append(round(whole[before] + rest))
    return sums


def label_counts(counts: Iterable[LabelCount]) -> tuple[LabelCount, ...]:
    """Return the sums by label."""
    totals = Counter[str]()
    for one in counts:
        totals[one.label] += one.count
    return tuple(LabelCount(*pair) for pair in totals.items())


def ignored_counts(counts: Iterable[IgnoredCount]) -> tuple[IgnoredCount, ...]:
    """Return the sums by label."""
    totals = defaultdict[str, list[int]](lambda: [0, 0, 0])
    for one in counts:
        values = (one.count, one.failed_count, one.took_ms)
        totals[one.label] = [total + value for total, value in zip(totals[one.label], values, strict=True)]
    return tuple(IgnoredCount(label, *total) for label, total in totals.items())


def extraction_counts(counts: Iterable[ExtractionCount]) -> tuple[ExtractionCount, ...]:
    """Return the sums by extractor, variable, label and default."""
    return _sums_by(counts, _EXTRACTION_NAMES, _SUMS)


def redirect_counts(counts: Iterable[RedirectCount]) -> tuple[RedirectCount, ...]:
    """Return the sums by label and page."""
    return _sums_by(counts, ("label", "page"), ("count",))


def _sums_by(counts: Iterable[_Count], names: Sequence[str], sums: Sequence[str]) -> tuple[_Count, ...]:
    """Return one of those with the same names, with the sums of all of them."""
    by_name = defaultdict[tuple[str, ...], list[_Count]](list)
    for count in counts:
        by_name[tuple(getattr(count, name) for name in names)].append(count)
    return tuple(
        replace(same[0], **{name: sum(getattr(each, name) for each in same) for name in sums})
        for same in by_name.values()
    )


def early_ends(ends: Iterable[EarlyEnd]) -> tuple[EarlyEnd, ...]:
    """Return the sums by cause and detail, with the time of the first of each."""
    by_cause = dict[tuple[str, str], EarlyEnd]()
    for end in ends:
        known = by_cause.setdefault((end.cause, end.detail), replace(end, count=0))
        count, first_ms = known.count + end.count, min(known.first_ms, end.first_ms)
        by_cause[end.cause, end.detail] = replace(end, count=count, first_ms=first_ms)
    return tuple(by_cause.values())
