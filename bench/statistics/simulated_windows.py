"""Simulates the seconds of closed-model runs that are known to be steady or not."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy

from harness.metrics.full_load import Drive
from harness.metrics.gaps import find_gaps
from harness.metrics.timeline import SecondFigures
from harness.metrics.window import WindowSpec, find_window

USERS = 20
_USUAL_MS = 500.0
# Coefficient of variation of the response time per second.
_VARIATION = 0.12
_STALL_RATIO = 0.2
_STALL_BEGIN_RATIO = 0.5
_MS_PER_S = 1000

# The response time in a second as a multiple of the usual one; None during a stall.
Shape = Callable[[int, int], float | None]


def _steady(_second: int, _length_s: int) -> float | None:
    return 1.0


def _decay(tau_s: float, times: float) -> Shape:
    return lambda second, _: 1 + (times - 1) * math.exp(-second / tau_s)


def _stall(second: int, length_s: int) -> float | None:
    begin_s = int(_STALL_BEGIN_RATIO * length_s)
    return None if begin_s <= second < begin_s + int(_STALL_RATIO * length_s) else 1.0


SHAPES: Mapping[str, Shape] = {
    "steady": _steady,
    "warm-up, tau 10 s, × 3": _decay(10, 3),
    "warm-up, tau 20 s, × 3": _decay(20, 3),
    "warm-up, tau 40 s, × 2": _decay(40, 2),
    "trend, −30 %": lambda second, length_s: 1 - 0.3 * second / length_s,
    "step, +20 % in the middle": lambda second, length_s: 1.0 if second < length_s // 2 else 1.2,
    "pause of 1 s each 20 s": lambda second, _: 4.0 if second % 20 == 10 else 1.0,
    "4 × slower in the last 11 s": lambda second, length_s: 4.0 if second >= length_s - 11 else 1.0,
    "stall of a fifth of the run": _stall,
}


def run(rng: numpy.random.Generator, shape: Shape, length_s: int, memory: float) -> list[SecondFigures]:
    """Return the seconds of a run with autocorrelated response times (AR(1)).

    The number of samples per second is Poisson distributed with mean users ÷ response time. Samples delayed by a stall
    end in the first second after it.
    """
    seconds: list[SecondFigures] = []
    state, stalled_s = rng.standard_normal(), 0
    for second in range(length_s):
        times = shape(second, length_s)
        if times is None:
            seconds.append(SecondFigures(0, 0, None, waiting_count=USERS))
            stalled_s += 1
        else:
            average_ms = _USUAL_MS * times * max(0.1, 1 + _VARIATION * state)
            count = int(rng.poisson(USERS * _MS_PER_S / average_ms))
            elapsed_ms = round(count * average_ms)
            if stalled_s:
                count, elapsed_ms = count + USERS, elapsed_ms + USERS * stalled_s * _MS_PER_S
                stalled_s = 0
            seconds.append(SecondFigures(count, elapsed_ms, USERS if count else None))
        state = memory * state + math.sqrt(1 - memory**2) * rng.standard_normal()
    return seconds


def is_found(seconds: list[SecondFigures]) -> bool:
    """Return whether the run is found not steady or has a gap."""
    return not find_window(WindowSpec("steady"), seconds, Drive(USERS)).is_steady or bool(find_gaps(seconds))
