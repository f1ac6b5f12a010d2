"""What is known of a run while it goes on: totals since the start, rates and times over the last seconds."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from harness.histogram import Histogram
from harness.jtl import Sample

WINDOW_S = 10


@dataclass(frozen=True)
class LiveFigures:
    """One line of progress; times are None until a sample ended in the last seconds."""

    sample_count: int
    error_count: int
    users: int
    rate_per_s: float
    average_ms: float | None
    p90_ms: int | None


class LiveTally:
    """Adds up samples as they arrive; `tick` is called about once a second."""

    def __init__(self) -> None:
        self._sample_count = 0
        self._error_count = 0
        self._users = 0
        self._recent: deque[tuple[float, Histogram]] = deque()

    def tick(self, now_s: float, samples: Iterable[Sample]) -> LiveFigures:
        """Count the samples that arrived since the last tick and return the figures of now."""
        histogram = Histogram()
        for sample in samples:
            self._sample_count += 1
            self._error_count += not sample.success
            histogram.add(sample.elapsed_ms)
            if sample.all_threads is not None:
                self._users = sample.all_threads
        self._recent.append((now_s, histogram))
        while len(self._recent) > WINDOW_S + 1:
            self._recent.popleft()
        oldest_s = self._recent[0][0]
        window = Histogram()
        for at_s, part in self._recent:
            if at_s > oldest_s:
                window.merge(part.counts)
        passed_s = now_s - oldest_s
        return LiveFigures(
            sample_count=self._sample_count,
            error_count=self._error_count,
            users=self._users,
            rate_per_s=window.count / passed_s if passed_s > 0 else 0.0,
            average_ms=window.mean_ms,
            p90_ms=window.quantile_ms(0.9),
        )
