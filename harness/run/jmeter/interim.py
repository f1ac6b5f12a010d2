"""Counts the samples of the first seconds of a load for one interim table, so that the first numbers appear early."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from harness.jtl.sample import Sample
from harness.metrics.figures import LOAD, Group
from harness.metrics.tally import SampleTally, Scope

# The table is printed when a load has lasted so long, unless it ends soon after that.
AFTER_S = 20.0
LOAD_LEAST_S = 40.0


@dataclass(frozen=True)
class InterimFigures:
    """The metrics of all samples so far, with ramp-up and warm-up; `read_ratio` of the rows were read (0-1).

    One of the groups is the load.
    """

    groups: tuple[Group, ...]
    passed_s: float
    read_ratio: float


ShowInterim = Callable[[InterimFigures], None]


class Interim:
    """Adds up the samples of a load until AFTER_S and until one of the load itself, and then calls `show` once."""

    def __init__(self, show: ShowInterim, once_labels: Iterable[str] = ()) -> None:
        self._show = show
        self._tally: SampleTally | None = Scope(tuple(once_labels), with_timeline=False).tally()
        self._read_count = 0
        self._row_count = 0

    def add(self, samples: Sequence[Sample], row_count: int, passed_s: float) -> None:
        """Count the rows of the last second, of which `samples` are all or part; `passed_s` is since the first row."""
        if self._tally is None:
            return
        for sample in samples:
            self._tally.add(sample)
        self._read_count += len(samples)
        self._row_count += row_count
        if passed_s >= AFTER_S:
            groups = self._tally.groups()
            if any(group.name == LOAD for group in groups):  # not while a slow system has answered no request of it
                self._tally = None
                self._show(InterimFigures(groups, passed_s, self._read_count / self._row_count))


def interim_of(show: ShowInterim | None, duration_s: float | None, once_labels: Iterable[str]) -> Interim | None:
    """Return what prints the interim table of a load; None when it is not requested or the load is short.

    `duration_s` is None when only loops end the load.
    """
    if show is None or (duration_s is not None and duration_s < LOAD_LEAST_S):
        return None
    return Interim(show, once_labels)
