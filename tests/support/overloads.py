"""Overload tests without a system: a simulated server with a queue, and levels with a given goodput."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Sequence
from dataclasses import replace

from harness.experiment.record import RUNNING
from harness.jtl.sample import Sample
from harness.kinds.overload.attempts import Attempts, attempts_of
from harness.kinds.overload.levels import OFFERED_RATIOS, stages
from harness.kinds.overload.record import OverloadRecord
from harness.kinds.overload.result import LevelResult
from harness.metrics import batch_means

SERVED_PER_S = 20.0
LIMIT_MS = 1000.0
_TIME_OUT_MS = 5000
# A test of two variants that has measured none yet.
RECORD = OverloadRecord(
    name="overload-07",
    plan="shop",
    plan_title="A shop",
    profile="local",
    command='make overload PLAN=shop SET="accept_count=10,1000"',
    variants=("accept_count=10", "accept_count=1000"),
    level_s=15,
    limit_ms=LIMIT_MS,
    goal="p90 up to 1000 ms",
    capacity_per_s=SERVED_PER_S,
    capacity_source="RATE",
    target=None,
    note="",
    state=RUNNING,
    runs=(),
    budget_s=None,
    started_at="2026-11-24T08:00:00Z",
    spent_s=0.0,
    git_changed=False,
    git_commit=None,
)


def sample(start_ms: int, elapsed_ms: int, code: str = "200", message: str = "OK", thread: str = "Users 1-1") -> Sample:
    """Return a sample of the load; it succeeds with the code 200."""
    return Sample(start_ms, elapsed_ms, "Page", code, message, thread, code == "200", "", 300, 100, 1)


def simulated(
    queue_most: int, level_s: int, seed: int = 1, limit_ms: float = LIMIT_MS, time_out_ms: int = _TIME_OUT_MS
) -> Attempts:
    """Return the requests of an overload test against a server that serves 20 requests per second in their order.

    A request is rejected in 2 ms when `queue_most` requests are there. The client gives up after `time_out_ms`; the
    server does not notice and serves that request, too.
    """
    return attempts_of(_samples(queue_most, level_s, random.Random(seed), time_out_ms), limit_ms)


def _samples(queue_most: int, level_s: int, chance: random.Random, time_out_ms: int) -> list[Sample]:
    starts, begin_s = [], 0.0
    for stage in stages(SERVED_PER_S, level_s):
        count = round((stage.rate_per_s or 0.0) * stage.for_s)
        starts += sorted(begin_s + chance.random() * stage.for_s for _ in range(count))
        begin_s += stage.for_s
    ends: deque[float] = deque()
    free_s, found = 0.0, []
    for number, start_s in enumerate(starts, start=1):
        while ends and ends[0] <= start_s:
            ends.popleft()
        thread, start_ms = f"Users 1-{number}", round(1000 * start_s)
        if len(ends) >= queue_most:
            found.append(sample(start_ms, 2, "503", "Busy", thread))
            continue
        free_s = max(free_s, start_s) + 1 / SERVED_PER_S
        ends.append(free_s)
        elapsed_ms = round(1000 * (free_s - start_s))
        if elapsed_ms > time_out_ms:
            code = "Non HTTP response code: java.net.SocketTimeoutException"
            found.append(sample(start_ms, time_out_ms, code, "Read timed out", thread))
        else:
            found.append(sample(start_ms, elapsed_ms, thread=thread))
    return found


def levels_with(goodputs: Sequence[float], seed: int, length_s: int = 30) -> tuple[LevelResult, ...]:
    """Return levels with these true goodputs (1/s); each second of a level has a Poisson number of good answers.

    All requests of the first level are good.
    """
    chance = random.Random(seed)
    first, *others = (
        level(ratio, [float(_poisson(chance, goodput)) for _ in range(length_s)])
        for ratio, goodput in zip(OFFERED_RATIOS, goodputs, strict=True)
    )
    return (replace(first, good_count=first.sample_count, late_count=0), *others)


def level(ratio: float, good_per_second: Sequence[float]) -> LevelResult:
    """Return a level at which all scheduled users start, and so many answers per second are good."""
    length_s, offered_per_s = len(good_per_second), SERVED_PER_S * ratio
    count, good = round(offered_per_s * length_s), round(sum(good_per_second))
    late = max(0, count - good)
    mean = batch_means.mean(good_per_second)
    return LevelResult(ratio, length_s, offered_per_s, count, count, 0, count, good, late, 0, 0, 0, mean, 900.0)


def _poisson(chance: random.Random, mean: float) -> int:
    """Return the arrivals of a second: exponential times between them."""
    count, at_s = 0, chance.expovariate(mean) if mean else 1.0
    while at_s < 1:
        count += 1
        at_s += chance.expovariate(mean)
    return count
