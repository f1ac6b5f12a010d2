"""Estimates the memory growth of a process from run to run, which indicates a leak in a system that stays up.

The mean resident memory of each run is fitted against the run's number in order of time by least squares. Each level
has its own intercept, because more users need more memory without a leak. So only repeated levels contribute.
The interval is Student's, with runs - levels - 1 degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from harness.metrics.slope import slope
from harness.run.telemetry import NOT_SYSTEM
from harness.sweep.levels import Sweep

# Share of its memory per run. A JVM during warm-up grew by 1.2 % per run of 10 s; smaller growth is not suspicious.
SUSPECT_RATIO = 0.02


@dataclass(frozen=True)
class RunMemory:
    """The mean resident memory of each process of a system in one run, in bytes; `setting` as in LevelRun."""

    users: int
    rss_bytes: Mapping[str, float]
    setting: str = ""


@dataclass(frozen=True)
class Growth:
    """The growth of a process in bytes per run with its 95 % interval; `mean_bytes` is its mean memory."""

    process: str
    run_count: int
    mean_bytes: float
    first_bytes: float
    last_bytes: float
    per_run_bytes: float
    low_bytes: float
    high_bytes: float

    @property
    def is_suspect(self) -> bool:
        """Whether the growth is significant and large: the process may leak."""
        return self.low_bytes > 0 and self.per_run_bytes >= SUSPECT_RATIO * self.mean_bytes


def memory_of_runs(sweep: Sweep) -> tuple[RunMemory, ...]:
    """Return the memory of the system's processes in the counted runs, in order of time.

    Empty for a system that restarts for each run or runs elsewhere: its memory cannot grow from run to run here.
    """
    runs = [
        (run.record.started_at, level, run.usages)
        for level in sweep.levels
        for run in level.counted
        if run.record is not None and run.record.kept_up and run.usages
    ]
    return tuple(
        RunMemory(
            level.users,
            {usage.process: usage.rss_bytes_mean for usage in usages if usage.process not in NOT_SYSTEM},
            level.setting,
        )
        for _, level, usages in sorted(runs, key=lambda run: run[0])
    )


def growth_per_run(runs: Sequence[RunMemory]) -> tuple[Growth, ...]:
    """Return the growth of each process over runs in order of time, without processes that have too few runs.

    At least two more runs than levels are needed.
    """
    processes = dict.fromkeys(process for run in runs for process in run.rss_bytes)
    found = (_growth(process, runs) for process in processes)
    return tuple(growth for growth in found if growth is not None)


def _growth(process: str, runs: Sequence[RunMemory]) -> Growth | None:
    points = [
        ((run.users, run.setting), number, run.rss_bytes[process])
        for number, run in enumerate(runs)
        if process in run.rss_bytes
    ]
    levels = {level: [point for point in points if point[0] == level] for level, _, _ in points}
    line = slope([[(float(number), size) for _, number, size in level] for level in levels.values()])
    if line is None:
        return None
    return Growth(
        process=process,
        run_count=len(points),
        mean_bytes=fmean(size for _, _, size in points),
        first_bytes=points[0][2],
        last_bytes=points[-1][2],
        per_run_bytes=line.value,
        low_bytes=line.value - line.reach,
        high_bytes=line.value + line.reach,
    )
