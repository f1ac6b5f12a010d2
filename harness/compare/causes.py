"""What changed inside a system between two sides whose runs were profiled: what each request costs, and what grew most.

A profile lists the largest entries of a run only. Of an entry that a side does not list is known that it costs at most
as much as the smallest that is listed. Of slow requests is compared what explains the time between p50 and p99.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import hypot, sqrt
from statistics import fmean, stdev
from typing import ClassVar, NamedTuple

from harness.base.units import BYTES_PER_KB
from harness.judge.tail import SHARE_LEAST, TailAccount
from harness.metrics.distributions import student_t_quantile
from harness.report.run_result import LabelResult, RunResult
from harness.report.tail_text import UNEXPLAINED, cause_text
from harness.system.profile import LEAST_SHARE, ROWS_MOST, SAMPLES_LEAST, ProcessProfile
from harness.system.statements import STATEMENTS_MOST

CAUSES_MOST = 3
# A smaller growth is not named, nor is one within this many standard errors of counted samples.
_GROWTH_LEAST = 0.10
_ERRORS_LEAST = 3.0
# Waits other than for locks, and what they are called.
_WAITS = {
    "latch": "latch",
    "condition": "condition",
    "pool": "wait for a connection",
    "statement": "wait for a statement",
    "service": "wait for a service",
}
_UNITS = ("ms", "KB", "")
SLOW_REQUESTS = "slow requests of {}"
# An interval of 95 %, and half its width in standard errors of many samples.
_LEVEL, _ERRORS_OF_INTERVAL = 0.05, 1.96


@dataclass(frozen=True)
class GrownCost:
    """Something that a request costs more of than before, in `unit` per request; exceptions are counted, unit "".

    Of the kind SLOW_REQUESTS it is what requests near p99 of a label take more than those near p50, of no one process.
    With `is_bound` the baseline does not list it, and `baseline` is the most that it can be there. `low` and `high` are
    the 95 % interval of the growth; None where that is a bound, or nothing is known of its scatter.
    """

    json_keys: ClassVar = {"baseline": "base", "contender": "new"}
    kind: str
    process: str
    name: str
    baseline: float
    contender: float
    unit: str
    is_bound: bool
    low: float | None = None
    high: float | None = None

    @property
    def growth(self) -> float:
        """Return how much more a request costs, at least that with `is_bound`."""
        return self.contender - self.baseline

    @property
    def what(self) -> str:
        """Return what costs more, in words."""
        return f"{self.kind} {self.name} of {self.process}" if self.process else f"{self.kind}: {self.name}"


class _Key(NamedTuple):
    """What costs are of, such as the methods, locks or statements of a process, and their unit per request."""

    kind: str
    process: str
    unit: str


@dataclass(frozen=True)
class _Cost:
    """The cost per request of one thing, and its standard error: 0 where it is not known.

    `freedom` are the degrees of freedom of the error if it is that of the scatter of runs, else 0: many samples.
    """

    value: float
    error: float = 0.0
    freedom: int = 0


@dataclass(frozen=True)
class _Costs:
    """What a run lists of one kind in one process; what is not listed costs at most `rest`."""

    listed: Mapping[str, _Cost]
    rest: float


def causes(baseline: Sequence[RunResult], contender: Sequence[RunResult]) -> tuple[GrownCost, ...]:
    """Return what grew most per kind and process, at most CAUSES_MOST each; nothing unless both sides have profiles.

    Times come first, then memory, then counts; within these the largest growth per request.
    """
    sides = [[_costs_of(run) for run in side if run.is_profiled] for side in (baseline, contender)]
    if not all(sides):
        return ()
    mixed = _differently_sampled([*baseline, *contender])
    keys = dict.fromkeys(key for run in sides[1] for key in run if key[:2] not in mixed)
    sides[0] = [{**_untold(baseline, keys), **run} for run in sides[0]]
    candidates = [
        cause for key in keys for cause in _grown(key, *([run[key] for run in side if key in run] for side in sides))
    ]
    return tuple(sorted(candidates, key=lambda cause: (_UNITS.index(cause.unit), cause.baseline - cause.contender)))


def _differently_sampled(runs: Iterable[RunResult]) -> set[tuple[str, str]]:
    """Return kind and process of what cannot be compared.

    These are methods that different recorders sampled, and statements that are of the window in some runs and of the
    whole load, with its cold start, in others.
    """
    ways: dict[tuple[str, str], set[object]] = {}
    for run in runs:
        for profile in run.profiles:
            ways.setdefault(("method", profile.process), set()).add(profile.recorder.partition(",")[0])
        for used in run.databases:
            ways.setdefault(("statement", used.process), set()).add(used.interval is None)
    return {what for what, found in ways.items() if len(found) > 1}


def _costs_of(run: RunResult) -> dict[_Key, _Costs]:
    requests = run.total.sample_count if run.total else None
    if not requests:
        return {}
    by_key: dict[_Key, _Costs] = {}
    for profile in run.profiles:
        by_key |= _of_profile(profile, requests)
    by_key |= {_Key(SLOW_REQUESTS.format(tail.label), "", "ms"): _of_tail(tail) for tail in run.tails if tail.is_told}
    whole = (run.whole.sample_count if run.whole else None) or requests
    for used in run.databases:
        in_interval = used.request_count(whole)
        if in_interval:  # not an interval in which no request ended
            costs = {use.statement: _Cost(use.total_ms / in_interval) for use in used.statements}
            by_key[_Key("statement", used.process, "ms")] = _listed(costs, STATEMENTS_MOST, 0.0)
    return by_key


def _of_profile(profile: ProcessProfile, requests: int) -> dict[_Key, _Costs]:
    def key(kind: str, unit: str) -> _Key:
        return _Key(kind, profile.process, unit)

    by_key = {}
    if profile.sample_count >= SAMPLES_LEAST:
        each_ms = profile.sample_period_ms / requests
        methods = {use.method: _sampled(use.self_count, each_ms) for use in profile.methods}
        unlisted_ms = profile.sample_count * each_ms * LEAST_SHARE
        by_key[key("method", "ms")] = _listed(methods, ROWS_MOST, unlisted_ms)
    locks = {
        f"{wait.lock} at {wait.method}": _Cost(wait.total_ms / requests, sqrt(wait.count) * wait.longest_ms / requests)
        for wait in profile.locks
    }
    by_key[key("lock", "ms")] = _listed(locks, ROWS_MOST, profile.wait_ms / requests * LEAST_SHARE)
    if profile.other_waits is not None:
        waits = {
            (wait.kind, f"{wait.blocker} at {wait.method}" if wait.blocker else wait.method): _Cost(
                wait.total_ms / requests, sqrt(wait.count) * wait.longest_ms / requests
            )
            for wait in profile.other_waits
        }
        least = min(cost.value for cost in waits.values()) if len(waits) == ROWS_MOST else 0.0
        for kind, title in _WAITS.items():
            of_kind = {name: cost for (found, name), cost in waits.items() if found == kind}
            by_key[key(title, "ms")] = _Costs(of_kind, least)
    made = {
        f"{site.object_class} at {site.method}": _Cost(
            site.bytes_estimated / BYTES_PER_KB / requests,
            sqrt(site.sample_count) * site.largest_bytes / BYTES_PER_KB / requests,
        )
        for site in profile.allocations
    }
    unlisted_kb = profile.allocated_bytes / BYTES_PER_KB / requests * LEAST_SHARE
    by_key[key("allocation", "KB")] = _listed(made, ROWS_MOST, unlisted_kb)
    if profile.safepoints is not None:  # an older profile has no exceptions
        thrown = {f"{one.exception} at {one.method}": _sampled(one.count, 1 / requests) for one in profile.thrown}
        by_key[key("exception", "")] = _listed(thrown, ROWS_MOST, 0.0)
    pauses = {"pauses of garbage collections": _Cost(profile.collections.pause_ms / requests)}
    by_key[key("garbage collection", "ms")] = _Costs(pauses, 0.0)
    return by_key


def _of_tail(tail: TailAccount) -> _Costs:
    """Return what explains slow requests; what is not listed is one of the smaller causes, or below their limit."""
    listed: dict[str, _Cost] = {}
    for cause in tail.causes:
        text, error = cause_text(cause), (cause.high_ms - cause.low_ms) / 2 / _ERRORS_OF_INTERVAL
        before = listed.get(text, _Cost(0.0))  # of another class that is called the same
        listed[text] = _Cost(before.value + cause.ms, hypot(before.error, error))
    listed[UNEXPLAINED] = _Cost(max(0.0, tail.unexplained_ms))
    return _Costs(listed, max(SHARE_LEAST * tail.excess_ms, tail.smaller_ms))


def _untold(baseline: Sequence[RunResult], keys: Iterable[_Key]) -> dict[_Key, _Costs]:
    """Return the bound of slow requests that a baseline does not explain: all of the time between p50 and p99."""
    most_ms = Counter[str]()
    for run in baseline:
        for label in run.labels:
            if {"50", "99"} <= label.percentiles_ms.keys():
                kind, excess_ms = SLOW_REQUESTS.format(label.label), _excess_ms(label)
                most_ms[kind] = max(most_ms[kind], excess_ms)
    return {key: _Costs({}, most_ms[key.kind]) for key in keys if key.kind in most_ms}


def _excess_ms(label: LabelResult) -> int:
    return round(label.percentiles_ms["99"] - label.percentiles_ms["50"])


def _sampled(count: int, each: float) -> _Cost:
    """Return the cost of a number of samples or exceptions, each of which represents `each` per request."""
    return _Cost(count * each, sqrt(count) * each)


def _listed(costs: Mapping[str, _Cost], most: int, unlisted: float) -> _Costs:
    """Return the costs; the bound of what is not listed is the last of a full list, else the share `unlisted`."""
    smallest = min((cost.value for cost in costs.values()), default=0.0)
    return _Costs(costs, smallest if len(costs) == most else min(smallest, unlisted) if costs else unlisted)


def _grown(key: _Key, baseline: Sequence[_Costs], contender: Sequence[_Costs]) -> Iterable[GrownCost]:
    if not baseline:
        return ()
    candidates = []
    for name in dict.fromkeys(name for run in contender for name in run.listed):
        at_first, now = (_mean(name, side) for side in (baseline, contender))
        grown = now.value - at_first.value
        error, freedom = sqrt(at_first.error**2 + now.error**2), at_first.freedom + now.freedom
        reach = error * (student_t_quantile(freedom, 1 - _LEVEL / 2) if freedom else _ERRORS_OF_INTERVAL)
        if grown > _GROWTH_LEAST * at_first.value and grown > max(_ERRORS_LEAST * error, reach):
            is_bound = any(name not in run.listed for run in baseline)
            ends = (grown - reach, grown + reach) if error and not is_bound else (None, None)
            both = at_first.value, now.value
            candidates.append(GrownCost(key.kind, key.process, name, *both, key.unit, is_bound, *ends))
    candidates.sort(key=lambda cause: (-cause.growth, cause.name))
    whole = fmean(sum(cost.value for cost in run.listed.values()) for run in contender)
    return [cause for cause in candidates[:CAUSES_MOST] if cause.growth > _GROWTH_LEAST / 2 * whole]


def _mean(name: str, side: Sequence[_Costs]) -> _Cost:
    """Return the mean over the runs of a side; its error is that of their samples or of their scatter, the larger."""
    costs = [run.listed.get(name, _Cost(run.rest)) for run in side]
    count, values = len(costs), [cost.value for cost in costs]
    of_samples = sqrt(sum(cost.error**2 for cost in costs)) / count
    of_runs = stdev(values) / sqrt(count) if count > 1 else 0.0
    return _Cost(fmean(values), max(of_samples, of_runs), count - 1 if of_runs > of_samples else 0)
