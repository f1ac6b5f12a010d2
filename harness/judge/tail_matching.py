"""Finds which thread of the system served a sample, and divides the sample's time by what this thread did.

Nothing in a sample names the thread. But a thread that served it had work only within the sample, and nearly as long:
of the times in which threads had work, the one that fits a sample best is its own. A pool whose threads fit as well at
other times serves no sample; what is not common to all threads that fit one equally well is not claimed.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from typing import NamedTuple

from harness.system.thread_times import CPU, QUEUE, STOP, BusySpan, Period, ThreadTimes, TimeCause

# Clocks have steps of a millisecond, and a wait for work shorter than 0.2 ms is not recorded.
_TOLERANCE_MS = 3.0
# A thread that had work for less of a sample is not the one that served it.
_OVERLAP_LEAST = 0.5
# A pool of threads that had work less often, per sample of the label, does not serve it.
_SPANS_PER_SAMPLE_LEAST = 0.1
_CANDIDATES_MOST = 12
# Nor does a pool whose threads fit fewer requests best: it serves a system behind, for a part of their time.
_BEST_LEAST = 0.25
# A thread that serves a request begins or ends with it: within the tolerance, or this share of a long request.
_EDGE_RATIO = 0.05
# A pool's threads begin or end with so many requests, and more often than with times this many lengths of a request
# earlier or later, by so many standard deviations.
_EDGES_LEAST, _DEVIATIONS_LEAST = 3, 4.0
_SHIFTS = tuple(sign * (0.6 + 9 * (0.618 * number % 1)) for number in range(12) for sign in (-1, 1))
# Two steps of the clock, at the start and the end, do not tell which of two threads fits better.
_EQUAL_MS = 2.0
# A request has several threads when it was redirected; shorter gaps are not looked at.
_THREADS_MOST, _GAP_LEAST, _GAP_LEAST_MS = 3, 0.1, 10.0
GENERATOR, NETWORK, UNKNOWN = "generator", "network", "unexplained"
_COLLECTORS = ("Collect", "GC", "G1", "ZMark", "ZReloc", "ZYoung", "ZOld", "Shenandoah", "XMark", "XReloc", "Parallel")


class TailRequest(NamedTuple):
    """A sample: its times in ms since 1970, and how long it connected."""

    from_ms: int
    to_ms: int
    connect_ms: int = 0

    @property
    def length_ms(self) -> int:
        """Return the response time."""
        return self.to_ms - self.from_ms


class Fit(NamedTuple):
    """A span of a process that may be that of a request: what is missing of the request, and the common time."""

    cost_ms: float
    process: str
    span: BusySpan
    from_ms: float
    to_ms: float


@dataclass(frozen=True)
class Divided:
    """The time of a request by cause, ms; together they make its length. `thread_is_known` is whether one fitted.

    `sure` is the same with what all threads that fit equally well have in common; the rest is unexplained.
    """

    request: TailRequest
    parts: Mapping[TimeCause, float]
    sure: Mapping[TimeCause, float]
    thread_is_known: bool


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

    def divide(self, chosen: Sequence[TailRequest], label_count: int) -> list[Divided]:
        """Return the time of each request by cause; `label_count` is the number of requests of its label.

        A request that was redirected has several threads one after another: what one leaves is looked for again.
        """
        serving = {name: _Serving.of(times, label_count) for name, times in self._times.items()}
        serving = {name: of.only(self._times[name].pools, of.pools_serving(chosen)) for name, of in serving.items()}
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
                if (number, gap) not in given and all(_overlap(fit, other) <= _TOLERANCE_MS for other in same):
                    given.add((number, gap))
                    fits_of[number].append(fit)
                    same.append(fit)
        return [self._divided(one, fits, self._fits(one, serving)) for one, fits in zip(chosen, fits_of, strict=True)]

    def _front(self, chosen: Sequence[TailRequest], serving: Mapping[str, _Serving]) -> Mapping[str, set[str]]:
        """Return the pools of each process whose threads fit most requests best; those of a system behind fit some."""
        best = [min(fits, key=lambda fit: fit.cost_ms) for one in chosen if (fits := self._fits(one, serving))]
        counts = Counter(map(self._pool, best))
        front: dict[str, set[str]] = {name: set() for name in serving}
        for pool, count in counts.items():
            if count >= _BEST_LEAST * len(best):
                front[pool.process].add(pool.name)
        return front

    def _pool(self, fit: Fit) -> _Pool:
        return _Pool(fit.process, self._times[fit.process].pools.get(fit.span.thread, ""))

    def _fits(self, request: TailRequest, serving: Mapping[str, _Serving]) -> list[Fit]:
        """Return the spans that may be that of a request, the best one first."""
        spans = []
        for process, of in serving.items():
            first = bisect_left(of.spans, (request.from_ms - of.longest_ms,))
            last = bisect_right(of.spans, (request.to_ms,))
            for span in of.spans[first:last]:
                from_ms, to_ms = max(span.from_ms, request.from_ms), min(span.to_ms, request.to_ms)
                if to_ms - from_ms < _OVERLAP_LEAST * request.length_ms:
                    continue
                if not _is_of_another(self._times[process], span, request):
                    missing_ms = request.length_ms - (to_ms - from_ms)
                    beyond_ms = (span.to_ms - span.from_ms) - (to_ms - from_ms)
                    spans.append(Fit(missing_ms + beyond_ms, process, span, from_ms, to_ms))
        spans.sort(key=lambda fit: fit.cost_ms)
        return [fit for fit in spans[:_CANDIDATES_MOST] if not self._has_closer(fit, request)]

    def _has_closer(self, fit: Fit, request: TailRequest) -> bool:
        """Return whether another request fits the span much better, so that the span is not that of this one."""
        span = fit.span
        first = bisect_left(self._starts, span.to_ms - request.length_ms - _TOLERANCE_MS)
        last = bisect_right(self._starts, span.from_ms + _TOLERANCE_MS)
        return any(
            other.to_ms >= span.to_ms - _TOLERANCE_MS
            and abs(other.from_ms - span.from_ms) + abs(other.to_ms - span.to_ms) + _TOLERANCE_MS < fit.cost_ms
            for other in self._requests[first:last]
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
        return Divided(request, parts, sure if rivals else parts, bool(fits))

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


class _Pool(NamedTuple):
    """A pool of threads of a process."""

    process: str
    name: str


class _Serving(NamedTuple):
    """The spans of the pools whose threads may serve a label, in order, and the longest of them."""

    spans: Sequence[BusySpan]
    longest_ms: float
    pool_of: Mapping[int, str]

    @classmethod
    def of(cls, times: ThreadTimes, label_count: int) -> _Serving:
        """Return the spans of pools whose threads had work often enough."""
        counts = Counter(times.pools.get(span.thread, "") for span in times.spans)
        pools = {pool for pool, count in counts.items() if count >= _SPANS_PER_SAMPLE_LEAST * label_count}
        return cls(times.spans, 0.0, times.pools).only(times.pools, pools)

    def pools_serving(self, chosen: Sequence[TailRequest]) -> set[str]:
        """Return the pools whose threads begin or end with the requests, more often than at other times."""
        spans_of: defaultdict[str, list[BusySpan]] = defaultdict(list)
        for span in self.spans:
            spans_of[self.pool_of.get(span.thread, "")].append(span)
        return {pool for pool, spans in spans_of.items() if _Edges(spans).are_of(chosen)}

    def only(self, pool_of: Mapping[int, str], pools: Collection[str]) -> _Serving:
        """Return the spans of some pools."""
        spans = [span for span in self.spans if pool_of.get(span.thread, "") in pools]
        return _Serving(spans, max((span.to_ms - span.from_ms for span in spans), default=0.0), pool_of)


class _Edges:
    """The beginnings and ends of the times in which the threads of a pool had work."""

    def __init__(self, spans: Sequence[BusySpan]) -> None:
        self._by_start = spans
        self._by_end = sorted((span.to_ms, span.from_ms) for span in spans)

    def are_of(self, chosen: Sequence[TailRequest]) -> bool:
        """Return whether more of the requests begin or end with them than by chance.

        A request's chance is the share of times before and after it, as long as it, that do; the sum of such trials has
        a Poisson binomial distribution.
        """
        hits, expected, variance = 0, 0.0, 0.0
        for one in chosen:
            hits += self._has_edge(one.from_ms, one.to_ms)
            by_chance = sum(self._has_edge(one.from_ms + by_ms, one.to_ms + by_ms) for by_ms in _shifts_ms(one))
            chance = (by_chance + 0.5) / (len(_SHIFTS) + 1)
            expected += chance
            variance += chance * (1 - chance)
        least = min(_EDGES_LEAST, len(chosen))
        return hits >= least and hits - expected >= _DEVIATIONS_LEAST * sqrt(variance)

    def _has_edge(self, from_ms: float, to_ms: float) -> bool:
        """Return whether a thread begins or ends with a time, and had work for enough of it."""
        edge_ms, least_ms = max(_TOLERANCE_MS, _EDGE_RATIO * (to_ms - from_ms)), _OVERLAP_LEAST * (to_ms - from_ms)
        starts = self._by_start[
            bisect_left(self._by_start, (from_ms - edge_ms,)) : bisect_right(self._by_start, (from_ms + edge_ms,))
        ]
        if any(min(span.to_ms, to_ms) - max(span.from_ms, from_ms) >= least_ms for span in starts):
            return True
        ends = self._by_end[
            bisect_left(self._by_end, (to_ms - edge_ms,)) : bisect_right(self._by_end, (to_ms + edge_ms,))
        ]
        return any(min(end_ms, to_ms) - max(start_ms, from_ms) >= least_ms for end_ms, start_ms in ends)


def _shifts_ms(request: TailRequest) -> list[float]:
    """Return what brings a request to times before and after it, ms."""
    return [shift * max(1, request.length_ms) for shift in _SHIFTS]


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
            goes_beyond = wait.from_ms < at_ms - 2 * _TOLERANCE_MS and wait.to_ms > at_ms + 2 * _TOLERANCE_MS
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
