"""Groups of runs to compare, and the metrics of a comparison."""

from harness.compare.comparison import (
    Comparison,
    LabelComparison,
    MetricComparison,
)
from harness.metrics.metric import AVERAGE, Metric
from harness.plan.thresholds import Thresholds
from harness.report.run_result import RunResult
from tests.support.results import label_result, run_result

LIMITS = Thresholds()


# Five runs of a system that scatters by 1 %.
QUIET = (99.0, 99.5, 100.0, 100.5, 101.0)


def total(average_ms: float | None = 100.0, **changes):
    return label_result("TOTAL", average_ms, **changes)


def runs(prefix: str, averages_ms, **changes) -> list[RunResult]:
    """Return a run for each average of TOTAL."""
    return [run_result(f"{prefix}_{index}", total=total(ms, **changes)) for index, ms in enumerate(averages_ms)]


def metric(of: LabelComparison | None, name: Metric) -> MetricComparison:
    assert of is not None
    return next(one for one in of.metrics if one.metric == name)


def average(comparison: Comparison) -> MetricComparison:
    return metric(comparison.total, AVERAGE)
