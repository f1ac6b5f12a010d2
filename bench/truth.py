"""What is true of a generated JTL, counted by its generator and by nobody's reader."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class LabelTruth:
    """The true figures of one label: how many samples took each whole number of ms, sizes in bytes, times in ms."""

    label: str
    counts: Mapping[int, int]
    error_count: int
    received_bytes: int
    sent_bytes: int
    first_ms: int
    last_ms: int

    @property
    def sample_count(self) -> int:
        """How many samples there are, failed ones included."""
        return sum(self.counts.values())

    @property
    def elapsed_sum_ms(self) -> int:
        """The sum of all samples' elapsed times in milliseconds."""
        return sum(value_ms * count for value_ms, count in self.counts.items())

    def quantile_ms(self, ratio: float) -> int:
        """Return the value of rank max(1, floor(n * p + 0.5)), p in single precision: JMeter's Aggregate Report.

        Written out here again: the figures of our reader are checked against it.
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
    """The true figures of a whole file, a label after the other."""

    labels: tuple[LabelTruth, ...]

    def total(self, name: str) -> LabelTruth:
        """Return the figures of all labels together, under that name."""
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
        """Return plain data."""
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
