"""Judges the goals of a run, or of one of its loads: what was measured, and whether each goal is met."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from harness.base import units
from harness.metrics.figures import Group, LabelFigures
from harness.metrics.metric import AVERAGE, ERRORS, Metric, metric_of
from harness.plan.goal import EVERY_LABEL, Goal, GoalRule, limit_text, metric_text

# Above this share of failed samples the response times mean nothing, whatever the plan's goal is.
MOSTLY_ERRORS_RATIO = 0.5


@dataclass(frozen=True)
class RunGroups:
    """The groups that goals apply to: the load in the window and over the whole run, and the other groups.

    `load` is None when no sample ended in the window: then times are of the whole run.
    """

    load: Group | None
    whole: Group
    others: tuple[Group, ...] = ()

    @property
    def total(self) -> LabelFigures:
        """TOTAL in the window."""
        return (self.load or self.whole).total

    def matching(self, rule: GoalRule, *, of_whole_run: bool) -> tuple[LabelFigures, ...]:
        """Return the labels that a rule applies to: of the load, or of the other groups when the load has none."""
        counted = () if of_whole_run or self.load is None else self.load.labels
        there = {(label.label, label.is_transaction) for label in counted}
        main = (*counted, *(one for one in self.whole.labels if (one.label, one.is_transaction) not in there))
        found = tuple(label for label in main if rule.matches(label.label))
        return found or tuple(one for group in self.others for one in group.labels if rule.matches(one.label))


@dataclass(frozen=True)
class GoalResult:
    """One goal with what was measured: a row of the goal table. `text` is its line.

    `label` is the label or the regular expression, None for TOTAL; `metric` is the key of a metric, `max` or `min` its
    limit. `measured` is the value in that unit, of several labels that of `measured_label`, the worst one; None when it
    is unknown, with the reason. `label_count` labels match (0 for TOTAL), of which `missed_count` miss the goal.
    `is_default` marks a default goal. `load` is the load that it applies to; empty for all of a run. `job` is the job
    whose duration it limits.
    """

    label: str | None
    metric: str
    max: float | None
    min: float | None
    measured: float | None
    measured_label: str | None
    label_count: int
    missed_count: int
    is_met: bool
    text: str
    reason: str = ""
    is_default: bool = False
    load: str = ""
    job: str = ""

    def __post_init__(self) -> None:
        assert self.rule  # ValueError unless it is one

    @property
    def rule(self) -> GoalRule:
        """The limit."""
        return GoalRule(self.metric, self.label, self.max, self.min)

    @property
    def goal_text(self) -> str:
        """The goal: `Check-Out: p99 ≤ 3000 ms`, `job import: duration ≤ 60 s`."""
        default = " (the default)" if self.is_default else ""
        if self.job:
            return f"job {self.job}: duration ≤ {units.number_text((self.max or 0.0) / units.MS_PER_S)} s{default}"
        load = f"load {self.load}: " if self.load else ""
        return load + self.rule.text + default

    @property
    def measured_text(self) -> str:
        """The value with its unit, and of several labels the worst one: `3120 ms (Check-Out, 1 of 4 labels missed)`."""
        metric = metric_of(self.metric)
        if self.job and self.measured is not None:
            return f"{units.number_text(round(self.measured / units.MS_PER_S, 1))} s"
        value = f"{metric.text(self.measured)} {metric.unit}" if self.measured is not None else self.reason or "unknown"
        if self.label_count < 2 or self.measured_label is None:
            return value
        return f"{value} ({self.measured_label}, {self.missed_count} of {self.label_count} labels missed)"


def judge_goals(goal: Goal, groups: RunGroups) -> tuple[GoalResult, ...]:
    """Return the result of each goal: limits of TOTAL, each label's average, errors, then the other rules.

    Errors are of the whole run, times and throughput of the window.
    """
    limits = [GoalRule(metric.key, max=limit) for metric, limit in goal.of_metrics.items()]
    times = [_of_total(rule, groups, False) for rule in limits if rule.metric != ERRORS.key]
    errors = [_of_total(rule, groups, goal.has_default_errors) for rule in limits if rule.metric == ERRORS.key]
    each = [] if goal.each_average_ms is None else [_of_each(goal, groups.load.labels if groups.load else ())]
    rules = [_of_total(rule, groups, False) if rule.label is None else _of_labels(rule, groups) for rule in goal.rules]
    return (*times, *each, *errors, *rules)


def judge_load_goals(goal: Goal, load: str, groups: RunGroups) -> tuple[GoalResult, ...]:
    """Return the result of each goal of one of several loads."""
    found = judge_goals(goal, groups)
    return tuple(replace(result, load=load, text=f"load {load}: {result.text}") for result in found)


def is_beyond(label: LabelFigures, goal: Goal) -> bool:
    """Return whether a label's average exceeds the goal for each label, or most of its samples failed."""
    limit_ms = goal.each_average_ms
    return limit_ms is not None and (label.average_ms > limit_ms or label.error_ratio > MOSTLY_ERRORS_RATIO)


