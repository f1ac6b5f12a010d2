"""What a comparison of two runs, or of two groups of runs, found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from harness.metrics.metric import Metric

REGRESSED, OK, CANNOT_TELL, INVALID = "REGRESSED", "OK", "CANNOT TELL", "INVALID"
# What an observation was.
RUNS, BATCHES, NOTHING = "runs", "batches", ""
# The reason of an OK whose interval lies wholly beyond the threshold on the good side.
IMPROVED = "improved"


@dataclass(frozen=True)
class MetricComparison:
    """One metric of one label on both sides; None where it is not known.

    `base` and `new` are ms, 1/s or a ratio; of several runs the median. `delta_ratio` is (new - base) / base, and
    `low_ratio` to `high_ratio` is its 95 % interval; of errors the interval is that of new - base. `unit` is what was
    counted as an observation: runs, batches, or "" where nothing could be. `threshold_ratio` is the change that
    matters, `further_runs` how many more runs a side would be needed to tell, `least_ratio` the least change (of errors
    the least difference) that would have been seen in four of five cases. `decides` is False where a CANNOT TELL says
    no more than that there are too few samples: it does not keep the label, or the whole, from being OK.
    """

    metric: Metric
    base: float | None
    new: float | None
    delta_ratio: float | None
    low_ratio: float | None
    high_ratio: float | None
    p_value: float | None
    adjusted_p_value: float | None
    base_n: int
    new_n: int
    unit: str
    threshold_ratio: float
    verdict: str
    reason: str = ""
    further_runs: int | None = None
    least_ratio: float | None = None
    decides: bool = True


@dataclass(frozen=True)
class LabelComparison:
    """A label, or TOTAL, on both sides."""

    label: str
    base_sample_count: int | None
    new_sample_count: int | None
    metrics: tuple[MetricComparison, ...]
    verdict: str

    def of(self, metric: Metric) -> MetricComparison | None:
        """Return what was found of a metric."""
        return next((one for one in self.metrics if one.metric == metric), None)

    def to_json(self) -> dict[str, Any]:
        """Return plain data; a metric is written as its id."""
        metrics = [{**vars(one), "metric": one.metric.id} for one in self.metrics]
        return {**vars(self), "metrics": metrics}


@dataclass(frozen=True)
class Comparison:
    """The whole of it; `base` and `new` name the runs of each side, `caveats` (its key in JSON) are the warnings."""

    base: tuple[str, ...]
    new: tuple[str, ...]
    verdict: str
    reasons: tuple[str, ...]
    total: LabelComparison | None
    labels: tuple[LabelComparison, ...]
    only_base: tuple[str, ...]
    only_new: tuple[str, ...]
    caveats: tuple[str, ...]
    further_runs: int | None

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        total = self.total.to_json() if self.total else None
        return {**vars(self), "total": total, "labels": [label.to_json() for label in self.labels]}
