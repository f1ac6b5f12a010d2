"""CPU and memory of watched resources before a sweep and after it: whether a system returns to where it began.

The levels of a sweep follow each other without a pause, so there is no "after" of a single level.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from harness.base import units
from harness.cloudwatch.points import CloudMetric, CloudMetrics
from harness.cloudwatch.queries import MEMORY, resource_title
from harness.cloudwatch.resources import Resource
from harness.metrics.interval import Interval
from harness.release.cells import TitledTable
from harness.report.charts.cloudwatch import COLUMNS, NOT_KNOWN
from harness.report.tables import cell, table
from harness.sweep.levels import Sweep

# Ten periods of a minute, in which a service releases what it releases.
LENGTH_S = 600
# CloudWatch publishes its values that much later.
PUBLISHED_S = 300
# The start of the system and of JMeter before the warm-up.
_START_S = 120
# A smaller growth of memory from before a sweep to after it is not named.
_GROWN_RATIO = 0.05


@dataclass(frozen=True)
class Around:
    """The metrics of the watched resources before a sweep and after it; None where they are not known."""

    before: CloudMetrics | None = None
    after: CloudMetrics | None = None

    @property
    def resources(self) -> tuple[Resource, ...]:
        """The resources of both."""
        found = [resource for one in (self.before, self.after) if one for resource in one.resources]
        return tuple(dict.fromkeys(found))


def intervals_of(sweep: Sweep) -> dict[str, Interval]:
    """Return the intervals `before` the warm-up of a sweep and `after` its last run; none without finished runs.

    They are in seconds since 1970.
    """
    ended = [_seconds(run.ended_at) for run in sweep.records if run.ended_at]
    if not ended:
        return {}
    warm_up_s = round(sweep.record.warm_up_s) if sweep.record else 0
    first_s = min(_seconds(run.started_at) for run in sweep.records) - warm_up_s - _START_S
    last_s = max(ended)
    return {"before": Interval(first_s - LENGTH_S, first_s), "after": Interval(last_s, last_s + LENGTH_S)}


def _seconds(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp())


def around_tables(sides: Iterable[tuple[str, Around]]) -> list[TitledTable]:
    """Return the tables of averages before and after the runs, one per metric, a row per resource.

    `sides` are names with what is known of each; those of which nothing is known have no columns.
    """
    known = [(name, side) for name, side in sides if side.resources]
    tables = []
    for column in COLUMNS:
        rows = []
        for resource in dict.fromkeys(resource for _, side in known for resource in side.resources):
            metrics = [_metric(one, resource, column.metric) for _, side in known for one in (side.before, side.after)]
            if any(metric is not None and not metric.is_balance for metric in metrics):
                means = [metric.mean if metric else None for metric in metrics]
                texts = [NOT_KNOWN if mean is None else column.text(mean) for mean in means]
                rows.append([cell(resource_title(resource)), *texts])
        if rows:
            heads = [f"{cell(name)} {when}" for name, _ in known for when in ("before", "after")]
            tables.append(TitledTable(column.title, table(["resource", *heads], rows)))
    return tables


def _metric(found: CloudMetrics | None, resource: Resource, name: str) -> CloudMetric | None:
    return found.metric(resource, name) if found else None


def grown(around: Around) -> list[str]:
    """Return the resources that use more memory after a sweep than before it, with both shares."""
    lines = []
    for resource in around.resources:
        metrics = [_metric(one, resource, MEMORY) for one in (around.before, around.after)]
        before, after = (metric.mean if metric else None for metric in metrics)
        if before and after is not None and after > before * (1 + _GROWN_RATIO):
            shares = " → ".join(units.percent_text(share, 1) for share in (before, after))
            lines.append(f"{resource_title(resource)} {shares} %")
    return lines
