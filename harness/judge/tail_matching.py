"""Finds which thread of the system served a sample, and divides the sample's time by what this thread did.

Nothing in a sample names the thread. But a thread that served it had work only within the sample, and nearly as long:
of the times in which threads had work, the one that fits a sample best is its own, or that of samples one after another
of which it is one. What is not common to all threads that fit one equally well is not claimed.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil, inf
from typing import NamedTuple

from harness.judge.tail_pools import OVERLAP_LEAST, TOLERANCE_MS, Pool, ServingSpans, TailRequest
from harness.system.thread_times import CPU, QUEUE, STOP, VIRTUAL, BusySpan, Period, ThreadTimes, TimeCause

_CANDIDATES_MOST = 12
# A pool whose threads fit fewer requests best serves a system behind, for a part of their time.
_BEST_LEAST = 0.25
# The edges of a thread's time and of its request's are this near, or this share of a long request, at most.
_NEAR_MS, _NEAR_RATIO, _NEAR_MOST_MS = TOLERANCE_MS, 0.03, 20.0
# A thread that goes from one request to the next at once has one time for both, or for more: so many are looked at.
_CHAIN_MOST, _CHAIN_STEPS_MOST = 6, 60
# Of a virtual thread without dumps, recorded waits tell so much of its time.
_SEEN_LEAST = 0.5
# Two steps of the clock, at the start and the end, do not tell which of two threads fits better.
_EQUAL_MS = 2.0
# A request has several threads when it was redirected; shorter gaps are not looked at.
_THREADS_MOST, _GAP_LEAST, _GAP_LEAST_MS = 3, 0.1, 10.0
GENERATOR, NETWORK, UNKNOWN = "generator", "network", "unexplained"
# The kinds of causes that are known of a request whose thread is not.
WITHOUT_THREAD = frozenset({STOP, GENERATOR, NETWORK})
_COLLECTORS = ("Collect", "GC", "G1", "ZMark", "ZReloc", "ZYoung", "ZOld", "Shenandoah", "XMark", "XReloc", "Parallel")


class Fit(NamedTuple):
    """A span of a process that may be that of a request: what is missing of the request, and the common time."""

    cost_ms: float
    process: str
    span: BusySpan
    from_ms: float
    to_ms: float


@dataclass(frozen=True)
class Divided:
    """The time of a request by cause, ms; together they make its length.

    `thread_is_known` is whether a thread fitted, and something is known of it. `vague_ms` is by how much a cause may be
    longer or shorter on average, as dumps do not tell when it began and ended.

    `sure` is the same with what all threads that fit equally well have in common; the rest is unexplained.
    """

    request: TailRequest
    parts: Mapping[TimeCause, float]
    sure: Mapping[TimeCause, float]
    thread_is_known: bool
    vague_ms: Mapping[TimeCause, float] = field(default_factory=dict)


class _Chains(NamedTuple):
    """How far the edges of requests one after another are from those of a span: with a request, without it; or None."""

    with_ms: float | None
    without_ms: float | None


class Matching:
    """The requests of a run in order of their starts, and the threads of its processes.

    `generator_stops` are the times in which a load generator was stopped.
    """

    def __init__(
        self,
        requests: Sequence[TailRequest],
        times: Mapping[str, ThreadTimes],
        generator_stops: Sequence[Period] = (),
    ) -> None:
        self._requests, self._times, self._generator_stops = requests, times, generator_stops
        self._starts = [request.from_ms for request in requests]

    def divide(self, chosen: Sequence[TailRequest], label_count: int, slow_count: int | None = None) -> list[Divided]:
        """Return the time of each request by cause; `label_count` is the number of requests of its label.

        The first `slow_count` are slow ones, else all: the threads of the others may not be theirs.
        A request that was redirected has several threads one after another: what one leaves is looked for again.
        """
        serving = {name: ServingSpans.of(times, label_count) for name, times in self._times.items()}
        serving = {
            name: of.only(self._times[name].pools, of.pools_serving(chosen[:slow_count], chosen))
            for name, of in serving.items()
        }
        front = self._front(chosen, serving)
        serving = {name: of.only(self._times[name].pools, front[name]) for name, of in serving.items() if front[name]}
        taken: defaultdict[tuple[str, int], list[Fit]] = defaultdict(list)
        fits_of: list[list[Fit]] = [[] for _ in chosen]
        for _ in range(_THREADS_MOST):
            wanted = [(number, gap) for number, one in enumerate(chosen) for gap in _gaps(one, fits_of[number])]
            fits = [(fit, number, gap) for number, gap in wanted for fit in self._fits(gap, serving)]
            given = set()
            for fit, number, gap in sorted(fits, key=lambda one: (one[0].cost_ms, one[1])):
                same = taken[fit.process, fit.span.thread]
                if (number, gap) not in given and all(_overlap(fit, other) <= TOLERANCE_MS for other in same):
                    given.add((number, gap))
                    fits_of[number].append(fit)
                    same.append(fit)
        return [self._divided(one, fits, self._fits(one, serving)) for one, fits in zip(chosen, fits_of, strict=True)]

    def _front(self, chosen: Sequence[TailRequest], serving: Mapping[str, ServingSpans]) -> Mapping[str, set[str]]:
        """Return the pools of each process whose threads fit most requests best; those of a system behind fit some."""
        best = [min(fits, key=lambda fit: fit.cost_ms) for one in chosen if (fits := self._fits(one, serving))]
        counts = Counter(map(self._pool, best))
        front: dict[str, set[str]] = {name: set() for name in serving}
        for pool, count in counts.items():
            if count >= _BEST_LEAST * len(best):
                front[pool.process].add(pool.name)
        return front

    def _pool(self, fit: Fit) -> Pool:
        return Pool(fit.process, self._times[fit.process].pools.get(fit.span.thread, ""))

    def _fits(self, request: TailRequest, serving: Mapping[str, ServingSpans]) -> list[Fit]:
        """Return the spans that may be that of a request, the best one first."""
        spans = []
        for process, of in serving.items():
            first = bisect_left(of.spans, (request.from_ms - of.longest_ms,))
            last = bisect_right(of.spans, (request.to_ms,))
            for span in of.spans[first:last]:
                from_ms, to_ms = max(span.from_ms, request.from_ms), min(span.to_ms, request.to_ms)
                if to_ms - from_ms < OVERLAP_LEAST * request.length_ms:
                    continue
                if not _is_of_another(self._times[process], span, request):
                    missing_ms = request.length_ms - (to_ms - from_ms)
                    beyond_ms = (span.to_ms - span.from_ms) - (to_ms - from_ms)
                    spans.append(Fit(missing_ms + beyond_ms, process, span, from_ms, to_ms))
        spans.sort(key=lambda fit: fit.cost_ms)
        found = (self._judged(fit, request, serving[fit.process]) for fit in spans[:_CANDIDATES_MOST])
        return sorted((fit for fit in found if fit), key=lambda fit: fit.cost_ms)

    def _judged(self, fit: Fit, request: TailRequest, of: ServingSpans) -> Fit | None:
        """Return a fit with the cost that it has beside other requests; None when the span is that of others."""
        if self._has_closer(fit, request, of):
            return None
        near_ms = self._near_ms(request)
        if fit.cost_ms > 2 * near_ms:
            chains = self._chains(fit.span, request, of)
            if chains.with_ms is not None:
                return fit._replace(cost_ms=min(chains.with_ms, fit.cost_ms))
            edges_ms = (abs(fit.span.from_ms - request.from_ms), abs(fit.span.to_ms - request.to_ms))
            if chains.without_ms is not None or min(edges_ms) > near_ms:
                return None
        return fit

    def _chains(self, span: BusySpan, request: TailRequest, of: ServingSpans) -> _Chains:
        """Return how well requests that follow one another at once fit a span; not those with a span of their own."""
        best: dict[bool, float] = {}
        steps = _CHAIN_STEPS_MOST

        def follow(last: TailRequest, cost_ms: float, length: int, has_request: bool) -> None:
            nonlocal steps
            steps -= 1
            if steps < 0:
                return
            end_ms = abs(span.to_ms - last.to_ms)
            if length > 1 and end_ms <= self._near_ms(last):
                best[has_request] = min(best.get(has_request, inf), cost_ms + end_ms)
            elif length < _CHAIN_MOST and last.to_ms < span.to_ms:
                for after in self._starting(last.to_ms - 1, last.to_ms + _NEAR_MS):
                    if after.from_ms >= last.from_ms and after != last and not self._has_own(after, of):
                        gap_ms = abs(after.from_ms - last.to_ms)
                        follow(after, cost_ms + gap_ms, length + 1, has_request or after == request)

        for one in self._starting(span.from_ms - self._near_ms(request), span.from_ms + _NEAR_MS):
            if abs(one.from_ms - span.from_ms) <= self._near_ms(one) and not self._has_own(one, of):
                follow(one, abs(one.from_ms - span.from_ms), 1, one == request)
        return _Chains(None, None) if steps < 0 else _Chains(best.get(True), best.get(False))

    def _starting(self, from_ms: float, to_ms: float) -> Sequence[TailRequest]:
        return self._requests[bisect_left(self._starts, from_ms) : bisect_right(self._starts, to_ms)]

    def _has_own(self, request: TailRequest, of: ServingSpans) -> bool:
        """Return whether a span begins and ends with a request."""
        return any(
            abs(span.to_ms - request.to_ms) <= _NEAR_MS
            for span in of.starting(request.from_ms - _NEAR_MS, request.from_ms + _NEAR_MS)
        )

    def _near_ms(self, request: TailRequest) -> float:
        """Return how far the edges of a request may be from those of its thread's time."""
        frozen_ms = _length_ms(_within(self._generator_stops, request.from_ms, request.to_ms))
        return frozen_ms + min(max(_NEAR_MS, _NEAR_RATIO * request.length_ms), _NEAR_MOST_MS)

    def _has_closer(self, fit: Fit, request: TailRequest, of: ServingSpans) -> bool:
        """Return whether another request fits the span much better, and no other span as well."""
        span = fit.span
        first = bisect_left(self._starts, span.to_ms - request.length_ms - TOLERANCE_MS)
        last = bisect_right(self._starts, span.from_ms + TOLERANCE_MS)
        for other in self._requests[first:last]:
            if other.to_ms >= span.to_ms - TOLERANCE_MS:
                apart_ms = _apart_ms(span, other)
                if apart_ms + TOLERANCE_MS < fit.cost_ms and not self._has_better(other, apart_ms, span, of):
                    return True
        return False

    def _has_better(self, request: TailRequest, apart_ms: float, than: BusySpan, of: ServingSpans) -> bool:
        """Return whether a request fits another span of the same pool at least as well."""
        return any(
            span != than and of.is_same_pool(span, than) and _apart_ms(span, request) <= apart_ms
            for span in of.starting(request.from_ms - apart_ms, request.from_ms + apart_ms)
        )

    def _divided(self, request: TailRequest, fits: Sequence[Fit], candidates: Sequence[Fit]) -> Divided:
        parts = self._parts(request, fits)
        whole = [fit for fit in fits if fit in candidates]
        rivals = [
            self._parts(request, [rival])
            for fit in whole
            for rival in candidates
            if rival.span != fit.span
            and rival.cost_ms <= fit.cost_ms + _EQUAL_MS
            and self._pool(rival) == self._pool(fit)  # one of another pool works for the same request
        ]
        least = {cause: min((ms, *(one.get(cause, 0.0) for one in rivals))) for cause, ms in parts.items()}
        sure = {cause: ms for cause, ms in least.items() if cause.kind != UNKNOWN and ms}
        sure[TimeCause(UNKNOWN, "")] = request.length_ms - sum(sure.values())
        return Divided(request, parts, sure if rivals else parts, any(map(self._is_seen, fits)), self._vague_ms(fits))

    def _vague_ms(self, fits: Sequence[Fit]) -> Mapping[TimeCause, float]:
        """Return how far on average what dumps have is from the truth.

        This is a quarter of their distance where the cause changes, and of what is before the first and after the last.
        """
        vague = defaultdict[TimeCause, float](float)
        for fit in fits:
            of = self._times[fit.process]
            dumped = list(of.dumped_within(fit.span.thread, fit.from_ms, fit.to_ms))
            for before, after in pairwise(dumped):
                if before.cause != after.cause:
                    for cause in (before.cause, after.cause):
                        vague[cause] += of.dumps_apart_ms(after.from_ms) / 4
            if dumped and (at_ms := of.dumps_within(fit.from_ms, fit.to_ms)):
                vague[dumped[0].cause] += (at_ms[0] - fit.from_ms) / 4
                vague[dumped[-1].cause] += (fit.to_ms - at_ms[-1]) / 4
        return vague

    def _is_seen(self, fit: Fit) -> bool:
        """Return whether it is known what a thread did: a virtual one may have ended between two dumps."""
        of = self._times[fit.process]
        is_dumped = of.pools.get(fit.span.thread) == VIRTUAL and of.dump_times_ms
        if not is_dumped or of.dumps_within(fit.from_ms, fit.to_ms):
            return True
        waits = list(of.waits_within(fit.span.thread, fit.from_ms, fit.to_ms))
        return _length_ms(_within(waits, fit.from_ms, fit.to_ms)) >= _SEEN_LEAST * (fit.to_ms - fit.from_ms)

    def _parts(self, request: TailRequest, fits: Sequence[Fit]) -> dict[TimeCause, float]:
        parts = defaultdict[TimeCause, float](float)
        process = fits[0].process if fits else next(iter(self._times), None) if len(self._times) == 1 else None
        stops = self._times[process].stops if process else []
        stopped = _within(stops, request.from_ms, request.to_ms)
        for period in stopped:
            parts[TimeCause(STOP, _stop_name(period.cause.name))] += period.to_ms - period.from_ms
        outside_ms = request.length_ms - _length_ms(stopped)
        for fit in fits:
            outside_ms -= fit.to_ms - fit.from_ms - _length_ms(_within(stopped, fit.from_ms, fit.to_ms))
            for cause, ms in _inside(self._times[fit.process], fit, stopped).items():
                parts[cause] += ms
        frozen_ms = _length_ms(_within(self._generator_stops, request.from_ms, request.to_ms))
        for cause, most_ms in (
            (TimeCause(GENERATOR, ""), frozen_ms),
            (TimeCause(NETWORK, ""), float(request.connect_ms)),
        ):
            part_ms = max(0.0, min(most_ms, outside_ms))
            parts[cause] += part_ms
            outside_ms -= part_ms
        parts[TimeCause(UNKNOWN, "")] = request.length_ms - sum(parts.values())
        return {cause: ms for cause, ms in parts.items() if ms}


