"""Computes the progress metrics of a current run: totals since the start, rates and times of the last seconds."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from harness.jtl.sample import Sample, generator_of
from harness.metrics.histogram import Histogram
from harness.metrics.metric import P95, Metric, elapsed_metrics

WINDOW_S = 10


@dataclass(frozen=True)
class LiveFigures:
    """One line of progress; times are None until a sample has ended in the last seconds.

    With `is_estimate`, errors and times are scaled up from part of the samples.
    """

    sample_count: int
    error_count: int
    users: int
    rate_per_s: float
    times_ms: Mapping[Metric, float | None]
    is_estimate: bool = False


class _Tick(NamedTuple):
    """The rows between two calls of `tick`, and the response times of those that were read."""

    at_s: float
    row_count: int
    histogram: Histogram


class LiveTally:
    """Adds up samples as they arrive; call `tick` about once a second."""

    def __init__(self) -> None:
        self._sample_count = 0
        self._error_count = 0.0
        self._users: dict[str, int] = {}
        self._is_estimate = False
        self._has_requests = False
        self._recent: deque[_Tick] = deque(maxlen=WINDOW_S + 1)

    def tick(
        self, now_s: float, samples: Sequence[Sample], row_count: int, active_users: int | None = None
    ) -> LiveFigures:
        """Count the rows since the last tick, of which `samples` are all or part; return the metrics.

        `active_users` are those of now; without them those of the last rows count, which are old while requests hang.
        Transactions are not counted, because their requests are; unless there is nothing else.
        """
        histogram, failures = Histogram(), 0
        requests = [sample for sample in samples if not sample.is_transaction]
        self._has_requests |= bool(requests)
        if self._has_requests and len(requests) < len(samples):
            row_count = round(row_count * len(requests) / len(samples))
            samples = requests
        for sample in samples:
            failures += not sample.success
            histogram.add(sample.elapsed_ms)
            if sample.all_threads is not None:
                # Each load generator counts its own users.
                self._users[generator_of(sample.thread_name)] = sample.all_threads
        if samples:
            self._error_count += failures * row_count / len(samples)
            self._is_estimate |= row_count > len(samples)
        while not self._sample_count and len(self._recent) > 1:  # the time before the first row is not part of the load
            self._recent.popleft()
        self._sample_count += row_count
        self._recent.append(_Tick(now_s, row_count, histogram))
        oldest_s = self._recent[0].at_s
        window, recent_count = Histogram(), 0
        for tick in self._recent:
            if tick.at_s > oldest_s:
                window.merge(tick.histogram.counts)
                recent_count += tick.row_count
        passed_s = now_s - oldest_s
        return LiveFigures(
            sample_count=self._sample_count,
            error_count=round(self._error_count),
            users=sum(self._users.values()) if active_users is None else active_users,
            rate_per_s=recent_count / passed_s if passed_s > 0 else 0.0,
            times_ms={metric: metric.of_elapsed(window) for metric in dict.fromkeys((*elapsed_metrics(), P95))},
            is_estimate=self._is_estimate,
        )
