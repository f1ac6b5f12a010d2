"""What a sweep shows: best level, plateau, cliff, knee, scalability, and how many users the goal allows.

Throughput is here that of successful samples: a system that fails fast is not a fast one. Levels with an INVALID run,
or without a run that counts, take no part in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.base import units
from harness.metrics.metric import AVERAGE, Metric
from harness.plan.goal import Goal, goal_options
from harness.sweep.goal_intervals import average_interval, percentile_interval
from harness.sweep.levels import Figures, Level
from harness.sweep.throughput_curve import (
    Cliff,
    Knee,
    Plateau,
    Point,
    Saturation,
    cliff_of,
    knee_of,
    noise_of,
    plateau_of,
    saturation_of,
)
from harness.sweep.usl import Fit, fit


@dataclass(frozen=True)
class Answer:
    """The greatest number of users within the goal below the least that misses it.

    `users` is None when there is no such number; `is_least` when no level misses the goal and none above is unsure.
    `next_users` is the first level above it that misses (`is_missed`) or that cannot be judged, and `reasons` say why,
    or why there is no answer. `perhaps_users` is the greatest level below the least miss that cannot be judged,
    `missed_users` the least miss, and `unsure` are levels below `users` that cannot be judged. `again` are levels above
    a miss that are within the goal once more.
    """

    users: int | None
    is_least: bool = False
    next_users: int | None = None
    is_missed: bool = False
    reasons: tuple[str, ...] = ()
    again: tuple[int, ...] = ()
    perhaps_users: int | None = None
    missed_users: int | None = None
    unsure: tuple[int, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """Whether a level is within a goal (None: not known), and in words why not."""

    is_within: bool | None
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class SweepAnalysis:
    """All findings; None where they cannot be told. `usl` is None with fewer than six levels."""

    goal: Goal | None
    answer: Answer
    best_users: int | None
    best_rate_per_s: float | None
    plateau: Plateau | None
    cliff: Cliff | None
    saturation: Saturation | None
    knee: Knee | None
    usl: Fit | None


def analyse(levels: Sequence[Level], goal: Goal | None) -> SweepAnalysis:
    """Return the findings on levels of rising users."""
    points = [
        Point(level.users, rate, level)
        for level in levels
        if not level.invalid and (rate := level.figures.success_rate_per_s) is not None
    ]
    if not points:
        return SweepAnalysis(goal, answer(levels, goal), None, None, None, None, None, None, None)
    best = max(range(len(points)), key=lambda place: points[place].rate_per_s)
    noise = noise_of([point.level for point in points])
    runs = [(point.users, rate) for point in points for rate in point.level.success_rates_per_s()]
    law = fit(runs, noise.cv)
    plateau, cliff = plateau_of(points, best), cliff_of(points, best, noise)
    before_cliff = [point for point in points if cliff is None or not cliff.is_certain or point.users <= cliff.users]
    saturation = saturation_of(before_cliff, plateau, law is not None and law.falls, noise)
    return SweepAnalysis(
        goal=goal,
        answer=answer(levels, goal),
        best_users=points[best].users,
        best_rate_per_s=points[best].rate_per_s,
        plateau=plateau,
        cliff=cliff,
        saturation=saturation,
        knee=knee_of(points, saturation, noise),
        usl=law,
    )


def answer(levels: Sequence[Level], goal: Goal | None) -> Answer:
    """Return the greatest number of users within the goal."""
    if goal is None or goal == Goal():
        return Answer(None, reasons=(f"no goal was given: {_options_text()}, or a [goal] in the plan",))
    if not levels:
        return Answer(None, reasons=("no level was measured",))
    outcomes = [(level.users, outcome(level, goal)) for level in levels]
    missed = next((place for place, (_, found) in enumerate(outcomes) if found.is_within is False), len(outcomes))
    below = outcomes[:missed]
    within = max((place for place, (_, found) in enumerate(below) if found.is_within), default=-1)
    above = below[within + 1 :]
    first = (above or outcomes[missed:])[:1]
    return Answer(
        users=outcomes[within][0] if within >= 0 else None,
        is_least=not first,
        next_users=first[0][0] if first else None,
        is_missed=bool(first) and not above,
        reasons=first[0][1].reasons if first else (),
        again=tuple(users for users, found in outcomes[missed + 1 :] if found.is_within),
        perhaps_users=above[-1][0] if above else None,
        missed_users=outcomes[missed][0] if missed < len(outcomes) else None,
        unsure=tuple(users for users, found in below[: max(within, 0)] if found.is_within is None),
    )


def outcome(level: Level, goal: Goal) -> Outcome:
    """Return whether a level is within the goal: more than half of its runs are, and one that is INVALID is not.

    Not known where a run is DOUBTFUL, or where the 95 % interval of a time has the goal in it.
    """
    found = _of_runs(level, goal)
    if found.is_within is None or level.invalid:
        return found
    if level.doubtful:
        reasons = dict.fromkeys(reason for run in level.doubtful for reason in run.doubtful_reasons)
        runs = "the run" if len(level.counted) == 1 else f"{len(level.doubtful)} of {len(level.counted)} runs"
        is_are = "is" if len(level.doubtful) == 1 else "are"
        return Outcome(None, (f"{runs} {is_are} DOUBTFUL ({'; '.join(reasons)})",))
    return _as_sure(found, level, goal)


def _of_runs(level: Level, goal: Goal) -> Outcome:
    """Return what the figures of the runs say, without regard to how well they are known."""
    if not level.counted and not level.invalid:
        return Outcome(None, ("interrupted",))
    found = [_of_figures(run.figures, goal) for run in level.counted]
    run_count = len(found) + len(level.invalid)
    if 2 * sum(run.is_within is True for run in found) > run_count:
        return Outcome(True)
    if level.invalid:
        return Outcome(False, (_invalid_text(len(level.invalid), run_count),))
    if any(run.is_within is None for run in found):
        return next(run for run in found if run.is_within is None)
    of_medians = _of_figures(level.figures, goal)
    if of_medians.reasons:
        return of_medians
    missed_count = sum(run.is_within is False for run in found)
    return Outcome(False, (f"{missed_count} of {run_count} runs missed",))


def _as_sure(found: Outcome, level: Level, goal: Goal) -> Outcome:
    """Return the outcome, or that it is not known: the interval of a time has the goal in it, or contradicts it."""
    judged = list(_intervals(level, goal))
    if found.is_within is False:
        errors = level.figures.error_ratio
        slowest = level.figures.slowest_label_ms
        if goal.error_ratio is not None and errors is not None and errors > goal.error_ratio:
            return found
        if goal.each_average_ms is not None and slowest is not None and slowest > goal.each_average_ms:
            return found
        if not judged or any(is_within is False for is_within, _ in judged):
            return found
        return Outcome(None, tuple(text for is_within, text in judged if is_within is None) or found.reasons)
    unsure = tuple(text for is_within, text in judged if not is_within)
    return Outcome(None, unsure) if unsure else found


def _intervals(level: Level, goal: Goal) -> Iterator[tuple[bool | None, str]]:
    """Yield of each time in the goal whether it is within for certain, with its interval in words."""
    runs = [run.total for run in level.counted if run.total is not None]
    if len(runs) < len(level.counted):
        return
    for metric, limit in goal.of_metrics.items():
        if not metric.is_time:
            continue
        found = percentile_interval(runs, metric) if metric.percentile is not None else average_interval(runs)
        value = level.figures.of(metric.key)
        if found is None or value is None:
            continue
        high = "no upper end" if found.high_ms is None else f"{units.ms_text(found.high_ms)} ms"
        yield (
            found.is_within(limit),
            f"the {metric.words} is {units.ms_text(value)} ms, 95 % interval {units.ms_text(found.low_ms)} ms to "
            f"{high}, of {units.plural(found.sample_count, 'sample')}",
        )


def _options_text() -> str:
    """Return the options of goals: --p90, --average or --errors."""
    *others, last = goal_options()
    return f"{', '.join(others)} or {last}"


def _invalid_text(invalid_count: int, run_count: int) -> str:
    if run_count == 1:
        return "the run is INVALID"
    return f"{invalid_count} of {run_count} runs {'is' if invalid_count == 1 else 'are'} INVALID"


def _of_figures(figures: Figures, goal: Goal) -> Outcome:
    missed, unknown = [], []
    for part in goal_parts(goal):
        value = figures.of(part.figure)
        if value is None:
            unknown.append(f"the {part.words} is not known")
        elif value > part.limit:
            missed.append(f"the {part.words} is {part.metric.text(value)} {part.metric.unit}")
    if missed:
        return Outcome(False, tuple(missed))
    return Outcome(None if unknown else True, tuple(unknown))


@dataclass(frozen=True)
class GoalPart:
    """A limit of a goal: the figure of a level that it is of, in words, and the metric that this is formatted as."""

    figure: str
    limit: float
    words: str
    metric: Metric


def goal_parts(goal: Goal) -> list[GoalPart]:
    """Return the parts of a goal: times, the slowest label's average, errors."""
    parts = [GoalPart(metric.key, limit, metric.words, metric) for metric, limit in goal.of_metrics.items()]
    if goal.each_average_ms is not None:
        place = sum(part.metric.is_time for part in parts)
        parts.insert(place, GoalPart("slowest_label_ms", goal.each_average_ms, "slowest label's average", AVERAGE))
    return parts
