"""Finds how far the levels of a sweep over a setting differ, and which are within the goal.

The findings about users (capacity, plateau, cliff, knee, Universal Scalability Law) do not apply to a setting.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

from harness.compare.comparison import CANNOT_TELL
from harness.judge.verdict import DOUBTFUL
from harness.metrics.distributions import student_t_quantile
from harness.metrics.metric import THROUGHPUT, Metric, Table, times_of
from harness.metrics.shift import CONFIDENCE
from harness.plan.goal import Goal, metric_text
from harness.report.change_text import decimals_of, interval_text
from harness.sweep.analysis import outcome
from harness.sweep.levels import Level, level_head


class ChangeInterval(NamedTuple):
    """The 95 % interval of a change, as ratios."""

    low_ratio: float
    high_ratio: float


@dataclass(frozen=True)
class Contrast:
    """The levels with the least and the greatest value of a metric, in repeats by their geometric means.

    `change_ratio` is greatest ÷ least − 1, None when the least is 0. `interval` is its 95 % interval, corrected for the
    choice among all pairs of levels; None without repeats.
    """

    metric: Metric
    least: Level
    most: Level
    change_ratio: float | None
    interval: ChangeInterval | None

    @property
    def is_certain(self) -> bool:
        """Whether the levels differ by more than their repeats do, and neither is DOUBTFUL."""
        is_doubtful = bool(self.least.doubtful or self.most.doubtful)
        return self.interval is not None and self.interval.low_ratio > 0 and not is_doubtful


def contrasts(levels: Sequence[Level]) -> tuple[Contrast, ...]:
    """Return the contrasts of throughput (successful samples) and response times, of levels without an INVALID run."""
    usable = [level for level in levels if not level.invalid]
    return tuple(filter(None, (_contrast(metric, usable) for metric in (THROUGHPUT, *times_of(Table.BRIEF)))))


def _contrast(metric: Metric, levels: Sequence[Level]) -> Contrast | None:
    key = "success_rate_per_s" if metric == THROUGHPUT else metric.key
    runs = [(level, [value for run in level.counted if (value := run.figures.of(key)) is not None]) for level in levels]
    known = [(level, values) for level, values in runs if values]
    if len(known) < 2:
        return None
    if any(value <= 0 for _, values in known for value in values):
        known.sort(key=lambda one: fmean(one[1]))
        return Contrast(metric, known[0][0], known[-1][0], None, None)
    logs = [(level, [math.log(value) for value in values]) for level, values in known]
    logs.sort(key=lambda one: fmean(one[1]))
    (least, low), (most, high) = logs[0], logs[-1]
    change = fmean(high) - fmean(low)
    half = _half_width([values for _, values in logs], len(low), len(high))
    interval = None if half is None else ChangeInterval(math.expm1(change - half), math.expm1(change + half))
    return Contrast(metric, least, most, math.expm1(change), interval)


def _half_width(logs: Sequence[Sequence[float]], low_count: int, high_count: int) -> float | None:
    """Return half of the interval of the difference of two means: Student's t, one variance within all levels.

    Bonferroni's correction covers all pairs of levels, of which the extreme one was chosen. None without repeats.
    """
    freedom = sum(len(values) - 1 for values in logs)
    if not freedom:
        return None
    variance = sum((value - fmean(values)) ** 2 for values in logs for value in values) / freedom
    pair_count = len(logs) * (len(logs) - 1) / 2
    reach = student_t_quantile(freedom, 1 - (1 - CONFIDENCE) / 2 / pair_count)
    return reach * math.sqrt(variance * (1 / low_count + 1 / high_count))


def setting_findings(levels: Sequence[Level], goal: Goal | None) -> dict[str, str]:
    """Return the findings by name."""
    findings = {contrast.metric.phrase: _contrast_text(contrast) for contrast in contrasts(levels)}
    if not findings:
        findings = {"throughput": "unknown: needs at least two levels with counted runs"}
    return {**findings, "goal": _goal_reasons(levels, goal)}


def _goal_reasons(levels: Sequence[Level], goal: Goal | None) -> str:
    """Return why levels miss the goal, or why they are undecided."""
    if goal is None or goal == Goal():
        return "none was given"
    reasons = ((level, outcome(level, goal).reasons) for level in levels)
    parts = [f"{level.text}: {', '.join(why)}" for level, why in reasons if why]
    return "; ".join(parts) or "met at every level"


def setting_answers(levels: Sequence[Level]) -> Iterator[str]:
    """Yield how far the levels differ, in a certain difference or else in throughput, and a shorter text of it."""
    found = contrasts(levels)
    contrast = next((one for one in found if one.is_certain), found[0] if found else None)
    if contrast is None:
        yield "throughput is unknown"
        return
    metric, least, most = contrast.metric, contrast.least, contrast.most
    low, high = (f"{_shown(metric, level)} {metric.unit} at {level.text}" for level in (least, most))
    change = "" if contrast.change_ratio is None else f" ({contrast.change_ratio * 100:+.1f} %)"
    name = "" if metric == THROUGHPUT else f"{metric_text(metric)} "
    seen = f"{name}{low}, {high}"
    if contrast.is_certain:
        yield f"{seen}{change}"
    elif contrast.least.doubtful or contrast.most.doubtful:
        yield f"a run is {DOUBTFUL}; seen: {seen}"
    elif contrast.interval is None:
        yield f"one run per level; seen: {seen}"
    else:
        yield f"levels differ no more than repeats do; seen: {seen}"
    yield f"{metric_text(metric)}{change if contrast.is_certain else ''} from {least.value} to {most.value}"


def _contrast_text(contrast: Contrast) -> str:
    metric, least, most = contrast.metric, contrast.least, contrast.most
    low, high = (f"{_shown(metric, level)} {metric.unit} at {level.text}" for level in (least, most))
    if contrast.change_ratio is None:
        return f"{low}, {high}"
    change = f"{contrast.change_ratio * 100:+.1f} %"
    ends = contrast.interval
    if ends is None:
        return f"{low}, {high} (of one run each: repeat, --repeat=3)"
    decimals = decimals_of(*ends)
    word = "" if contrast.is_certain else CANNOT_TELL
    interval = f"95 % interval {interval_text(*ends, word, decimals)} %"
    if contrast.is_certain:
        return f"{low}, {high}: {change} ({interval})"
    if ends.low_ratio > 0:
        return f"{CANNOT_TELL}: {low}, {high} ({interval}), but a run is {DOUBTFUL}"
    return f"{CANNOT_TELL} the levels apart: {low}, {high}, no more than repeats differ ({interval})"


def _shown(metric: Metric, level: Level) -> str:
    if metric == THROUGHPUT:
        return metric.text(level.figures.success_rate_per_s)
    return metric.mean_text(level.figures.of(metric.key))


def goal_finding(levels: Sequence[Level], goal: Goal) -> str:
    """Return which levels meet the goal, which miss it, and which are undecided, as a sentence."""
    within = {level.key: outcome(level, goal).is_within for level in levels}
    parts = []
    for is_within, text in ((True, "met at"), (False, "missed at"), (None, f"{CANNOT_TELL} at")):
        if hit := [level for level in levels if within[level.key] is is_within]:
            parts.append(f"{text} {values_text(hit)}")
    return f"Goal {', '.join(parts) or 'not measured'}: {goal.text}."


def values_text(levels: Sequence[Level]) -> str:
    """Return levels of a setting as text: delay_ms=10, 20 and 40."""
    values = [level.value for level in levels]
    joined = " and ".join([", ".join(values[:-1]), values[-1]] if len(values) > 1 else values)
    return f"{level_head(levels)}={joined}" if levels else "no level"
