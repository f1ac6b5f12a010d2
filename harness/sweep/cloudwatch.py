"""Builds the CloudWatch tables of a sweep, one per metric: services, databases and machines at each level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.cloudwatch.source import Resource
from harness.cloudwatch.sources import metric_names, resource_title, source_of
from harness.report.charts.cloudwatch import COLUMNS, metric_cells
from harness.report.tables import cell, table
from harness.sweep.levels import Level


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
    found = [[run.cloudwatch for run in level.counted if run.cloudwatch] for level in shown]
    resources = _resources(levels)
    tables = []
    for column in COLUMNS:
        rows = []
        for resource in resources:
            if column.metric in metric_names(resource):
                row = [cell(resource_title(resource))]
                for runs in found:
                    metrics = [metric for one in runs if (metric := one.metric(resource, column.metric))]
                    row += metric_cells(metrics, resource, column)
                rows.append(row)
        if any(one.metric(resource, column.metric) for resource in resources for runs in found for one in runs):
            heads = [head for level in shown for head in (cell(level.text), "range")]
            tables.append(LevelTable(column.title, table(["resource", *heads], rows)))
    return tables


def cloud_title(levels: Sequence[Level]) -> str:
    """Return the title of the source of these tables; empty without any."""
    return " and ".join(dict.fromkeys(source_of(resource).title for resource in _resources(levels)))


def _resources(levels: Sequence[Level]) -> list[Resource]:
    found = [run.cloudwatch for level in levels for run in level.counted if run.cloudwatch]
    return list(dict.fromkeys(resource for metrics in found for resource in metrics.resources))
