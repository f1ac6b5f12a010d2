"""The counts of a histogram in exponential buckets, as OpenTelemetry defines them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from harness.base.units import MS_PER_S
from harness.metrics.histogram import Histogram

# There are 2 ** SCALE buckets per doubling. A bucket is 2.2 % wide, so below 46 ms each millisecond has its own. From
# 1 ms to 60 s there are 508; Prometheus takes scales up to 8.
SCALE = 5
_PER_DOUBLING = 1 << SCALE


@dataclass(frozen=True)
class ExponentialBuckets:
    """Counts of times in seconds: `zero_count` of 0 ms, then one count per bucket from the index `offset` on.

    The bucket of index i has the times above 2 ** (i / 2 ** SCALE) s, up to 2 ** ((i + 1) / 2 ** SCALE) s, that bound
    included (https://opentelemetry.io/docs/specs/otel/metrics/data-model/#exponentialhistogram).
    """

    zero_count: int
    offset: int
    counts: tuple[int, ...]


def bucket_index(value_ms: int) -> int:
    """Return the index of the bucket of a time above 0 ms.

    The bounds between powers of two are irrational, so that no time is on one; the logarithm of a power is exact.
    """
    return math.ceil(math.log2(value_ms / MS_PER_S) * _PER_DOUBLING) - 1


def exponential_buckets(histogram: Histogram) -> ExponentialBuckets:
    """Return the counts of all values; the buckets reach from the least value above 0 ms to the greatest."""
    by_index: dict[int, int] = {}
    for value_ms, count in histogram.counts.items():
        if value_ms > 0:
            index = bucket_index(value_ms)
            by_index[index] = by_index.get(index, 0) + count
    offset = min(by_index, default=0)
    counts = tuple(by_index.get(index, 0) for index in range(offset, max(by_index, default=offset - 1) + 1))
    return ExponentialBuckets(histogram.count - sum(counts), offset, counts)
