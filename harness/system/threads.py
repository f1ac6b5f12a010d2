"""What the threads of a JVM did during a load: pools and how busy they were, and where threads waited.

Threads are of one pool when their names differ in numbers only. Threads are sampled by async-profiler, whether they
run or not; lock waits are recorded one by one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.system.profile_events import EventRow

POOLS_MOST = 10
# One thread is no pool.
_THREADS_LEAST = 2
# A pool that works less, or a wait of fewer threads on average, is noise.
_BUSY_LEAST = 0.005
_NS_PER_S = 1_000_000_000
RUNNING, WAITING, IDLE = "run", "wait", "idle"


@dataclass(frozen=True)
class ThreadPool:
    """Threads with the same name but for numbers: the mean number of them, and shares of their time.

    A thread is running, waits for a lock, waits for something else while it has work (`waiting_ratio`: I/O, sleep,
    database), or is idle. `full_ratio` is the share of seconds in which no thread of the pool was idle.
    """

    name: str
    thread_count: float
    running_ratio: float
    lock_ratio: float
    waiting_ratio: float
    idle_ratio: float
    full_ratio: float


@dataclass(frozen=True)
class Wait:
    """Threads with work that waited in `waited_in`, called by `method`: how many on average."""

    method: str
    waited_in: str
    thread_count: float


def thread_pools(
    samples: Sequence[EventRow], counts: Sequence[EventRow], blocked: Sequence[EventRow], second_count: int
) -> tuple[ThreadPool, ...]:
    """Return the pools that worked in so many seconds, those with most working threads first.

    `counts` are the numbers of threads per second, `blocked` the waits for locks.
    """
    sizes = _sizes(counts, second_count)
    times: defaultdict[str, Counter[str]] = defaultdict(Counter)
    idle_seconds: defaultdict[str, set[int]] = defaultdict(set)
    seconds: defaultdict[str, set[int]] = defaultdict(set)
    for row in samples:
        times[row.detail][row.other] += row.total
        seconds[row.detail].add(row.second)
        if row.other == IDLE:
            idle_seconds[row.detail].add(row.second)
    waits = Counter[str]()
    for row in blocked:
        waits[row.detail] += row.total
    pools = []
    for name, of_pool in times.items():
        whole, waiting = of_pool.total(), of_pool[WAITING]
        # Waits are measured in full; samples of a busy machine represent less than all of the threads' time.
        real_ns = sizes.get(name, 0.0) * second_count * _NS_PER_S
        for_locks = min(round(waits[name] / real_ns * whole) if real_ns else 0, waiting)
        pools.append(
            ThreadPool(
                name=name,
                thread_count=round(sizes.get(name, 0.0), 1),
                running_ratio=_ratio(of_pool[RUNNING], whole),
                lock_ratio=_ratio(for_locks, whole),
                waiting_ratio=_ratio(waiting - for_locks, whole),
                idle_ratio=_ratio(of_pool[IDLE], whole),
                full_ratio=_ratio(len(seconds[name] - idle_seconds[name]), len(seconds[name])),
            )
        )
    working = [pool for pool in pools if pool.thread_count >= _THREADS_LEAST and pool.idle_ratio < 1 - _BUSY_LEAST]
    working.sort(key=lambda pool: (-pool.thread_count * (1 - pool.idle_ratio), pool.name))
    return tuple(working[:POOLS_MOST])


def thread_waits(samples: Sequence[EventRow], counts: Sequence[EventRow], second_count: int) -> tuple[Wait, ...]:
    """Return where threads with work waited, those with most threads first."""
    sizes = _sizes(counts, second_count)
    times = Counter[str]()
    for row in samples:
        times[row.detail] += row.total
    waiting: defaultdict[tuple[str, str], float] = defaultdict(float)
    for row in samples:
        if row.other == WAITING and len(row.stack) > 1:
            waiting[row.stack[1], row.stack[0]] += row.total / times[row.detail] * sizes.get(row.detail, 0.0)
    ordered = sorted(waiting, key=lambda frames: (-waiting[frames], frames))[:POOLS_MOST]
    waits = (Wait(*frames, round(waiting[frames], 2)) for frames in ordered)
    return tuple(wait for wait in waits if wait.thread_count >= _BUSY_LEAST)


def _sizes(counts: Sequence[EventRow], second_count: int) -> dict[str, float]:
    """Return the mean number of threads of each pool; of virtual threads the time that they lived is known."""
    totals: defaultdict[str, float] = defaultdict(float)
    for row in counts:
        totals[row.detail] += row.count or row.total / _NS_PER_S
    return {name: count / second_count for name, count in totals.items()}


def _ratio(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0