def _gaps(request: TailRequest, fits: Sequence[Fit]) -> list[TailRequest]:
    """Return the parts of a request that no thread explains so far, but for short ones: at first all of it."""
    if not fits:
        return [request]
    least_ms = max(_GAP_LEAST_MS, _GAP_LEAST * request.length_ms)
    ends = [
        request.from_ms,
        *(at for fit in sorted(fits, key=_start) for at in (fit.from_ms, fit.to_ms)),
        request.to_ms,
    ]
    pairs = zip(ends[::2], ends[1::2], strict=True)
    return [TailRequest(ceil(from_ms), int(to_ms)) for from_ms, to_ms in pairs if to_ms - from_ms >= least_ms]


def _apart_ms(span: BusySpan, request: TailRequest) -> float:
    return abs(span.from_ms - request.from_ms) + abs(span.to_ms - request.to_ms)


def _start(fit: Fit) -> float:
    return fit.from_ms


def _inside(times: ThreadTimes, fit: Fit, stopped: Sequence[Period]) -> dict[TimeCause, float]:
    """Return what the thread did in its time by cause: waits, then the time for which it waited for a CPU, then CPU."""
    parts = defaultdict[TimeCause, float](float)
    at_ms, left_ms = fit.from_ms, fit.to_ms - fit.from_ms - _length_ms(_within(stopped, fit.from_ms, fit.to_ms))
    for wait in times.waits_within(fit.span.thread, fit.from_ms, fit.to_ms):
        from_ms, to_ms = max(wait.from_ms, at_ms), min(wait.to_ms, fit.to_ms)
        if to_ms <= from_ms:
            continue
        part_ms = to_ms - from_ms - _length_ms(_within(stopped, from_ms, to_ms))
        parts[wait.cause] += part_ms
        left_ms, at_ms = left_ms - part_ms, to_ms
    dumped = defaultdict[TimeCause, float](float)
    for wait in times.dumped_within(fit.span.thread, fit.from_ms, fit.to_ms):
        dumped[wait.cause] += min(wait.to_ms, fit.to_ms) - max(wait.from_ms, fit.from_ms)
    for cause, ms in dumped.items():  # each dump represents the same part of what is not recorded
        parts[cause] += ms * left_ms / sum(dumped.values())
    if dumped:
        return parts
    queued_ms = max(0.0, min(times.queued_ms(fit.span.thread, fit.from_ms, fit.to_ms), left_ms))
    parts[TimeCause(QUEUE, "")] = queued_ms
    ran = Counter(times.samples_within(fit.span.thread, fit.from_ms, fit.to_ms))
    whole_ms = ran.total() * times.sample_period_ms
    share = min(1.0, max(0.0, left_ms - queued_ms) / whole_ms) if whole_ms else 0.0
    for cause, count in ran.items():
        parts[TimeCause(CPU, cause.name)] += count * times.sample_period_ms * share
    return parts


