"""Builds the tables of CPU, memory and databases of two releases, at each level."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from statistics import median
from typing import NamedTuple

from harness.base import units
from harness.cloudwatch.points import CloudMetric
from harness.cloudwatch.queries import MEMORY, RDS
from harness.cloudwatch.source import Resource
from harness.cloudwatch.sources import metric_names, resource_title, source_of
from harness.compare.result import RunResult
from harness.release.sides import Runs, Sides
from harness.report.charts.cloudwatch import COLUMNS, metric_cells
from harness.report.tables import cell, table
from harness.run.telemetry import HOST, NOT_SYSTEM, Usage, process_title

DATABASES = frozenset({RDS})


class TitledTable(NamedTuple):
    """A table with its title."""

    title: str
    table: str


class Overcommitted(NamedTuple):
    """A service whose memory was above its reservation: its title, the largest ratio, and the levels (users)."""

    title: str
    largest_ratio: float
    users: tuple[int, ...]


def process_table(runs: Sides[Runs], names: Sides[str]) -> str:
    """Return the table of CPU and memory of processes that the harness started, and of the machine, at each level.

    Values are medians of the runs' means. Empty when they are unknown, as of a system elsewhere.
    """
    rows = []
    for process in dict.fromkeys(usage.process for side in reversed(runs) for usage in _usages(side)):
        if process in NOT_SYSTEM and process != HOST:
            continue
        for users, *levels in _levels(runs):
            sides = [[usage for run in level for usage in run.usages if usage.process == process] for level in levels]
            if any(sides):
                cores = [_median(usage.cpu_cores_mean for usage in side) for side in sides]
                sizes = [_median(usage.rss_bytes_mean for usage in side) for side in sides]
                row = [cell(process_title(process)), str(users)]
                row += _pair(cores, lambda value: units.percent_text(value, 1))
                rows.append(row + _pair(sizes if any(sizes) else [None, None], units.mb_text))
    return _table_of_pairs("process", ("CPU % of one core", "memory MB"), rows, names)


def _usages(side: Runs) -> list[Usage]:
    return [usage for users in sorted(side) for run in side[users] for usage in run.usages]


def _median(values: Iterator[float]) -> float | None:
    known = list(values)
    return median(known) if known else None


def _levels(runs: Sides[Runs]) -> list[tuple[int, Sequence[RunResult], Sequence[RunResult]]]:
    both = sorted(runs.base.keys() | runs.new.keys())
    return [(users, runs.base.get(users, ()), runs.new.get(users, ())) for users in both]


def _pair(values: Sequence[float | None], show: Callable[[float | None], str]) -> list[str]:
    """Return the cells of base and new, and the change in % of base."""
    baseline, contender = values
    change = units.signed_percent((contender - baseline) / baseline) if baseline and contender is not None else ""
    return [show(baseline), show(contender), change]


def _table_of_pairs(head: str, whats: Sequence[str], rows: Sequence[Sequence[str]], names: Sides[str]) -> str:
    baseline, contender = map(cell, names)
    columns = [text for what in whats for text in (f"{baseline} {what}", f"{contender} {what}", "delta %")]
    return table([head, "users", *columns], rows) if rows else ""


def cloud_tables(runs: Sides[Runs], names: Sides[str], kinds: Collection[str]) -> list[TitledTable]:
    """Return the tables of metrics of resources of these kinds, one per metric, a row per resource and level.

    An average is the median of the runs' averages, a range covers all runs of the level.
    """
    resources = [resource for resource in _resources(runs) if resource.kind in kinds]
    tables = []
    for column in COLUMNS:
        rows = []
        for resource in resources:
            for users, *levels in _levels(runs):
                level_metrics = [_metrics(level, resource, column.metric) for level in levels]
                if column.metric in metric_names(resource) and any(level_metrics):
                    cells = [text for metrics in level_metrics for text in metric_cells(metrics, resource, column)]
                    rows.append([cell(resource_title(resource)), str(users), *cells])
        if rows:
            heads = [head for side in names for head in (f"{cell(side)} average", "range")]
            tables.append(TitledTable(column.title, table(["resource", "users", *heads], rows)))
    return tables


def cloud_title(runs: Sides[Runs]) -> str:
    """Return the title of the source of these tables; empty without any."""
    return " and ".join(dict.fromkeys(source_of(resource).title for resource in _resources(runs)))


def service_kinds(runs: Sides[Runs]) -> frozenset[str]:
    """Return the kinds of watched resources that are no databases."""
    return frozenset(resource.kind for resource in _resources(runs)) - DATABASES


def overcommitted(side: Runs) -> list[Overcommitted]:
    """Return the services whose memory was above their reservation."""
    levels_by_service: dict[str, dict[int, float]] = {}
    for users, runs in sorted(side.items()):
        for metric in (metric for run in runs if run.cloudwatch for metric in run.cloudwatch.metrics):
            if metric.metric == MEMORY and metric.maximum is not None and metric.maximum > 1:
                levels = levels_by_service.setdefault(resource_title(metric.of), {})
                levels[users] = max(levels.get(users, 0.0), metric.maximum)
    return [Overcommitted(title, max(levels.values()), tuple(levels)) for title, levels in levels_by_service.items()]


def _resources(sides: Sides[Runs]) -> list[Resource]:
    runs = [run for side in reversed(sides) for users in sorted(side) for run in side[users]]
    return list(dict.fromkeys(resource for run in runs if run.cloudwatch for resource in run.cloudwatch.resources))


def _metrics(runs: Sequence[RunResult], resource: Resource, name: str) -> list[CloudMetric]:
    return [metric for run in runs if run.cloudwatch and (metric := run.cloudwatch.metric(resource, name))]


def statement_table(runs: Sides[Runs], names: Sides[str]) -> str:
    """Return the table of statements and their time per request, of databases that list them; else empty."""
    rows = []
    found = [run for side in reversed(runs) for level in side.values() for run in level]
    for process in dict.fromkeys(use.process for run in found for use in run.databases):
        for users, *levels in _levels(runs):
            sides = [[*_per_request(level, process)] for level in levels]
            if any(sides):
                counts, times_ms = ([_median(each[at] for each in side) for side in sides] for at in range(2))
                row = [cell(process), str(users), *_pair(counts, units.rate_text)]
                rows.append(row + _pair(times_ms, lambda value_ms: units.ms_text(value_ms, 2)))
    return _table_of_pairs("database", ("statements per request", "ms per request"), rows, names)


def _per_request(runs: Sequence[RunResult], process: str) -> Iterator[tuple[float, float]]:
    """Yield statements and ms per request of a database in each run, in its interval or else over the whole run."""
    for run in runs:
        whole = run.whole or run.total
        for use in run.databases:
            requests = use.request_count(whole.sample_count or 0) if whole else 0
            if use.process == process and requests:
                yield use.count / requests, use.total_ms / requests
