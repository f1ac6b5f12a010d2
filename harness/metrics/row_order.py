"""Finds by which column the rows of a JTL were sorted: their ends go back then, although no clock was set."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean, pstdev

from harness.jtl.sample import Sample

# So many blocks are no chance, in whatever order their rows ended.
_BLOCKS_LEAST = 10
# Of rows in random order at least so many are looked at, and at most so many. Half of them go back, but for so
# many, and the later half is later by so many standard errors at most.
_SHUFFLED_LEAST, _SHUFFLED_MOST, _SHUFFLED_RATIO, _SHUFFLED_ERRORS = 1_000, 300_000, 0.1, 4.0
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


@dataclass
class _Shuffled:
    """Whether rows are in random order, as of a database: every other one ends before the row above it.

    The first half of them is as early as the second one on average.
    """

    ends_ms: array[int] = field(default_factory=lambda: array("q"))

    def takes(self, _sample: Sample, end_ms: int, _late_ms: int) -> bool:
        """Add the next row; return False once the rows are in some order, or too many."""
        self.ends_ms.append(end_ms)
        count = len(self.ends_ms)
        is_power_of_two = count >= _SHUFFLED_LEAST and not count & (count - 1)
        return count < _SHUFFLED_MOST and (not is_power_of_two or self.is_sorted)

    @property
    def is_sorted(self) -> bool:
        """Whether chance explains how many rows go back, and by how much the later rows are later."""
        ends_ms, half = self.ends_ms, len(self.ends_ms) // 2
        if len(ends_ms) < _SHUFFLED_LEAST:
            return False
        falls = sum(later < earlier for earlier, later in pairwise(ends_ms))
        apart_ms = abs(fmean(ends_ms[:half]) - fmean(ends_ms[half:]))
        is_level = apart_ms < _SHUFFLED_ERRORS * pstdev(ends_ms) * math.sqrt(2 / half)
        return is_level and abs(falls / len(ends_ms) - 1 / 2) < _SHUFFLED_RATIO


def sorted_by(samples: Iterable[Sample], late_ms: int) -> str:
    """Return the column by which the rows were sorted, such as "label"; empty if they were not.

    An ordinary row ends up to `late_ms` before one that is above it. Of an ordinary file few rows are read.
    """
    orders: dict[str, _Blocks | _Steady | _Shuffled] = {
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
        "no column": _Shuffled(),
    }
    for sample in samples:
        orders = {name: order for name, order in orders.items() if order.takes(sample, sample.end_ms, late_ms)}
        if not orders:
            return ""
    return next((name for name, order in orders.items() if order.is_sorted), "")
