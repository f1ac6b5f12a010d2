"""What the charts of a run are made of, and the data of one chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from harness.base.records import build, to_plain
from harness.cloudwatch.participants import idle_services
from harness.cloudwatch.points import CloudMetrics
from harness.cloudwatch.resources import Resource
from harness.cloudwatch.services import Services
from harness.judge.goals import GoalResult
from harness.judge.loads import LoadFigures
from harness.judge.summary import RunSummary
from harness.metrics.figures import LOAD, LabelFigures, is_streamed
from harness.metrics.histogram import Histogram
from harness.metrics.metric import FIRST_BYTES
from harness.metrics.resource_growth import Growth
from harness.metrics.timeline import Timeline
from harness.metrics.window import Window
from harness.report.charts.distribution import Mark
from harness.report.charts.goals import ChartGoal
from harness.report.charts.heat import Cells
from harness.report.charts.over_time import Band, Series
from harness.run.telemetry.table import UsageSeries
from harness.system.heap import HeapSeries


@dataclass(frozen=True)
class ChartSource:
    """The measurements of a run. `counts` are the samples of the main load by elapsed_ms; None without a load.

    `first_bytes` are those by the time to the first byte; empty where that is the response time.
    The site reads those without a default from the JSON of any version. Charts of the others are images there.
    """

    window: Window
    origin_s: int
    timeline: Timeline | None
    counts: Mapping[int, int] | None
    usage_series: Sequence[UsageSeries]
    heap_series: Sequence[HeapSeries]
    goals: Sequence[GoalResult] = ()
    labels: Sequence[LabelFigures] = ()
    loads: Sequence[LoadFigures] = ()
    cloudwatch: CloudMetrics | None = None
    growths: Sequence[Growth] = ()
    services: Services | None = None
    first_bytes: Mapping[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, summary: RunSummary) -> ChartSource:
        """Return the measurements in a summary."""
        load, observed = summary.group(LOAD), summary.observed
        return cls(
            window=summary.window,
            origin_s=summary.origin_s or 0,
            timeline=summary.timeline,
            counts=load.total.counts.histogram.counts if load else None,
            usage_series=observed.usage_series,
            heap_series=observed.heap_series,
            goals=summary.verdict.goals if summary.verdict else (),
            labels=load.counted if load else (),
            loads=summary.loads,
            cloudwatch=observed.cloudwatch,
            growths=observed.growths,
            services=observed.services,
            first_bytes=load.total.counts.first_bytes.counts if load and load.total.is_streamed else {},
        )

    @classmethod
    def of_json(cls, data: Mapping[str, Any]) -> ChartSource:
        """Return the measurements that the site needs from the JSON of a run; any error for those of something else."""
        observed, counts, first_bytes = data["observed"], Histogram(), Histogram()
        loads = [group for group in data["groups"] if group["name"] == LOAD]
        for load in loads:
            for label in load["labels"]:
                if load["counts_transactions"] or not label["is_transaction"]:  # as TOTAL does
                    counts.merge(build(Histogram, label["counts"]["histogram"]).counts)
                    first_bytes.merge(build(Histogram, label["counts"].get("first_bytes", "")).counts)
        return cls(
            window=build(Window, data["window"]),
            origin_s=data["origin_s"] or 0,
            timeline=build(Timeline, data["timeline"]) if data["timeline"] else None,
            counts=counts.counts if loads else None,
            usage_series=build(tuple[UsageSeries, ...], observed["usage_series"]),
            heap_series=build(tuple[HeapSeries, ...], observed["heap_series"]),
            goals=build(tuple[GoalResult, ...], (data.get("verdict") or {}).get("goals", ())),
            first_bytes=first_bytes.counts if any(map(_is_streamed, loads)) else {},
        )

    @property
    def idle(self) -> frozenset[Resource]:
        """The services of a cluster that did not take part."""
        return idle_services(self.services)

    @property
    def band(self) -> Band | None:
        """The measurement window; None when it is the whole run."""
        window = self.window
        return Band(window.from_s, window.to_s) if window.length_s < window.run_s else None

    @property
    def middles_s(self) -> list[float]:
        """The middle of each bucket of the timeline, in seconds after the load began."""
        timeline = self.timeline
        return self.middles_of(timeline.start_s, timeline.bucket_s, len(timeline.sample_count)) if timeline else []

    def middles_of(self, start_s: int, bucket_s: int, count: int) -> list[float]:
        """Return the middles of buckets, in seconds after the load began."""
        first_s = start_s - self.origin_s + bucket_s / 2
        return [first_s + bucket_s * index for index in range(count)]


def _is_streamed(load: Mapping[str, Any]) -> bool:
    total = load["total"]
    return is_streamed(total["percentiles_ms"], total.get(FIRST_BYTES, {}))


class Plotted(NamedTuple):
    """The data of a chart: its lines, what its title is about, and its number where a run has several of the kind.

    `cells` are a heat map behind the lines, `marks` percentiles of a distribution, `goals` limits. A chart without
    lines is an image on the site.
    """

    lines: Sequence[Series]
    about: str = ""
    number: int = 0
    cells: Cells | None = None
    marks: Sequence[Mark] = ()
    goals: Sequence[ChartGoal] = ()


@dataclass(frozen=True)
class ChartData:
    """A chart without its drawing: `key` is its name in the report; x is in seconds (s) or a response time (ms)."""

    key: str
    title: str
    unit: str
    x_unit: str
    lines: Sequence[Series]
    cells: Cells | None = None
    marks: Sequence[Mark] = ()
    goals: Sequence[ChartGoal] = ()

    def to_plain(self) -> dict[str, Any]:
        """Return plain data by the names of the site's scripts, with the digits that a chart shows."""
        lines = [
            {"name": line.name, "x": [_short(x) for x, _ in line.points], "y": [_short(y) for _, y in line.points]}
            for line in self.lines
        ]
        more = {"cells": self.cells, "marks": list(self.marks), "goals": list(self.goals)}
        own = {name: to_plain(value) for name, value in more.items() if value}
        return {
            "key": self.key, "title": self.title, "unit": self.unit, "lines": lines, "xUnit": self.x_unit, **own,
        }  # fmt: skip


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.5g}")