def _of_total(rule: GoalRule, groups: RunGroups, is_default: bool) -> GoalResult:
    metric = metric_of(rule.metric)
    value = metric.of(groups.whole.total if metric == ERRORS else groups.total)
    is_met, reason = _is_met(rule, value), "" if value is not None else "unknown"
    text = f"{metric_text(metric)} {_value_text(metric, value)}, goal {_goal_text(rule, metric)}"
    text += " (the default)" if is_default else ""
    limits = (None, rule.metric, rule.max, rule.min)
    return GoalResult(*limits, value, None, 0, int(not is_met), is_met, text, reason, is_default)


def _of_labels(rule: GoalRule, groups: RunGroups) -> GoalResult:
    metric = metric_of(rule.metric)
    labels = groups.matching(rule, of_whole_run=metric == ERRORS)
    values = [(metric.of(label), label.label) for label in labels]
    known = [(value, name) for value, name in values if value is not None]
    missed_count = sum(not _is_met(rule, value) for value, _ in values)
    worst_of: Callable[..., tuple[float, str]] = max if rule.max is not None else min
    value, name = worst_of(known, key=lambda one: one[0]) if known else (None, None)
    reason = "" if len(known) == len(labels) else f"{metric_text(metric)} unknown"
    reason = reason if labels else "no sample has this label"
    where = "" if len(labels) < 2 else f" in {name} ({missed_count} of {len(labels)} labels missed)"
    measured = reason if value is None else f"{metric_text(metric)} {_value_text(metric, value)}{where}"
    goal = "" if value is not None else f"{metric_text(metric)} "
    text = f"{rule.label}: {measured}, goal {goal}{_goal_text(rule, metric)}"
    is_met, limits = bool(labels) and not missed_count, (rule.label, rule.metric, rule.max, rule.min)
    return GoalResult(*limits, value, name, len(labels), missed_count, is_met, text, reason)


def _of_each(goal: Goal, labels: Sequence[LabelFigures]) -> GoalResult:
    limit_ms = goal.each_average_ms or 0.0
    beyond = [label for label in labels if is_beyond(label, goal)]
    worst = max(beyond or labels, key=lambda label: label.average_ms, default=None)
    limit = f"{units.ms_text(limit_ms)} ms on average"
    text = f"each of {units.plural(len(labels), 'label')} within {limit}"
    if beyond and worst:
        slowest = f"the slowest is {worst.label} with {units.average_text(worst.average_ms)} ms"
        failed = any(label.error_ratio > MOSTLY_ERRORS_RATIO for label in beyond)
        what = f"above {limit} or mostly failed" if failed else f"above {limit}"
        text = f"{len(beyond)} of {units.plural(len(labels), 'label')} {what}, {slowest}"
    value, name = (worst.average_ms, worst.label) if worst else (None, None)
    limits = (EVERY_LABEL, AVERAGE.key, limit_ms, None)
    return GoalResult(*limits, value, name, len(labels), len(beyond), not beyond, text)


def _is_met(rule: GoalRule, value: float | None) -> bool:
    if value is None:
        return False
    return (rule.max is None or value <= rule.max) and (rule.min is None or value >= rule.min)


def _value_text(metric: Metric, value: float | None) -> str:
    return f"{metric.text(value)} {metric.unit}" if value is not None else "unknown"


def _goal_text(rule: GoalRule, metric: Metric) -> str:
    """Return the limit: times and errors as values are written, so that both sides of a sentence look alike."""
    if rule.min is not None:
        return f"at least {limit_text(metric, rule.min)}"
    limit = rule.max or 0.0
    return f"{metric.text(limit)} {metric.unit}" if metric.is_share else limit_text(metric, limit)
