"""The performance goal of a plan, a load or a command line: limits of metrics, of TOTAL and of labels."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from harness.base import units
from harness.base.errors import UsageError
from harness.base.records import build, fields_to_plain
from harness.metrics.metric import AVERAGE, ERRORS, Metric, all_metrics, goal_metrics, metric_of

EACH_AVERAGE = "each_average_ms"
EVERY_LABEL = ".*"
# The limit of errors where neither the plan nor the command line has one; error_ratio = 1 in the plan lifts it.
DEFAULT_ERROR_RATIO = 0.01


@cache
def limit_keys() -> tuple[str, ...]:
    """Return the keys of a goal's limits: p50_ms to p99.9_ms, first_byte_p95_ms, error_ratio, average_ms and others."""
    percentiles = (metric.key for metric in all_metrics() if metric.is_percentile)
    return (*percentiles, ERRORS.key, AVERAGE.key, EACH_AVERAGE)


def goal_options() -> tuple[str, ...]:
    """Return the options of goals on the command line: --p90, --average, --errors."""
    return tuple(f"--{metric.name}" for metric in option_metrics())


def option_metrics() -> tuple[Metric, ...]:
    """Return the metrics that have an option of their own, percentiles first: the order on the command line."""
    return tuple(sorted(goal_metrics(), key=lambda metric: metric.percentile is None))


@cache
def _metric_keys() -> frozenset[str]:
    return frozenset(metric.key for metric in all_metrics())


@cache
def _pattern(text: str) -> re.Pattern[str] | None:
    try:
        return re.compile(text)
    except (re.error, RecursionError, OverflowError):
        return None


@dataclass(frozen=True)
class GoalRule:
    """One limit: the most (`max`) or the least (`min`) that a metric may be; the other one is None.

    `metric` is the key of a metric: p95_ms in ms, error_ratio from 0 to 1, rate_per_s. `label` is a label, or a regular
    expression that matches whole labels, as in JMeter's Backend Listener and Apdex settings; None means TOTAL.
    """

    metric: str
    label: str | None = None
    max: float | None = None
    min: float | None = None

    def __post_init__(self) -> None:
        if self.metric not in _metric_keys():
            raise ValueError(f"there is no metric {self.metric!r}")
        if (self.max is None) == (self.min is None):
            raise ValueError(f"a goal for {self.metric} needs either max or min")

    def matches(self, label: str) -> bool:
        """Return whether the limit applies to a label."""
        if self.label is None or label == self.label:
            return self.label is not None
        pattern = _pattern(self.label)
        return pattern is not None and pattern.fullmatch(label) is not None

    @property
    def is_expression(self) -> bool:
        """Whether the label is a valid regular expression."""
        return self.label is not None and _pattern(self.label) is not None

    @property
    def text(self) -> str:
        """The limit as text: `p95 ≤ 1500 ms`, `Check-Out: errors ≤ 1 %`, `throughput ≥ 100 req/s`."""
        limit, sign = (self.max, "≤") if self.max is not None else (self.min, "≥")
        label = "" if self.label is None else "each label: " if self.label == EVERY_LABEL else f"{self.label}: "
        metric = metric_of(self.metric)
        return f"{label}{metric_text(metric)} {sign} {limit_text(metric, limit or 0.0)}"


def metric_text(metric: Metric) -> str:
    """Return the short name of a metric in a goal: p95, median, average, errors, throughput."""
    return metric.phrase if metric.is_time else metric.name


def limit_text(metric: Metric, limit: float) -> str:
    """Return a limit with its unit: 1500 ms, 1 %, 100 req/s."""
    return f"{units.number_text(round(limit * 100, 6) if metric.is_share else limit)} {metric.unit}"


