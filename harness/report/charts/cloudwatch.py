"""Tables and charts of a run's CloudWatch metrics."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from statistics import median
from typing import NamedTuple

from harness.base import units
from harness.cloudwatch import queries
from harness.cloudwatch.points import WITHIN, CloudMetric, CloudMetrics
from harness.cloudwatch.queries import (
    CONSUMER,
    ECS,
    LAG,
    TITLE,
    metric_names,
    resource_title,
)
from harness.cloudwatch.resources import Resource
from harness.report.charts.over_time import scaled, series
from harness.report.charts.run_data import ChartSource, Plotted
from harness.report.columns import tenths_text
from harness.report.tables import cell, table

NOT_KNOWN = "n/a"
_NAMED_MOST = 10
_Print = Callable[[float | None], str]


_percent = partial(units.percent_text, decimals=1)


class CloudColumn(NamedTuple):
    """A column of the table: its metric, its title, and how a value is printed."""

    metric: str
    title: str
    text: _Print


_BASE = (
    CloudColumn(queries.CPU, "CPU %", _percent),
    CloudColumn(queries.MEMORY, "memory %", _percent),
    CloudColumn(queries.FREE_MEMORY, "free memory MB", units.mb_text),
    CloudColumn(queries.CONNECTIONS, "connections", tenths_text),
    CloudColumn(queries.CPU_CREDITS, "CPU credits", tenths_text),
    CloudColumn(queries.SURPLUS_CREDITS, "borrowed CPU credits", tenths_text),
    CloudColumn(queries.BURST, "burst balance %", _percent),
)
_DISKS = (
    CloudColumn(queries.READ_LATENCY, "read latency ms", units.average_text),
    CloudColumn(queries.WRITE_LATENCY, "write latency ms", units.average_text),
    CloudColumn(queries.COMMIT_LATENCY, "commit latency ms", units.average_text),
    CloudColumn(queries.READS, "reads/s", tenths_text),
    CloudColumn(queries.WRITES, "writes/s", tenths_text),
)
_BROKERS = (
    CloudColumn(queries.DISK, "disk %", _percent),
    CloudColumn(queries.UNDER_REPLICATED, "under-replicated partitions", tenths_text),
)
_CONSUMERS = (
    CloudColumn(queries.LAG, "lag, messages", tenths_text),
    CloudColumn(queries.LARGEST_LAG, "lag of the worst partition", tenths_text),
)
_SEARCH = (
    CloudColumn(queries.JVM_MEMORY, "JVM memory pressure %", _percent),
    CloudColumn(queries.INDEXING, "indexing/s", units.rate_text),
    CloudColumn(queries.INDEXING_LATENCY, "indexing ms", units.average_text),
    CloudColumn(queries.SEARCHES, "shard searches/s", units.rate_text),
    CloudColumn(queries.SEARCH_LATENCY, "search ms", units.average_text),
)
_BALANCERS = (
    CloudColumn(queries.REQUESTS, "requests/s", units.rate_text),
    CloudColumn(queries.RESPONSE_TIME, "target response ms", units.average_text),
    CloudColumn(queries.ELB_5XX, "5xx/min of the balancer", units.rate_text),
    CloudColumn(queries.TARGET_5XX, "5xx/min of targets", units.rate_text),
)
COLUMNS = (*_BASE, *_DISKS, *_BROKERS, *_CONSUMERS, *_SEARCH, *_BALANCERS)
# The columns of each table of a run; the kinds of the second part have tables of their own.
_OWN_TABLES = {
    queries.MSK: (_BASE[0], *_BROKERS), CONSUMER: _CONSUMERS, queries.OPENSEARCH: (_BASE[0], *_SEARCH),
    queries.ELB: _BALANCERS,
}  # fmt: skip


def cloud_table(found: CloudMetrics, idle: Collection[Resource] = ()) -> str:
    """Return the tables of a run: a row per resource, with n/a for values that CloudWatch did not have.

    `idle` services, and consumers without any lag, have no row.
    """
    resources = [one for one in found.resources if one not in idle and not _keeps_up(found, one)]
    others = [one for one in resources if one.kind not in _OWN_TABLES]
    with_disks = [one for one in others if any(found.metric(one, column.metric) for column in _DISKS)]
    parts = [(others, _BASE), (with_disks, _DISKS)]
    parts += [([one for one in resources if one.kind == kind], columns) for kind, columns in _OWN_TABLES.items()]
    return "\n\n".join(_table(found, some, columns) for some, columns in parts if some)


def _keeps_up(found: CloudMetrics, resource: Resource) -> bool:
    lag = found.metric(resource, LAG)
    return lag is not None and lag.maximum == 0


def _table(found: CloudMetrics, resources: Sequence[Resource], every: Sequence[CloudColumn]) -> str:
    names = {metric.metric for resource in resources for metric in found.by_resource[resource]}
    columns = [column for column in every if column.metric in names]
    rows = []
    for resource in resources:
        row = [cell(resource_title(resource))]
        for column in columns:
            metric = found.metric(resource, column.metric)
            row += metric_cells([metric] if metric else [], resource, column)
        rows.append([*row, _periods(found, resource)])
    heads = [head for column in columns for head in (column.title, "range")]
    return table(["resource", *heads, "periods"], rows)


def metric_cells(metrics: Sequence[CloudMetric], resource: Resource, column: CloudColumn) -> list[str]:
    """Return the average and the range over metrics of one resource; empty when its kind has no such metric."""
    if column.metric not in metric_names(resource):
        return ["", ""]
    means = [metric.mean for metric in metrics if metric.mean is not None]
    least = [metric.minimum for metric in metrics if metric.minimum is not None]
    most = [metric.maximum for metric in metrics if metric.maximum is not None]
    shown_range = f"{column.text(min(least))}-{column.text(max(most))}" if least and most else NOT_KNOWN
    return [column.text(median(means)) if means else NOT_KNOWN, shown_range]


def _periods(cloudwatch: CloudMetrics, resource: Resource) -> str:
    """Return how many periods of the window have a value, for the metric with the fewest values above 0."""
    metrics = [metric for metric in cloudwatch.by_resource[resource] if not metric.is_balance]
    if not metrics:
        return ""  # a volume, of which only the balance is known
    fewest = min((metric.point_count for metric in metrics if metric.point_count), default=0)
    return f"{fewest} of {metrics[0].period_count}"


def cloud_notes(found: CloudMetrics, source: str) -> list[str]:
    """Return the notes below the table, one sentence per line."""
    kinds = {resource.kind for resource in found.resources}
    interval = f"{found.from_s} to {found.to_s} s"
    if found.fit == WITHIN:
        lines = [f"The table covers the periods of {found.period_s} s within the measurement window: {interval}."]
    else:
        what = f"No period of {found.period_s} s is entirely within the measurement window. The table covers the"
        lines = [f"{what} periods that overlap it ({interval}); they also include time before or after it."]
    readings = "single readings (for a service, of all its tasks)" if ECS in kinds else "single readings"
    lines.append(f"Averages are means of the periods' averages; ranges are of {readings}.")
    if ECS in kinds:
        lines.append("For a service, 100 % is its reservation.")
    if keeping_up := sum(_keeps_up(found, one) for one in found.resources):
        lines.append(f"{units.plural(keeping_up, 'consumer')} without any lag: not listed.")
    return lines + cloud_warnings(found, source)


def cloud_warnings(found: CloudMetrics, source: str) -> list[str]:
    """Return what is missing from the requested metrics, one sentence per line; nothing when they are complete."""
    lines = []
    if absent := [text for resource in found.resources if (text := _absent(found, resource))]:
        lines.append(f"{NOT_KNOWN}: {TITLE} had no values ({_some(absent)}).")
    if late := [one for one in found.metrics if one.point_count and one.missing_last_count and not one.is_balance]:
        most = max(metric.missing_last_count for metric in late)
        what = f"Up to {units.plural(most, 'period')} at the end had no value ({_names(late)})"
        why = f"{TITLE} is minutes late, or received no more values"
        lines.append(f"{what}: {why}; `lth metrics {source}` fetches again.")
    if incomplete := [metric for metric in found.metrics if not metric.is_complete]:
        lines.append(f"{TITLE} did not report a complete answer for {_names(incomplete)}.")
    return lines


def _absent(cloudwatch: CloudMetrics, resource: Resource) -> str:
    """Return what CloudWatch had no values for: the resource, or some of its metrics; empty when it had all."""
    known = {metric.metric for metric in cloudwatch.by_resource[resource] if metric.point_count}
    titles = [one.title for one in COLUMNS if cloudwatch.metric(resource, one.metric) and one.metric not in known]
    name = cell(resource_title(resource))
    return f"{name} {' and '.join(titles)}" if known and titles else name if titles else ""


def _names(metrics: Sequence[CloudMetric]) -> str:
    return _some([*dict.fromkeys(cell(resource_title(metric.of)) for metric in metrics)])


def _some(names: Sequence[str]) -> str:
    rest = len(names) - _NAMED_MOST
    return ", ".join(names[:_NAMED_MOST]) + (f" and {rest} more" if rest > 0 else "")


def cloud_lines(metric: str, factor: float, source: ChartSource) -> Iterator[Plotted]:
    """Yield the lines of a metric over time, if any value is known; a period without a value is a gap.

    `factor` converts a value to the unit of the chart.
    """
    cloudwatch = source.cloudwatch
    metrics = [
        one
        for one in (cloudwatch.metrics if cloudwatch else ())
        if one.metric == metric and one.of not in source.idle and (one.kind != CONSUMER or any(one.averages))
    ]
    lines = [series(resource_title(one.of), one.seconds, one.averages) for one in metrics]
    if cloudwatch and any(line.values for line in lines):
        yield Plotted([scaled(line, factor) for line in lines], TITLE)
