"""Builds the tables of CPU, memory and databases of two releases, at each level."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from harness.base import units
from harness.cloudwatch.points import CloudMetric
from harness.cloudwatch.queries import MEMORY, RDS
from harness.cloudwatch.source import Resource
from harness.cloudwatch.sources import metric_names, resource_title, source_of
from harness.compare.result import RunResult
from harness.release.sides import Sides
from harness.report.charts.cloudwatch import COLUMNS, metric_cells
from harness.report.tables import cell, table
from harness.run.telemetry import HOST, NOT_SYSTEM, Usage, process_title

DATABASES = frozenset({RDS})
_Runs = Mapping[int, Sequence[RunResult]]


@dataclass(frozen=True)
class TitledTable:
    """A table with its title."""

    title: str
    table: str


@dataclass(frozen=True)
class Overcommitted:
    """A service whose memory was above its reservation: its title, the largest ratio, and the levels (users)."""

    title: str
    largest_ratio: float
    users: tuple[int, ...]


class _PerRequest(NamedTuple):
    """What the requests of a run cost a database, on average."""

    statement_count: float
    time_ms: float


def process_table(base: _Runs, new: _Runs, names: Sides[str]) -> str:
    """Return the table of CPU and memory of processes that the harness started, and of the machine, at each level.

    Values are medians of the runs' means. Empty when they are unknown, as of a system elsewhere.
    """
    rows = []
    for process in dict.fromkeys(usage.process for side in (new, base) for usage in _usages(side)):
        if process in NOT_SYSTEM and process != HOST:
            continue
        for users in sorted(base.keys() | new.keys()):
            sides = [[usage for usage in _usages({users: side.get(users, ())}) if usage.process == process]
                     for side in (base, new)]  # fmt: skip
            if any(sides):
                cores = [_median(usage.cpu_cores_mean for usage in side) for side in sides]
                sizes = [_median(usage.rss_bytes_mean for usage in side) for side in sides]
                row = [cell(process_title(process)), str(users)]
                row += _pair(cores, lambda value: units.percent_text(value, 1))
                row += _pair(sizes if any(sizes) else [None, None], units.mb_text)
                rows.append(row)
    base_name, new_name = (cell(name) for name in names)
    heads = ["process", "users"]
    for what in ("CPU % of one core", "memory MB"):
        heads += [f"{base_name} {what}", f"{new_name} {what}", "delta %"]
    return table(heads, rows) if rows else ""


def _usages(side: _Runs) -> list[Usage]:
    return [usage for users in sorted(side) for run in side[users] for usage in run.usages]


def _median(values: Iterator[float]) -> float | None:
    known = list(values)
    return median(known) if known else None


def _pair(values: Sequence[float | None], show: Callable[[float | None], str]) -> list[str]:
    """Return the cells of base and new, and the change in % of base."""
    base, new = values
    change = units.signed_percent((new - base) / base) if base and new is not None else ""
    return [show(base), show(new), change]


def cloud_tables(base: _Runs, new: _Runs, names: Sides[str], kinds: Collection[str]) -> list[TitledTable]:
    """Return the tables of metrics of resources of these kinds, one per metric, a row per resource and level.

    An average is the median of the runs' averages, a range covers all runs of the level.
    """
    resources = [resource for resource in _resources(base, new) if resource.kind in kinds]
    tables = []
    for column in COLUMNS:
        rows = []
        for resource in resources:
            for users in sorted(base.keys() | new.keys()):
                found = [_metrics(side.get(users, ()), resource, column.metric) for side in (base, new)]
                if column.metric in metric_names(resource) and any(found):
                    cells = [text for metrics in found for text in metric_cells(metrics, resource, column)]
                    rows.append([cell(resource_title(resource)), str(users), *cells])
        if rows:
            heads = [head for side in names for head in (f"{cell(side)} average", "range")]
            tables.append(TitledTable(column.title, table(["resource", "users", *heads], rows)))
    return tables


def cloud_title(base: _Runs, new: _Runs) -> str:
    """Return the title of the source of these tables; empty without any."""
    return " and ".join(dict.fromkeys(source_of(resource).title for resource in _resources(base, new)))


def service_kinds(base: _Runs, new: _Runs) -> frozenset[str]:
    """Return the kinds of watched resources that are no databases."""
    return frozenset(resource.kind for resource in _resources(base, new)) - DATABASES


def overcommitted(side: _Runs) -> list[Overcommitted]:
    """Return the services whose memory was above their reservation."""
    found: dict[str, dict[int, float]] = {}
    for users, runs in sorted(side.items()):
        for run in runs:
            for metric in run.cloudwatch.metrics if run.cloudwatch else ():
                if metric.metric == MEMORY and metric.maximum is not None and metric.maximum > 1:
                    levels = found.setdefault(resource_title(metric.of), {})
                    levels[users] = max(levels.get(users, 0.0), metric.maximum)
    return [Overcommitted(title, max(levels.values()), tuple(levels)) for title, levels in found.items()]


def _resources(base: _Runs, new: _Runs) -> list[Resource]:
    runs = [run for side in (new, base) for users in sorted(side) for run in side[users]]
    return list(dict.fromkeys(resource for run in runs if run.cloudwatch for resource in run.cloudwatch.resources))


def _metrics(runs: Sequence[RunResult], resource: Resource, name: str) -> list[CloudMetric]:
    return [metric for run in runs if run.cloudwatch and (metric := run.cloudwatch.metric(resource, name))]


def statement_table(base: _Runs, new: _Runs, names: Sides[str]) -> str:
    """Return the table of statements and their time per request, of databases that list them; else empty."""
    rows = []
    processes = dict.fromkeys(use.process for side in (new, base) for runs in side.values() for run in runs
                              for use in run.databases)  # fmt: skip
    for process in processes:
        for users in sorted(base.keys() | new.keys()):
            sides = [[*_per_request(side.get(users, ()), process)] for side in (base, new)]
            if any(sides):
                counts = [_median(one.statement_count for one in side) for side in sides]
                times_ms = [_median(one.time_ms for one in side) for side in sides]
                row = [cell(process), str(users), *_pair(counts, units.rate_text), *_pair(times_ms, _time_text)]
                rows.append(row)
    base_name, new_name = (cell(name) for name in names)
    heads = ["database", "users"]
    for what in ("statements per request", "ms per request"):
        heads += [f"{base_name} {what}", f"{new_name} {what}", "delta %"]
    return table(heads, rows) if rows else ""


def _per_request(runs: Sequence[RunResult], process: str) -> Iterator[_PerRequest]:
    """Yield what the requests of each run cost a database, in its interval or else over the whole run."""
    for run in runs:
        whole = run.whole or run.total
        for use in run.databases:
            requests = use.request_count(whole.sample_count or 0) if whole else 0
            if use.process == process and requests:
                yield _PerRequest(use.count / requests, use.total_ms / requests)


def _time_text(value_ms: float | None) -> str:
    return units.ms_text(value_ms, 2)
