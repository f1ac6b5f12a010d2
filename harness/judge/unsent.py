"""Finds what users did not do: steps that they never sent or no longer, data that ended, and users who only paused."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from harness.base.units import MS_PER_S, plural
from harness.judge import extracted, redirected
from harness.judge.account.line import Balance, Sides
from harness.judge.evidence import Evidence
from harness.judge.ignored import ignored_of, named, named_counts
from harness.judge.users_counted import counts_by_label
from harness.plan.load import OPEN

if TYPE_CHECKING:
    from harness.plan.jmx.steps import PlanStep
    from harness.run.group_counts import GroupCounts, LabelCount
    from harness.run.record import RunRecord

# A step is sent no longer when so many of its samples are missing at the end, for so many of the times that a user
# takes from one to the next, and for so long, s and as a share of the load.
_MISSING_LEAST, _TURNS_LEAST, _SILENT_LEAST_S, _SILENT_LEAST_RATIO = 30, 5, 10.0, 0.05
# A step that logic skips is not sent by chance in half of the load, if it is sent so often in the other one.
_GONE_LEAST = 10
# Steps that end earlier belong to the start of the load.
_SENT_LEAST_RATIO = 0.2
# So many of the users may only pause by chance.
_IDLE_RATIO = 0.05
# Scripts of so many of a step's samples may fail, as of answers that are not as usual; and so many of a condition's.
_FAILED_RATIO = 0.05
# A throughput timer meets its rate within these shares, and so many of their root: one that chooses random
# times within a period has a standard error of half of the root. After users came late, some catch up.
_MISSED_RATIO, _MORE_RATIO, _ROOTS = 0.05, 0.2, 2.0
_UNSENT = (
    "Nothing in the plan lets a user skip it, so no user got that far. Run longer, or look for a loop that never ends "
    "before it and for a failure that ends each iteration."
)
_SCRIPTS = (
    "What they prepare or read was missing, and no sample tells it. Look for `script` and `expression` in jmeter.log."
)
_CONDITIONS = (
    "An If then skips its steps, a While never ends, and a Switch sends its first step. Look in jmeter.log. Put "
    'operators into a function, as in ${__jexl3("${x}" == "1")}, and look for a misspelt name of it.'
)
_UNSET = (
    "JMeter compares the name itself, or loops 0 times. Look for a misspelt name, or a column that the data file "
    "lacks. If it is a switch that is off, let a User Defined Variable set it: to ${__P(name,)}."
)
_NO_DATA = (
    "Give the file more rows, or let its CSV Data Set Config recycle it or stop the user. A blank line in it is "
    "an end, too: remove it."
)
_HEAD = "Let its CSV Data Set Config ignore the first line, or name no variables: then the header names them."
_NO_PAUSE = (
    "JMeter takes 0 for it, so users sent more than the plan means. Look for a misspelt name, and read a property by "
    "${__P(name)}."
)
_NO_SHARE = (
    "JMeter takes 100 % for it, or one execution, so the mix of steps is another one. Look for a misspelt name, and "
    "read a property by ${__P(name)}."
)
_IDLE = (
    "They sent nothing in that time. Look at the timer or pause of this step: is it in ms, is it in a loop that does "
    "not end, or does a Synchronizing Timer wait for more users than there are? Or run longer."
)
_UNREACHED = (
    "Users sent as fast as answers came. Give more users, or a rate by --rate; if the timer is only a limit, remove it."
)
_SHARED = (
    "All Precise Throughput Timers of a thread group share one schedule, by the rate of the first: use one of them, or "
    "several thread groups."
)
_ENDED = "Users went on without it, so the load changed. Look in jmeter.log, and for what fails before it from then on."


class _Unsent(NamedTuple):
    """Labels that were never sent: of steps that every user must send, and of steps that the plan's logic may skip.

    `unset` are those that it skips because of a variable that nothing sets, by the variable; `lists` those of ForEach
    Controllers, with the names of their lists.
    """

    certain: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    unset: Mapping[str, Sequence[str]] = {}
    lists: Mapping[str, Sequence[str]] = {}


class _Doubt(NamedTuple):
    """What does not balance, and what to do; both are empty where all is well."""

    brief: str = ""
    advice: str = ""


class _ClosedLoad(NamedTuple):
    """A load whose users send one request after the other: its name, empty for the only one, and its users.

    Of stages they come and go: None. With `is_paced` a throughput timer of the plan gives their rate.
    """

    name: str
    users: int | None
    is_paced: bool | None

    @property
    def of_name(self) -> str:
        """Its name in a sentence."""
        return f" of {self.name}" if self.name else ""


class _Paced(NamedTuple):
    """A throughput timer, how many samples its rate asks for, and how many it let through in that time."""

    name: str
    due: int
    made: int

    @property
    def ratio(self) -> float:
        """The share of what it asks for that was sent."""
        return self.made / self.due


class _EndedStep(NamedTuple):
    """A step that was no longer sent after a second of the load."""

    label: str
    last_s: int


def with_steps(evidence: Evidence, sides: Sides) -> Sides:
    """Return the line of what was asked for with the steps of the plan that were never sent, or no longer."""
    unsent = _unsent_steps(evidence)
    if unsent.skipped:
        sides = replace(sides, right=f"{sides.right}; never sent, by the plan's logic: {named(unsent.skipped)}")
    for text, steps in _gone_steps(evidence).items():
        sides = replace(sides, right=f"{sides.right}; {text}: {named(steps)}")
    if ends := redirected.redirected_to(evidence):
        sides = replace(sides, right=f"{sides.right}; redirected: {ends}")
    if left := extracted.sent_on(evidence):
        sides = replace(sides, right=f"{sides.right}; sent without what an extractor should find: {left}")
    if failed := counts_by_label(evidence.run, lambda group: group.script_failed):
        sides = replace(sides, right=f"{sides.right}; scripts failed: {named_counts(failed)}")
    if bad := counts_by_label(evidence.run, lambda group: group.bad_conditions):
        sides = replace(sides, right=f"{sides.right}; conditions failed: {named_counts(bad)}")
    if unset := extracted.unset_sent(evidence):
        sides = replace(sides, right=f"{sides.right}; sent by name: {unset}")
    if heads := counts_by_label(evidence.run, lambda group: group.head_sent):
        sides = replace(sides, right=f"{sides.right}; a data file's header sent as data: {named_counts(heads)}")
    brief, advice = "", _UNSENT
    if bad and (doubt := _conditions_failed(evidence)):
        brief, advice = doubt
    elif unsent.certain:
        brief = f"Never sent: {plural(len(unsent.certain), 'step')} of the plan ({named(unsent.certain)})"
    elif unsent.unset:
        variables, labels = unsent.unset, [label for labels in unsent.unset.values() for label in labels]
        names = named([f"${{{variable}}}" for variable in variables])
        brief, advice = f"Never sent: {named(labels)}; controllers read {names}, which nothing sets", _UNSET
    elif text := extracted.never_found(evidence, unsent.lists):
        brief, advice = text, extracted.LIST_ADVICE
    elif ended := _ended_steps(evidence):
        names = named([f"{step.label}, after {step.last_s} s" for step in ended])
        brief, advice = f"No longer sent: {plural(len(ended), 'step')} of the plan ({names})", _ENDED
    else:
        brief, advice = next(filter(None, (find(evidence) for find in _FINDERS)), _Doubt())
    return replace(sides, balance=Balance.DOUBT, brief=brief, advice=advice) if brief else sides


def _without_data(evidence: Evidence) -> _Doubt | None:
    """Return that samples were sent without data, after the end of a data file; None if that is not so."""
    counts = counts_by_label(evidence.run, lambda group: group.without_data)
    if not counts:
        return None
    samples = plural(sum(counts.values()), "sample")
    return _Doubt(f"A data file ended: {samples} had <EOF> in place of data ({named_counts(counts)})", _NO_DATA)


def _head_sent(evidence: Evidence) -> _Doubt | None:
    """Return that many samples of a step sent the header of a data file as data; None if that is not so."""
    many = _many_samples(evidence, lambda group: group.head_sent)
    if not many:
        return None
    times = plural(sum(many.values()), "sample")
    return _Doubt(f"The header of a data file was sent as data by {times} ({named_counts(many)})", _HEAD)


def _scripts_failed(evidence: Evidence) -> _Doubt | None:
    """Return that scripts of many samples failed, which JMeter only logs; None if that is not so."""
    many = _many_samples(evidence, lambda group: group.script_failed)
    if not many:
        return None
    times = plural(sum(many.values()), "time")
    return _Doubt(f"Scripts of the plan failed {times} ({named_counts(many)})", _SCRIPTS)


def _conditions_failed(evidence: Evidence) -> _Doubt | None:
    """Return that many conditions of a controller had no result that JMeter can read; None if that is not so."""
    read = counts_by_label(evidence.run, lambda group: group.conditions)
    many = _many(counts_by_label(evidence.run, lambda group: group.bad_conditions), read)
    if not many:
        return None
    times = plural(sum(many.values()), "time")
    return _Doubt(f"Conditions failed, or were neither true nor false, {times} ({named_counts(many)})", _CONDITIONS)


def _many_samples(evidence: Evidence, of: Callable[[GroupCounts], Iterable[LabelCount]]) -> dict[str, int]:
    """Return the counts by step that are many of its samples."""
    samples = {one.label: one.sample_count for one in extracted.labels_of(evidence)}
    return _many(counts_by_label(evidence.run, of), samples)


def _many(failed: Mapping[str, int], of: Mapping[str, int]) -> dict[str, int]:
    """Return the counts of failures that are many of what there is of their label."""
    return {label: count for label, count in failed.items() if count > _FAILED_RATIO * of.get(label, count)}


def _another(evidence: Evidence) -> _Doubt | None:
    """Return that other requests were sent, or other pages answered, than the plan says; None if that is not so."""
    if text := extracted.missed_text(evidence):
        return _Doubt(text, extracted.ADVICE)
    if text := extracted.unset_text(evidence):
        return _Doubt(text, extracted.UNSET_ADVICE)
    text = redirected.redirected_text(evidence)
    return _Doubt(text, redirected.ADVICE) if text else None


def _without_pause(evidence: Evidence) -> _Doubt | None:
    """Return that users did not pause, as nothing sets the variable of a pause; None if that is not so."""
    found = _sent_with(evidence, lambda step: step.unset_pause)
    return _Doubt(f"Pauses of 0 ms read {found}", _NO_PAUSE) if found else None


def _without_share(evidence: Evidence) -> _Doubt | None:
    """Return that nothing sets the variable of a Throughput Controller's share; None if that is not so."""
    found = _sent_with(evidence, lambda step: step.unset_share)
    return _Doubt(f"Throughput Controllers read {found}", _NO_SHARE) if found else None


