"""What the JVMs of a system did during a load: methods, locks, allocations, pauses, exceptions and threads.

Read from profile.tsv.gz, which sums up recordings per second (harness/system/java/ReadProfile.java). A lock wait
counts from 1 ms on; a method is counted once per sample, however often it is on the stack.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from harness.base.units import MS_PER_S
from harness.system.profile_cost import ProfileCost, costs_of
from harness.system.profile_events import JFR, PERIOD_UNKNOWN_MS, EventRow, Events, VirtualThreads
from harness.system.threads import WAITING, ThreadPool, Wait, thread_pools, thread_waits

ROWS_MOST = 10
# Below this share of a process's samples, or of the time that its threads waited, a row is noise.
LEAST_SHARE = 0.005
# Too few samples for shares: about one second of one core.
SAMPLES_LEAST = 100
_NS_PER_MS, _NS_PER_S = 1_000_000, 1_000_000_000
# Fewer threads on average do not explain a slow sample.
_THREADS_LEAST = 0.1
# A lock or an allocation is shown at the first frame outside of Java's own packages, else outside of those of locks.
_OF_JAVA = ("java.", "javax.", "jdk.", "sun.", "com.sun.")
_OF_LOCKS = ("jdk.internal.misc.", "java.util.concurrent.locks.")


@dataclass(frozen=True)
class MethodUse:
    """A method: samples in which it ran itself (`self_count`), and in which it or a callee ran (`total_count`)."""

    method: str
    self_count: int
    total_count: int


@dataclass(frozen=True)
class LockWait:
    """Waits for a lock of one class at one method; `holder` is the thread that had it most often, "" if unknown."""

    lock: str
    method: str
    count: int
    total_ms: float
    longest_ms: float
    holder: str


@dataclass(frozen=True)
class OtherWait:
    """Waits of one kind other than for locks, at one method; `blocker` is the class waited for, "" if not known.

    Kinds: latch (also semaphores, futures, queues), condition, pool (of connections), statement, service, io, other.
    """

    kind: str
    blocker: str
    method: str
    count: int
    total_ms: float
    longest_ms: float


@dataclass(frozen=True)
class Allocation:
    """Objects of one class allocated by one method: the estimated bytes.

    They are the sum of `sample_count` samples, of which the largest represents `largest_bytes`; 0 in older files. A
    sample represents all that its thread has allocated since the one before.
    """

    object_class: str
    method: str
    bytes_estimated: int
    sample_count: int = 0
    largest_bytes: int = 0


@dataclass(frozen=True)
class Collections:
    """Garbage collections: number, total pause and the longest pause."""

    count: int
    pause_ms: float
    longest_ms: float


@dataclass(frozen=True)
class Safepoints:
    """Times at which the JVM stopped all its threads: number, total time, the longest one and its operation."""

    count: int
    total_ms: float
    longest_ms: float
    longest_operation: str


@dataclass(frozen=True)
class Thrown:
    """Exceptions of one class that one method, or Java's own code that it called, created."""

    exception: str
    method: str
    count: int


@dataclass(frozen=True)
class ProcessProfile:
    """What one JVM did in the window of `length_s` seconds. The lists have at most ROWS_MOST entries, largest first.

    `sample_count` are samples of running Java threads, or of CPU time if the recorder is async-profiler, one each
    `sample_period_ms`; `no_agent` is why it is not the recorder. `wait_ms`, `allocated_bytes` and `thrown_count` are
    those of all rows, also of those that are not listed. `safepoints` is None if they were not recorded.
    `flame_graphs` are files in the run directory. `other_waits` is None in older files. `costs` are those of the
    profile itself, during the whole load.
    """

    process: str
    length_s: float
    sample_count: int
    methods: tuple[MethodUse, ...]
    wait_ms: float
    locks: tuple[LockWait, ...]
    allocated_bytes: int
    allocations: tuple[Allocation, ...]
    collections: Collections
    flame_graphs: tuple[str, ...] = ()
    sample_period_ms: float = PERIOD_UNKNOWN_MS
    recorder: str = JFR
    no_agent: str = ""
    safepoints: Safepoints | None = None
    thrown_count: int = 0
    thrown: tuple[Thrown, ...] = ()
    pools: tuple[ThreadPool, ...] = ()
    waits: tuple[Wait, ...] = ()
    other_waits: tuple[OtherWait, ...] | None = None
    virtual: VirtualThreads | None = None
    costs: tuple[ProfileCost, ...] = ()


def profiles(events: Mapping[str, Events], first_ms: int, last_ms: int) -> tuple[ProcessProfile, ...]:
    """Return the profile of each process between two instants (epoch ms), by whole seconds."""
    return tuple(_profile(process, found, first_ms, last_ms) for process, found in events.items())


