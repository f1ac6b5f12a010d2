"""Builds the tables of CPU, memory and databases of releases, in each cell."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

from harness.base import units
from harness.cloudwatch.points import CloudMetric
from harness.cloudwatch.queries import ECS, MEMORY, RDS, TITLE, metric_names, resource_title
from harness.cloudwatch.resources import Resource
from harness.cloudwatch.services import Participant
from harness.release.cells import ReleaseCell, Runs, TitledTable, all_cells, cell_heads, cell_texts
from harness.release.repeats import median_of
from harness.report.charts.cloudwatch import COLUMNS, metric_cells
from harness.report.run_result import RunResult
from harness.report.tables import cell, table
from harness.report.wide_tables import narrow_tables
from harness.run.telemetry.processes import HOST, NOT_SYSTEM, process_title
from harness.run.telemetry.table import Usage

# In all functions `results` are those of the releases, the new one first, and `names` their names.
DATABASES = frozenset({RDS})


class Overcommitted(NamedTuple):
    """A service whose memory was above its reservation: its title, the largest ratio, and the cells."""

    title: str
    largest_ratio: float
    cells: tuple[ReleaseCell, ...]


def process_table(results: Sequence[Runs], names: Sequence[str]) -> str:
    """Return the table of CPU and memory of processes that the harness started, and of the machine, in each cell.

    Values are medians of the runs' means. Empty when they are unknown, as of a system elsewhere.
    """
    rows = []
    for process in dict.fromkeys(usage.process for side in results for usage in _usages(side)):
        if process in NOT_SYSTEM and process != HOST:
            continue
        for load in all_cells(results):
            sides = [[usage for run in side.get(load, ()) for usage in run.usages if usage.process == process]
                     for side in results]  # fmt: skip
            if any(sides):
                cores = [median_of(usage.cpu_cores_mean for usage in side) for side in sides]
                sizes = [median_of(usage.rss_bytes_mean for usage in side) for side in sides]
                row = [cell(process_title(process)), *cell_texts(load)]
                row += change_cells(cores, lambda value: units.percent_text(value, 1))
                rows.append(row + change_cells(sizes if any(sizes) else [None] * len(sizes), units.mb_text))
    return _changes_table("process", ("CPU % of one core", "memory MB"), rows, results, names)


def _usages(side: Runs) -> list[Usage]:
    return [usage for one in sorted(side) for run in side[one] for usage in run.usages]


def change_cells(values: Sequence[float | None], show: Callable[[float | None], str]) -> list[str]:
    """Return the cells of the new release, then of each other one, with the change of the new one in %."""
    new, *bases = values
    texts = [show(new)]
    for base in bases:
        ratio = new / base - 1 if base and new is not None else None
        texts += [show(base), units.signed_percent(ratio)]
    return texts


def change_heads(what: str, names: Sequence[str]) -> list[str]:
    """Return the heads of these cells."""
    new, *bases = (f"{cell(name)} {what}" for name in names)
    return [new, *(head for base in bases for head in (base, "change %"))]


def _changes_table(
    head: str, whats: Sequence[str], rows: Sequence[Sequence[str]], results: Sequence[Runs], names: Sequence[str]
) -> str:
    first = [head, *cell_heads(all_cells(results))]
    columns = [text for what in whats for text in change_heads(what, names)]
    width = 2 * len(names) - 1
    shape = {"text_columns": len(first) - 1, "kept": len(first), "together": width}
    return narrow_tables([*first, *columns], rows, **shape) if rows else ""


def cloud_tables(
    results: Sequence[Runs], names: Sequence[str], kinds: Collection[str], *, idle: bool = False
) -> list[TitledTable]:
    """Return the tables of metrics of resources of these kinds, one per metric, a row per resource and cell.

    Services that took part come first; those that did not are in the tables only with `idle`, which have no others. An
    average is the median of the runs' averages, a range covers all runs.
    """
    took_part = {f"{one.cluster}/{one.service}": one.took_part for one in participants(results[0])}
    resources = [
        one
        for one in _resources(results)
        if one.kind in kinds and (one.kind == ECS and took_part.get(one.name) is False) is idle
    ]
    order = list(took_part)
    resources.sort(key=lambda one: order.index(one.name) if one.name in took_part else len(order))
    tables, cells = [], all_cells(results)
    for column in COLUMNS:
        rows = []
        for resource in resources:
            for load in cells:
                metrics = [_metrics(side.get(load, ()), resource, column.metric) for side in results]
                if column.metric in metric_names(resource) and any(metrics):
                    texts = [text for found in metrics for text in metric_cells(found, resource, column)]
                    rows.append([cell(resource_title(resource)), *cell_texts(load), *texts])
        if rows:
            heads = ["resource", *cell_heads(cells)]
            columns = [head for name in names for head in (f"{cell(name)} average", "range")]
            shape = {"text_columns": len(heads) - 1, "kept": len(heads), "together": 2}
            tables.append(TitledTable(column.title, narrow_tables([*heads, *columns], rows, **shape)))
    return tables


def participants(side: Runs) -> list[Participant]:
    """Return each service once, as in the run in which its CPU was highest: those that took part first."""
    by_name: dict[tuple[str, str], Participant] = {}
    for participant in (
        one for runs in side.values() for run in runs if run.services for one in run.services.participants
    ):
        known = by_name.get((participant.cluster, participant.service))
        if known is None or _order(participant) < _order(known):
            by_name[participant.cluster, participant.service] = participant
    return sorted(by_name.values(), key=_order)


def _order(one: Participant) -> tuple[bool, float, str]:
    return (not one.took_part, -(one.cpu_percent or 0.0), one.service)


def participant_table(side: Runs) -> str:
    """Return the table of the services that took part, with their CPU before and during the runs; empty without any."""
    rows = [
        [cell(f"{one.cluster}/{one.service}"), *map(_percent, (one.cpu_before_percent, one.cpu_percent))]
        for one in participants(side)
        if one.took_part
    ]
    return table(["service", "CPU % before", "CPU % during"], rows) if rows else ""


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def cloud_title(results: Sequence[Runs]) -> str:
    """Return the title of the source of these tables; empty without any."""
    return TITLE if _resources(results) else ""


def kinds_of(results: Sequence[Runs]) -> frozenset[str]:
    """Return the kinds of watched resources."""
    return frozenset(resource.kind for resource in _resources(results))


def overcommitted(side: Runs) -> list[Overcommitted]:
    """Return the services whose memory was above their reservation."""
    cells_by_service: dict[str, dict[ReleaseCell, float]] = {}
    for load, runs in sorted(side.items()):
        for metric in (metric for run in runs if run.cloudwatch for metric in run.cloudwatch.metrics):
            if metric.metric == MEMORY and metric.maximum is not None and metric.maximum > 1:
                cells = cells_by_service.setdefault(resource_title(metric.of), {})
                cells[load] = max(cells.get(load, 0.0), metric.maximum)
    return [Overcommitted(title, max(cells.values()), tuple(cells)) for title, cells in cells_by_service.items()]


def _resources(results: Sequence[Runs]) -> list[Resource]:
    runs = [run for side in results for one in sorted(side) for run in side[one]]
    return list(dict.fromkeys(resource for run in runs if run.cloudwatch for resource in run.cloudwatch.resources))


def _metrics(runs: Sequence[RunResult], resource: Resource, name: str) -> list[CloudMetric]:
    return [metric for run in runs if run.cloudwatch and (metric := run.cloudwatch.metric(resource, name))]


def statement_table(results: Sequence[Runs], names: Sequence[str]) -> str:
    """Return the table of statements and their time per request, of databases that list them; else empty."""
    rows = []
    found = [run for side in results for runs in side.values() for run in runs]
    for process in dict.fromkeys(use.process for run in found for use in run.databases):
        for load in all_cells(results):
            sides = [[*_per_request(side.get(load, ()), process)] for side in results]
            if any(sides):
                counts, times_ms = ([median_of(each[at] for each in side) for side in sides] for at in range(2))
                row = [cell(process), *cell_texts(load), *change_cells(counts, units.rate_text)]
                rows.append(row + change_cells(times_ms, lambda value_ms: units.ms_text(value_ms, 2)))
    return _changes_table("database", ("statements per request", "ms per request"), rows, results, names)


def _per_request(runs: Sequence[RunResult], process: str) -> Iterator[tuple[float, float]]:
    """Yield statements and ms per request of a database in each run, in its interval or else over the whole run."""
    for run in runs:
        whole = run.whole or run.total
        for use in run.databases:
            requests = use.request_count(whole.sample_count or 0) if whole else 0
            if use.process == process and requests:
                yield use.count / requests, use.total_ms / requests
