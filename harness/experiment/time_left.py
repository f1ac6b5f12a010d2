"""Estimates the remaining time of a sweep, an A/B test, an experiment or a nightly run from the runs so far."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from harness.base.errors import EXIT_OK, EXIT_REGRESSED


@dataclass(frozen=True)
class RunTime:
    """The planned duration of a completed run's load (None: it ended after loops), and how long the run took."""

    planned_s: float | None
    took_s: float


class EndedRun(Protocol):
    """A run that ended, as records have it."""

    @property
    def took_s(self) -> float | None:
        """How long it took; None when that is not known."""

    @property
    def exit_code(self) -> int | None:
        """Its exit code."""


def run_times(runs: Iterable[tuple[EndedRun, float | None]]) -> tuple[RunTime, ...]:
    """Return planned and actual seconds of the valid ones of these runs; failed runs would distort the estimate.

    Each comes with the planned duration of its load, None when it ended after loops.
    """
    return tuple(
        RunTime(planned_s, run.took_s)
        for run, planned_s in runs
        if run.took_s is not None and run.exit_code in (EXIT_OK, EXIT_REGRESSED)
    )


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