def pause_ms(events: Iterable[Events], seconds: range) -> float:
    """Return the pauses of all garbage collections that began in these seconds (since 1970), ms."""
    return _total_ms("gc", events, seconds)


def lock_wait_ms(events: Iterable[Events], seconds: range) -> float:
    """Return the waits of all threads for locks that began in these seconds (since 1970), ms."""
    return _total_ms("lock", events, seconds)


def _total_ms(kind: str, events: Iterable[Events], seconds: range) -> float:
    total_ns = sum(row.total for found in events for row in found.rows.get(kind, ()) if row.second in seconds)
    return round(total_ns / _NS_PER_MS, 1)


def _profile(process: str, events: Events, first_ms: int, last_ms: int) -> ProcessProfile:
    seconds = range(first_ms // MS_PER_S, last_ms // MS_PER_S + 1)

    def of(kind: str) -> list[EventRow]:
        return [row for row in events.rows.get(kind, ()) if row.second in seconds]

    waits, allocated, collected = of("lock"), of("alloc"), of("gc")
    wait_ns, allocated_bytes = sum(row.total for row in waits), sum(row.total for row in allocated)
    samples, thrown, threads = of("cpu"), of("throw"), of("thread")
    length_s = (last_ms - first_ms) / MS_PER_S
    return ProcessProfile(
        process=process,
        length_s=length_s,
        sample_count=sum(row.count for row in samples),
        methods=_methods(samples),
        wait_ms=round(wait_ns / _NS_PER_MS, 1),
        locks=tuple(_locks(waits, wait_ns)),
        allocated_bytes=allocated_bytes,
        allocations=tuple(_allocations(allocated, allocated_bytes)),
        collections=Collections(
            sum(row.count for row in collected),
            round(sum(row.total for row in collected) / _NS_PER_MS, 1),
            round(max((row.longest for row in collected), default=0) / _NS_PER_MS, 1),
        ),
        sample_period_ms=events.sample_period_ms,
        recorder=events.recorder,
        no_agent=events.no_agent,
        safepoints=_safepoints(of("safepoint")) if events.has_safepoints else None,
        thrown_count=sum(row.count for row in thrown),
        thrown=tuple(_thrown(thrown)),
        pools=thread_pools(threads, of("pool"), of("blocked"), len(seconds)),
        waits=thread_waits(threads, of("pool"), len(seconds)),
        other_waits=tuple(_other_waits(of("await"))) if events.has_other_waits else None,
        virtual=events.virtual,
        costs=costs_of(events.cpu_s, events.event_counts, events.virtual.cost_ratio if events.virtual else 0.0),
    )


def _safepoints(rows: Sequence[EventRow]) -> Safepoints:
    longest = max(rows, key=lambda row: row.longest, default=None)
    total_ns = sum(row.total for row in rows)
    return Safepoints(
        sum(row.count for row in rows),
        round(total_ns / _NS_PER_MS, 1),
        round(longest.longest / _NS_PER_MS, 1) if longest else 0.0,
        longest.detail if longest else "",
    )


# A class of locks, objects or exceptions, and the method that waited, allocated or threw.
_OfMethod = tuple[str, str]


def _thrown(rows: Sequence[EventRow]) -> Iterator[Thrown]:
    """Return the exceptions, the most frequent first; of equally frequent ones that with the deeper stack first.

    So an exception comes before those that wrap it: they are created further out.
    """
    counts, depths = Counter[_OfMethod](), Counter[_OfMethod]()
    for row in rows:
        key = (row.detail, own_frame(row.stack))
        counts[key] += row.count
        depths[key] = max(depths[key], len(row.stack))
    for key in sorted(counts, key=lambda key: (-counts[key], -depths[key], key))[:ROWS_MOST]:
        yield Thrown(*key, counts[key])


def _methods(rows: Sequence[EventRow]) -> tuple[MethodUse, ...]:
    """Return the methods that ran most: by the samples in which they were the innermost, then by all their samples."""
    own, whole = Counter[str](), Counter[str]()
    for row in rows:
        own.update(dict.fromkeys(row.stack[:1], row.count))
        whole.update(dict.fromkeys(row.stack, row.count))
    least = sum(row.count for row in rows) * LEAST_SHARE
    ordered = sorted(own, key=lambda method: (-own[method], -whole[method], method))
    named = [method for method in ordered[:ROWS_MOST] if own[method] >= least]
    return tuple(MethodUse(method, own[method], whole[method]) for method in named)


def _largest(rows: Iterable[EventRow], whole: int) -> Iterator[tuple[_OfMethod, int, list[EventRow]]]:
    """Yield the events of each class and method with their total, the largest first; `whole` is that of all rows."""
    grouped: defaultdict[_OfMethod, list[EventRow]] = defaultdict(list)
    for row in rows:
        grouped[row.detail, own_frame(row.stack)].append(row)
    totals = {key: sum(row.total for row in same) for key, same in grouped.items()}
    for key in sorted(grouped, key=lambda key: (-totals[key], key))[:ROWS_MOST]:
        if totals[key] >= whole * LEAST_SHARE:
            yield key, totals[key], grouped[key]


def _locks(rows: Sequence[EventRow], wait_ns: int) -> Iterator[LockWait]:
    for key, total_ns, same in _largest(rows, wait_ns):
        holders = Counter[str]()
        for row in same:
            if row.other:
                holders[row.other] += row.count
        yield LockWait(
            *key,
            count=sum(row.count for row in same),
            total_ms=round(total_ns / _NS_PER_MS, 1),
            longest_ms=round(max(row.longest for row in same) / _NS_PER_MS, 1),
            holder=max(sorted(holders), key=lambda name: holders[name], default=""),
        )


def _other_waits(rows: Sequence[EventRow]) -> Iterator[OtherWait]:
    """Return the waits other than for locks, those with the largest total first; a sleep waits for nothing."""
    grouped: defaultdict[tuple[str, str, str], list[EventRow]] = defaultdict(list)
    for row in rows:
        if row.other != "sleep":
            grouped[row.other, row.detail, own_frame(row.stack)].append(row)
    totals = {key: sum(row.total for row in same) for key, same in grouped.items()}
    for key in sorted(grouped, key=lambda key: (-totals[key], key))[:ROWS_MOST]:
        same = grouped[key]
        longest_ms = round(max(row.longest for row in same) / _NS_PER_MS, 1)
        yield OtherWait(*key, sum(row.count for row in same), round(totals[key] / _NS_PER_MS, 1), longest_ms)


def _allocations(rows: Sequence[EventRow], allocated_bytes: int) -> Iterator[Allocation]:
    for key, total_bytes, same in _largest(rows, allocated_bytes):
        yield Allocation(*key, total_bytes, sum(row.count for row in same), max(row.longest for row in same))


def own_frame(stack: Sequence[str]) -> str:
    """Return the innermost method that is not Java's own; without one, the innermost outside of parking and locks."""
    own = (method for method in stack if not method.startswith(_OF_JAVA))
    return next(own, next((method for method in stack if not method.startswith(_OF_LOCKS)), ""))


def within(events: Mapping[str, Events], seconds: Collection[int]) -> Mapping[str, Events]:
    """Return the events of these seconds (since 1970) only."""
    return {
        process: replace(
            found, rows={kind: [row for row in rows if row.second in seconds] for kind, rows in found.rows.items()}
        )
        for process, found in events.items()
    }


def longest_lock(events: Mapping[str, Events], seconds: range) -> str:
    """Return the lock for which threads waited longest in total, and the method that waited; "" without a wait."""
    totals = Counter[str]()
    for process, row in _rows(events, "lock", seconds):
        totals[_named(events, process, f"{row.detail} at {own_frame(row.stack)}")] += row.total
    return min(totals, key=lambda name: (-totals[name], name), default="")


def usual_waits(events: Mapping[str, Events]) -> Mapping[str, float]:
    """Return how many threads with work waited in each method on average, from the first second to the last."""
    seconds = [row.second for found in events.values() for row in found.rows.get("thread", ())]
    if not seconds:
        return {}
    return _thread_counts(events, range(min(seconds), max(seconds) + 1))


def unusual_wait(events: Mapping[str, Events], seconds: range, usual: Mapping[str, float]) -> str:
    """Return the method in which most threads with work waited beyond the usual number; "" when hardly any did.

    Threads that always wait in the same method explain no slow sample.
    """
    more = {name: count - usual.get(name, 0.0) for name, count in _thread_counts(events, seconds).items()}
    name, excess = min(more.items(), key=lambda item: (-item[1], item[0]), default=("", 0.0))
    if excess < _THREADS_LEAST:
        return ""
    before = usual.get(name, 0.0)
    return f"{name}: {excess + before:.1f} threads, usually {before:.1f}"


def _thread_counts(events: Mapping[str, Events], seconds: range) -> dict[str, float]:
    counts = Counter[str]()
    for process, row in _rows(events, "thread", seconds):
        if row.other == WAITING and len(row.stack) > 1:
            counts[_named(events, process, f"{row.stack[1]} in {row.stack[0]}")] += row.total
    return {name: total_ns / _NS_PER_S / len(seconds) for name, total_ns in counts.items()}


def _rows(events: Mapping[str, Events], kind: str, seconds: range) -> Iterator[tuple[str, EventRow]]:
    """Yield the rows of a kind in these seconds, each with its process."""
    return ((name, row) for name, found in events.items() for row in found.rows.get(kind, ()) if row.second in seconds)


def _named(events: Mapping[str, Events], process: str, text: str) -> str:
    return f"{process}: {text}" if len(events) > 1 else text
