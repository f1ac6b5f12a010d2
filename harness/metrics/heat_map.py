"""Counts samples by time and response time: the cells of a heat map, few enough for a chart and for a JSON file."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from harness.metrics.histogram import Histogram

COLUMNS_MOST, ROWS_MOST = 120, 40
_RATIOS = (0.5, 0.95)


@dataclass(frozen=True)
class HeatMap:
    """Counts of all samples: a column per `bucket_s` seconds, a row per interval of response times.

    Row i counts the samples from edges_ms[i] up to, not including, edges_ms[i + 1] whole milliseconds. A column is the
    text `7: 12 0 3`: its first row that is not empty, and the counts from there on; it is empty without samples.
    `p50_ms` and `p95_ms` are exact percentiles of each column, None without samples.
    """

    bucket_s: int
    edges_ms: tuple[int, ...]
    columns: tuple[str, ...]
    p50_ms: tuple[int | None, ...]
    p95_ms: tuple[int | None, ...]

    def __post_init__(self) -> None:
        if len({len(self.columns), len(self.p50_ms), len(self.p95_ms)}) != 1:
            raise ValueError("a heat map has columns of different numbers")
        rising = all(low < high for low, high in zip(self.edges_ms, self.edges_ms[1:], strict=False))
        if self.bucket_s < 1 or not rising or any(not self._fits(text) for text in self.columns):
            raise ValueError("a heat map has impossible cells")

    def _fits(self, text: str) -> bool:
        first, _, counts = text.partition(":")
        numbers = [first, *counts.split()] if text else []
        return all(one.isdecimal() for one in numbers) and len(self._counts(text)) < max(1, len(self.edges_ms))

    @staticmethod
    def _counts(text: str) -> list[int]:
        first, _, counts = text.partition(":")
        return [0] * int(first or 0) + list(map(int, counts.split()))

    @property
    def counts(self) -> list[list[int]]:
        """The counts of each column from the first row to the last one that is not empty."""
        return [self._counts(text) for text in self.columns]

    @classmethod
    def of(cls, buckets: Sequence[Histogram], bucket_s: int) -> HeatMap | None:
        """Return the heat map of histograms of `bucket_s` seconds each; None without samples."""
        joined = -(-len(buckets) // COLUMNS_MOST)
        columns = [_merged(buckets[index : index + joined]) for index in range(0, len(buckets), max(1, joined))]
        known = [one for one in columns if one.counts]
        if not known:
            return None
        edges_ms = _edges_ms(min(min(one.counts) for one in known), max(max(one.counts) for one in known))
        quantiles = [one.quantiles_ms(_RATIOS) if one.counts else (None, None) for one in columns]
        p50_ms, p95_ms = zip(*quantiles, strict=True)
        texts = tuple(column_text(one, edges_ms) for one in columns)
        return cls(bucket_s * joined, edges_ms, texts, tuple(p50_ms), tuple(p95_ms))


def _merged(buckets: Sequence[Histogram]) -> Histogram:
    whole = Histogram()
    for one in buckets:
        whole.merge(one.counts)
    return whole


def _edges_ms(least_ms: int, most_ms: int) -> tuple[int, ...]:
    """Return whole milliseconds from the least to above the greatest, each by about the same factor above the last."""
    first, end = max(1, least_ms), max(1, most_ms) + 1
    row_count = ROWS_MOST - (least_ms < first)  # 0 ms has a row of its own
    rows = range(row_count + 1)
    edges = {round(first * (end / first) ** (row / row_count)) for row in rows}
    return tuple(sorted({least_ms, *edges}))


def column_text(column: Histogram, edges_ms: Sequence[int]) -> str:
    """Return the text of a column: `7: 12 0 3`, empty without samples."""
    counts = [0] * (len(edges_ms) - 1)
    for elapsed_ms, count in column.counts.items():
        counts[bisect_right(edges_ms, elapsed_ms) - 1] += count
    full = [row for row, count in enumerate(counts) if count]
    return f"{full[0]}: {' '.join(map(str, counts[full[0] : full[-1] + 1]))}" if full else ""
