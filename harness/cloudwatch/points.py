"""Stores CloudWatch's answers as cloudwatch.csv and computes a run's metrics and time series from it."""

from __future__ import annotations

import csv
import io
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from harness.cloudwatch.queries import (
    AVERAGE,
    BURST,
    CPU_CREDITS,
    MAXIMUM,
    MINIMUM,
    STATISTICS,
    SURPLUS_CREDITS,
    PeriodSpan,
    Query,
)
from harness.cloudwatch.resources import Resource
from harness.metrics.downsampling import SERIES_POINTS_MOST, chunk_size, chunks
from harness.metrics.window import Window

FILE_NAME = "cloudwatch.csv"
COLUMNS = ("time_s", "period_s", "kind", "resource", "metric", "statistic", "value", "status")
COMPLETE = "Complete"
# Whether the counted periods are within the window, or extend beyond it because none is within.
WITHIN, AROUND = "within", "around"
_DIGITS = 6
# A balance below this counts as used up: a credit is one minute of a core.
BALANCES = {CPU_CREDITS: 0.5, BURST: 0.01}


@dataclass
class Answers:
    """Collects the pages of GetMetricData; `messages` are CloudWatch's messages."""

    values: dict[str, dict[int, float]] = field(default_factory=dict)
    statuses: dict[str, str] = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)

    def add(self, page: Mapping[str, Any]) -> None:
        """Add a page. A query whose points are on several pages has the status of the last one."""
        results = page.get("MetricDataResults", ())
        for result in results:
            self.statuses[result["Id"]] = result.get("StatusCode", "")
            known = self.values.setdefault(result["Id"], {})
            for time, value in zip(result["Timestamps"], result["Values"], strict=True):
                known[int(time.timestamp())] = value
        for part in (page, *results):
            self.messages += [str(message["Value"]) for message in part.get("Messages", ()) if message.get("Value")]

    def to_csv(self, queries: Sequence[Query], span: PeriodSpan) -> str:
        """Return cloudwatch.csv: a row per statistic and period of the span; missing values are empty.

        A metric that not all resources of its kind have is left out without values. A query of the time before the run
        has rows of it. A count is its own minimum and maximum.
        """
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(COLUMNS)
        added = {query.adds_to: query for query in queries if query.adds_to}
        beside = {(query.resource, query.metric.name): query.id for query in queries if not query.adds_to}
        known = {(query.resource, query.metric) for query in queries if self.values.get(query.id)}
        for query in (one for one in queries if not one.adds_to):
            values = self._values(query, added.get(query.id), beside)
            if not (query.metric.is_everywhere or values or (query.resource, query.metric) in known):
                continue
            status = self.statuses.get(query.id, "")
            divisor = span.period_s if query.metric.is_counted else 1
            for statistic in STATISTICS if query.metric.is_counted else (query.statistic,):
                named = (query.resource.kind, query.resource.name, query.metric.name, statistic)
                for start_s in span.and_before(query.before_s).starts_s:
                    value = values.get(start_s)
                    factor = query.metric.factor / divisor
                    shown = "" if value is None else f"{round(value * factor, _DIGITS):.15g}"
                    rows.writerow((start_s, span.period_s, *named, shown, status))
        return text.getvalue()

    def _values(
        self, query: Query, added: Query | None, beside: Mapping[tuple[Resource, str], str]
    ) -> Mapping[int, float]:
        """Return the values of a query by the start of the period, in CloudWatch's unit."""
        values = self.values.get(query.id, {})
        if added:
            more = self.values.get(added.id, {})
            return {start: value + more[start] for start, value in values.items() if start in more}
        if query.metric.zero_beside:
            counted = self.values.get(beside[query.resource, query.metric.zero_beside], {})
            return {**dict.fromkeys(counted, 0.0), **values}
        return values


@dataclass(frozen=True)
class CloudMetric:
    """A metric of a resource: ratios, bytes or a count, as in its name; None when CloudWatch had nothing.

    `point_count` of the `period_count` counted periods have a value; `missing_last_count` of the last ones have none.
    `mean` is the mean of the periods' averages; `minimum` and `maximum` are those of single readings, for a service of
    all its tasks. `seconds` and `averages` are the time series of the whole run, at most 600 points. `before_mean` and
    `before_maximum` are of the periods' averages in the ten minutes before the load; None when they were not fetched.
    """

    kind: str
    resource: str
    metric: str
    period_count: int
    point_count: int
    missing_last_count: int
    is_complete: bool
    mean: float | None
    minimum: float | None
    maximum: float | None
    seconds: tuple[float, ...]
    averages: tuple[float | None, ...]
    before_mean: float | None = None
    before_maximum: float | None = None

    @property
    def is_balance(self) -> bool:
        """Whether it is a budget that is used up, or what is borrowed then: published every five minutes."""
        return self.metric in BALANCES or self.metric == SURPLUS_CREDITS

    @property
    def is_used_up(self) -> bool:
        """Whether such a budget reached zero in a counted period."""
        return self.metric in BALANCES and self.minimum is not None and self.minimum < BALANCES[self.metric]

    @property
    def of(self) -> Resource:
        """Return the resource that it belongs to."""
        return Resource(self.kind, self.resource)


