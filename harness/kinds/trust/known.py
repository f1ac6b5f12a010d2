"""What the newest trust test of a plan knows of its resolution, for those who choose the length or number of runs."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple

from harness.base import units
from harness.base.errors import UsageError
from harness.base.records import build
from harness.experiment.files import experiments_of
from harness.history.files import read_entry
from harness.history.trend import Gauge, usual_distance
from harness.kinds.trust.outcome import sees_text
from harness.kinds.trust.power import Costs, Way, change_text, length_of
from harness.kinds.trust.variance import VariancePart, VarianceParts
from harness.metrics.metric import Metric, metric_of
from harness.metrics.shift import CONFIDENCE, POWER
from harness.plan.load.model import LoadRecord
from harness.plan.thresholds import Thresholds
from harness.run import kinds
from harness.run.directory import read_object

# More runs of a load in one nightly run are not proposed.
_RUNS_MOST = 12


class Proposal(NamedTuple):
    """The cheapest A/B test that a trust test found, and what it sees."""

    test: str
    way: Way
    metric: str
    detect_ratio: float

    @property
    def text(self) -> str:
        """The proposal in words: 8 pairs of 3 min (52 min) see 5 % in p95 (lb-nginx/trust-01)."""
        return f"{self.way.text} see {change_text(self.detect_ratio)} in {self.metric} ({self.test})"


@dataclass(frozen=True)
class Known:
    """The newest trust test of a plan with a load; `metrics` are its JSON by the metric's id, `costs` those of a run.

    `proposal` is None when no A/B test sees the change that the test looked for.
    """

    test: str
    costs: Costs
    metrics: Mapping[str, Mapping[str, Any]]
    proposal: Proposal | None

    def variance(self, metric: Metric, length_s: float) -> float | None:
        """Return the variance of a metric's logarithm between runs of this length; None when it is not known.

        It is the cautious one: that of four in five tests is not larger.
        """
        parts = self._parts(metric)
        window_s = length_s - self.costs.length_s + self.costs.window_s
        if parts is None or window_s <= 0:
            return None
        return parts.caution * (parts.between + parts.shrinking * self.costs.window_s / window_s)

    def sees_ratio(self, metric: Metric, length_s: float, run_count: int) -> float | None:
        """Return the smallest change that so many runs a side of this length see in four of five cases; None: unknown.

        The variance is known, so the quantiles are normal ones; that between days is included as far as it is known.
        """
        if (variance := self.variance(metric, length_s)) is None:
            return None
        reach = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) + NormalDist().inv_cdf(POWER)
        return math.expm1(reach * math.sqrt(2 * (variance / run_count + self._days(metric))))

    def gate_text(self, thresholds: Thresholds, metrics: tuple[Metric, ...], length_s: float, repeats: int) -> str:
        """Return which thresholds a nightly run cannot see with so many runs of this length, and what would; else "".

        The gate compares the mean of the runs with 20 earlier nightly runs, and finds no change within their usual
        differences. Only the metric that is worst is named.
        """
        unseen: dict[Metric, float] = {}
        for metric in metrics:
            if (variance := self.variance(metric, length_s)) is not None:
                gauge, of_mean = Gauge(metric, thresholds.of(metric)), variance / repeats + self._days(metric)
                if (sees := usual_distance(math.sqrt(of_mean))) > gauge.least:
                    unseen[metric] = sees / gauge.least
        if not unseen:
            return ""
        metric = max(unseen, key=lambda one: unseen[one])
        gauge = Gauge(metric, thresholds.of(metric))
        sees, runs = abs(gauge.change_ratio(unseen[metric] * gauge.least)), units.duration_text(length_s)
        allowed = (gauge.least / usual_distance(1.0)) ** 2 - self._days(metric)
        cures = self._cures(metric, length_s, allowed, repeats) or "raise the threshold"
        asked = f"{metric.name}: this gate asks for {change_text(gauge.threshold)}"
        return f"{asked}, runs of {runs} see {sees_text(sees)}: {cures} ({self.test})"

    def _cures(self, metric: Metric, length_s: float, allowed: float, repeats: int) -> str:
        """Return the longer or the more runs whose mean has at most the variance `allowed`; empty without any."""
        parts, variance, cures = self._parts(metric), self.variance(metric, length_s), []
        assert parts and variance is not None
        larger = (parts.caution * parts.between, parts.caution * parts.shrinking)
        if longer_s := length_of(repeats * allowed, *larger, self.costs):
            cures.append(units.duration_text(longer_s))
        if allowed > 0 and (count := math.ceil(variance / allowed)) <= _RUNS_MOST:
            cures.append(f"{count} runs")
        return " or ".join(cures)

    def _days(self, metric: Metric) -> float:
        """Return the known variance between days; 0 when it is not known."""
        day = self.metrics[metric.id].get("day")
        return build(VariancePart, day, self.test).variance if day else 0.0

    def _parts(self, metric: Metric) -> VarianceParts | None:
        parts = self.metrics.get(metric.id, {}).get("parts")
        return build(VarianceParts, parts, self.test) if parts else None


def known(reports: Path, plan: str, load: LoadRecord, profile: str) -> Known | None:
    """Return what the plan's newest trust test knows; None without one for this load, whose length may differ.

    `reports` is the folder of all results, or that of a kind.
    """
    reports = reports.parent if reports.name in {kind.folder for kind in kinds.EXPERIMENTS if kind.folder} else reports
    for files in reversed(experiments_of(kinds.TRUST, reports, plan)):
        with contextlib.suppress(UsageError, KeyError, IndexError, StopIteration, TypeError, ValueError):
            data = read_object(files.record)
            run = read_entry(files.run(next(one["run"] for one in data["runs"] if one["state"] == "ended"))).run
            if run and run.profile == profile and _model(run.load) == _model(load):
                return known_of(data, f"{plan}/{files.name}")
    return None


def known_of(data: Mapping[str, Any], test: str) -> Known:
    """Return what the JSON of a trust test contains; KeyError or ValueError for an incomplete one."""
    # The duration of a job is an average, too, but not that of the load.
    metrics, proposal = {one["metric"]: one for one in data["metrics"] if not one.get("job")}, None
    if data["verdict"] == "FOUND":
        way: Way = build(Way, metrics[data["answer"]]["ways"][0], test)
        proposal = Proposal(test, way, metric_of(data["answer"]).name, float(data["detect_ratio"]))
    return Known(test, build(Costs, data["costs"], test), metrics, proposal)


def known_text(found: Known | None, plan: str) -> str:
    """Return in words what is known of the change that A/B tests of a plan see, or how to get to know it."""
    if found is None:
        return f"not known yet which change runs of {plan} see: lth trust {plan}"
    return found.proposal.text if found.proposal else f"no A/B test with runs of up to 1 h sees it ({found.test})"


def _model(load: LoadRecord) -> LoadRecord:
    """Return a load without its length."""
    return replace(load, ramp_s=0.0, duration_s=None, loops=None, requests=None, is_auto=None, loads=None)
