"""What a sweep shows: best level, plateau, cliff, knee, scalability, and how many users the goal allows.

Throughput is here that of successful samples: a system that fails fast is not a fast one. Levels with an INVALID run,
or without a run that counts, take no part in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness import units
from harness.goal import Goal
from harness.stats.sweep import Figures, Level
from harness.stats.throughput_curve import (
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
from harness.stats.usl import Fit, fit

@dataclass(frozen=True)
class Answer:
    """The greatest number of users within the goal, all lower levels within it as well.

    `users` is None when there is no such number; `is_least` when all levels are within the goal. `next_users` is the
    first level that is not, or of which that is not known (`is_missed`), and `reasons` say why, or why there is no
    answer. `again` are levels above it that are within the goal once more.
    """

    users: int | None
    is_least: bool = False
    next_users: int | None = None
    is_missed: bool = False
    reasons: tuple[str, ...] = ()
    again: tuple[int, ...] = ()


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
    if goal is None or goal == Goal(None, None):
        return Answer(None, reasons=("no goal was given: --p90, --average or --errors, or a [goal] in the plan",))
    if not levels:
        return Answer(None, reasons=("no level was measured",))
    outcomes = [(level.users, outcome(level, goal)) for level in levels]
    within = None
    for place, (users, found) in enumerate(outcomes):
        if not found.is_within:
            again = tuple(later for later, other in outcomes[place + 1 :] if other.is_within)
            return Answer(
                within, next_users=users, is_missed=found.is_within is False, reasons=found.reasons, again=again
            )
        within = users
    return Answer(within, is_least=True)


def outcome(level: Level, goal: Goal) -> Outcome:
    """Return whether a level is within the goal: more than half of its runs are, and one that is INVALID is not."""
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


def _invalid_text(invalid_count: int, run_count: int) -> str:
    if run_count == 1:
        return "the run is INVALID"
    return f"{invalid_count} of {run_count} runs {'is' if invalid_count == 1 else 'are'} INVALID"


def _of_figures(figures: Figures, goal: Goal) -> Outcome:
    missed, unknown = [], []
    for name, limit, (what, unit) in goal_parts(goal):
        value: float | None = getattr(figures, name)
        if value is None:
            unknown.append(f"the {what} is not known")
        elif value > limit:
            missed.append(f"the {what} is {_in_unit(name, value, unit)}")
    if missed:
        return Outcome(False, tuple(missed))
    return Outcome(None if unknown else True, tuple(unknown))


def _in_unit(name: str, value: float, unit: str) -> str:
    figure_text = units.ms_text if name == "p90_ms" else units.average_text
    return f"{units.percent_text(value) if unit == '%' else figure_text(value)} {unit}"


def goal_parts(goal: Goal) -> list[tuple[str, float, tuple[str, str]]]:
    """Return the figure of each part of a goal, its limit, and the figure in words with its unit."""
    parts = (
        ("average_ms", goal.average_ms, ("average", "ms")),
        ("p90_ms", goal.p90_ms, ("90 % line", "ms")),
        ("slowest_label_ms", goal.each_average_ms, ("slowest label's average", "ms")),
        ("error_ratio", goal.error_ratio, ("share of errors", "%")),
    )
    return [(name, limit, words) for name, limit, words in parts if limit is not None]
