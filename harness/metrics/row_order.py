"""Finds by which column the rows of a JTL were sorted: their ends go back then, although no clock was set."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field

from harness.jtl.sample import Sample

# So many blocks are no chance, in whatever order their rows ended.
_BLOCKS_LEAST = 10
# A column with few rows for each of its values, such as a thread for each arrival, is in blocks by itself.
_ROWS_LEAST = 10


@dataclass
class _Blocks:
    """Whether each value of a column has its rows in one block, unless `is_any` in the order in which they ended."""

    of: Callable[[Sample], Hashable]
    is_any: bool = False
    values: set[Hashable] = field(default_factory=set)
    value: Hashable = None
    most_ms: int = 0
    row_count: int = 0

    def takes(self, sample: Sample, end_ms: int, late_ms: int) -> bool:
        """Add the next row; return False once the rows are not sorted so."""
        value = self.of(sample)
        self.row_count += 1
        if value != self.value or not self.values:
            if value in self.values:
                return False
            self.values.add(value)
            self.value, self.most_ms = value, end_ms
        self.most_ms = max(self.most_ms, end_ms)
        return self.is_any or end_ms >= self.most_ms - late_ms

    @property
    def is_sorted(self) -> bool:
        """Whether there are several blocks, of several rows."""
        return (_BLOCKS_LEAST if self.is_any else 2) <= len(self.values) <= self.row_count / _ROWS_LEAST


@dataclass
class _Steady:
    """Whether a number never falls from row to row, by more than `late_ms` if it is a time of the clock."""

    of: Callable[[Sample, int], int]
    is_clock: bool = False
    most: int | None = None
    least: int | None = None

    def takes(self, sample: Sample, end_ms: int, late_ms: int) -> bool:
        """Add the next row; return False once the rows are not sorted so."""
        value = self.of(sample, end_ms)
        self.most = value if self.most is None else max(self.most, value)
        self.least = value if self.least is None else min(self.least, value)
        return value >= self.most - (late_ms if self.is_clock else 0)

    @property
    def is_sorted(self) -> bool:
        """Whether the number changes."""
        return self.most != self.least


def sorted_by(samples: Iterable[Sample], late_ms: int) -> str:
    """Return the column by which the rows were sorted, such as "label"; empty if they were not.

    An ordinary row ends up to `late_ms` before one that is above it. Of an ordinary file few rows are read.
    """
    orders: dict[str, _Blocks | _Steady] = {
        "label": _Blocks(lambda one: one.label),
        "thread": _Blocks(lambda one: one.thread_name),
        "response code": _Blocks(lambda one: one.code),
        "success": _Blocks(lambda one: one.success),
        "label, code and thread": _Blocks(lambda one: (one.label, one.code, one.thread_name), is_any=True),
        "time, latest first": _Steady(lambda _, end_ms: -end_ms, is_clock=True),
        "response time": _Steady(lambda one, _: one.elapsed_ms),
        "response time, slowest first": _Steady(lambda one, _: -one.elapsed_ms),
        "bytes": _Steady(lambda one, _: one.received_bytes or 0),
        "bytes, most first": _Steady(lambda one, _: -(one.received_bytes or 0)),
    }
    for sample in samples:
        orders = {name: order for name, order in orders.items() if order.takes(sample, sample.end_ms, late_ms)}
        if not orders:
            return ""
    return next((name for name, order in orders.items() if order.is_sorted), "")
