"""The record of a designed experiment, its JSON file: factors, design, load, and each run in the order of measuring."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import ClassVar

from harness.experiment.record import ENDED, WARM_UP, EqualRuns, ExperimentRun
from harness.kinds.tune.factors import Factor
from harness.metrics.metric import Metric, check_metrics, metric_of
from harness.run import kinds

# Block, index in the block and combination of a run.
Step = tuple[int, int, int]


@dataclass(frozen=True)
class TuneRun(ExperimentRun):
    """One run, planned or measured: its block (from 1; 0 is the warm-up run), its index in the block (from 0), its
    combination, and its result. `cell` is an index of the record's `cells`.
    """

    block: int
    index: int
    cell: int
    json_keys: ClassVar = {"index": "place"}

    @property
    def step(self) -> Step:
        """What it measures."""
        return self.block, self.index, self.cell


@dataclass(frozen=True, kw_only=True)
class TuneRecord(EqualRuns):
    """tune-<n>.json without its results; its runs are run-<n>_1 and following.

    `cells` are the combinations, each with the index of a value of each factor; the first one is the baseline. `blocks`
    are their indexes in order of measuring. `repeat` is --repeat as given, None without it.
    """

    runs: tuple[TuneRun, ...]
    factors: tuple[Factor, ...]
    cells: tuple[tuple[int, ...], ...]
    blocks: tuple[tuple[int, ...], ...]
    repeat: int | None
    metric_name: str
    report_kind: ClassVar = kinds.DESIGNED
    what: ClassVar = "a designed experiment"
    # What the file contains beside the record: a function of it and of the runs.
    not_read: ClassVar = ("verdict", "headline", "result", "scatter_ratio", "effects", "combinations", "best", "next")

    def __post_init__(self) -> None:
        """Raise ValueError for names that are none."""
        super().__post_init__()
        check_metrics(self.metric_name)

    @property
    def metric(self) -> Metric:
        """The metric that the settings are judged by."""
        return metric_of(self.metric_name)

    @property
    def threshold_ratio(self) -> float:
        """The smallest change of the metric that matters."""
        return self.thresholds.of(self.metric)

    @property
    def resolved(self) -> tuple[object, ...]:
        """What the plan and the metric of its command are."""
        return self.plan, self.factors, self.load, self.metric_name, self.thresholds

    @property
    def run_count(self) -> int:
        """The number of runs that the design needs, without the warm-up run."""
        return sum(map(len, self.blocks))

    @property
    def has_warmed_up(self) -> bool:
        """Whether a warm-up run ended without a problem."""
        return any(run.block == WARM_UP and run.state == ENDED and not run.problem for run in self.runs)

    def steps_left(self, counted: Collection[Step]) -> tuple[TuneRun, ...]:
        """Return the runs still to do, in order; `counted` are the steps whose runs count."""
        runs = (
            TuneRun(block, index, cell)
            for block, cells in enumerate(self.blocks, start=1)
            for index, cell in enumerate(cells)
        )
        left = [run for run in runs if run.step not in counted]
        return tuple(left if self.has_warmed_up else [TuneRun(WARM_UP, 0, 0), *left])


def with_rest_apart(record: TuneRecord, counted: Collection[Step]) -> TuneRecord:
    """Return the record of an experiment that is resumed: the rest of an interrupted block becomes a block of its own.

    The machine may have changed since. The new block begins with a run of the baseline, unless the rest has one.
    """
    left = [run for run in record.steps_left(counted) if run.block != WARM_UP]
    is_tail = left and left[0].step > max(counted, default=(0, 0, 0))  # else runs between others were deleted
    if not is_tail or left[0].index == 0:
        return record
    number, done = left[0].block, left[0].index
    block = record.blocks[number - 1]
    rest = block[done:] if 0 in block[done:] else (0, *block[done:])
    blocks = (*record.blocks[: number - 1], block[:done], rest, *record.blocks[number:])
    return replace(record, blocks=blocks)
