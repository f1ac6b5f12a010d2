"""Estimates the remaining time of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class RunTime:
    """The planned duration of a completed run's load (None: it ended after loops), and how long the run took."""

    planned_s: float | None
    took_s: float


def time_left_s(planned_s: Sequence[float | None], done: Sequence[RunTime], first_guess_s: float) -> float | None:
    """Return the seconds that the planned runs will take; None without an estimate.

    `planned_s` are the durations of their loads (None for loads that end after loops). A run takes its load and an
    overhead: the mean overhead so far, `first_guess_s` before the first run. A run of loops takes the mean time of the
    runs so far.
    """
    over_s = [run.took_s - run.planned_s for run in done if run.planned_s is not None]
    overhead_s = sum(over_s) / len(over_s) if over_s else first_guess_s
    mean_s = sum(run.took_s for run in done) / len(done) if done else None
    total_s = 0.0
    for planned in planned_s:
        if planned is not None:
            total_s += planned + overhead_s
        elif mean_s is not None:
            total_s += mean_s
        else:
            return None
    return total_s
