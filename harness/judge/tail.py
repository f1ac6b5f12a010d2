"""The account of the tail: what the time between a typical and a slow request of a label was spent on.

The requests nearest to p99 are compared with those nearest to p50. The time of each is divided by what the thread that
served it did (harness/judge/tail_matching.py); the differences of the means, with what is unexplained, make the whole.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from math import ceil
from statistics import fmean

from harness.base.units import MS_PER_S
from harness.jtl.sample import Sample
from harness.judge.tail_matching import GENERATOR, UNKNOWN, WITHOUT_THREAD, Divided, Matching
from harness.judge.tail_pools import TailRequest
from harness.metrics.figures import LOAD, group_of
from harness.metrics.interval import IntervalMs
from harness.metrics.wake_delays import Stall
from harness.run.telemetry.processes import GENERATOR as GENERATOR_PROCESS
from harness.run.telemetry.table import ProcessStop
from harness.system.thread_times import Period, ThreadTimes, TimeCause

# Fewer requests have no p99.
REQUESTS_LEAST = 100
# The labels with the largest differences have an account, if it is larger than what clocks and chance make of it.
LABELS_MOST, EXCESS_LEAST_MS = 3, 10
_NEAREST_LEAST, _NEAREST_MOST = 5, 60
# Requests are near a percentile within this share of the difference.
_NEAR = 0.15
# A cause is listed when it is this share of the difference, and its interval is above 0.
SHARE_LEAST = 0.05
# With more than this share unexplained, the report says that it cannot tell what; with more than half, no causes.
UNKNOWN_RATIO, CANNOT_TELL_RATIO = 0.2, 0.5
_RESAMPLES, _TAIL = 400, 0.025
SLOWEST_MOST = 3
# More requests would need too much memory: the account is of the first ones in the window.
REQUESTS_MOST = 500_000


@dataclass(frozen=True)
class TailCause:
    """A part of the difference, ms, with its 95 % interval; kind and name are those of `TimeCause`."""

    kind: str
    name: str
    ms: float
    low_ms: float
    high_ms: float


@dataclass(frozen=True)
class TailSample:
    """One of the slowest requests: its start after that of the load, and its time by cause, the longest part first."""

    at_s: float
    elapsed_ms: int
    parts: tuple[TailPart, ...]


@dataclass(frozen=True)
class TailPart:
    """A part of a request's time."""

    kind: str
    name: str
    ms: float


@dataclass(frozen=True)
class TailAccount:
    """What the time between p50 and p99 of a label consists of: causes, smaller ones together, and the unexplained.

    They make the whole. `slow_count` requests near p99 of `request_count` were examined; of `found_count` of them the
    server's thread is known. With `is_part` the load had more than REQUESTS_MOST. Unless `queue_is_known` waiting for a
    CPU was not recorded.
    """

    label: str
    request_count: int
    p50_ms: int
    p99_ms: int
    slow_count: int
    found_count: int
    causes: tuple[TailCause, ...]
    smaller_ms: float
    unexplained_ms: float
    slowest: tuple[TailSample, ...] = ()
    is_part: bool = False
    queue_is_known: bool = True

    @property
    def excess_ms(self) -> int:
        """Return the time between p50 and p99."""
        return self.p99_ms - self.p50_ms

    @property
    def is_incomplete(self) -> bool:
        """Whether more than a little is unexplained."""
        return self.unexplained_ms > UNKNOWN_RATIO * self.excess_ms

    @property
    def is_told(self) -> bool:
        """Whether enough of it is explained to name causes."""
        return bool(self.causes) and abs(self.unexplained_ms) <= CANNOT_TELL_RATIO * self.excess_ms


def tails_of(
    samples: Iterable[Sample],
    once_labels: Sequence[str],
    window_ms: IntervalMs,
    times: Mapping[str, ThreadTimes],
    generator_stops: Sequence[Period],
    origin_s: int,
) -> tuple[TailAccount, ...]:
    """Return the accounts of the load's requests that ended in the window; nothing without a JVM's profile."""
    if not times:
        return ()
    requests: dict[str, list[TailRequest]] = {}
    counted = islice(_requests(samples, frozenset(once_labels), window_ms), REQUESTS_MOST)
    for label, request in counted:
        requests.setdefault(label, []).append(request)
    everything = sorted(chain.from_iterable(requests.values()))
    found = tail_accounts(Matching(everything, times, generator_stops), requests, origin_s * MS_PER_S)
    is_part, is_known = len(everything) == REQUESTS_MOST, any(of.has_delays for of in times.values())
    return tuple(replace(account, is_part=is_part, queue_is_known=is_known) for account in found)


def generator_stops(stops: Sequence[ProcessStop], stalls: Sequence[Stall], origin_s: int) -> list[Period]:
    """Return when the load generator stood still: by its own exact times, else by what was seen of it each second."""
    cause, begin_ms = TimeCause(GENERATOR, ""), origin_s * MS_PER_S
    exact = [Period(stall.from_ms, stall.to_ms, cause) for stall in stalls]
    return exact or sorted(
        Period(begin_ms + stop.from_s * MS_PER_S, begin_ms + stop.to_s * MS_PER_S, cause)
        for stop in stops
        if stop.process.startswith(GENERATOR_PROCESS)
    )


def _requests(
    samples: Iterable[Sample], once_labels: frozenset[str], window_ms: IntervalMs
) -> Iterator[tuple[str, TailRequest]]:
    for sample in samples:
        if (
            window_ms.from_ms <= sample.end_ms <= window_ms.to_ms
            and not sample.is_transaction
            and group_of(sample.thread_name, sample.label, once_labels) == LOAD
        ):
            yield sample.label, TailRequest(sample.start_ms, sample.end_ms, sample.connect_ms or 0)


