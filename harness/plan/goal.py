"""The performance goal of a plan or of a command line."""

from __future__ import annotations

from dataclasses import dataclass, replace

from harness.base import units

_TIME_MAX_MS = 3_600_000


@dataclass(frozen=True)
class Goal:
    """The limits for the plan's TOTAL and for each label's average; None means no limit."""

    p90_ms: int | None
    error_ratio: float | None
    average_ms: int | None = None
    each_average_ms: int | None = None


@dataclass(frozen=True)
class GoalArguments:
    """The goal as a command line or a suite gives it: texts, None where nothing was said."""

    p90: str | None = None
    average: str | None = None
    errors: str | None = None


def resolve_goal(given: GoalArguments, default: Goal) -> Goal:
    """Return the goal: what was given; of times and of errors each the default where nothing was."""
    p90_ms = units.parse_whole_number(given.p90, "P90", 1, _TIME_MAX_MS) if given.p90 else None
    average_ms = units.parse_whole_number(given.average, "AVERAGE", 1, _TIME_MAX_MS) if given.average else None
    error_ratio = units.parse_percent_ratio(given.errors, "ERRORS") if given.errors else default.error_ratio
    if p90_ms is None and average_ms is None:
        return replace(default, error_ratio=error_ratio)
    return Goal(p90_ms=p90_ms, error_ratio=error_ratio, average_ms=average_ms)
