"""Compares values of two sides that were measured in pairs: by how much they differ, and how certain that is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

_CONFIDENCE = 0.95


@dataclass(frozen=True)
class PairedChange:
    """The geometric means of both sides, and the change with its 95 % interval, as ratios."""

    base: float
    new: float
    change_ratio: float
    low_ratio: float
    high_ratio: float
    pair_count: int

    @property
    def change_text(self) -> str:
        """The change and its interval."""
        interval = f"95 % interval {_percent(self.low_ratio)} to {_percent(self.high_ratio)}, {self.pair_count} pairs"
        return f"{_percent(self.change_ratio)} ({interval})"


def _percent(ratio: float) -> str:
    return f"{100 * ratio:+.1f} %"


def paired_change(base: Sequence[float], new: Sequence[float]) -> PairedChange:
    """Return the change of positive values; those at the same index are a pair, of neighbours in time.

    The interval is Student's t of the paired differences of the logarithms.
    """
    from scipy import stats  # here, because it loads slowly and other parts of the bench import this module

    before, after = [math.log(value) for value in base], [math.log(value) for value in new]
    differences = [new - base for base, new in zip(before, after, strict=True)]
    count = len(differences)
    mean = sum(differences) / count
    deviation = math.sqrt(sum((one - mean) ** 2 for one in differences) / (count - 1))
    half = float(stats.t.ppf((1 + _CONFIDENCE) / 2, count - 1)) * deviation / math.sqrt(count)
    geometric = [math.exp(sum(logs) / count) for logs in (before, after)]
    ratios = [math.exp(value) - 1 for value in (mean, mean - half, mean + half)]
    return PairedChange(geometric[0], geometric[1], ratios[0], ratios[1], ratios[2], count)