@dataclass(frozen=True, init=False)
class Goal:
    """The limits of a run or of one load.

    `limits` are the most that TOTAL's metrics may be, by metric key, and the most that each label's average may be
    (`each_average_ms`); a missing key means no limit. `rules` are all others: limits of labels, and least values. With
    `has_default_errors` the limit of errors is the default.
    """

    limits: Mapping[str, float]
    rules: tuple[GoalRule, ...]
    has_default_errors: bool

    def __init__(self, *rules: GoalRule, **limits: float | None) -> None:
        if unknown := limits.keys() - set(limit_keys()):
            raise TypeError(f"a goal has no {', '.join(sorted(unknown))}")
        known = {key: limit for key in limit_keys() if (limit := limits.get(key)) is not None}
        object.__setattr__(self, "limits", known)
        object.__setattr__(self, "rules", rules)
        object.__setattr__(self, "has_default_errors", False)

    def __hash__(self) -> int:
        return hash((tuple(self.limits.items()), self.rules))

    @classmethod
    def of(cls, rules: Iterable[GoalRule], where: str, each_average_ms: float | None = None) -> Goal:
        """Return the goal of these limits; UsageError, which begins with `where`, when TOTAL has one twice."""
        limits: dict[str, float] = {}
        others: list[GoalRule] = []
        for rule in rules:
            if rule.label is not None or rule.max is None or rule.metric not in limit_keys():
                others.append(rule)
            elif rule.metric in limits:
                raise UsageError(f"{where}: {metric_text(metric_of(rule.metric))} of TOTAL has two limits", "give one")
            else:
                limits[rule.metric] = rule.max
        return cls(*others, **{**limits, EACH_AVERAGE: each_average_ms})

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
        return {metric: self.limits[metric.key] for metric in all_metrics() if metric.key in self.limits}

    @property
    def text(self) -> str:
        """Its limits as text, such as: p90 ≤ 500 ms, errors ≤ 1 %."""
        limits = [GoalRule(metric.key, max=limit) for metric, limit in self.of_metrics.items()]
        if self.each_average_ms is not None:
            limits.append(GoalRule(AVERAGE.key, EVERY_LABEL, max=self.each_average_ms))
        return ", ".join(rule.text for rule in (*limits, *self.rules))

    def with_limits(self, **limits: float | None) -> Goal:
        """Return the goal with these limits of TOTAL instead of its own; None removes one."""
        found = Goal(*self.rules, **{**self.limits, **limits})
        return found._marked() if self.has_default_errors and ERRORS.key not in limits else found

    def with_default_errors(self) -> Goal:
        """Return the goal with the default limit of errors, unless it has a limit of TOTAL's errors."""
        if self.error_ratio is not None:
            return self
        return self.with_limits(error_ratio=DEFAULT_ERROR_RATIO)._marked()

    def _marked(self) -> Goal:
        """Return the goal, its limit of errors marked as the default."""
        found = Goal(*self.rules, **self.limits)
        object.__setattr__(found, "has_default_errors", True)
        return found

    @classmethod
    def from_plain(cls, data: object, where: str) -> Goal:
        """Return the goal that `to_plain` wrote; ValueError names the key that is wrong."""
        others = dict(data) if isinstance(data, Mapping) else {}
        kind: Any = tuple[GoalRule, ...]
        rules: tuple[GoalRule, ...] = build(kind, others.pop("rules", ()), f"{where}.rules")
        is_default = build(bool, others.pop("has_default_errors", False), f"{where}.has_default_errors")
        numbers: Any = Mapping[str, float | None]
        limits: Mapping[str, float | None] = build(numbers, others if isinstance(data, Mapping) else data, where)
        try:
            goal = cls(*rules, **limits)
        except TypeError as error:
            raise ValueError(f"{where}: {error}") from None
        return goal._marked() if is_default else goal

    def to_plain(self) -> dict[str, Any]:
        """Return plain data: every key, None where there is no limit."""
        data = fields_to_plain(self)
        limits = data.pop("limits")
        return {**{key: limits.get(key) for key in limit_keys()}, **data}