def tail_accounts(
    matching: Matching, requests: Mapping[str, Sequence[TailRequest]], origin_ms: int
) -> tuple[TailAccount, ...]:
    """Return the accounts of the labels with the largest differences, the largest first."""
    gaps = []
    for label, of_label in requests.items():
        if len(of_label) >= REQUESTS_LEAST:
            lengths = sorted(request.length_ms for request in of_label)
            p50_ms, p99_ms = (lengths[ceil(share * len(lengths)) - 1] for share in (0.5, 0.99))
            if p99_ms - p50_ms >= EXCESS_LEAST_MS:
                gaps.append((p50_ms - p99_ms, label, p50_ms, p99_ms))
    gaps.sort()
    return tuple(
        _account(matching, label, requests[label], (p50_ms, p99_ms), origin_ms)
        for _, label, p50_ms, p99_ms in gaps[:LABELS_MOST]
    )


def _account(
    matching: Matching, label: str, requests: Sequence[TailRequest], percentiles_ms: tuple[int, int], origin_ms: int
) -> TailAccount:
    p50_ms, p99_ms = percentiles_ms
    excess_ms = p99_ms - p50_ms
    typical, slow = (_nearest(requests, at_ms, excess_ms) for at_ms in percentiles_ms)
    slowest = sorted(requests, key=lambda request: (-request.length_ms, request.from_ms))[:SLOWEST_MOST]
    chosen = list(dict.fromkeys((*slow, *slowest, *typical)))
    slow_count = len(dict.fromkeys((*slow, *slowest)))
    divided = dict(zip(chosen, matching.divide(chosen, len(requests), slow_count), strict=True))
    slow_parts, typical_parts = ([divided[request] for request in group] for group in (slow, typical))
    slow_known, typical_known = ([one for one in of if one.thread_is_known] for of in (slow_parts, typical_parts))
    # Of a request whose thread is not known, nothing is known, rather than that its thread never waited.
    known_ratio = len(slow_known) / len(slow_parts)
    if p50_ms > UNKNOWN_RATIO * excess_ms:
        known_ratio = min(known_ratio, len(typical_known) / len(typical_parts))
    causes, smaller_ms = [], 0.0
    for cause in sorted({cause for one in (*slow_parts, *typical_parts) for cause in one.parts}):
        if cause.kind == UNKNOWN:
            continue
        ratio, slow_of, typical_of = known_ratio, slow_known, typical_known
        if cause.kind in WITHOUT_THREAD:
            ratio, slow_of, typical_of = 1.0, slow_parts, typical_parts
        slow_ms = [one.sure.get(cause, 0.0) for one in slow_of] or [0.0]
        typical_ms = [one.parts.get(cause, 0.0) for one in typical_of] or [0.0]
        ms = ratio * (fmean(slow_ms) - fmean(typical_ms))
        vague_ms = fmean([one.vague_ms.get(cause, 0.0) for one in slow_of] or [0.0])
        if (
            ms >= SHARE_LEAST * excess_ms
            and (found := _with_interval(cause, ms, ratio, vague_ms, slow_ms, typical_ms)).low_ms > 0
        ):
            causes.append(found)
        else:
            smaller_ms += ms
    causes.sort(key=lambda part: (-part.ms, part.kind, part.name))
    return TailAccount(
        label=label,
        request_count=len(requests),
        p50_ms=p50_ms,
        p99_ms=p99_ms,
        slow_count=len(slow),
        found_count=sum(one.thread_is_known for one in slow_parts),
        causes=tuple(causes),
        smaller_ms=round(smaller_ms, 1),
        unexplained_ms=round(excess_ms - sum(part.ms for part in causes) - smaller_ms, 1),
        slowest=tuple(_sample(divided[request], origin_ms) for request in slowest),
    )


def _nearest(requests: Sequence[TailRequest], at_ms: int, excess_ms: int) -> list[TailRequest]:
    """Return the requests whose length is nearest to a percentile, at least a few of them."""
    ordered = sorted(requests, key=lambda request: (abs(request.length_ms - at_ms), request.from_ms))
    near = sum(abs(request.length_ms - at_ms) <= _NEAR * excess_ms for request in ordered)
    return ordered[: max(_NEAREST_LEAST, min(near, _NEAREST_MOST))]


def _with_interval(
    cause: TimeCause, ms: float, ratio: float, vague_ms: float, slow_ms: Sequence[float], typical_ms: Sequence[float]
) -> TailCause:
    """Return a cause with the interval of a bootstrap, wider by `vague_ms`; the values are of this ratio of requests.

    The others may have nothing of the cause, as its time supposes, or as much of it as these.
    """
    generator = random.Random(0)  # the same samples give the same report

    def means(group: Sequence[float]) -> list[float]:
        return [fmean(generator.choices(group, k=len(group))) for _ in range(_RESAMPLES)]

    differences = sorted(after - before for after, before in zip(means(slow_ms), means(typical_ms), strict=True))
    low_ms, high_ms = differences[int(_TAIL * _RESAMPLES)], differences[int((1 - _TAIL) * _RESAMPLES)]
    ends_ms = ratio * (low_ms - vague_ms), high_ms + vague_ms
    return TailCause(cause.kind, cause.name, *(round(value, 1) for value in (ms, *ends_ms)))


def _sample(divided: Divided, origin_ms: int) -> TailSample:
    request, by_cause = divided.request, Counter(divided.sure)
    parts = (TailPart(cause.kind, cause.name, round(ms, 1)) for cause, ms in by_cause.most_common() if ms > 0)
    return TailSample(round((request.from_ms - origin_ms) / MS_PER_S, 1), request.length_ms, tuple(parts))
