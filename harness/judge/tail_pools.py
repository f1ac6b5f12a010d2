"""Which pools of threads serve the requests of a label: those that begin and end with them, and not by chance."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from math import ceil, exp, inf, log
from typing import NamedTuple

from harness.system.thread_times import BusySpan, ThreadTimes

# Clocks have steps of a millisecond, and a wait for work shorter than 0.2 ms is not recorded.
TOLERANCE_MS = 3.0
# A thread that had work for less of a sample is not the one that served it.
OVERLAP_LEAST = 0.5
# A pool of threads that had work less often, per sample of the label, does not serve it.
_SPANS_PER_SAMPLE_LEAST = 0.1
# What a pool's threads do at edges farther from a request, as a share of its length and at most, says nothing of it.
_EDGE_RATIO, _EDGE_MOST_MS = 0.1, 100.0
# How well threads fit by chance is seen at times this many lengths of a request, or of this, earlier or later.
_SHIFTS = tuple(sign * (0.6 + 9 * (0.618 * number % 1)) for number in range(60) for sign in (-1, 1))
_SHIFTED_LEAST_MS = 20
# A pool that does not serve the slow requests fits them as well with less than the first probability; with less than
# the second when it serves others of their label. So many requests are judged.
_CHANCE_MOST, _CHANCE_OF_SLOW_MOST = 1e-4, 0.3
_JUDGED_MOST = 40


class TailRequest(NamedTuple):
    """A sample: its times in ms since 1970, and how long it connected."""

    from_ms: int
    to_ms: int
    connect_ms: int = 0

    @property
    def length_ms(self) -> int:
        """Return the response time."""
        return self.to_ms - self.from_ms


class Pool(NamedTuple):
    """A pool of threads of a process."""

    process: str
    name: str


class ServingSpans(NamedTuple):
    """The spans of the pools whose threads may serve a label, in order, and the longest of them."""

    spans: Sequence[BusySpan]
    longest_ms: float
    pool_of: Mapping[int, str]

    @classmethod
    def of(cls, times: ThreadTimes, label_count: int) -> ServingSpans:
        """Return the spans of pools whose threads had work often enough."""
        counts = Counter(times.pools.get(span.thread, "") for span in times.spans)
        pools = {pool for pool, count in counts.items() if count >= _SPANS_PER_SAMPLE_LEAST * label_count}
        return cls(times.spans, 0.0, times.pools).only(times.pools, pools)

    def pools_serving(self, slow: Sequence[TailRequest], chosen: Sequence[TailRequest]) -> set[str]:
        """Return the pools whose threads begin or end with the requests, also the slow ones, not by chance."""
        spans_of: defaultdict[str, list[BusySpan]] = defaultdict(list)
        for span in self.spans:
            spans_of[self.pool_of.get(span.thread, "")].append(span)
        return {pool for pool, spans in spans_of.items() if _Edges(spans).are_of(slow, chosen)}

    def starting(self, from_ms: float, to_ms: float) -> Sequence[BusySpan]:
        """Return the spans that begin in a time."""
        return self.spans[bisect_left(self.spans, (from_ms,)) : bisect_right(self.spans, (to_ms,))]

    def is_same_pool(self, one: BusySpan, other: BusySpan) -> bool:
        """Return whether the threads of two spans are of one pool."""
        return self.pool_of.get(one.thread) == self.pool_of.get(other.thread)

    def only(self, pool_of: Mapping[int, str], pools: Collection[str]) -> ServingSpans:
        """Return the spans of some pools."""
        spans = [span for span in self.spans if pool_of.get(span.thread, "") in pools]
        return ServingSpans(spans, max((span.to_ms - span.from_ms for span in spans), default=0.0), pool_of)


class _Apart(NamedTuple):
    """How far both edges of a request are from those of the thread that fits best, and the nearer one; ms."""

    both_ms: float
    nearer_ms: float


class _Edges:
    """The beginnings and ends of the times in which the threads of a pool had work."""

    def __init__(self, spans: Sequence[BusySpan]) -> None:
        self._by_start = spans
        self._by_end = sorted((span.to_ms, span.from_ms) for span in spans)

    def are_of(self, slow: Sequence[TailRequest], chosen: Sequence[TailRequest]) -> bool:
        """Return whether the slow requests begin and end with them, and not by chance."""
        chance = self._chance_of(slow)
        return chance < _CHANCE_MOST or (chance < _CHANCE_OF_SLOW_MOST and self._chance_of(chosen) < _CHANCE_MOST)

    def _chance_of(self, requests: Sequence[TailRequest]) -> float:
        judged = requests[:: ceil(len(requests) / _JUDGED_MOST)]
        return _by_chance([self._chance(one) for one in judged])

    def _chance(self, request: TailRequest) -> float:
        """Return the probability that threads that do not serve a request fit it as well: the share of times before
        and after it that they do; of both edges, or of the nearer one.
        """
        fits = self._distances_ms(request.from_ms, request.to_ms)
        least_ms = max(_SHIFTED_LEAST_MS, request.length_ms)
        others = [self._distances_ms(request.from_ms + by * least_ms, request.to_ms + by * least_ms) for by in _SHIFTS]
        ranks = [1 + sum(other[at] <= fits[at] for other in others) for at in range(2)]
        return min(1.0, 2 * min(ranks) / (1 + len(others)))

    def _distances_ms(self, from_ms: float, to_ms: float) -> _Apart:
        """Return how far a time is from those in which a thread had work."""
        edge_ms = min(max(TOLERANCE_MS, _EDGE_RATIO * (to_ms - from_ms)), _EDGE_MOST_MS)
        least_ms = OVERLAP_LEAST * (to_ms - from_ms)
        starts, ends = self._by_start, self._by_end
        near = [
            (span.from_ms, span.to_ms)
            for span in starts[bisect_left(starts, (from_ms - edge_ms,)) : bisect_right(starts, (from_ms + edge_ms,))]
        ]
        near += [
            (start_ms, end_ms)
            for end_ms, start_ms in ends[bisect_left(ends, (to_ms - edge_ms,)) : bisect_right(ends, (to_ms + edge_ms,))]
        ]
        apart = [
            (abs(start_ms - from_ms), abs(end_ms - to_ms))
            for start_ms, end_ms in near
            if min(end_ms, to_ms) - max(start_ms, from_ms) >= least_ms
        ]
        return _Apart(min(map(sum, apart), default=inf), min(map(min, apart), default=inf))


def _by_chance(chances: Sequence[float]) -> float:
    """Return the probability of so small chances when each is uniform: Fisher's method, exact for 2n degrees."""
    half = -sum(map(log, chances))
    term = total = exp(-half)
    for number in range(1, len(chances)):
        term *= half / number
        total += term
    return min(1.0, total)
