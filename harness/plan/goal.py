"""What a plan asks of its figures."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Goal:
    """What the plan asks of its TOTAL, and of each label's average; None where it asks nothing."""

    p90_ms: int | None
    error_ratio: float | None
    average_ms: int | None = None
    each_average_ms: int | None = None