def _sent_with(evidence: Evidence, of: Callable[[PlanStep], str]) -> str:
    """Return the variables that nothing sets, and the steps that were sent with them; empty without any."""
    steps = [step for step in (evidence.run.steps if evidence.run else ()) if of(step)]
    labels = [step.label for step in steps if _plain(step.label) in {_plain(label) for label in evidence.sent}]
    names = named([*dict.fromkeys(f"${{{of(step)}}}" for step in steps)])
    return f"{names}, which nothing sets ({named(labels)})" if labels else ""


def _idle(evidence: Evidence) -> _Doubt | None:
    """Return that users of a closed load did next to nothing: they paused for most of it without a sample.

    Of several loads it is the first such one. Users of stages come and go, and those of an open load do one iteration.
    """
    run = evidence.run
    if run is None or evidence.was_ended:
        return None
    for load in _closed_loads(run):
        counts = counts_by_label(run, lambda group: group.idle, load.name)
        count, users = sum(counts.values()), load.users
        if users and count > _IDLE_RATIO * users:
            who = f"{'All' if count >= users else f'{count} of'} {plural(users, 'user')}{load.of_name}"
            return _Doubt(f"{who} only paused for most of the load ({named_counts(counts)})", _IDLE)
    return None


def _unreached(evidence: Evidence) -> _Doubt | None:
    """Return that throughput timers of a closed load did not have the rate that they ask for; None if they had it.

    Of several in a row the slowest gives the rate.
    """
    run = evidence.run
    if run is None or evidence.was_ended:
        return None
    paced = [(load, _paced(run, load)) for load in _closed_loads(run) if load.is_paced and load.users]
    return next(filter(None, (_missed(timers, load) for load, timers in paced if timers)), None)


