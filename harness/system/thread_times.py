"""What single threads of a profiled JVM did and when, from profile.tsv.gz: waits, samples of CPU time, and busy spans.

A span is a time in which a thread had work: between two waits for work, or the life of a virtual thread.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

IDLE, CPU, STOP, QUEUE = "idle", "cpu", "stop", "queue"
# The pool of all virtual threads that started during the recording.
VIRTUAL = "(virtual threads)"
_US_PER_MS = 1_000


class TimeCause(NamedTuple):
    """What a thread waited for or ran: a kind (harness/system/java/Waits.java), and its name."""

    kind: str
    name: str


class Period(NamedTuple):
    """A time of one thread with its cause, ms since 1970."""

    from_ms: float
    to_ms: float
    cause: TimeCause


class BusySpan(NamedTuple):
    """A time in which a thread had work, ms since 1970."""

    from_ms: float
    to_ms: float
    thread: int


class Delay(NamedTuple):
    """How long a thread waited for a CPU between two instants, and how long it had work between them, ms."""

    from_ms: float
    to_ms: float
    delay_ms: float
    busy_ms: float


@dataclass
class ThreadTimes:
    """The waits of each thread in order of time, the samples of CPU time, the spans in order, and each thread's pool.

    Waits are recorded ones; `dumped` are those of virtual threads that only thread dumps have, and their running. The
    dumps were at `dump_times_ms`, in order.
    `delays` are how long a thread waited for a CPU between two instants; with `has_delays` they were recorded. `stops`
    are times in which the JVM stopped all threads.
    """

    waits: dict[int, list[Period]] = field(default_factory=lambda: defaultdict(list))
    dumped: dict[int, list[Period]] = field(default_factory=lambda: defaultdict(list))
    samples: dict[int, list[tuple[float, TimeCause]]] = field(default_factory=lambda: defaultdict(list))
    delays: dict[int, list[Delay]] = field(default_factory=lambda: defaultdict(list))
    dump_times_ms: list[float] = field(default_factory=list)
    stops: list[Period] = field(default_factory=list)
    spans: list[BusySpan] = field(default_factory=list)
    pools: dict[int, str] = field(default_factory=dict)
    sample_period_ms: float = 10.0
    has_delays: bool = False

    def waits_within(self, thread: int, from_ms: float, to_ms: float) -> Iterator[Period]:
        """Yield the recorded waits of a thread that overlap a time; waits of one thread follow one another."""
        return _overlapping(self.waits.get(thread, []), from_ms, to_ms)

    def dumped_within(self, thread: int, from_ms: float, to_ms: float) -> Iterator[Period]:
        """Yield what dumps have of a virtual thread in a time."""
        return _overlapping(self.dumped.get(thread, []), from_ms, to_ms)

    def dumps_apart_ms(self, at_ms: float) -> float:
        """Return the time between the dumps before and after an instant; 0 when it is not known."""
        after = bisect_left(self.dump_times_ms, at_ms)
        return self.dump_times_ms[after] - self.dump_times_ms[after - 1] if 0 < after < len(self.dump_times_ms) else 0.0

    def dumps_within(self, from_ms: float, to_ms: float) -> Sequence[float]:
        """Return when there were dumps in a time, ms since 1970."""
        return self.dump_times_ms[bisect_left(self.dump_times_ms, from_ms) : bisect_left(self.dump_times_ms, to_ms)]

    def queued_ms(self, thread: int, from_ms: float, to_ms: float) -> float:
        """Return how long a thread waited for a CPU in a time in which it had work.

        What was measured between two instants is spread over the time in which the thread had work between them.
        """
        delays, queued_ms = self.delays.get(thread, []), 0.0
        for delay in delays[max(0, bisect_left(delays, (from_ms,)) - 1) :]:
            if delay.from_ms >= to_ms:
                break
            common_ms = min(delay.to_ms, to_ms) - max(delay.from_ms, from_ms)
            if common_ms > 0:
                queued_ms += delay.delay_ms * min(1.0, common_ms / delay.busy_ms)
        return queued_ms

    def samples_within(self, thread: int, from_ms: float, to_ms: float) -> Iterator[TimeCause]:
        """Yield what a thread ran in its samples of a time."""
        samples = self.samples.get(thread, [])
        for at_ms, cause in samples[bisect_left(samples, (from_ms,)) :]:
            if at_ms >= to_ms:
                return
            yield cause


def _overlapping(periods: Sequence[Period], from_ms: float, to_ms: float) -> Iterator[Period]:
    for period in periods[max(0, bisect_left(periods, (from_ms,)) - 1) :]:
        if period.from_ms >= to_ms:
            return
        if period.to_ms > from_ms:
            yield period


def read_thread_times(lines: Iterable[str]) -> Mapping[str, ThreadTimes]:
    """Return what the threads of each process did from the lines of profile.tsv.gz; older files have nothing of it."""
    by_process: dict[str, ThreadTimes] = {}
    of, causes, lives = ThreadTimes(), dict[str, TimeCause](), dict[int, list[tuple[float, float]]]()
    for line in lines:
        if line[0] not in "PNWDCLHTQA":
            continue
        kind, *texts = line.rstrip("\n").split("\t")
        if kind == "P":
            _finish(of, lives)
            of, causes, lives = ThreadTimes(), {}, {}
            by_process[texts[0]] = of
        elif kind == "N" and len(texts) == 3:
            causes[texts[0]] = TimeCause(texts[1], texts[2])
        elif kind in "WD" and len(texts) == 4 and texts[1] in causes:
            from_ms = int(texts[2]) / _US_PER_MS
            period = Period(from_ms, from_ms + int(texts[3]) / _US_PER_MS, causes[texts[1]])
            by_thread = of.waits if kind == "W" else of.dumped
            (of.stops if period.cause.kind == STOP else by_thread[int(texts[0])]).append(period)
        elif kind == "C" and len(texts) == 3 and texts[1] in causes:
            of.samples[int(texts[0])].append((int(texts[2]) / _US_PER_MS, causes[texts[1]]))
        elif kind == "L" and len(texts) == 3:
            life = (int(texts[1]) / _US_PER_MS, int(texts[2]) / _US_PER_MS)
            lives.setdefault(int(texts[0]), []).append(life)
        elif kind == "Q" and len(texts) == 4:
            thread, *us = map(int, texts)
            from_ms, to_ms, delay_ms = (value / _US_PER_MS for value in us)
            of.has_delays = True
            if to_ms > from_ms:
                of.delays[thread].append(Delay(from_ms, to_ms, delay_ms, to_ms - from_ms))
        elif kind == "A" and len(texts) == 1:
            of.dump_times_ms.append(int(texts[0]) / _US_PER_MS)
        elif kind == "H" and len(texts) == 2:
            of.pools[int(texts[0])] = texts[1]
        elif kind == "T" and len(texts) == 2 and texts[1].endswith(" ms"):
            of.sample_period_ms = float(texts[1].removesuffix(" ms"))
    _finish(of, lives)
    return by_process


def _finish(of: ThreadTimes, lives: Mapping[int, list[tuple[float, float]]]) -> None:
    """Sort what was read, and find the spans: what is not between two known instants is left out."""
    of.stops.sort()
    for samples in of.samples.values():
        samples.sort()
    for waits in (*of.waits.values(), *of.dumped.values()):
        waits.sort()
    for thread in of.waits.keys() | of.dumped.keys() | lives.keys():
        known = (*of.waits.get(thread, ()), *of.dumped.get(thread, ()))
        idle = [(wait.from_ms, wait.to_ms) for wait in known if wait.cause.kind == IDLE]
        if thread in lives:
            of.pools[thread] = VIRTUAL
        for from_ms, to_ms in lives.get(thread, []):
            idle += [(from_ms, from_ms), (to_ms, to_ms)]
        idle.sort()
        for (_, from_ms), (to_ms, _) in pairwise(idle):
            if to_ms > from_ms:
                of.spans.append(BusySpan(from_ms, to_ms, thread))
    of.spans.sort()
    by_thread: defaultdict[int, list[BusySpan]] = defaultdict(list)
    for span in of.spans:
        by_thread[span.thread].append(span)
    for thread, delays in of.delays.items():
        spans = by_thread[thread]
        of.delays[thread] = sorted(delay._replace(busy_ms=_busy_ms(spans, delay)) for delay in delays)


def _busy_ms(spans: Sequence[BusySpan], delay: Delay) -> float:
    """Return how long a thread had work between two instants; the whole time when no span is known."""
    first, busy_ms = max(0, bisect_left(spans, (delay.from_ms,)) - 1), 0.0
    for span in spans[first:]:
        if span.from_ms >= delay.to_ms:
            break
        busy_ms += max(0.0, min(span.to_ms, delay.to_ms) - max(span.from_ms, delay.from_ms))
    return busy_ms or delay.to_ms - delay.from_ms
