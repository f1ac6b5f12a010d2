"""What the processes used in a sweep, level by level, and whether the system's memory grew from run to run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from harness.base import units
from harness.report.tables import cell, table
from harness.run.telemetry import HOST, Usage
from harness.sweep.growth import SUSPECT_RATIO, Growth, growth_per_run, memory_of_runs
from harness.sweep.levels import Level, Sweep


@dataclass(frozen=True)
class GrowthSection:
    """A verdict in one sentence, and the table under it, which is empty where nothing can be told."""

    verdict: str
    table: str


def process_table(levels: Sequence[Level]) -> str:
    """Return the table of CPU and memory per level and process; nothing where they are not known.

    Of repeats it has the medians of the runs' means; a range is that of all seconds of all runs.
    """
    rows = []
    for level in levels:
        usages = [usage for run in level.counted for usage in run.usages]
        for process in dict.fromkeys(usage.process for usage in usages):
            rows.append([str(level.users), *_row(process, [usage for usage in usages if usage.process == process])])
    heads = ["users", "process", "CPU % of one core", "range", "memory MB", "range"]
    return table(heads, rows, text_columns=2) if rows else ""


def _row(process: str, usages: Sequence[Usage]) -> list[str]:
    percent, megabytes = units.percent_text, units.mb_text
    low_cores, high_cores = min(usage.cpu_cores_min for usage in usages), max(usage.cpu_cores_max for usage in usages)
    low_bytes, high_bytes = min(usage.rss_bytes_min for usage in usages), max(usage.rss_bytes_max for usage in usages)
    return [
        cell("host, all processes" if process == HOST else process),
        percent(median(usage.cpu_cores_mean for usage in usages), 1),
        f"{percent(low_cores, 1)}-{percent(high_cores, 1)}",
        megabytes(median(usage.rss_bytes_mean for usage in usages)),
        f"{megabytes(low_bytes)}-{megabytes(high_bytes)}",
    ]


def growth_section(sweep: Sweep) -> GrowthSection | None:
    """Return what is said of memory over the runs; None where it cannot grow from one to the next."""
    memories = memory_of_runs(sweep)
    if len(memories) < 2:
        return None
    found = growth_per_run(memories)
    if not found:
        why = "more users take more memory without a leak, so it takes levels that are measured repeatedly (REPEAT=3)"
        return GrowthSection(f"Whether memory grows from run to run cannot be told: {why}.", "")
    suspects = [growth.process for growth in found if growth.is_suspect]
    verdict = (
        f"Leak suspect: {', '.join(suspects)}. A JVM's memory also rises until its heap is as large as it may become; "
        "what still grows after that leaks."
        if suspects
        else "No leak suspect."
    )
    heads = ("process", "runs", "memory MB", "first run MB", "last run MB", "MB per run", "95 % interval", "suspect")
    return GrowthSection(verdict, table(heads, [_growth_row(growth) for growth in found]))


def _growth_row(growth: Growth) -> list[str]:
    low, high = (units.mb_text(size, 2) for size in (growth.low_bytes, growth.high_bytes))
    return [
        cell(growth.process),
        str(growth.run_count),
        units.mb_text(growth.mean_bytes),
        units.mb_text(growth.first_bytes),
        units.mb_text(growth.last_bytes),
        units.mb_text(growth.per_run_bytes, 2),
        f"{low} to {high}",
        "yes" if growth.is_suspect else "no",
    ]


def growth_note() -> str:
    """Return how the growth is worked out, in one line."""
    share = units.percent_text(SUSPECT_RATIO, 0)
    return (
        "Mean resident memory of each run over the runs in order of time, least squares with a level of its own for "
        f"each number of users; a suspect is what certainly grows (95 %), by {share} % of its memory per run or more."
    )
