"""Counts samples per whole millisecond: exact percentiles, average and deviation, mergeable without the samples."""

from __future__ import annotations

import math
import struct
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate


def _single_precision(value: float) -> float:
    """Return the value as a 32-bit float: JMeter stores percentiles in this precision (0.9 is 0.8999999761581421)."""
    single: float = struct.unpack("f", struct.pack("f", value))[0]
    return single


@dataclass
class Histogram:
    """The number of samples per elapsed time in whole milliseconds."""

    counts: dict[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, values_ms: Iterable[int]) -> Histogram:
        """Return the histogram of single values."""
        histogram = cls()
        histogram.add_all(values_ms)
        return histogram

    @classmethod
    def from_plain(cls, text: object, where: str) -> Histogram:
        """Return the histogram that `to_plain` wrote; ValueError, starting with `where`, for another text."""
        try:
            pairs = (pair.split(":") for pair in str(text).split())
            return cls({int(value): int(count) for value, count in pairs})
        except ValueError:
            raise ValueError(f"{where} is not a histogram") from None

    def to_plain(self) -> str:
        """Return `elapsed_ms:count` pairs in rising order, separated by spaces: one line in a JSON file."""
        return " ".join(f"{value_ms}:{self.counts[value_ms]}" for value_ms in sorted(self.counts))

    def add(self, value_ms: int, count: int = 1) -> None:
        """Count a value, `count` times."""
        self.counts[value_ms] = self.counts.get(value_ms, 0) + count

    def add_all(self, values_ms: Iterable[int]) -> None:
        """Count many values."""
        counts = self.counts
        for value_ms in values_ms:  # a call of `add` for each would take three times as long
            counts[value_ms] = counts.get(value_ms, 0) + 1

    def merge(self, counts: Mapping[int, int]) -> None:
        """Add another histogram's counts; the result is the histogram of all samples."""
        if not self.counts:
            self.counts.update(counts)
            return
        own = self.counts
        for value_ms, count in counts.items():  # a call of `add` for each would take twice as long
            own[value_ms] = own.get(value_ms, 0) + count

    @property
    def count(self) -> int:
        """Return the number of values."""
        return sum(self.counts.values())

    @property
    def sum_ms(self) -> int:
        """Return the sum of all values in milliseconds."""
        return sum(value_ms * count for value_ms, count in self.counts.items())

    def greatest_sum_ms(self, count: int) -> int:
        """Return the sum of the greatest values, so many of them."""
        sum_ms, left = 0, count
        for value_ms in sorted(self.counts, reverse=True):
            if left <= 0:
                break
            sum_ms += value_ms * min(left, self.counts[value_ms])
            left -= self.counts[value_ms]
        return sum_ms

    @property
    def min_ms(self) -> int | None:
        """Return the least value; None without values."""
        return min(self.counts, default=None)

    @property
    def max_ms(self) -> int | None:
        """Return the greatest value; None without values."""
        return max(self.counts, default=None)

    @property
    def mean_ms(self) -> float | None:
        """Return the average in milliseconds, not truncated; None without values."""
        return self.sum_ms / self.count if self.counts else None

    @property
    def stddev_ms(self) -> float | None:
        """Return the population standard deviation in milliseconds; None without values."""
        if (mean := self.mean_ms) is None:
            return None
        # The exact sum does not depend on the order of the counts, which differs after they were read from JSON.
        square_sum = math.fsum(count * (value_ms - mean) ** 2 for value_ms, count in self.counts.items())
        return math.sqrt(square_sum / self.count)

    def quantile_ms(self, ratio: float) -> int | None:
        """Return the value of rank max(1, floor(n * p + 0.5)), p in single precision; None without values.

        This is the rule of JMeter's Aggregate Report, so our p90 equals JMeter's `90% Line` to the millisecond.
        """
        return self.quantiles_ms((ratio,))[0] if self.counts else None

    def quantiles_ms(self, ratios: Sequence[float]) -> list[int]:
        """Return the quantile of every ratio, in the given order, in one pass. There must be values."""
        values_ms = sorted(self.counts)
        up_to = list(accumulate(map(self.counts.__getitem__, values_ms)))
        ranks = (max(1, math.floor(up_to[-1] * _single_precision(ratio) + 0.5)) for ratio in ratios)
        return [values_ms[bisect_left(up_to, rank)] for rank in ranks]
