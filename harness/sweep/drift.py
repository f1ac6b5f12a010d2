"""Finds that a system became slower or faster from run to run of a sweep, so that its repeats are not one state.

Each level has its own intercept, so only repeated levels contribute. The logarithms of a value are fitted against the
run's number in order of time by least squares.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from harness.base import units
from harness.metrics.metric import AVERAGE, THROUGHPUT
from harness.metrics.slope import slope
from harness.sweep.levels import Sweep

# A smaller change from the first to the last run is that of runs that are alike.
_CHANGE_LEAST = 0.1
# One sweep in five hundred has such a slope of a value by chance; neighbouring runs resemble each other a little.
_ALPHA = 0.002


@dataclass(frozen=True)
class Drift:
    """The change of a value from the first to the last of the runs whose level was repeated, as a ratio."""

    name: str
    change_ratio: float
    run_count: int
    is_slower: bool

    @property
    def brief(self) -> str:
        """What happened, in a few words."""
        return f"{'slower' if self.is_slower else 'faster'} from run to run"

    @property
    def text(self) -> str:
        """What happened, what to do about it, and the numbers."""
        change = f"{units.signed_percent(self.change_ratio, 0)} %"
        return (
            f"The system, or its machine, became {self.brief}: repeats of a level are not one state. Look for data, "
            f"memory or caches that grow, or restart the system before each level (--fresh). {self.name.capitalize()} "
            f"{change} at equal levels over {self.run_count} runs."
        )


def drift_of(sweep: Sweep) -> Drift | None:
    """Return the largest change over the runs of a sweep; None when they are alike, or no level was repeated."""
    found = [_drift(sweep, metric.key, metric.phrase, is_rate=metric == THROUGHPUT) for metric in (AVERAGE, THROUGHPUT)]
    return max(filter(None, found), key=lambda one: abs(math.log1p(one.change_ratio)), default=None)


def _drift(sweep: Sweep, figure: str, name: str, *, is_rate: bool) -> Drift | None:
    started = sorted(run.record.started_at for level in sweep.levels for run in level.counted if run.record)
    levels: list[list[tuple[float, float]]] = []
    for level in sweep.levels:
        known = [(run.record, run.figures.of(figure)) for run in level.counted]
        points = [
            (float(started.index(record.started_at)), math.log(value)) for record, value in known if record and value
        ]
        levels += [sorted(points)] if len(points) > 1 else []
    line, numbers = slope(levels), [number for points in levels for number, _ in points]
    if line is None:
        return None
    change = math.expm1(line.value * (max(numbers) - min(numbers)))
    chance = min(line.rise_p_value, 1 - line.rise_p_value)
    if 2 * chance >= _ALPHA or abs(math.log1p(change)) < math.log1p(_CHANGE_LEAST):
        return None
    return Drift(name, change, len(numbers), is_slower=(change < 0) == is_rate)
