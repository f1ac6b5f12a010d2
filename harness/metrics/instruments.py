"""The metrics of a run that monitoring systems get, for every format: names, units, labels, help, and buckets."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate

from harness.base.units import MS_PER_S
from harness.metrics.histogram import Histogram

# The run, such as killbill-stripe/run-07_1, is a label of every metric: two runs never share a series.
RUN = ("run",)
# `group` is load, once, setUp or tearDown; `kind` is request or transaction.
OF_LABEL = (*RUN, "label", "group", "kind")
# The upper bounds of the buckets of response times: the numbers 1, 1.25, 1.6, 2, 2.5, 3.15, 4, 5, 6.3, 8 of the series
# R10 of ISO 3, from 1 ms to 63 s in whole milliseconds. From 5 ms on a bound is at most 1.34 times the one before it,
# from 16 ms on at most 1.28 times.
_R10_PER_100 = (100, 125, 160, 200, 250, 315, 400, 500, 630, 800)
BOUNDS_MS = (
    *(1, 2, 3, 4, 5, 6, 8),
    *(10, 12, 16, 20, 25, 32, 40, 50, 63, 80),
    *_R10_PER_100,
    *(10 * value for value in _R10_PER_100),
    *(100 * value for value in _R10_PER_100[:-1]),
)
# In seconds as OpenMetrics writes them, and last that of all values: 0.001, 1.0, +Inf.
BOUND_TEXTS = (*(repr(bound_ms / MS_PER_S) for bound_ms in BOUNDS_MS), "+Inf")


@dataclass(frozen=True)
class Instrument:
    """A published metric: `name` in base units, without suffixes of a format such as _total; its help in one line."""

    name: str
    help: str
    labels: tuple[str, ...] = RUN


RESPONSE_TIME = Instrument("loadtest_response_time_seconds", "Response times of all samples so far.", OF_LABEL)
REQUESTS = Instrument("loadtest_requests", "Samples so far, failed ones included.", OF_LABEL)
ERRORS = Instrument("loadtest_errors", "Failed samples so far.", OF_LABEL)
ERROR_CAUSES = Instrument(
    "loadtest_error_causes",
    "Failed samples so far, by label, response code and cause.",
    (*RUN, "label", "code", "cause"),
)
RECEIVED = Instrument("loadtest_received_bytes", "Bytes received so far.", OF_LABEL)
SENT = Instrument("loadtest_sent_bytes", "Bytes sent so far.", OF_LABEL)
USERS = Instrument("loadtest_active_users", "Active users of all load generators.")
CPU = Instrument("loadtest_process_cpu_seconds", "CPU time of a process since the load began.", (*RUN, "process"))
MEMORY = Instrument(
    "loadtest_process_resident_memory_bytes",
    "Resident memory of a process; used memory of the host.",
    (*RUN, "process"),
)
ENDED = Instrument("loadtest_run_ended", "1 when the load has ended and no count changes any more, else 0.")
INFO = Instrument("loadtest_run", "The run: plan, profile and commit of the harness.", (*RUN, "plan", "env", "commit"))


def kind_of(*, is_transaction: bool) -> str:
    """Return the value of the label `kind`."""
    return "transaction" if is_transaction else "request"


def cumulative_counts(histogram: Histogram) -> tuple[int, ...]:
    """Return the number of values up to each of BOUNDS_MS, that bound included, and last the number of all values."""
    counts = [0] * (len(BOUNDS_MS) + 1)
    for value_ms, count in histogram.counts.items():
        counts[bisect_left(BOUNDS_MS, value_ms)] += count
    return tuple(accumulate(counts))
