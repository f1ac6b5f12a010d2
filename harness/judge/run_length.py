"""Says with which option a run that was too short is long enough."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from harness.metrics.window import LEAST_SAMPLES, STEADY_LEAST_S

if TYPE_CHECKING:
    from harness.metrics.window import Window
    from harness.plan.load.model import LoadRecord

_ROUND_S = 10
_ROUND_REQUESTS = 100


class LongerOption(NamedTuple):
    """An option of a longer run and its value: duration in s, requests, or loops."""

    name: str
    value: int

    @property
    def text(self) -> str:
        """The value as it is written."""
        return f"{self.value}s" if self.name == "duration" else str(self.value)


def least_samples_s(window: Window, sample_count: int) -> int:
    """Return how long (s) the window must be for enough samples; 0 if that is not known."""
    return math.ceil(LEAST_SAMPLES * window.length_s / sample_count) if sample_count else 0


def least_window_s(window: Window, sample_count: int) -> int:
    """Return how long (s) the window must be for a verdict."""
    return max(STEADY_LEAST_S, least_samples_s(window, sample_count))


def longer_option(load: LoadRecord, window: Window, window_s: int) -> LongerOption | None:
    """Return what makes the window `window_s` long; None where nothing is known to."""
    if load.loads:
        return None
    more_s = window_s - window.length_s
    is_of_duration = load.duration_s is not None and window.run_s >= load.duration_s
    if load.requests and window.run_s and not is_of_duration:  # they ended the run, and would end it again
        requests = load.requests * (window.run_s + more_s) / window.run_s
        return LongerOption("requests", _ROUND_REQUESTS * math.ceil(requests / _ROUND_REQUESTS))
    if load.duration_s:
        return LongerOption("duration", _ROUND_S * math.ceil((load.duration_s + more_s) / _ROUND_S))
    if load.loops and window.run_s:
        return LongerOption("loops", math.ceil(load.loops * (window.run_s + more_s) / window.run_s))
    return None
