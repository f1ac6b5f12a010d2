"""The outcome of a comparison: the verdicts on each metric, on each label, and overall."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from harness.judge import stored_comparisons
from harness.judge.account import AccountLine
from harness.metrics.metric import Metric

REGRESSED, OK, CANNOT_TELL = stored_comparisons.REGRESSED, stored_comparisons.OK, stored_comparisons.CANNOT_TELL
BETTER = stored_comparisons.BETTER
INVALID = "INVALID"
# What counts as one observation.
RUNS, BATCHES, NOTHING = "runs", "batches", ""
# The reason of an OK whose whole interval is better than the threshold.
IMPROVED = "improved"
# The reason of a CANNOT TELL of so few runs that the rank test has no interval.
TOO_FEW_RUNS = "too few runs for an interval"
# The reason of a CANNOT TELL of a percentile for which 1 ms is more than half of the threshold.
TOO_COARSE = "the clock resolution, 1 ms, is more than half of the threshold"


@dataclass(frozen=True, kw_only=True)
class MetricComparison:
    """One metric of one label on both sides; None when unknown.

    `baseline` and `contender` are ms, 1/s or a ratio; the median for several runs. `delta_ratio` is their difference
    divided by `baseline`, and `low_ratio` to `high_ratio` is its 95 % interval; for errors the interval is that of the
    difference. `unit` is the kind of observation: runs, batches, or "" when there is none. `threshold_ratio` is the
    smallest relevant change. `further_runs` is how many more runs a side a verdict needs. `least_ratio` is the smallest
    change (for errors the smallest difference) that is detected in four of five cases. `decides` is False when a CANNOT
    TELL only means too few samples: the label and the overall verdict can still be OK.
    """

    json_keys: ClassVar = {"baseline": "base", "contender": "new", "baseline_n": "base_n", "contender_n": "new_n"}
    metric: Metric
    baseline: float | None
    contender: float | None
    delta_ratio: float | None = None
    low_ratio: float | None = None
    high_ratio: float | None = None
    p_value: float | None = None
    adjusted_p_value: float | None = None
    baseline_n: int
    contender_n: int
    unit: str
    threshold_ratio: float
    verdict: str = CANNOT_TELL
    reason: str = ""
    further_runs: int | None = None
    least_ratio: float | None = None
    decides: bool = True

    @property
    def word(self) -> str:
        """The verdict as a reader sees it: an OK that improved is IMPROVED."""
        return BETTER if self.verdict == OK and self.reason == IMPROVED else self.verdict

    @property
    def is_known(self) -> bool:
        """Whether a side has a value."""
        return self.baseline is not None or self.contender is not None

    @property
    def change_ratio(self) -> float | None:
        """The change in the unit of its threshold: `delta_ratio`, of a share the difference; None when unknown."""
        if not self.metric.is_share:
            return self.delta_ratio
        return None if self.baseline is None or self.contender is None else self.contender - self.baseline


@dataclass(frozen=True)
class LabelComparison:
    """A label, or TOTAL, on both sides; with `is_transaction` a Transaction Controller."""

    json_keys: ClassVar = {"baseline_sample_count": "base_sample_count", "contender_sample_count": "new_sample_count"}
    label: str
    baseline_sample_count: int | None
    contender_sample_count: int | None
    metrics: tuple[MetricComparison, ...]
    verdict: str
    is_transaction: bool = False

    def of(self, metric: Metric) -> MetricComparison | None:
        """Return the comparison of a metric; None when there is none."""
        return next((one for one in self.metrics if one.metric == metric), None)


@dataclass(frozen=True)
class Comparison:
    """A complete comparison; `baseline` and `contender` name the runs.

    `accounts` are those of the runs by name, `same_work` is the line about both sides.
    `work` is how the work of the sides differs, what weighs most first: pay: 6,666 samples → none.
    """

    json_keys: ClassVar = {
        "baseline": "base", "contender": "new", "only_baseline": "only_base", "only_contender": "only_new",
        "warnings": "caveats",
    }  # fmt: skip
    baseline: tuple[str, ...]
    contender: tuple[str, ...]
    verdict: str
    reasons: tuple[str, ...]
    total: LabelComparison | None
    labels: tuple[LabelComparison, ...]
    only_baseline: tuple[str, ...]
    only_contender: tuple[str, ...]
    warnings: tuple[str, ...]
    further_runs: int | None
    accounts: Mapping[str, tuple[AccountLine, ...]] = field(default_factory=dict)
    same_work: AccountLine | None = None
    work: tuple[str, ...] = ()

    @property
    def is_of_work(self) -> bool:
        """Whether the verdict is about another work of the sides, and not about their figures."""
        return bool(self.work) and (self.verdict == CANNOT_TELL or self.work[0] in self.reasons)
