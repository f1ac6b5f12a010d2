"""Builds the tables per level: CPU, memory, heap, profiles, cloud metrics, and memory growth over the runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from harness.base import units
from harness.base.units import MS_PER_S
from harness.cloudwatch.queries import TITLE, metric_names, resource_title
from harness.cloudwatch.resources import Resource
from harness.report.charts.cloudwatch import COLUMNS, metric_cells
from harness.report.tables import cell, table
from harness.report.wide_tables import narrow_tables
from harness.run.telemetry.processes import process_title
from harness.run.telemetry.table import Usage
from harness.sweep.growth import SUSPECT_RATIO, LevelGrowth, growth_per_run, memory_of_runs
from harness.sweep.levels import Level, Sweep, level_head
from harness.system.flight_recording import RecordedUse
from harness.system.heap import HeapUse
from harness.system.profile import SAMPLES_LEAST, ProcessProfile

# After the process, and the mean and range of the used heap.
_AFTER_GC = 3
_METHODS_SHOWN = 3


@dataclass(frozen=True)
class GrowthSection:
    """The finding in one sentence, and its table, which is empty without enough runs."""

    verdict: str
    table: str


def process_table(levels: Sequence[Level]) -> str:
    """Return the table of CPU and memory per level and process; an empty text when they are unknown.

    For repeats, it contains the medians of the runs' means; a range covers all seconds of all runs.
    """
    rows = []
    for level in levels:
        usages = [usage for run in level.counted for usage in run.usages]
        for process in dict.fromkeys(usage.process for usage in usages):
            rows.append([cell(level.value), *_row(process, [usage for usage in usages if usage.process == process])])
    heads = [level_head(levels), "process", "CPU % of one core", "range", "memory MB", "range"]
    return table(heads, rows, text_columns=2) if rows else ""


def _row(process: str, usages: Sequence[Usage]) -> list[str]:
    percent, megabytes = units.percent_text, units.mb_text
    low_cores, high_cores = min(usage.cpu_cores_min for usage in usages), max(usage.cpu_cores_max for usage in usages)
    low_bytes, high_bytes = min(usage.rss_bytes_min for usage in usages), max(usage.rss_bytes_max for usage in usages)
    return [
        cell(process_title(process)),
        percent(median(usage.cpu_cores_mean for usage in usages), 1),
        f"{percent(low_cores, 1)}-{percent(high_cores, 1)}",
        megabytes(median(usage.rss_bytes_mean for usage in usages)),
        f"{megabytes(low_bytes)}-{megabytes(high_bytes)}",
    ]


def heap_table(levels: Sequence[Level]) -> str:
    """Return the table of the heap per level and JVM; an empty text when it is unknown.

    For repeats, it contains the medians of the runs' means; a range covers all points of all runs.
    """
    rows = []
    for level in levels:
        uses = [use for run in level.counted for use in run.heap_uses if use.used_bytes_mean is not None]
        for process in dict.fromkeys(use.process for use in uses):
            rows.append([cell(level.value), *_heap_row([use for use in uses if use.process == process])])
    sizes = ["used MB", "range", "after GC MB", "committed MB", "range", "reserved MB", "points"]
    return table([level_head(levels), "process", *sizes], rows, text_columns=2) if rows else ""


def _heap_row(uses: Sequence[HeapUse]) -> list[str]:
    """Return the cells of one JVM at one level; every use has values."""
    cells = [cell(uses[0].process)]
    for size in ("used", "committed"):
        means, lows, highs = ([getattr(use, f"{size}_bytes_{end}") for use in uses] for end in ("mean", "min", "max"))
        cells += [units.mb_text(median(means)), f"{units.mb_text(min(lows))}-{units.mb_text(max(highs))}"]
    after = [use.after_gc_bytes_mean for use in uses if use.after_gc_bytes_mean is not None]
    cells.insert(_AFTER_GC, units.mb_text(median(after)) if after else "")
    reserved = [use.reserved_bytes_mean for use in uses if use.reserved_bytes_mean is not None]
    return [*cells, units.mb_text(median(reserved)), str(sum(use.point_count for use in uses))]


def recorded_table(levels: Sequence[Level]) -> str:
    """Return the table of collections, pauses and CPU per level and attached recording; empty without one.

    Collections and pauses are those of all runs of a level, CPU is the median of their means.
    """
    rows = []
    for level in levels:
        uses = [use for run in level.counted for use in run.recorded]
        for process in dict.fromkeys(use.process for use in uses):
            rows.append([cell(level.value), *_recorded_row([use for use in uses if use.process == process])])
    heads = ["collections", "pauses ms", "longest ms", "% of time", "JVM CPU %", "machine CPU %"]
    return table([level_head(levels), "process", *heads], rows, text_columns=2) if rows else ""


def _recorded_row(uses: Sequence[RecordedUse]) -> list[str]:
    """Return the cells of one recording at one level."""
    pause_ms, length_s = sum(use.pause_ms for use in uses), sum(use.length_s for use in uses)
    jvm = [use.jvm_cpu_ratio_mean for use in uses if use.jvm_cpu_ratio_mean is not None]
    machine = [use.machine_cpu_ratio_mean for use in uses if use.machine_cpu_ratio_mean is not None]
    return [
        cell(uses[0].process),
        str(sum(use.collection_count for use in uses)),
        units.average_text(pause_ms),
        units.average_text(max(use.longest_ms for use in uses)),
        units.percent_text(pause_ms / units.MS_PER_S / length_s if length_s else None),
        *(units.percent_text(median(ratios) if ratios else None, 1) for ratios in (jvm, machine)),
    ]


def growth_section(sweep: Sweep) -> GrowthSection | None:
    """Return the section about memory growth; None when memory cannot grow from run to run."""
    memories = memory_of_runs(sweep)
    if len(memories) < 2:
        return None
    growths = growth_per_run(memories)
    if not growths:
        why = "more users need more memory without a leak, so the levels must be repeated (--repeat=3)"
        return GrowthSection(f"Memory growth from run to run is unknown: {why}.", "")
    suspects = [growth.process for growth in growths if growth.is_suspect]
    note = "A JVM's memory also grows until its heap has its maximum size; growth after that is a leak."
    verdict = f"Leak suspect: {', '.join(suspects)}. {note}" if suspects else "No leak suspect."
    heads = ("process", "runs", "memory MB", "first run MB", "last run MB", "MB per run", "95 % interval", "suspect")
    return GrowthSection(verdict, table(heads, [_growth_row(growth) for growth in growths]))


def _growth_row(growth: LevelGrowth) -> list[str]:
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
    """Return the method in one line."""
    share = units.percent_text(SUSPECT_RATIO, 0)
    return (
        "Mean resident memory of each run in order of time, least squares with a separate intercept for each number of "
        f"users. A suspect grows significantly (95 %), and by at least {share} % of its memory per run."
    )


def profile_table(levels: Sequence[Level]) -> str:
    """Return the table of profiles, one row per level and process; an empty text without profiles.

    Of repeats it shows the first counted run.
    """
    rows = [row for level in levels for row in _rows(level)]
    heads = (
        level_head(levels),
        "process",
        "hottest methods, self %",
        "longest waits for a lock",
        "threads waiting",
        "GC %",
    )
    return table(heads, rows, text_columns=4) if rows else ""


def _rows(level: Level) -> Iterator[list[str]]:
    profiled = next((run for run in level.counted if run.profiles), None)
    for profile in profiled.profiles if profiled else ():
        lock = profile.locks[0] if profile.locks else None
        yield [
            cell(level.value),
            cell(profile.process),
            _methods(profile),
            cell(f"{lock.lock} at {lock.method}") if lock else "none",
            f"{profile.wait_ms / MS_PER_S / profile.length_s:.2f}",
            units.percent_text(profile.collections.pause_ms / MS_PER_S / profile.length_s, 2),
        ]


def statement_table(levels: Sequence[Level]) -> str:
    """Return the table of databases, one row per level and database; an empty text without any.

    Of repeats it shows the first counted run. What is per request is empty for statements of a whole load.
    """
    rows = []
    for level in levels:
        run = next((run for run in level.counted if run.databases), None)
        for used in run.databases if run else ():
            most = used.statements[0] if used.statements else None
            times = (used.count, used.total_ms, most.total_ms if most else 0.0)
            requests = used.interval.request_count if used.interval else 0
            cells = [f"{value / requests:.2f}" if requests else "" for value in times]
            rows.append([cell(level.value), cell(used.process), cell(most.statement) if most else "none", *cells])
    text_heads = (level_head(levels), "database", "statement that took most time")
    heads = (*text_heads, "statements per request", "ms per request", "its ms per request")
    return table(heads, rows, text_columns=3) if rows else ""


def _methods(profile: ProcessProfile) -> str:
    """Return the hottest methods with the share of samples in which each ran itself."""
    if profile.sample_count < SAMPLES_LEAST:
        return "too few samples"
    found = ((use.method, use.self_count / profile.sample_count) for use in profile.methods[:_METHODS_SHOWN])
    return ", ".join(f"{cell(method)} {units.percent_text(share, 1)}" for method, share in found)


@dataclass(frozen=True)
class LevelTable:
    """A table of a sweep with its title."""

    title: str
    table: str


def cloud_level_tables(levels: Sequence[Level]) -> list[LevelTable]:
    """Return the tables of a sweep, one per metric: a row per resource, with average and range at each level.

    For repeats, they contain the median of the runs' averages and the range of all runs.
    """
    shown = [level for level in levels if any(run.cloudwatch for run in level.counted)]
    runs_of_levels = [[run.cloudwatch for run in level.counted if run.cloudwatch] for level in shown]
    resources = _resources(levels)
    tables = []
    for column in COLUMNS:
        rows = []
        for resource in (one for one in resources if column.metric in metric_names(one)):
            row = [cell(resource_title(resource))]
            for runs in runs_of_levels:
                metrics = [metric for one in runs if (metric := one.metric(resource, column.metric))]
                row += metric_cells(metrics, resource, column)
            rows.append(row)
        if any(
            one.metric(resource, column.metric) for resource in resources for runs in runs_of_levels for one in runs
        ):
            heads = [head for level in shown for head in (cell(level.text), "range")]
            tables.append(LevelTable(column.title, narrow_tables(["resource", *heads], rows, together=2)))
    return tables


def cloud_title(levels: Sequence[Level]) -> str:
    """Return the title of the source of these tables; empty without any."""
    return TITLE if _resources(levels) else ""


def _resources(levels: Sequence[Level]) -> list[Resource]:
    found = [run.cloudwatch for level in levels for run in level.counted if run.cloudwatch]
    return list(dict.fromkeys(resource for metrics in found for resource in metrics.resources))