@dataclass(frozen=True)
class CloudMetrics:
    """The CloudWatch metrics of a run. Counted periods of `period_s` are from `from_s` to `to_s`, s after the load
    began.

    `fit` is WITHIN when these periods are within the window, and AROUND when they extend beyond it.
    """

    period_s: int
    from_s: int
    to_s: int
    fit: str
    metrics: tuple[CloudMetric, ...]

    @cached_property
    def by_resource(self) -> Mapping[Resource, Sequence[CloudMetric]]:
        """The metrics of each resource, in the order of the request."""
        by_place: defaultdict[Resource, list[CloudMetric]] = defaultdict(list)
        for metric in self.metrics:
            by_place[metric.of].append(metric)
        return dict(by_place)

    @property
    def resources(self) -> tuple[Resource, ...]:
        """Return the watched resources in the order of the request."""
        return tuple(self.by_resource)

    def metric(self, resource: Resource, name: str) -> CloudMetric | None:
        """Return the metric of a resource; None when its kind has no such metric."""
        return next((metric for metric in self.by_resource.get(resource, ()) if metric.metric == name), None)


# Kind, resource and metric.
_Key = tuple[str, str, str]


@dataclass
class _Column:
    """The rows of one metric of one resource: values by statistic and the first second of the period."""

    values: dict[str, dict[int, float]] = field(default_factory=dict)
    is_complete: bool = True


def fetched_metrics(folder: Path, origin_s: int, window: Window) -> CloudMetrics | None:
    """Return the metrics of a run, see `read_cloudwatch`; None if nothing was fetched."""
    if not (path := folder / FILE_NAME).is_file():
        return None
    with path.open(encoding="utf-8", errors="replace", newline="") as lines:
        return read_cloudwatch(lines, origin_s, window)


def read_cloudwatch(lines: Iterable[str], origin_s: int, window: Window) -> CloudMetrics | None:
    """Return the metrics in a cloudwatch.csv of a run whose load began at `origin_s` (s since 1970).

    None without rows. Unreadable rows count as missing.
    """
    columns: defaultdict[_Key, _Column] = defaultdict(_Column)
    starts_s: set[int] = set()
    period_s = 0
    for row in csv.DictReader(lines):
        try:
            start_s, period_s = int(row["time_s"]), int(row["period_s"])
            value = float(row["value"]) if row["value"] else None
            key, statistic = (row["kind"], row["resource"], row["metric"]), row["statistic"]
        except (KeyError, TypeError, ValueError):
            continue
        starts_s.add(start_s)
        column = columns[key]
        column.is_complete &= row["status"] == COMPLETE
        if value is not None:
            column.values.setdefault(statistic, {})[start_s] = value
    if not columns:
        return None
    span = PeriodSpan(min(starts_s), max(starts_s) + period_s, period_s)
    from_s, to_s = origin_s + window.from_s, origin_s + window.to_s
    counted_s, fit = counted_starts(span, from_s, to_s)
    metrics = tuple(_metric(key, column, span, counted_s, origin_s, window.run_s) for key, column in columns.items())
    from_s = counted_s[0] - origin_s if counted_s else window.from_s
    to_s = counted_s[-1] + period_s - origin_s if counted_s else window.from_s
    return CloudMetrics(period_s, from_s, to_s, fit, metrics)


class Counted(NamedTuple):
    """The first seconds of the counted periods, and whether they are WITHIN or AROUND the interval."""

    starts_s: list[int]
    fit: str


def counted_starts(span: PeriodSpan, from_s: float, to_s: float) -> Counted:
    """Return the periods within an interval (s since 1970), or those that overlap it if none is within."""
    within = [start for start in span.starts_s if from_s <= start and start + span.period_s <= to_s]
    around = [start for start in span.starts_s if start < to_s and start + span.period_s > from_s]
    return Counted(within or around, WITHIN if within else AROUND)


def _metric(
    key: _Key, column: _Column, span: PeriodSpan, starts_s: Sequence[int], origin_s: int, run_s: int
) -> CloudMetric:
    by_start = column.values.get(AVERAGE, {})
    averages, least, most = (
        [values[start] for start in starts_s if start in values]
        for values in (by_start, column.values.get(MINIMUM, {}), column.values.get(MAXIMUM, {}))
    )
    before = [value for start, value in by_start.items() if start + span.period_s <= origin_s]
    last_known = max((index for index, start in enumerate(starts_s) if start in by_start), default=-1)
    series = [(start + span.period_s / 2 - origin_s, by_start.get(start)) for start in span.starts_s]
    # A period whose middle is after the load would make the chart longer than the run's other charts.
    shown = _thinned([(at_s, value) for at_s, value in series if 0 <= at_s <= run_s])
    return CloudMetric(
        *key,
        period_count=len(starts_s),
        point_count=len(averages),
        missing_last_count=len(starts_s) - 1 - last_known,
        is_complete=column.is_complete,
        mean=_mean(averages),
        minimum=min(least, default=None),
        maximum=max(most, default=None),
        seconds=tuple(at_s for at_s, _ in shown),
        averages=tuple(value for _, value in shown),
        before_mean=_mean(before),
        before_maximum=max(before, default=None),
    )


def _thinned(points: Sequence[tuple[float, float | None]]) -> list[tuple[float, float | None]]:
    """Return at most SERIES_POINTS_MOST points (s, average): means of neighbours if there are more."""
    return [
        (round((part[0][0] + part[-1][0]) / 2, 1), _mean([value for _, value in part if value is not None]))
        for part in chunks(points, chunk_size(len(points), SERIES_POINTS_MOST))
    ]


def _mean(values: Sequence[float]) -> float | None:
    return round(math.fsum(values) / len(values), _DIGITS) if values else None
