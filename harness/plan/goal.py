"""The performance goal of a plan or of a command line: limits for its metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.base import units
from harness.base.records import build
from harness.metrics.metric import AVERAGE, ERRORS, Metric, goal_metrics

EACH_AVERAGE = "each_average_ms"
_TIME_MAX_MS = 3_600_000


def goal_keys() -> tuple[str, ...]:
    """Return the keys of a goal in TOML and JSON: p90_ms, error_ratio, average_ms, each_average_ms."""
    percentiles = (metric.key for metric in goal_metrics() if metric.percentile is not None)
    return (*percentiles, ERRORS.key, AVERAGE.key, EACH_AVERAGE)


def goal_options() -> tuple[str, ...]:
    """Return the options of goals on the command line: --p90, --average, --errors."""
    return tuple(f"--{metric.name}" for metric in option_metrics())


def option_metrics() -> tuple[Metric, ...]:
    """Return the metrics that have a goal, percentiles first: the order on the command line."""
    return tuple(sorted(goal_metrics(), key=lambda metric: metric.percentile is None))


@dataclass(frozen=True, init=False)
class Goal:
    """The limits for the plan's TOTAL, by metric key, and for each label's average; a missing key means no limit."""

    limits: Mapping[str, float]

    def __init__(self, **limits: float | None) -> None:
        if unknown := limits.keys() - set(goal_keys()):
            raise TypeError(f"a goal has no {', '.join(sorted(unknown))}")
        known = {key: limit for key in goal_keys() if (limit := limits.get(key)) is not None}
        object.__setattr__(self, "limits", known)

    def __hash__(self) -> int:
        return hash(tuple(self.limits.items()))

    @property
    def error_ratio(self) -> float | None:
        """The limit of the share of errors (0-1)."""
        return self.limits.get(ERRORS.key)

    @property
    def each_average_ms(self) -> float | None:
        """The limit of each label's average."""
        return self.limits.get(EACH_AVERAGE)

    @property
    def of_metrics(self) -> Mapping[Metric, float]:
        """The limits of TOTAL, by metric."""
        return {metric: self.limits[metric.key] for metric in goal_metrics() if metric.key in self.limits}

    def with_limits(self, **limits: float | None) -> Goal:
        """Return the goal with other limits in their places; None takes one away."""
        return Goal(**{**self.limits, **limits})

    @classmethod
    def from_plain(cls, data: object, where: str) -> Goal:
        """Return the goal that `to_json` wrote; ValueError names the key that is wrong."""
        kind: Any = Mapping[str, float | None]
        limits: Mapping[str, float | None] = build(kind, data, where)
        try:
            return cls(**limits)
        except TypeError as error:
            raise ValueError(f"{where}: {error}") from None

    def to_json(self) -> dict[str, float | None]:
        """Return plain data: every key, None where there is no limit."""
        return {key: self.limits.get(key) for key in goal_keys()}


def resolve_goal(given: Mapping[str, str | None], default: Goal) -> Goal:
    """Return the goal in the texts of a command line or a suite, by metric name.

    Of times and of errors each is the default's when nothing is given.
    """
    times = {
        metric.key: units.parse_whole_number(text, metric.name.upper(), 1, _TIME_MAX_MS)
        for metric in option_metrics()
        if metric.is_time and (text := given.get(metric.name))
    }
    errors = given.get(ERRORS.name)
    error_ratio = units.parse_percent_ratio(errors, ERRORS.name.upper()) if errors else default.error_ratio
    return Goal(error_ratio=error_ratio, **times) if times else default.with_limits(error_ratio=error_ratio)
