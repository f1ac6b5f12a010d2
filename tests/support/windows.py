"""Runs as metrics per second, and the cuts of a window."""

import math
import random

from harness.metrics.timeline import SecondFigures
from harness.metrics.window import WindowSpec

ALL, STEADY = WindowSpec("all"), WindowSpec("steady")


def run_of(means_ms, users=10, per_second=20):
    """Return a run whose seconds have these averages, with `users` active from the first to the last of them."""
    return [SecondFigures(per_second, round(mean * per_second), users) for mean in means_ms]


def with_users(users):
    """Return a run at 100 ms with these active users per second; None: no sample in that second."""
    return [SecondFigures(0, 0, None) if count is None else SecondFigures(20, 2000, count) for count in users]


def noise(seed, length_s, around_ms=200.0, variation=0.1, memory=0.5):
    """Return averages per second that remember the second before: an AR(1) series."""
    numbers = random.Random(seed)
    state, series = numbers.gauss(0, 1), []
    for _ in range(length_s):
        series.append(around_ms * (1 + variation * state))
        state = memory * state + math.sqrt(1 - memory**2) * numbers.gauss(0, 1)
    return series


def cuts(window):
    return window.ramp_cut_s, window.warm_up_cut_s, window.tail_cut_s
