"""The performance goal of a plan."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Goal:
    """The limits for the plan's TOTAL and for each label's average; None means no limit."""

    p90_ms: int | None
    error_ratio: float | None
    average_ms: int | None = None
    each_average_ms: int | None = None
