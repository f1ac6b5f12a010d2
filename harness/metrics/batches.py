"""Counts and figures of a label in stretches of the window of equal length: the observations of a single run.

Neighbouring requests resemble each other, so that a test over requests takes noise for a change; the means of long
stretches hardly do. Source: A. M. Law, "Simulation Modeling and Analysis", 9.5.3 (batch means).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from harness.metrics.histogram import Histogram

# What can be estimated of a single run, beside its percentiles.
AVERAGE, THROUGHPUT, ERRORS = "average", "throughput", "errors"
BATCH_COUNT = 20
# Shorter ones would be about as long as a slow request and the next one are alike.
_BATCH_LEAST_S = 2
# The figures of fewer samples are those of chance.
_SAMPLES_PER_BATCH = 10
BATCH_PERCENTILES = ("50", "75", "90", "95", "99")


def batch_count_of(length_s: int) -> int:
    """Return in how many batches a window is cut: 20, half as many when it is short, 0 when too short for these."""
    return next((count for count in (BATCH_COUNT, BATCH_COUNT // 2) if length_s >= count * _BATCH_LEAST_S), 0)


@dataclass
class BatchCounts:
    """What is counted of a label in one batch."""

    histogram: Histogram = field(default_factory=Histogram)
    elapsed_sum_ms: int = 0
    error_count: int = 0

    def merge(self, other: BatchCounts) -> None:
        """Add another label's counts, or the same label's of another part."""
        self.histogram.merge(other.histogram.counts)
        self.elapsed_sum_ms += other.elapsed_sum_ms
        self.error_count += other.error_count


def merge_batches(into: dict[int, BatchCounts], batches: Mapping[int, BatchCounts]) -> None:
    """Add batches, by their number, to others of the same window."""
    for number, counts in batches.items():
        into.setdefault(number, BatchCounts()).merge(counts)


@dataclass(frozen=True)
class Batches:
    """A label's figures in the batches of the window, one after the other: columns of equal length.

    None where it has no sample in a batch. `slower_count` counts by percentile the batch's samples that took longer
    than that percentile of all batches together: percentiles of few samples are biased, these counts are not.
    """

    length_s: float
    sample_count: tuple[int, ...]
    error_count: tuple[int, ...]
    average_ms: tuple[float | None, ...]
    percentiles_ms: Mapping[str, tuple[int | None, ...]]
    slower_count: Mapping[str, tuple[int, ...]]

    @classmethod
    def of(cls, batches: Mapping[int, BatchCounts], count: int, length_s: float) -> Batches | None:
        """Return the figures of counts by the number of the batch, 0 to `count`; None of fewer than 10 a batch."""
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
        return cls(
            length_s=length_s,
            sample_count=tuple(sample_count),
            error_count=tuple(batch.error_count for batch in counts),
            average_ms=tuple(
                round(batch.elapsed_sum_ms / samples, 3) if samples else None
                for batch, samples in zip(counts, sample_count, strict=True)
            ),
            percentiles_ms=dict(zip(BATCH_PERCENTILES, zip(*quantiles, strict=True), strict=True)),
            slower_count=dict(zip(BATCH_PERCENTILES, zip(*slower, strict=True), strict=True)),
        )


def _slower_counts(histogram: Histogram, lines_ms: Sequence[int]) -> list[int]:
    """Return how many values are greater than each of the lines."""
    values_ms = sorted(histogram.counts)
    up_to = [0, *accumulate(histogram.counts[value_ms] for value_ms in values_ms)]
    return [up_to[-1] - up_to[bisect_right(values_ms, line_ms)] for line_ms in lines_ms]
