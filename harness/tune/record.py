"""The record of a designed experiment, its JSON file: factors, design, load, and each run in the order of measuring."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import ClassVar

from harness.metrics.metric import Metric, metric_of
from harness.plan.load import LoadRecord
from harness.plan.thresholds import Thresholds
from harness.run import kinds
from harness.sweep.time_left import RunTime, run_times
from harness.tune.factors import Factor

FORMAT_VERSION = 1
RUNNING, FINISHED = "running", "finished"
UNDER_WAY, ENDED = "under way", "ended"
# The number of the block of the warm-up run, which does not count.
WARM_UP = 0


@dataclass(frozen=True)
class Step:
    """A run to do: its block (from 1; 0 is the warm-up run), its index in the block (from 0), its combination."""

    block: int
    index: int
    cell: int


@dataclass(frozen=True)
class TuneRun:
    """One run: its step, and its result.

    `cell` is an index of the record's `cells`. `run` is its name; None when it left no run directory. `problem` is what
    its own report does not contain.
    """

    block: int
    index: int
    cell: int
    state: str = UNDER_WAY
    run: str | None = None
    exit_code: int | None = None
    took_s: float | None = None
    problem: str = ""
    json_keys: ClassVar = {"index": "place"}


@dataclass(frozen=True)
class TuneRecord:
    """tune-<n>.json without its results; its runs are run-<n>_1 and following. Times are UTC in ISO 8601.

    `cells` are the combinations, each with the index of a value of each factor; the first one is the baseline. `blocks`
    are their indexes in order of measuring. `repeat` is REPEAT as given, None without it. `arguments` are options of
    scripts/run for all runs. A run should take `planned_s` beside its start, and is stopped after `limit_s`. `budget_s`
    is the time limit of everything, None without one; `spent_s` is the time used so far, including earlier attempts.
    `state` is `running` until all runs are done, the budget ends, or runs fail. `stop_reason` is why it ended before.
    `resumed_at` is the number of runs before the last resumption; they do not end the experiment again.
    """

    format_version: int
    name: str
    plan: str
    command: str
    factors: tuple[Factor, ...]
    cells: tuple[tuple[int, ...], ...]
    blocks: tuple[tuple[int, ...], ...]
    repeat: int | None
    metric_name: str
    arguments: tuple[str, ...]
    load: LoadRecord
    planned_s: float
    limit_s: float
    budget_s: float | None
    thresholds: Thresholds
    state: str
    runs: tuple[TuneRun, ...]
    started_at: str
    spent_s: float
    git_commit: str | None
    git_changed: bool | None
    stop_reason: str = ""
    resumed_at: int = 0
    what: ClassVar = "a designed experiment"
    version: ClassVar = FORMAT_VERSION
    # What the file contains beside the record: a function of it and of the runs.
    not_read: ClassVar = ("verdict", "headline", "scatter_ratio", "effects", "combinations", "best", "next")

    @property
    def id(self) -> str:
        """Plan and name, such as killbill-stripe/tune-01."""
        return f"{self.plan}/{self.name}"

    @property
    def series(self) -> str:
        """The series of its runs, such as 01."""
        return kinds.EXPERIMENT.rest_of(self.name)

    @property
    def metric(self) -> Metric:
        """The metric that the settings are judged by."""
        return metric_of(self.metric_name)

    @property
    def threshold_ratio(self) -> float:
        """The smallest change of the metric that matters."""
        return self.thresholds.of(self.metric)

    @property
    def settings(self) -> tuple[object, ...]:
        """What must be unchanged to resume."""
        metric = (self.metric_name, self.thresholds)
        return self.plan, self.factors, self.repeat, self.arguments, self.load, *metric

    @property
    def run_count(self) -> int:
        """The number of runs that the design needs, without the warm-up run."""
        return sum(map(len, self.blocks))

    @property
    def has_warmed_up(self) -> bool:
        """Whether a warm-up run ended without a problem."""
        return any(run.block == WARM_UP and run.state == ENDED and not run.problem for run in self.runs)

    @property
    def lengths_s(self) -> tuple[RunTime, ...]:
        """Planned and actual seconds of the valid runs."""
        return run_times((run, self.planned_s) for run in self.runs if run.state == ENDED)

    def steps_left(self, counted: Collection[Step]) -> tuple[Step, ...]:
        """Return the runs still to do, in order; `counted` are the steps whose runs count."""
        steps = (
            Step(block, index, cell)
            for block, cells in enumerate(self.blocks, start=1)
            for index, cell in enumerate(cells)
        )
        left = [step for step in steps if step not in counted]
        return tuple(left if self.has_warmed_up else [Step(WARM_UP, 0, 0), *left])


def with_rest_apart(record: TuneRecord, counted: Collection[Step]) -> TuneRecord:
    """Return the record of an experiment that is resumed: the rest of an interrupted block becomes a block of its own.

    The machine may have changed since. The new block begins with a run of the baseline, unless the rest has one.
    """
    left = [step for step in record.steps_left(counted) if step.block != WARM_UP]
    if not left or left[0].index == 0:
        return record
    number, done = left[0].block, left[0].index
    block = record.blocks[number - 1]
    rest = block[done:] if 0 in block[done:] else (0, *block[done:])
    blocks = (*record.blocks[: number - 1], block[:done], rest, *record.blocks[number:])
    return replace(record, blocks=blocks)
