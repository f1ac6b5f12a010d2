"""Measures how far the ends of rows go back in file order, which shows a clock that was set."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Order:
    """How far row ends go back in file order: at most `back_ms` before the end of an earlier row."""

    least_ms: int | None = None
    most_ms: int | None = None
    back_ms: int = 0

    def add(self, end_ms: int) -> None:
        """Add the end of the next row."""
        if self.most_ms is None or self.least_ms is None:
            self.least_ms = self.most_ms = end_ms
        elif end_ms >= self.most_ms:
            self.most_ms = end_ms
        else:
            self.back_ms = max(self.back_ms, self.most_ms - end_ms)
            self.least_ms = min(self.least_ms, end_ms)

    def follow(self, least_ms: int, most_ms: int, back_ms: int) -> None:
        """Add the next rows, given by their least and greatest end and by how far they go back themselves."""
        before_ms = least_ms if self.most_ms is None else self.most_ms
        self.back_ms = max(self.back_ms, back_ms, before_ms - least_ms)
        self.least_ms = least_ms if self.least_ms is None else min(self.least_ms, least_ms)
        self.most_ms = max(before_ms, most_ms)

    def merge(self, other: Order) -> None:
        """Add the rows of the next part."""
        self.back_ms = max(self.back_ms, other.back_ms)
        if other.least_ms is not None and other.most_ms is not None:
            self.follow(other.least_ms, other.most_ms, other.back_ms)