def _is_of_another(of: ThreadTimes, span: BusySpan, request: TailRequest) -> bool:
    """Return whether a wait goes far beyond the request: then the thread served another one at that time."""
    for at_ms in (request.from_ms, request.to_ms):
        for wait in of.waits_within(span.thread, at_ms, at_ms + 1):
            goes_beyond = wait.from_ms < at_ms - 2 * TOLERANCE_MS and wait.to_ms > at_ms + 2 * TOLERANCE_MS
            if goes_beyond and span.from_ms <= wait.from_ms and wait.to_ms <= span.to_ms:
                return True
    return False


def _overlap(one: Fit, other: Fit) -> float:
    return min(one.to_ms, other.to_ms) - max(one.from_ms, other.from_ms)


def _within(periods: Sequence[Period], from_ms: float, to_ms: float) -> list[Period]:
    """Return the parts of periods within a time; the periods follow one another."""
    first = max(0, bisect_left(periods, (from_ms,)) - 1)
    parts = []
    for period in periods[first:]:
        if period.from_ms >= to_ms:
            break
        if period.to_ms > from_ms:
            parts.append(Period(max(from_ms, period.from_ms), min(to_ms, period.to_ms), period.cause))
    return parts


def _length_ms(periods: Sequence[Period]) -> float:
    return sum(period.to_ms - period.from_ms for period in periods)


def _stop_name(operation: str) -> str:
    return "" if any(word in operation for word in _COLLECTORS) else operation
