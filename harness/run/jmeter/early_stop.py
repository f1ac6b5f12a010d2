"""Watches the samples of a running load and decides whether a stop condition ends it.

Errors and times are judged per second: a condition is met when every second with samples was beyond its limit for so
long. Throughput is the mean of that time. It is watched while all users should be active: after the ramp-up, and until
the duration ends or, in a load without duration, a user ends. Of several loads it is watched while each has its
greatest users or rate.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.base.units import MS_PER_S
from harness.jtl.sample import Sample
from harness.metrics.figures import LOAD, group_of
from harness.metrics.histogram import Histogram
from harness.metrics.metric import ERRORS, THROUGHPUT, Metric, metric_of
from harness.plan.goal import metric_text
from harness.plan.load.groups import SeveralLoads
from harness.plan.load.model import Load, OpenLoad
from harness.plan.stop import StopRule


@dataclass(frozen=True)
class _Second:
    """The samples that ended since the second before; errors and times are those of a part if there were many."""

    count: float
    error_ratio: float
    times: Histogram

    def of(self, metric: Metric) -> float:
        """Return the share of errors (0-1) or a time (ms) of a second with samples."""
        if metric == ERRORS:
            return self.error_ratio
        value_ms = self.times.mean_ms if metric.percentile is None else self.times.quantile_ms(metric.ratio)
        return float(value_ms or 0.0)


class EarlyStop:
    """Collects the samples of a load; call `reason` about once a second."""

    def __init__(self, rules: Sequence[StopRule], load: Load, once_labels: Iterable[str] = ()) -> None:
        self._rules = rules
        self._load = load
        self._once = frozenset(once_labels)
        self._longest_s = max((rule.for_s for rule in rules), default=0.0) + 1.0
        self._has_requests = False
        self._first_s: float | None = None
        self._last_s: float | None = None
        self._since_s: dict[StopRule, float] = {}
        self._full_since_s: float | None = None
        # When each interval ended (s), and how many samples it had.
        self._counts: deque[tuple[float, float]] = deque()

    def reason(self, now_s: float, samples: Sequence[Sample], row_count: int, users: int) -> str:
        """Return the condition that is met and the measured value, or an empty text.

        `samples` are the new rows since the last call, all of `row_count` or a part; `users` are active.
        """
        second = self._second(samples, row_count)
        from_s = now_s - 1.0 if self._last_s is None else self._last_s
        if second.count and self._first_s is None:
            self._first_s = from_s - max(sample.elapsed_ms for sample in samples) / MS_PER_S
        self._watch_throughput(now_s, from_s, second.count, users)
        self._last_s = now_s
        reasons = (self._reason(rule, now_s, from_s, second) for rule in self._rules)
        return next((reason for reason in reasons if reason), "")

    def _second(self, samples: Sequence[Sample], row_count: int) -> _Second:
        scale = row_count / len(samples) if samples else 1.0
        load = [one for one in samples if group_of(one.thread_name, one.label, self._once) == LOAD]
        requests = [one for one in load if not one.is_transaction]
        self._has_requests |= bool(requests)
        counted = requests if self._has_requests else load  # a transaction's row sums up its requests
        times = Histogram()
        for sample in counted:
            times.add(sample.elapsed_ms // sample.sample_count, sample.sample_count)
        error_count = sum(sample.error_count for sample in counted)
        return _Second(times.count * scale, error_count / times.count if times.count else 0.0, times)

    def _reason(self, rule: StopRule, now_s: float, from_s: float, second: _Second) -> str:
        metric = metric_of(rule.metric)
        if metric == THROUGHPUT:
            return self._throughput_reason(rule, now_s)
        if not second.count:
            return ""  # a second without samples is neither beyond the limit nor within it
        value = second.of(metric)
        if value <= rule.limit:
            self._since_s.pop(rule, None)
            return ""
        since_s = self._since_s.setdefault(rule, from_s)
        if now_s - since_s < rule.for_s:
            return ""
        return f"{rule.text}; {metric_text(metric)} {metric.text(value)} {metric.unit} in the last second"

    def _watch_throughput(self, now_s: float, from_s: float, count: float, users: int) -> None:
        """Count the second if all users should be active in it; otherwise start again."""
        first_s = self._first_s
        if first_s is None or not self._is_full(from_s - first_s, now_s - first_s, users):
            self._full_since_s = None
            self._counts.clear()
            return
        if self._full_since_s is None:
            self._full_since_s = from_s
        self._counts.append((now_s, count))
        while self._counts[0][0] <= now_s - self._longest_s:
            self._counts.popleft()

    def _is_full(self, from_s: float, to_s: float, users: int) -> bool:
        """Return whether all users should be active from one instant to another, s after the first sample."""
        load = self._load
        if isinstance(load, SeveralLoads) and load.loops is None:
            return load.is_full(from_s, to_s)
        if from_s < load.ramp_s:
            return False
        if load.duration_s is not None:
            return to_s <= load.duration_s
        return isinstance(load, OpenLoad) or users >= (load.users or 0)

    def _throughput_reason(self, rule: StopRule, now_s: float) -> str:
        if self._full_since_s is None or now_s - self._full_since_s < rule.for_s:
            return ""
        since_s = now_s - rule.for_s
        rate_per_s = sum(count for at_s, count in self._counts if at_s > since_s) / rule.for_s
        if rate_per_s >= rule.limit:
            return ""
        return f"{rule.text}; {metric_text(THROUGHPUT)} {THROUGHPUT.text(rate_per_s)} {THROUGHPUT.unit} on average"
