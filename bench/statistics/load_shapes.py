"""Loads with a known answer: good ones, which nothing is wrong with, and bad ones, whose system changes meanwhile.

All have 20 users or a few arrivals per second, so that one takes milliseconds to simulate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import NamedTuple

from bench.statistics.simulated_load import (
    Answer,
    Factor,
    Servers,
    SharedProcessor,
    Station,
    System,
    Work,
    arriving,
    closed,
)
from harness.plan.load.model import CLOSED, OPEN, LoadRecord

# Returns the factor of the work for a run of this length, s.
MakeFactor = Callable[[Random, float], Factor]
MakePauses = Callable[[Random, float], Sequence[tuple[float, float]]]


def _unchanged(_random: Random, _length_s: float) -> Factor:
    return lambda _at_s: 1.0


class LoadRun(NamedTuple):
    """The answers of a simulated run, and its load as the harness records it."""

    answers: list[Answer]
    record: LoadRecord


@dataclass(frozen=True)
class Load:
    """Users who think, or with `rate_per_s` arrivals, and the system that answers them.

    `ramp_s` is chosen by chance where it is None. `server_count` is None where every request has a server.
    """

    work: Work
    users: int = 0
    think_s: float = 0.0
    rate_per_s: float | None = None
    server_count: int | None = None
    is_shared: bool = False
    ramp_s: float | None = None
    factor: MakeFactor = field(default=_unchanged)
    pauses: MakePauses = field(default=lambda _random, _length_s: ())

    def run(self, random: Random, length_s: float) -> LoadRun:
        """Simulate a run of this length."""
        ramp_s = random.choice((1.0, 5.0, 20.0)) if self.ramp_s is None else self.ramp_s
        system = System(self.work, self.server_count, self.factor(random, length_s), self.pauses(random, length_s))
        station: Station = (SharedProcessor if self.is_shared else Servers)(random, system)
        if self.rate_per_s is not None:
            record = LoadRecord(OPEN, None, self.rate_per_s, 0.0, length_s, None, 0.0)
            return LoadRun(arriving(random, station, self.rate_per_s, length_s), record)
        record = LoadRecord(CLOSED, self.users, None, ramp_s, length_s, None, self.think_s)
        return LoadRun(closed(random, station, self.users, self.think_s, ramp_s, length_s), record)


def exponential(mean_s: float) -> Work:
    """Return work that varies as much as its mean."""
    return lambda random: random.expovariate(1 / mean_s)


def lognormal(mean_s: float, variation: float = 0.5) -> Work:
    """Return work with this coefficient of variation."""
    sigma = math.sqrt(math.log(1 + variation**2))
    return lambda random: random.lognormvariate(math.log(mean_s) - sigma**2 / 2, sigma)


def pareto(mean_s: float, exponent: float) -> Work:
    """Return work with a heavy tail."""
    least_s = mean_s * (exponent - 1) / exponent
    return lambda random: least_s * random.paretovariate(exponent)


def _bimodal(fast_s: float, slow_s: float, slow_ratio: float) -> Work:
    return lambda random: (slow_s if random.random() < slow_ratio else fast_s) * random.uniform(0.8, 1.2)


def _cooling(times: float, tau_s: float) -> MakeFactor:
    """Return work that falls from `times` its usual amount: caches that fill, code that gets compiled."""
    return lambda _random, _length_s: lambda at_s: 1 + (times - 1) * math.exp(-at_s / tau_s)


def _noisy(memory: float, variation: float = 0.12) -> MakeFactor:
    """Return work with noise from second to second that resembles the second before (AR(1))."""

    def factor(random: Random, length_s: float) -> Factor:
        states = [random.gauss(0, 1)]
        for _ in range(int(length_s) + 60):
            states.append(memory * states[-1] + math.sqrt(1 - memory**2) * random.gauss(0, 1))
        return lambda at_s: max(0.1, 1 + variation * states[min(int(at_s), len(states) - 1)])

    return factor


def _collections(period_s: float, pause_s: float) -> MakePauses:
    """Return pauses as garbage collections make them."""

    def pauses(random: Random, length_s: float) -> Sequence[tuple[float, float]]:
        found, at_s = [], random.uniform(0, period_s)
        while at_s < length_s:
            found.append((at_s, at_s + pause_s * random.uniform(0.5, 1.5)))
            at_s += period_s * random.uniform(0.7, 1.3)
        return found

    return pauses


GOOD: Mapping[str, Load] = {
    "20 users, think time 1 s, 50 ms": Load(lognormal(0.05), 20, 1.0),
    "10 users, no think time, 500 ms": Load(lognormal(0.5), 10),
    "one user, 80 ms": Load(lognormal(0.08), 1, ramp_s=1.0),
    "one user, think time 0.5 s, 300 ms": Load(lognormal(0.3), 1, 0.5, ramp_s=1.0),
    "closed queue, 30 % busy": Load(exponential(0.02), 15, 1.0, server_count=1),
    "closed queue, 80 % busy": Load(exponential(0.02), 40, 1.0, server_count=1),
    "closed queue, saturated, 0.5 s": Load(exponential(0.025), 20, server_count=1),
    "closed queue, saturated, 2 s": Load(exponential(0.05), 40, server_count=1),
    "closed queue, saturated, 5 s": Load(exponential(0.25), 20, server_count=1),
    "closed queue, saturated, 10 s": Load(exponential(0.1), 110, 1.0, server_count=1),
    "closed queue, saturated, 20 s": Load(exponential(0.1), 200, server_count=1),
    "shared processor, 70 % busy": Load(exponential(0.02), 35, 1.0, is_shared=True),
    "shared processor, saturated, 1 s": Load(exponential(0.03), 33, is_shared=True),
    "shared processor, saturated, 10 s": Load(exponential(0.05), 200, is_shared=True),
    "open queue (M/M/1), 30 % busy": Load(exponential(0.025), rate_per_s=12, server_count=1),
    "open queue (M/M/1), 50 % busy": Load(exponential(0.025), rate_per_s=20, server_count=1),
    "open queue (M/M/1), 70 % busy": Load(exponential(0.025), rate_per_s=28, server_count=1),
    "open queue (M/M/1), 90 % busy": Load(exponential(0.025), rate_per_s=36, server_count=1),
    "open queue (M/M/1) of 100 ms, 70 % busy": Load(exponential(0.1), rate_per_s=7, server_count=1),
    "open queue, two servers (M/M/2), 80 % busy": Load(exponential(0.05), rate_per_s=32, server_count=2),
    "heavy tail (Pareto, exponent 2.1)": Load(pareto(0.1, 2.1), 10, 0.5),
    "heavy tail (Pareto, exponent 1.5)": Load(pareto(0.1, 1.5), 10, 0.5),
    "a tenth takes 500 ms, the others 20 ms": Load(_bimodal(0.02, 0.5, 0.1), 20, 0.5),
    "pauses of 0.2 s each 10 s": Load(lognormal(0.05), 20, 1.0, pauses=_collections(10, 0.2)),
    "pauses of 1 s each 40 s": Load(lognormal(0.1), 20, 0.5, pauses=_collections(40, 1.0)),
    "cache that fills: 3 × slower, tau 6 s": Load(lognormal(0.1), 10, 0.3, factor=_cooling(3, 6)),
    "code that gets compiled: 6 × slower, tau 4 s": Load(lognormal(0.02), 10, 0.1, factor=_cooling(6, 4)),
    "noise of 12 %, AR 0.3": Load(lognormal(0.5, 0.3), 20, factor=_noisy(0.3)),
    "noise of 12 %, AR 0.8": Load(lognormal(0.5, 0.3), 20, factor=_noisy(0.8)),
}

# The systems of bad loads: many servers; one server, half busy; and one with noise from second to second.
BASES: Mapping[str, Load] = {
    "20 users, 50 ms": Load(lognormal(0.05), 20, 1.0, ramp_s=1.0),
    "queue, half busy": Load(exponential(0.02), 25, 1.0, server_count=1, ramp_s=1.0),
    "20 users, 500 ms, noise": Load(lognormal(0.5, 0.3), 20, ramp_s=1.0, factor=_noisy(0.3)),
}


def _bump(times: float, ratio: float) -> MakeFactor:
    """Return work that is `times` as much for this share of the run, somewhere in it."""

    def factor(random: Random, length_s: float) -> Factor:
        from_s = random.uniform(0.05, 0.97 - ratio) * length_s
        return lambda at_s: times if from_s <= at_s < from_s + ratio * length_s else 1.0

    return factor


def _step(times: float, at_ratio: float) -> MakeFactor:
    return lambda _random, length_s: lambda at_s: times if at_s >= at_ratio * length_s else 1.0


def _ramp(times: float, from_ratio: float = 0.0) -> MakeFactor:
    """Return work that grows to `times` as much, from a share of the run on: a leak."""

    def share(at_s: float, length_s: float) -> float:
        return max(0.0, at_s / length_s - from_ratio) / (1 - from_ratio)

    return lambda _random, length_s: lambda at_s: 1 + (times - 1) * share(at_s, length_s)


def _late_warm_up(times: float, until_ratio: float) -> MakeFactor:
    return lambda _random, length_s: lambda at_s: times if at_s < until_ratio * length_s else 1.0


def _stalls(count: int, ratio: float) -> MakePauses:
    """Return pauses that together are this share of the run: all users wait."""

    def pauses(random: Random, length_s: float) -> Sequence[tuple[float, float]]:
        period_s = length_s / count
        begins = [(number + random.uniform(0.2, 0.9 - ratio)) * period_s for number in range(count)]
        return [(from_s, from_s + ratio * period_s) for from_s in begins]

    return pauses


def _with_factor(factor: MakeFactor) -> Callable[[Load], Load]:
    """Return what multiplies the work of a load by another factor."""

    def changed(base: Load) -> Load:
        def both(random: Random, length_s: float) -> Factor:
            first, second = base.factor(random, length_s), factor(random, length_s)
            return lambda at_s: first(at_s) * second(at_s)

        return replace(base, factor=both)

    return changed


def _with_pauses(pauses: MakePauses) -> Callable[[Load], Load]:
    return lambda base: replace(base, pauses=pauses)


def _percent(ratio: float) -> str:
    return f"{round(100 * ratio)} % of the run"


# Kinds of change, each with its sizes in ascending order, which make a bad load of a good one: none may be found less
# often than a smaller one.
BAD: Mapping[str, Mapping[str, Callable[[Load], Load]]] = {
    **{
        f"slower for {_percent(ratio)}": {
            f"× {times:g}": _with_factor(_bump(times, ratio)) for times in (1.5, 2, 4, 10)
        }
        for ratio in (0.05, 0.1, 0.2, 0.3, 0.4)
    },
    **{
        f"slower after {_percent(ratio)}": {
            f"× {times:g}": _with_factor(_step(times, ratio)) for times in (1.2, 1.5, 2, 4)
        }
        for ratio in (0.2, 0.4, 0.6, 0.8, 0.9)
    },
    "slower and slower": {f"to × {times:g}": _with_factor(_ramp(times)) for times in (1.2, 1.5, 2, 3)},
    "slower and slower after 50 % of the run": {
        f"to × {times:g}": _with_factor(_ramp(times, 0.5)) for times in (1.2, 1.5, 2, 3)
    },
    "warm-up until 65 % of the run": {
        f"× {times:g}": _with_factor(_late_warm_up(times, 0.65)) for times in (1.5, 2, 4)
    },
    "one stall": {_percent(ratio): _with_pauses(_stalls(1, ratio)) for ratio in (0.05, 0.1, 0.2)},
    "five stalls": {_percent(ratio): _with_pauses(_stalls(5, ratio)) for ratio in (0.1, 0.2, 0.4)},
}
