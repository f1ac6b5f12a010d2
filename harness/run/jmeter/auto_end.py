"""Decides when a load of the length `auto` ends: in steady state, with a precise mean response time.

It checks all samples so far every 10 s. A check succeeds when the steady window (`window.find_window`) is 60 s or
longer and the 95 % interval of its mean, by batch means, is narrow enough: ± 5 % of the mean, and for short response
times ± 1 ms, at most ± 10 % (`enough_ms`). A load that ends as soon as its interval is narrow ends where the scatter is
underestimated: five checks in a row must succeed, the batches must count as ten independent ones, and the interval is
wider than that of a fixed length by a factor that simulations give.

`make bench BENCH=auto` prints how long that takes, and how far the means are from the true ones.

Source: P. Heidelberger, P. D. Welch, "Simulation run length control in the presence of an initial transient",
Operations Research 31(6), 1983 (looks at fixed times, batch means, a relative half-width).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from harness.base.units import MS_PER_S
from harness.jtl.sample import Sample, generator_of
from harness.metrics.batch_means import average
from harness.metrics.batches import BATCH_COUNT, Batches
from harness.metrics.distributions import student_t_quantile
from harness.metrics.figures import LOAD, ONCE, group_of
from harness.metrics.shift import CONFIDENCE
from harness.metrics.timeline import SecondFigures, SecondSeries, Source
from harness.metrics.window import STEADY, Drive, Window, WindowSpec, find_window
from harness.plan.load.groups import SeveralLoads
from harness.plan.load.model import ClosedLoad
from harness.run.record import AutoEndRecord

PRECISION_RATIO = 0.05
# A 20th of a few ms is less than the clock resolution, and the length of a run grows with the square of the precision.
_SHORT_PRECISION_MS = 1.0
_SHORT_PRECISION_RATIO = 0.10
LOOK_PERIOD_S = 10.0
WINDOW_LEAST_S = 60
# The interval contains the true mean in 94 to 99 % of simulated loads with autocorrelations of 0.5 to 0.9 from second
# to second; with two checks in a row it was 90 to 98 %, without the factor and the independent batches 86 to 95 %.
LOOKS_NEEDED = 5
_INDEPENDENT_LEAST, _WIDER = 10.0, 1.4
# A check fails when no sample ended for this long: the system may hang.
_SILENT_MOST_S = 5.0


class AutoEnd:
    """Collects the samples of a load and decides whether they are sufficient."""

    def __init__(self, load: ClosedLoad | SeveralLoads, once_labels: Iterable[str] = ()) -> None:
        self._load = load
        self._once = frozenset(once_labels)
        self._requests, self._transactions = SecondSeries(with_times=False), SecondSeries(with_times=False)
        self._first_s: int | None = None
        self._last_sample_s = self._next_check_s = 0.0
        self._satisfied_count = 0
        self._last = AutoEndRecord(False, 0, None, None, None)

    def add(self, now_s: float, samples: Sequence[Sample], row_count: int) -> None:
        """Count the new rows; `samples` are all of them, or a part that is scaled up."""
        scale = row_count / len(samples) if samples else 1.0
        for sample in samples:
            if group_of(sample.thread_name, sample.label, self._once) not in (LOAD, ONCE):
                continue
            start_s = sample.start_ms // MS_PER_S
            self._first_s = start_s if self._first_s is None else min(self._first_s, start_s)
            self._last_sample_s = now_s
            second_series = self._transactions if sample.is_transaction else self._requests
            count = max(1, round(sample.sample_count * scale))
            elapsed_ms = count * sample.elapsed_ms // sample.sample_count
            source = Source(0, generator_of(sample.thread_name))
            second_series.add(sample.end_ms, elapsed_ms, count, 0, sample.all_threads, source)

    def is_enough(self, now_s: float) -> bool:
        """Return whether the load may end now: True after five successful checks in a row."""
        if now_s < self._next_check_s or self._first_s is None:
            return False
        self._next_check_s = now_s + LOOK_PERIOD_S
        is_satisfied = self._check() and now_s - self._last_sample_s <= _SILENT_MOST_S
        self._satisfied_count = self._satisfied_count + 1 if is_satisfied else 0
        return self._satisfied_count >= LOOKS_NEEDED

    @property
    def record(self) -> AutoEndRecord:
        """The result of the last check."""
        return self._last

    def seconds(self) -> Sequence[SecondFigures]:
        """Return what is counted so far, one entry per second since the first start; empty without samples."""
        second_series = self._requests if self._requests.seconds else self._transactions
        span_s = second_series.span_s
        if span_s is None or self._first_s is None:
            return []
        return second_series.by_second(min(self._first_s, span_s.first_s), span_s.last_s)

    def _check(self) -> bool:
        seconds = self.seconds()
        if seconds:
            self._last = check(self._load, seconds)
        return bool(seconds) and self._last.is_met


def check(load: ClosedLoad | SeveralLoads, seconds: Sequence[SecondFigures]) -> AutoEndRecord:
    """Return the result of a check of all seconds so far."""
    window = find_window(WindowSpec(STEADY), seconds, Drive(load.users, True, load.ramp_s, load.duration_s))
    if not window.is_steady:
        return AutoEndRecord(False, len(seconds), None, None, None)
    mean = mean_of(seconds, window)
    is_met = (
        window.length_s >= WINDOW_LEAST_S
        and mean.independent_count >= _INDEPENDENT_LEAST
        and mean.within_ms <= enough_ms(mean.average_ms)
    )
    return AutoEndRecord(is_met, len(seconds), window.from_s, round(mean.average_ms, 3), round(mean.within_ms, 3))


def enough_ms(average_ms: float) -> float:
    """Return the half-width of the 95 % interval that is narrow enough for a mean; both ms.

    5 %; below 20 ms 1 ms, and below 10 ms 10 %.
    """
    short_ms = min(_SHORT_PRECISION_MS, _SHORT_PRECISION_RATIO * average_ms)
    return max(PRECISION_RATIO * average_ms, short_ms)


class MeanTime(NamedTuple):
    """A mean response time; `within_ms` is the half-width of its 95 % interval at the end of a load.

    Its batches count as `independent_count` independent ones.
    """

    average_ms: float
    within_ms: float
    independent_count: float


def mean_of(seconds: Sequence[SecondFigures], window: Window) -> MeanTime:
    """Return the mean response time in a window, with its interval by 20 batch means."""
    bounds = [window.from_s + number * window.length_s // BATCH_COUNT for number in range(BATCH_COUNT + 1)]
    parts = [seconds[start:end] for start, end in pairwise(bounds)]
    counts = [sum(second.sample_count for second in part) for part in parts]
    sums_ms = [sum(second.elapsed_sum_ms for second in part) for part in parts]
    means_ms = tuple(sum_ms / count if count else None for sum_ms, count in zip(sums_ms, counts, strict=True))
    found = average(Batches(window.length_s / BATCH_COUNT, tuple(counts), (0,) * len(counts), means_ms, {}, {}))
    within_ms = _WIDER * student_t_quantile(found.freedom, (1 + CONFIDENCE) / 2) * found.error
    return MeanTime(found.value, within_ms, found.freedom + 1)
