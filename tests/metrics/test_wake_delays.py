"""What a load generator adds to response times: the agent's file, and the estimate against simulated generators."""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from collections.abc import Callable, Iterator

import pytest

from harness.metrics.histogram import Histogram
from harness.metrics.wake_delays import PERIOD_MS, Stall, WakeDelays, generator_delay
from tests.support.weekly import often

USERS, LENGTH_MS = 50, 60_000


def test_the_agents_file_is_read_without_a_line_that_a_kill_cut():
    text = "1000 98 1 0 0\n1002 60 0 2 1 0\n1003 7"
    found = WakeDelays.read(text)
    assert found == WakeDelays(1000, 1, ((98, 1), (), (60, 0, 2, 1)))
    assert found.between(1_000_000, 1_003_000) == (158, 1, 2, 1)
    assert found.between(1_001_000, 1_002_000) == ()
    assert WakeDelays.read("1000 98") is WakeDelays.read("") is None


def test_stalls_are_those_of_all_generators_by_one_clock():
    one = WakeDelays.read("stall 1000100 1000420\n1000 90\nstall 1001500 1001530\n1001 80 2\nstall 1002")
    assert one == WakeDelays(1000, 1, ((90,), (80, 2)), (Stall(1_000_100, 1_000_420), Stall(1_001_500, 1_001_530)))
    other = WakeDelays(1002, 1, ((70,),), (Stall(1_002_300, 1_002_350),))
    together = WakeDelays.of_all([(0, one), (2000, other)])
    assert together.stalls == (Stall(1_000_100, 1_000_420), Stall(1_000_300, 1_000_350), one.stalls[1])


def test_a_long_run_has_fewer_values_with_the_same_delays():
    found = WakeDelays.read("".join(f"{second} 90 {second % 2}\n" for second in range(1000, 4000)))
    assert (found.step_s, len(found.counts)) == (5, 600)
    assert found.between(0, math.inf) == (270_000, 1500)


def test_delays_of_several_generators_are_together_by_one_clock():
    one, other = WakeDelays(1000, 1, ((90,), (80, 2))), WakeDelays(1003, 1, ((70,), (60, 0, 5)))
    together = WakeDelays.of_all([(0, one), (2000, other)])
    assert together == WakeDelays(1000, 1, ((90,), (150, 2), (60, 0, 5)))
    assert WakeDelays.of_all([(0, one), (0, None)]) is None


def stalls_of(rng: random.Random, every_ms: float, length_ms: float) -> list[tuple[float, float]]:
    """Return begin and end of times in which no thread of the generator runs."""
    found, at = [], 0.0
    while (at := at + rng.expovariate(1 / every_ms)) < LENGTH_MS:
        found.append((at, at + rng.expovariate(1 / length_ms)))
        at = found[-1][1]
    return found


def woken(stalls: list[tuple[float, float]], queue: Callable[[], float]) -> Callable[[float], float]:
    """Return the function that says when a thread runs that could from a time on."""
    begins = [begin for begin, _ in stalls]

    def at(ms: float) -> float:
        index = bisect_right(begins, ms) - 1
        begin = max(ms, stalls[index][1]) if index >= 0 else ms
        return begin + queue()

    return at


def sleeper(runs_at: Callable[[float], float]) -> Iterator[float]:
    """Yield how late a thread wakes up that pauses again and again, in ms."""
    now = 0.0
    while now < LENGTH_MS:
        woke = runs_at(now + PERIOD_MS)
        yield woke - now - PERIOD_MS
        now = woke


def classes(delays_ms: Iterator[float]) -> list[int]:
    counts = [0] * 32
    for delay_ms in delays_ms:
        counts[0 if delay_ms < 0.25 else 1 + math.floor(2 * math.log2(delay_ms / 0.25))] += 1
    return counts


@pytest.mark.real
@pytest.mark.parametrize(("median_ms", "pause_ms"), often(2, [(20, 0), (5, 0), (100, 500), (20, 200)]))
@pytest.mark.parametrize(
    ("every_ms", "length_ms", "queue_ms"),
    [(math.inf, 1, 0), (2000, 60, 0), (300, 20, 0), (math.inf, 1, 4), (1000, 40, 2)],
    ids=["nothing", "rare pauses", "pauses", "queue", "both"],
)
def test_the_estimate_is_what_a_generator_added(median_ms, pause_ms, every_ms, length_ms, queue_ms):
    rng = random.Random(7)
    stalls = stalls_of(rng, every_ms, length_ms) if math.isfinite(every_ms) else []
    runs_at = woken(stalls, lambda: rng.expovariate(1 / queue_ms) if queue_ms else 0.0)
    real, seen = Histogram(), Histogram()
    for _ in range(USERS):
        now = rng.uniform(0, median_ms + pause_ms)
        while now < LENGTH_MS:
            took_ms = rng.lognormvariate(math.log(median_ms), 0.3)
            ended = runs_at(now + took_ms)
            real.add(int(took_ms))
            seen.add(int(ended - now))
            now = runs_at(ended + pause_ms) if pause_ms else ended
    found = generator_delay(seen, classes(sleeper(runs_at)), seen.mean_ms + pause_ms)
    added_ms = seen.quantile_ms(0.99) - real.quantile_ms(0.99)
    assert found.p99_ms == seen.quantile_ms(0.99)
    assert found.added_ms == pytest.approx(added_ms, rel=0.25, abs=3), (found, added_ms)


def test_nothing_is_estimated_of_nothing():
    assert generator_delay(Histogram(), (100,), 20) is None
    assert generator_delay(Histogram.of([20]), (), 20) is None
    assert generator_delay(Histogram.of([20]), (100,), math.inf).added_ms == 0
