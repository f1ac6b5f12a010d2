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
from harness.run.telemetry.processes import NOT_SYSTEM
from harness.sweep.levels import Level, LevelKey, LevelRun, Sweep

# Share of its memory per run. A JVM during warm-up grew by 1.2 % per run of 10 s; smaller growth is not suspicious.
SUSPECT_RATIO = 0.02


@dataclass(frozen=True)
class RunMemory:
    """The mean resident memory of each process of a system in one run, in bytes; `setting` as in LevelRun."""

    users: int
    rss_bytes: Mapping[str, float]
    setting: str = ""


@dataclass(frozen=True)
class LevelGrowth:
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
    memories = [
        (run.record.started_at, _memory(level, run))
        for level in sweep.levels
        for run in level.counted
        if run.record is not None and run.record.kept_up and run.usages
    ]
    return tuple(memory for _, memory in sorted(memories, key=lambda started: started[0]))


def _memory(level: Level, run: LevelRun) -> RunMemory:
    sizes = {usage.process: usage.rss_bytes_mean for usage in run.usages if usage.process not in NOT_SYSTEM}
    return RunMemory(level.users, sizes, level.setting)


def growth_per_run(runs: Sequence[RunMemory]) -> tuple[LevelGrowth, ...]:
    """Return the growth of each process over runs in order of time, without processes that have too few runs.

    At least two more runs than levels are needed.
    """
    processes = dict.fromkeys(process for run in runs for process in run.rss_bytes)
    return tuple(filter(None, (_growth(process, runs) for process in processes)))


def _growth(process: str, runs: Sequence[RunMemory]) -> LevelGrowth | None:
    levels: dict[LevelKey, list[tuple[float, float]]] = {}  # of each level the points (number of the run, bytes)
    for number, run in enumerate(runs):
        if process in run.rss_bytes:
            levels.setdefault(LevelKey(run.users, run.setting), []).append((float(number), run.rss_bytes[process]))
    line = slope(list(levels.values()))
    if line is None:
        return None
    sizes = [run.rss_bytes[process] for run in runs if process in run.rss_bytes]
    return LevelGrowth(
        process=process,
        run_count=len(sizes),
        mean_bytes=fmean(sizes),
        first_bytes=sizes[0],
        last_bytes=sizes[-1],
        per_run_bytes=line.value,
        low_bytes=line.value - line.reach,
        high_bytes=line.value + line.reach,
    )
