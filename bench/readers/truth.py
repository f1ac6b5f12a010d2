"""Stores the true contents of a generated JTL file, counted by its generator instead of a reader."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class LabelTruth:
    """The true values of one label: samples per elapsed time (ms), sizes in bytes, times in ms."""

    label: str
    counts: Mapping[int, int]
    error_count: int
    received_bytes: int
    sent_bytes: int
    first_ms: int
    last_ms: int

    @property
    def sample_count(self) -> int:
        """The number of samples, including failed ones."""
        return sum(self.counts.values())

    @property
    def elapsed_sum_ms(self) -> int:
        """The sum of all samples' elapsed times in milliseconds."""
        return sum(value_ms * count for value_ms, count in self.counts.items())

    def quantile_ms(self, ratio: float) -> int:
        """Return the value of rank max(1, floor(n * p + 0.5)), p in single precision: JMeter's Aggregate Report.

        Not imported from our reader, which is checked against it.
        """
        single = struct.unpack("f", struct.pack("f", ratio))[0]
        rank = max(1, math.floor(self.sample_count * single + 0.5))
        for value_ms in sorted(self.counts):
            rank -= self.counts[value_ms]
            if rank <= 0:
                return value_ms
        return max(self.counts)


@dataclass(frozen=True)
class Truth:
    """The true values of a file by label."""

    labels: tuple[LabelTruth, ...]

    def total(self, name: str) -> LabelTruth:
        """Return the values of all labels together under this name."""
        counts: dict[int, int] = {}
        for truth in self.labels:
            for value_ms, count in truth.counts.items():
                counts[value_ms] = counts.get(value_ms, 0) + count
        return LabelTruth(
            label=name,
            counts=counts,
            error_count=sum(truth.error_count for truth in self.labels),
            received_bytes=sum(truth.received_bytes for truth in self.labels),
            sent_bytes=sum(truth.sent_bytes for truth in self.labels),
            first_ms=min(truth.first_ms for truth in self.labels),
            last_ms=max(truth.last_ms for truth in self.labels),
        )

    def to_json(self) -> list[dict[str, Any]]:
        """Return the values as JSON data."""
        return [vars(truth) for truth in self.labels]

    @classmethod
    def from_json(cls, data: list[dict[str, Any]]) -> Truth:
        """Return the truth that `to_json` wrote."""
        return cls(
            tuple(
                LabelTruth(**{**truth, "counts": {int(value_ms): count for value_ms, count in truth["counts"].items()}})
                for truth in data
            )
        )
