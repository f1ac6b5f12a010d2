"""How long the requests of a simulated load take, and how that changes with time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy

from bench.statistics.simulated_load import Array, MakeFactor, MakePauses, Random, Work


def exponential(mean_s: float) -> Work:
    """Return work that varies as much as its mean."""
    return lambda random, shape: random.exponential(mean_s, shape)


def lognormal(mean_s: float, variation: float = 0.5) -> Work:
    """Return work with this coefficient of variation."""
    sigma = math.sqrt(math.log(1 + variation**2))
    return lambda random, shape: random.lognormal(math.log(mean_s) - sigma**2 / 2, sigma, shape)


def pareto(mean_s: float, exponent: float) -> Work:
    """Return work with a heavy tail."""
    least_s = mean_s * (exponent - 1) / exponent
    return lambda random, shape: least_s * (1 + random.pareto(exponent, shape))


def constant(value_s: float) -> Work:
    """Return work that is always the same."""
    return lambda random, shape: numpy.full(shape, value_s) * random.uniform(0.98, 1.02, shape)


def bimodal(fast_s: float, slow_s: float, slow_ratio: float) -> Work:
    def work(random: Random, shape: tuple[int, ...]) -> Array:
        return numpy.where(random.random(shape) < slow_ratio, slow_s, fast_s) * random.uniform(0.8, 1.2, shape)

    return work


def of_time(factor: Callable[[Array, float, Random], Array]) -> MakeFactor:
    """Return a factor of the seconds of a run; `factor` gets them, the length and the randomness of one run."""

    def make(random: Random, count: int, length_s: float) -> Array:
        seconds = numpy.arange(math.ceil(length_s) + 60) + 0.5
        return numpy.array([factor(seconds, length_s, random) for _ in range(count)])

    return make


def cooling(times: float, tau_s: float, from_s: float = 0.0) -> MakeFactor:
    """Return work that falls from `times` its usual amount: caches that fill, code that gets compiled.

    Steps that are not cold are sent before `from_s`.
    """
    return of_time(
        lambda at, _length, _random: numpy.where(at < from_s, 1.0, 1 + (times - 1) * numpy.exp((from_s - at) / tau_s))
    )


def noisy(memory: float, variation: float = 0.12) -> MakeFactor:
    """Return work with noise from second to second that resembles the second before (AR(1))."""

    def factor(at: Array, _length_s: float, random: Random) -> Array:
        states, state = [], random.normal()
        for value in random.normal(size=len(at)):
            state = memory * state + math.sqrt(1 - memory**2) * value
            states.append(state)
        return numpy.maximum(0.1, 1 + variation * numpy.array(states))

    return of_time(factor)


def collections(period_s: float, pause_s: float) -> MakePauses:
    """Return pauses as garbage collections make them."""

    def pauses(random: Random, length_s: float) -> Sequence[tuple[float, float]]:
        found, at_s = [], random.uniform(0, period_s)
        while at_s < length_s:
            found.append((at_s, at_s + pause_s * random.uniform(0.5, 1.5)))
            at_s += period_s * random.uniform(0.7, 1.3)
        return found

    return pauses


def wave(size: float, period: Callable[[float], float]) -> MakeFactor:
    """Return work that rises and falls by `size`, with a period, s, of the length of the run."""

    def factor(at: Array, length_s: float, random: Random) -> Array:
        return 1 + size * numpy.sin(2 * math.pi * (at / period(length_s) + random.random()))

    return of_time(factor)


def each(period_s: float, factor: Callable[[Array], Array]) -> MakeFactor:
    """Return work whose factor depends on the share (0-1) of a period that has passed."""
    return of_time(lambda at, _length_s, random: factor((at / period_s + random.random()) % 1))
