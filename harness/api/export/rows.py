"""The tables of a run's seconds: one row per label and second, and one per label, second and response time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import groupby

import numpy as np

from harness.metrics.batches import plus
from harness.metrics.figures import LOAD, TOTAL
from harness.metrics.instruments import kind_of
from harness.metrics.label_seconds import LabelSecond, SortedSeconds
from harness.metrics.metric import AVERAGE, METRICS
from harness.metrics.tally import LabelKey

Value = str | int | float | None
_PERCENTILES = tuple(metric for metric in METRICS if metric.percentile is not None)
_RATIOS = tuple(metric.ratio for metric in _PERCENTILES)
_HEAD = ("time_s", "group", "label", "kind")
# The kind of the rows of TOTAL: a sum over requests does not count their samples twice.
_TOTAL_KIND = "total"
# Column and type of its values, which may be missing in those of the seconds.
SECOND_COLUMNS: tuple[tuple[str, type], ...] = (
    *zip(_HEAD, (int, str, str, str), strict=True),
    ("active_users", int),
    ("sample_count", int),
    ("error_count", int),
    ("min_ms", int),
    (AVERAGE.key, float),
    *((metric.key, int) for metric in _PERCENTILES),
    ("max_ms", int),
    ("received_bytes", int),
    ("sent_bytes", int),
)
HISTOGRAM_COLUMNS: tuple[tuple[str, type], ...] = (
    *zip(_HEAD, (int, str, str, str), strict=True),
    ("elapsed_ms", int),
    ("sample_count", int),
)


def second_rows(seconds: SortedSeconds) -> Iterator[tuple[Value, ...]]:
    """Yield a row per second and label, in order of time; in each second TOTAL of the load comes last.

    TOTAL has the samples that it has in a report: no Transaction Controllers, unless there is nothing else.
    """
    users = seconds.active_users()
    first_s = seconds.span_s.first_s if seconds.span_s else 0
    load = [key.is_transaction for key in seconds.keys if key.group == LOAD]
    counts_transactions = bool(load) and all(load)
    for second, found in groupby(seconds.by_time(), key=lambda one: one.second):
        labels = list(found)
        active = users[second - first_s]
        yield from (_row(one, active) for one in labels)
        own = [one for one in labels if one.key.group == LOAD and (counts_transactions or not one.key.is_transaction)]
        if own:
            total = _row(_total(own), active)
            yield (*total[: len(_HEAD) - 1], _TOTAL_KIND, *total[len(_HEAD) :])


def histogram_rows(seconds: SortedSeconds) -> Iterator[tuple[Value, ...]]:
    """Yield a row per second, label and response time in whole milliseconds, in this order: how many samples had it."""
    for one in seconds.by_time():
        for elapsed_ms, count in one.histogram().counts.items():  # they rise
            yield (*_row_head(one), elapsed_ms, count)


def _row_head(point: LabelSecond) -> Sequence[Value]:
    """Return the values of the columns _HEAD."""
    key = point.key
    return point.second, key.group, key.label, kind_of(is_transaction=key.is_transaction)


def _row(point: LabelSecond, active_users: int | None) -> tuple[Value, ...]:
    histogram = point.histogram()
    return (
        *_row_head(point),
        active_users,
        point.sample_count,
        point.error_count,
        histogram.min_ms,
        point.elapsed_sum_ms / point.sample_count,  # of rows of several samples the sum is exact, the histogram is not
        *histogram.quantiles_ms(_RATIOS),
        histogram.max_ms,
        point.received_bytes,
        point.sent_bytes,
    )


def _total(labels: Sequence[LabelSecond]) -> LabelSecond:
    """Return the samples of several labels of a second as those of TOTAL."""
    return LabelSecond(
        LabelKey(LOAD, TOTAL, is_transaction=False),
        labels[0].second,
        np.sort(np.concatenate([one.sorted_ms for one in labels])),
        sum(one.elapsed_sum_ms for one in labels),
        sum(one.error_count for one in labels),
        reduce(plus, (one.received_bytes for one in labels)),
        reduce(plus, (one.sent_bytes for one in labels)),
    )
