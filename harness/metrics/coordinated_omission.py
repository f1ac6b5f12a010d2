"""Corrects response times of a closed load for the requests that were not sent while the system stalled."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.base.units import MS_PER_S, ms_text
from harness.metrics.gaps import Gap
from harness.metrics.histogram import Histogram

# A sample that took at least this share of the shortest stall was delayed by one.
_DELAYED_RATIO = 0.5
# Longer series of missing requests are added several at a time: 1,000 steps change a percentile by 0.1 % of a stall.
_STEPS_MOST = 1_000


@dataclass(frozen=True)
class CorrectedTimes:
    """Response times with `added_count` requests that users would have sent every `expected_interval_ms`.

    Source: HdrHistogram, `recordValueWithExpectedInterval`; G. Tene, "How NOT to Measure Latency", 2013.
    """

    expected_interval_ms: float
    added_count: int
    average_ms: float
    percentiles_ms: Mapping[str, int]
    max_ms: int

    @property
    def text(self) -> str:
        """Return one line for people."""
        lines = ", ".join(f"p{name} {value_ms} ms" for name, value_ms in self.percentiles_ms.items())
        return (
            "Corrected for coordinated omission (HdrHistogram, expected interval "
            f"{ms_text(self.expected_interval_ms)} ms): average {ms_text(self.average_ms)} ms, {lines}, max "
            f"{self.max_ms} ms. {self.added_count} requests that were not sent are added; all other figures are as "
            "measured."
        )


def corrected_times(
    times: Histogram, stalls: Sequence[Gap], think_time_s: float, percentiles: Sequence[str]
) -> CorrectedTimes | None:
    """Return the corrected times of a load with stalls; None when no sample was delayed.

    The expected interval is the mean of the samples that were not delayed, plus the think time. Each delayed sample
    gets one added sample for each further request that its user should have sent in the meantime.
    """
    if not stalls:
        return None
    least_ms = _DELAYED_RATIO * MS_PER_S * min(stall.length_s for stall in stalls)
    usual = Histogram({value_ms: count for value_ms, count in times.counts.items() if value_ms < least_ms})
    delayed = {value_ms: count for value_ms, count in times.counts.items() if value_ms >= least_ms}
    if usual.mean_ms is None or not delayed:
        return None
    interval_ms = max(1.0, usual.mean_ms + think_time_s * MS_PER_S)
    whole = Histogram(dict(times.counts))
    for value_ms, count in delayed.items():
        due_count = math.floor(value_ms / interval_ms)
        step = max(1, math.ceil(due_count / _STEPS_MOST))
        for index in range(step, due_count, step):
            whole.add(round(value_ms - index * interval_ms), count * step)
    ratios = [float(name) / 100 for name in percentiles]
    return CorrectedTimes(
        expected_interval_ms=interval_ms,
        added_count=whole.count - times.count,
        average_ms=whole.mean_ms or 0.0,
        percentiles_ms=dict(zip(percentiles, whole.quantiles_ms(ratios), strict=True)),
        max_ms=whole.max_ms or 0,
    )