def _paced(run: RunRecord, load: _ClosedLoad) -> list[_Paced]:
    """Return what was counted of the throughput timers of a load."""
    due = counts_by_label(run, lambda group: group.paced_due, load.name)
    made = counts_by_label(run, lambda group: group.paced, load.name)
    return [_Paced(name, count, made.get(name, 0)) for name, count in due.items() if count]


def _missed(paced: Sequence[_Paced], load: _ClosedLoad) -> _Doubt | None:
    """Return that all timers had fewer samples than they ask for, or one had more; None if that is not so."""
    best = max(paced, key=lambda one: one.ratio)
    is_more = best.made > best.due
    close = max(_ROOTS * math.sqrt(best.due), best.due * (_MORE_RATIO if is_more else _MISSED_RATIO))
    if abs(best.made - best.due) <= close:
        return None
    brief = f"The timer {best.name}{load.of_name} asked for {best.due:,} samples, and {best.made:,} were sent"
    return _Doubt(brief, _SHARED if is_more else _UNREACHED)


def _closed_loads(run: RunRecord) -> list[_ClosedLoad]:
    load = run.load
    if not load.loads:
        return [] if load.model == OPEN else [_ClosedLoad("", load.users, load.is_paced)]
    return [  # requests per second of a stage are compared with those that were sent
        _ClosedLoad(one.group, None if one.is_staged else one.users, one.is_paced and not one.is_shaped)
        for one in load.loads
        if not one.is_open
    ]


