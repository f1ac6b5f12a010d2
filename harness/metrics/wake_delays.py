"""Estimates what a load generator adds to response times, from how late one of its threads woke up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from harness.base.units import MS_PER_S
from harness.metrics.histogram import Histogram

# WakeDelays.java: how long its thread pauses, and the classes by which it counts what that thread oversleeps.
PERIOD_MS = 10.0
FIRST_MS, CLASSES_PER_DOUBLE = 0.25, 2
# A series has at most so many values: of a longer run each is that of several seconds.
_MOST_VALUES = 600
_STEPS_S = (1, 2, 5, 10, 30, 60, 300, 600, 3600)
# Only so many stalls are kept, the longest.
_STALLS_MOST = 2_000
_STALL = "stall"
_RATIO = 0.99
_BINS, _STEPS = 200, 20


@dataclass(frozen=True)
class Stall:
    """A time of 20 ms or more in which a thread of JMeter that could run did not, ms since 1970."""

    from_ms: int
    to_ms: int


@dataclass(frozen=True)
class WakeDelays:
    """How late a thread of JMeter woke up, of those that paused for PERIOD_MS again and again.

    `counts` has a value for each `step_s` seconds from `from_s` on (seconds since 1970): the numbers of delays by
    class, of those below FIRST_MS, and of those up to FIRST_MS × 2 ^ (class ÷ CLASSES_PER_DOUBLE). Trailing zeros are
    left out. `stalls` are the longest delays, in order of time.
    """

    from_s: int
    step_s: int
    counts: tuple[tuple[int, ...], ...]
    stalls: tuple[Stall, ...] = ()

    def between(self, from_ms: float, to_ms: float) -> tuple[int, ...]:
        """Return the numbers of delays by class, of the values that begin between two times (ms since 1970)."""
        begins = ((self.from_s + at * self.step_s) * MS_PER_S for at in range(len(self.counts)))
        chosen = [one for ms, one in zip(begins, self.counts, strict=True) if from_ms <= ms < to_ms]
        return _added(chosen)

    @classmethod
    def read(cls, text: str) -> WakeDelays | None:
        """Return what the agent's file says; None without a whole line. A line that a kill cut is left out."""
        lines = [line.split() for line in text.splitlines(keepends=True) if line.endswith("\n")]
        stalls = (Stall(*map(int, times)) for kind, *times in lines if kind == _STALL)
        return cls._of({int(second): tuple(map(int, counts)) for second, *counts in lines if second != _STALL}, stalls)

    @classmethod
    def of_all(cls, parts: Sequence[tuple[int, WakeDelays | None]]) -> WakeDelays | None:
        """Return those of several JMeters together: pairs of by how many ms a clock is ahead, and its delays.

        None when those of one are not known.
        """
        by_second = defaultdict[int, list[tuple[int, ...]]](list)
        stalls: list[Stall] = []
        for ahead_ms, late in parts:
            if late is None:
                return None
            stalls += [Stall(one.from_ms - ahead_ms, one.to_ms - ahead_ms) for one in late.stalls]
            for at, counts in enumerate(late.counts):
                by_second[late.from_s + at * late.step_s - round(ahead_ms / MS_PER_S)].append(counts)
        return cls._of({second: _added(several) for second, several in by_second.items()}, stalls)

    @classmethod
    def _of(cls, by_second: Mapping[int, tuple[int, ...]], stalls: Iterable[Stall]) -> WakeDelays | None:
        if not by_second:
            return None
        first_s, length_s = min(by_second), max(by_second) - min(by_second) + 1
        step_s = next((one for one in _STEPS_S if length_s <= one * _MOST_VALUES), _STEPS_S[-1])
        parts = defaultdict[int, list[tuple[int, ...]]](list)
        for second, counts in by_second.items():
            parts[(second - first_s) // step_s].append(counts)
        longest = sorted(stalls, key=lambda one: one.from_ms - one.to_ms)[:_STALLS_MOST]
        series = tuple(_added(parts[at]) for at in range(max(parts) + 1))
        return cls(first_s, step_s, series, tuple(sorted(longest, key=lambda one: one.from_ms)))


@dataclass(frozen=True)
class GeneratorDelay:
    """What the load generator adds to the p99 of a load, by estimate; both in ms."""

    p99_ms: int
    added_ms: float

    @property
    def text(self) -> str:
        """Return one line for people."""
        return (
            f"Of the p99 of {self.p99_ms} ms, {self.added_ms:.1f} ms or more are of the load generator: an answer had "
            "arrived, and its threads did not get to run (estimate)."
        )


def generator_delay(times: Histogram, counts: Sequence[int], cycle_ms: float) -> GeneratorDelay | None:
    """Return what delays, given by class, added to the p99 of response times; None without any of either.

    `cycle_ms` is how long a user needs from one request to the next: while the generator stands still, each user's
    next answer waits, and no further request. The times without the delays are those whose sum with such delays is
    most like the times that were seen: Richardson (1972) and Lucy (1974), in `_STEPS` steps.
    """
    if not times.counts or not any(counts):
        return None
    seen_ms, most_ms = times.quantiles_ms((_RATIO, 0.999))
    width_ms = max(1.0, (most_ms + 1) / _BINS)  # times are whole ms
    delays = _binned(_delays(counts, cycle_ms), width_ms)
    seen = _binned(((value_ms + 0.5, float(count)) for value_ms, count in times.counts.items()), width_ms)
    without = seen
    for _ in range(_STEPS if len(delays) > 1 and any(delays[1:]) else 0):
        together = _sums(without, delays)
        shares = [one / other if other else 0.0 for one, other in zip(seen, together, strict=True)]
        without = [one * of_bin for one, of_bin in zip(without, _shares(shares, delays), strict=True)]
    added_ms = (_quantile(seen) - _quantile(without)) * width_ms
    return GeneratorDelay(seen_ms, max(0.0, added_ms))


def _delays(counts: Sequence[int], cycle_ms: float) -> Iterator[tuple[float, float]]:
    """Yield pairs of a delay (ms), and for how long (ms) an answer that arrived waited so long.

    An answer that arrives later within a delay waits for what is left of it.
    """
    yield 0.0, counts[0] * PERIOD_MS
    for at, count in enumerate(counts[1:], start=1):
        left_ms, cycle_left_ms = FIRST_MS * 2 ** ((at - 0.5) / CLASSES_PER_DOUBLE), cycle_ms
        while count and left_ms > 0 and cycle_left_ms > 0:
            yield left_ms, count * min(PERIOD_MS, cycle_left_ms)
            left_ms -= PERIOD_MS
            cycle_left_ms -= PERIOD_MS


def _binned(pairs: Iterable[tuple[float, float]], width_ms: float) -> list[float]:
    """Return the shares of values by bin, of pairs of a value (ms) and its weight; the last bin has all greater ones.

    A value between two bins is divided between them, so that the mean stays.
    """
    bins = [0.0] * (_BINS + 1)
    for value_ms, weight in pairs:
        at = min(value_ms / width_ms, _BINS)
        before = int(at)
        bins[before] += weight * (1 - at + before)
        bins[min(before + 1, _BINS)] += weight * (at - before)
    whole = sum(bins)
    return [one / whole for one in bins]


def _sums(times: Sequence[float], delays: Sequence[float]) -> list[float]:
    """Return the shares of the sums of a time and a delay."""
    sums = [0.0] * len(times)
    known = [(delay, share) for delay, share in enumerate(delays) if share]
    for at, of_time in enumerate(times):
        for delay, share in known if of_time else ():
            sums[min(at + delay, _BINS)] += of_time * share
    return sums


def _shares(of_sums: Sequence[float], delays: Sequence[float]) -> list[float]:
    """Return for each bin of times the mean over the delays of what is true of its sums."""
    known = [(at, share) for at, share in enumerate(delays) if share]
    return [sum(share * of_sums[min(at + delay, _BINS)] for delay, share in known) for at in range(len(of_sums))]


def _quantile(bins: Sequence[float]) -> float:
    """Return the quantile in bins."""
    up_to = 0.0
    for at, share in enumerate(bins):
        if up_to + share >= _RATIO:
            return at + (_RATIO - up_to) / share
        up_to += share
    return float(len(bins))


def _added(several: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Return the sums by class, without trailing zeros."""
    sums = [sum(one) for one in zip_longest(*several, fillvalue=0)]
    while sums and not sums[-1]:
        sums.pop()
    return tuple(sums)
