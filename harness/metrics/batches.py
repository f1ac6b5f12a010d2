"""Divides the window into batches of equal length and computes a label's metrics per batch.

Batches are the observations of a single run. Neighbouring requests resemble each other, so a test over requests takes
noise for a change; means of long batches hardly do. Source: A. M. Law, "Simulation Modeling and Analysis", 9.5.3 (batch
means).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from harness.metrics.histogram import Histogram
from harness.metrics.metric import FIRST_BYTE, RECEIVING, compared_metrics

BATCH_COUNT = 20
# A shorter batch would be about as long as the time over which requests resemble each other.
_BATCH_LEAST_S = 2
# With fewer samples, metrics are mostly chance.
_SAMPLES_PER_BATCH = 10
# The most frequent codes are compared; a script may give every sample another one.
_CODES_MOST = 5
BATCH_PERCENTILES = tuple(one.percentile for one in compared_metrics() if one.percentile is not None)


def batch_count_of(length_s: int) -> int:
    """Return the number of batches in a window: 20, half as many for a short one, 0 for one too short for these."""
    return next((count for count in (BATCH_COUNT, BATCH_COUNT // 2) if length_s >= count * _BATCH_LEAST_S), 0)


def plus(total: int | None, value: int | None) -> int | None:
    """Return the sum; None (unknown) when either is None."""
    return None if total is None or value is None else total + value


@dataclass
class BatchCounts:
    """The counts of a label in one batch."""

    histogram: Histogram = field(default_factory=Histogram)
    elapsed_sum_ms: int = 0
    error_count: int = 0
    received_bytes: int | None = 0
    first_bytes: Histogram = field(default_factory=Histogram)
    codes: Counter[str] = field(default_factory=Counter)

    def add_code(self, code: str, sample_count: int) -> None:
        """Count responses with a response code."""
        self.codes[code] += sample_count

    def merge(self, other: BatchCounts) -> None:
        """Add another label's counts, or the same label's counts of another part."""
        self.histogram.merge(other.histogram.counts)
        self.elapsed_sum_ms += other.elapsed_sum_ms
        self.error_count += other.error_count
        self.received_bytes = plus(self.received_bytes, other.received_bytes)
        self.first_bytes.merge(other.first_bytes.counts)
        self.codes.update(other.codes)


@dataclass(frozen=True)
class BatchSums:
    """What was counted in each batch, and its sums: messages, or streams and their longest gaps in ms."""

    counts: tuple[int, ...]
    sums: tuple[float, ...]

    def plus(self, other: BatchSums) -> BatchSums:
        """Return those of both together."""
        counts = (mine + its for mine, its in zip(self.counts, other.counts, strict=True))
        sums = (mine + its for mine, its in zip(self.sums, other.sums, strict=True))
        return BatchSums(tuple(counts), tuple(sums))


@dataclass(frozen=True)
class Batches:
    """A label's metrics in the batches of the window, in order: columns of equal length.

    A metric is None for a batch without samples. `slower_count` is, by percentile, the number of the batch's samples
    slower than that percentile of the whole window: percentiles of few samples are biased, these counts are not.
    `received_bytes` are None where the samples do not say them; files of earlier versions have none. `beside` has what
    is known beside response times, by the key of its metric. `codes` are the samples by response code, where there are
    several: the most frequent ones.
    """

    length_s: float
    sample_count: tuple[int, ...]
    error_count: tuple[int, ...]
    average_ms: tuple[float | None, ...]
    percentiles_ms: Mapping[str, tuple[int | None, ...]]
    slower_count: Mapping[str, tuple[int, ...]]
    received_bytes: tuple[int | None, ...] = ()
    beside: Mapping[str, BatchSums] = field(default_factory=dict)
    codes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, batches: Mapping[int, BatchCounts], count: int, length_s: float) -> Batches | None:
        """Return the metrics of batches 0 to `count`; None with fewer than 10 samples per batch."""
        counts = [batches.get(number, BatchCounts()) for number in range(count)]
        sample_count = [batch.histogram.count for batch in counts]
        if not count or sum(sample_count) < _SAMPLES_PER_BATCH * count:
            return None
        ratios = [float(text) / 100 for text in BATCH_PERCENTILES]
        quantiles: list[Sequence[int | None]] = [
            batch.histogram.quantiles_ms(ratios) if samples else [None] * len(ratios)
            for batch, samples in zip(counts, sample_count, strict=True)
        ]
        together = Histogram()
        for batch in counts:
            together.merge(batch.histogram.counts)
        lines_ms = together.quantiles_ms(ratios)
        slower = [_slower_counts(batch.histogram, lines_ms) for batch in counts]
        to_first_byte = _slower_to_first_byte(counts)
        slower_count = dict(zip(BATCH_PERCENTILES, zip(*slower, strict=True), strict=True))
        return cls(
            length_s=length_s,
            sample_count=tuple(sample_count),
            error_count=tuple(batch.error_count for batch in counts),
            average_ms=tuple(
                round(batch.elapsed_sum_ms / samples, 3) if samples else None
                for batch, samples in zip(counts, sample_count, strict=True)
            ),
            percentiles_ms=dict(zip(BATCH_PERCENTILES, zip(*quantiles, strict=True), strict=True)),
            slower_count={**slower_count, **to_first_byte},
            received_bytes=tuple(batch.received_bytes for batch in counts),
            beside={RECEIVING.key: _receiving(counts)} if to_first_byte else {},
            codes=_codes(counts),
        )


def _codes(counts: Sequence[BatchCounts]) -> dict[str, tuple[int, ...]]:
    """Return how many samples of each batch have each of the most frequent codes; empty where all have the same."""
    together = Counter[str]()
    for batch in counts:
        together.update(batch.codes)
    often = together.most_common(_CODES_MOST) if len(together) > 1 else []
    return {code: tuple(batch.codes[code] for batch in counts) for code, _ in often}


def _receiving(counts: Sequence[BatchCounts]) -> BatchSums:
    """Return the times from the first byte to the last one."""
    sums = (float(batch.elapsed_sum_ms - batch.first_bytes.sum_ms) for batch in counts)
    return BatchSums(tuple(batch.histogram.count for batch in counts), tuple(sums))


def _slower_to_first_byte(counts: Sequence[BatchCounts]) -> dict[str, tuple[int, ...]]:
    """Return the slower counts of the times to the first byte; empty unless these are known and others."""
    if all(batch.first_bytes == batch.histogram for batch in counts):
        return {}
    if any(batch.first_bytes.count != batch.histogram.count for batch in counts):
        return {}
    together = Histogram()
    for batch in counts:
        together.merge(batch.first_bytes.counts)
    compared = [metric for metric in compared_metrics() if metric in FIRST_BYTE]
    lines_ms = together.quantiles_ms([metric.ratio for metric in compared])
    slower = [_slower_counts(batch.first_bytes, lines_ms) for batch in counts]
    return dict(zip((metric.id for metric in compared), zip(*slower, strict=True), strict=True))


def _slower_counts(histogram: Histogram, lines_ms: Sequence[int]) -> list[int]:
    """Return, for each limit, how many values are greater."""
    values_ms = sorted(histogram.counts)
    up_to = [0, *accumulate(histogram.counts[value_ms] for value_ms in values_ms)]
    return [up_to[-1] - up_to[bisect_right(values_ms, line_ms)] for line_ms in lines_ms]