def _unsent_steps(evidence: Evidence) -> _Unsent:
    """Return the steps that were never sent; none where rows are missing, or where something ended the load early."""
    run = evidence.run
    if run is None or _lacks_rows(evidence):
        return _Unsent()
    sent = {_plain(label) for label in evidence.sent} | _ignored(evidence)
    unsent = [step for step in run.steps if _plain(step.label) not in sent]
    certain, skipped = (tuple(one.label for one in unsent if one.may_be_skipped is may) for may in (False, True))
    unset = defaultdict[str, list[str]](list)
    for step in unsent:
        if step.may_be_skipped and step.unset:
            unset[step.unset].append(step.label)
    return _Unsent(certain, skipped, unset, {step.label: step.lists for step in unsent if step.lists})


def _ended_steps(evidence: Evidence) -> tuple[_EndedStep, ...]:
    """Return the steps whose samples ended while users went on, although each user must send them.

    A user sends a step once in an iteration. So silence is measured in such turns, and no chance is in it.
    """
    run = evidence.run
    if run is None or evidence.origin_s is None or _lacks_rows(evidence):
        return ()
    load, must = run.load, {_plain(step.label) for step in run.steps if not (step.may_be_skipped or step.may_end)}
    loads = load.loads or ()
    if load.requests or any(one.is_staged or one.loops for one in loads):
        return ()
    must -= _ignored(evidence)
    # A step does not know its load: of several each is taken for one of the shortest, and of the one with most users.
    end_s = min(load.duration_s or float("inf"), len(evidence.seconds), *(one.duration_s for one in loads))
    users_count = max((one.users or 0 for one in loads), default=0 if load.model == OPEN else load.users or 0)
    ended = []
    for label in evidence.whole_labels:
        first_s, last_s = (
            at / MS_PER_S - evidence.origin_s for at in (label.counts.first_ms or 0, label.counts.last_ms)
        )
        sent_s, silent_s = last_s - first_s, end_s - last_s
        least_s = max(_SILENT_LEAST_S, _SILENT_LEAST_RATIO * end_s, sent_s * _MISSING_LEAST / label.sample_count)
        turns_s = _TURNS_LEAST * sent_s * users_count / label.sample_count
        if _plain(label.label) in must and last_s > _SENT_LEAST_RATIO * end_s and silent_s > max(least_s, turns_s):
            ended.append(_EndedStep(label.label, round(last_s)))
    return tuple(ended)


def _gone_steps(evidence: Evidence) -> Mapping[str, list[str]]:
    """Return the steps of which half of the load has no sample, by why: a Cache Manager answers, or logic skips them.

    The plan does that, so it is no doubt.
    """
    run = evidence.run
    if run is None or evidence.origin_s is None or _lacks_rows(evidence):
        return {}
    each_s = [load.duration_s for load in run.load.loads or ()]
    half_s = min([run.load.duration_s or float("inf"), float(len(evidence.seconds)), *each_s]) / 2
    steps = {_plain(step.label): step for step in run.steps}
    gone = defaultdict[str, list[str]](list)
    for label in evidence.whole_labels:
        step, last_s = steps.get(_plain(label.label)), label.counts.last_ms / MS_PER_S - evidence.origin_s
        if step is None or last_s >= half_s:
            continue
        if step.may_be_cached:
            gone["answered by the Cache Manager"].append(f"{label.label}, from {last_s:.0f} s on")
        elif step.may_be_skipped and label.sample_count >= _GONE_LEAST:
            gone["no longer sent, by the plan's logic"].append(f"{label.label}, from {last_s:.0f} s on")
    return gone


def _ignored(evidence: Evidence) -> set[str]:
    """Return the labels that have no row of some or all of their samples."""
    return {_plain(one.label) for one in ignored_of(evidence)}


def _lacks_rows(evidence: Evidence) -> bool:
    is_stopped = evidence.run is not None and bool(evidence.run.stop_reasons)  # its last samples have no row
    return bool(evidence.was_ended or is_stopped or evidence.missing_row_count or evidence.dropped.count)


def _plain(label: str) -> str:
    """Return a label as it is compared: writers of results may change its blanks."""
    return " ".join(label.split())


# What is looked for after steps that were not sent, in this order.
_FINDERS = (_without_data, _head_sent, _without_pause, _without_share, _idle, _another, _scripts_failed, _unreached)
