"""Builds the CloudWatch tables of a sweep, one per metric: services, databases and machines at each level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.base import units
from harness.cloudwatch.queries import METRICS
from harness.report.charts.cloudwatch import COLUMNS, metric_cells, resource_title
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
    resources = list(dict.fromkeys(one for runs in found for metrics in runs for one in metrics.resources))
    tables = []
    for name, title, show in COLUMNS:
        rows = []
        for resource in resources:
            if name in (metric.name for metric in METRICS[resource.kind]):
                row = [cell(resource_title(resource))]
                for runs in found:
                    metrics = [metric for one in runs if (metric := one.metric(resource, name))]
                    row += metric_cells(metrics, resource, name, show)
                rows.append(row)
        if rows:
            heads = [head for level in shown for head in (units.plural(level.users, "user"), "range")]
            tables.append(LevelTable(title, table(["resource", *heads], rows)))
    return tables
