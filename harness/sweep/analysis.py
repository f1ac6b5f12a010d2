"""Computes the findings of a sweep: best level, plateau, cliff, knee, scalability, and the users within the goal.

Throughput counts only successful samples: a system that fails fast is not a fast system. Levels with an INVALID run or
without a counted run are excluded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.base import units
from harness.judge.account import Balance, asked_offered
from harness.judge.goals import MOSTLY_ERRORS_RATIO
from harness.judge.warnings import distinct
from harness.metrics.metric import AVERAGE, Metric
from harness.plan.goal import Goal, GoalRule, goal_options, metric_text
from harness.run.record import SYSTEM_DIED
from harness.sweep import throughput_curve as curve
from harness.sweep.goal_intervals import average_interval, percentile_interval
from harness.sweep.levels import FIGURES, Figures, Level, LevelRun
from harness.sweep.usl import UslFit, fit


@dataclass(frozen=True)
class SweepAnswer:
    """The highest level within the goal that is below the lowest level that misses it.

    - `users`: that level; None when there is none
    - `is_least`: no level misses the goal, and no level above is undecided
    - `next_users`: the next level, which misses the goal (`is_missed`) or is undecided
    - `reasons`: why, or why there is no answer
    - `again`: levels within the goal above the lowest miss
    - `perhaps_users`: the highest undecided level below the lowest miss
    - `missed_users`: the lowest miss
    - `unsure`: undecided levels below `users`
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
class SweepOutcome:
    """Whether a level is within a goal (None: undecided), and the reasons if it is not."""

    is_within: bool | None
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class SweepAnalysis:
    """All findings; None for those that are unknown. `usl` is None with fewer than six levels.

    Of a sweep over a setting only `goal` is known: the findings are about users.
    """

    goal: Goal | None
    answer: SweepAnswer
    best_users: int | None = None
    best_rate_per_s: float | None = None
    plateau: curve.Plateau | None = None
    cliff: curve.Cliff | None = None
    saturation: curve.Saturation | None = None
    knee: curve.Knee | None = None
    usl: UslFit | None = None


def analyse(levels: Sequence[Level], goal: Goal | None) -> SweepAnalysis:
    """Return the findings on levels, which are sorted by users."""
    if any(level.setting for level in levels):
        return SweepAnalysis(goal, SweepAnswer(None))
    points = [
        curve.Point(level.users, rate, level)
        for level in levels
        if not level.invalid and (rate := level.figures.success_rate_per_s) is not None
    ]
    if not points:
        return SweepAnalysis(goal, answer(levels, goal))
    best = max(range(len(points)), key=lambda index: points[index].rate_per_s)
    noise = curve.noise_of([point.level for point in points])
    runs = [(point.users, rate) for point in points for rate in point.level.success_rates_per_s()]
    law = fit(runs, noise.cv)
    plateau, cliff = curve.plateau_of(points, best), curve.cliff_of(points, best, noise, law)
    before_cliff = [point for point in points if cliff is None or not cliff.is_certain or point.users <= cliff.users]
    saturation = curve.saturation_of(before_cliff, plateau, law is not None and law.falls, noise)
    return SweepAnalysis(
        goal=goal,
        answer=answer(levels, goal),
        best_users=points[best].users,
        best_rate_per_s=points[best].rate_per_s,
        plateau=plateau,
        cliff=cliff,
        saturation=saturation,
        knee=curve.knee_of(points, saturation, noise),
        usl=law,
    )


def answer(levels: Sequence[Level], goal: Goal | None) -> SweepAnswer:
    """Return the highest level within the goal."""
    if goal is None or goal == Goal():
        *others, last = goal_options()
        options = f"{', '.join(others)} or {last}"  # --p90, --average or --errors
        return SweepAnswer(None, reasons=(f"no goal was given: {options}, or a [goal] in the plan",))
    if not levels:
        return SweepAnswer(None, reasons=("no level was measured",))
    users, outcomes = [level.users for level in levels], [outcome(level, goal) for level in levels]
    missed = next((index for index, one in enumerate(outcomes) if one.is_within is False), len(outcomes))
    within = max((index for index, one in enumerate(outcomes[:missed]) if one.is_within), default=-1)
    following, is_last = within + 1, within + 1 == len(outcomes)
    return SweepAnswer(
        users=users[within] if within >= 0 else None,
        is_least=is_last,
        next_users=None if is_last else users[following],
        is_missed=not is_last and following == missed,
        reasons=() if is_last else outcomes[following].reasons,
        again=tuple(users[index] for index in range(missed + 1, len(users)) if outcomes[index].is_within),
        perhaps_users=users[missed - 1] if following < missed else None,
        missed_users=users[missed] if missed < len(outcomes) else None,
        unsure=tuple(users[index] for index in range(within) if outcomes[index].is_within is None),
    )


def outcome(level: Level, goal: Goal) -> SweepOutcome:
    """Return whether a level is within the goal: more than half of its runs are. An INVALID run is not.

    A level is undecided when a run is DOUBTFUL, or INVALID for a reason that is not the system's, or when the 95 %
    interval of a time contains the goal.
    """
    of_runs = _of_runs(level, goal)
    if of_runs.is_within is None or level.invalid:
        return of_runs
    stopped = [bool(run.record and run.record.stopped_early) for run in level.counted]
    if of_runs.is_within is False and _is_most(level, stopped):
        return of_runs  # such runs are DOUBTFUL, because they are shorter than requested
    if level.doubtful:
        reasons = distinct(reason for run in level.doubtful for reason in run.doubtful_reasons)
        runs = "the run" if len(level.counted) == 1 else f"{len(level.doubtful)} of {len(level.counted)} runs"
        is_are = "is" if len(level.doubtful) == 1 else "are"
        return SweepOutcome(None, (f"{runs} {is_are} DOUBTFUL ({'; '.join(reasons)})",))
    if of_runs.is_within is False and _is_most(level, [bool(_missed_rules(run, goal)) for run in level.counted]):
        return of_runs
    return _as_sure(of_runs, level, goal)


def _is_most(level: Level, are: Sequence[bool]) -> bool:
    """Return whether so many counted runs miss the goal that the level cannot be within it."""
    return 2 * sum(are) >= len(level.counted) > 0


def _rules_of(goal: Goal) -> tuple[GoalRule, ...]:
    """Return the limits that only the verdict of a run judges: of labels, least values, and times without a figure."""
    times = (GoalRule(metric.key, max=limit) for metric, limit in goal.of_metrics.items() if metric.key not in FIGURES)
    return (*goal.rules, *times)


def _missed_rules(run: LevelRun, goal: Goal) -> tuple[str, ...]:
    """Return the rules of a goal that a run missed according to its own verdict."""
    judged, rules = run.verdict.goals if run.verdict else (), _rules_of(goal)
    return tuple(one.text for one in judged if one.rule in rules and not one.is_met)


def _of_run(run: LevelRun, goal: Goal) -> SweepOutcome:
    """Return the outcome of one run; a rule that its verdict does not judge is unknown."""
    of_figures = _of_figures(run.figures, goal)
    stopped = run.record.stopped_early if run.record else ""
    missed = ((f"stopped early: {stopped}",) if stopped else ()) + _missed_rules(run, goal)
    if missed or of_figures.is_within is False:
        return SweepOutcome(False, (*(of_figures.reasons if of_figures.is_within is False else ()), *missed))
    judged = [one.rule for one in run.verdict.goals] if run.verdict else []
    unknown = tuple(f"{rule.text} is unknown" for rule in _rules_of(goal) if rule not in judged)
    return SweepOutcome(None, (*of_figures.reasons, *unknown)) if unknown else of_figures


def is_failure(run: LevelRun, goal: Goal) -> bool:
    """Return whether an INVALID run shows that the system is beyond its limit: it failed, died, or was too slow.

    It was too slow when fewer users than requested miss a time. A run that lost its users, its rows or its clock by
    itself shows nothing: its data ended, or its load generator did.
    """
    errors, limit = run.figures.error_ratio, goal.error_ratio
    if errors is not None and errors > min(MOSTLY_ERRORS_RATIO, 1.0 if limit is None else limit):
        return True
    if run.record and any(SYSTEM_DIED in reason for reason in run.record.stop_reasons):
        return True
    off = [line.code for line in run.account if line.balance is Balance.INVALID]
    return off == [asked_offered.LINE.code] and _of_figures(run.figures, goal).is_within is False


def _of_runs(level: Level, goal: Goal) -> SweepOutcome:
    """Return the outcome by the values of the runs, without regard to their confidence intervals."""
    if not level.counted and not level.invalid:
        return SweepOutcome(None, ("interrupted",))
    outcomes = [_of_run(run, goal) for run in level.counted]
    run_count = len(outcomes) + len(level.invalid)
    if 2 * sum(run.is_within is True for run in outcomes) > run_count:
        return SweepOutcome(True)
    if level.invalid:
        are = f"{len(level.invalid)} of {run_count} runs {'is' if len(level.invalid) == 1 else 'are'}"
        what = "the run is INVALID" if run_count == 1 else f"{are} INVALID"
        failed = [run for run in level.invalid if is_failure(run, goal)]
        if 2 * (len(failed) + sum(run.is_within is False for run in outcomes)) >= run_count:
            return SweepOutcome(False, (what,))
        why = distinct(why for run in level.invalid if run not in failed and run.verdict for why in run.verdict.reasons)
        return SweepOutcome(None, (f"{what} ({'; '.join(why)})",))
    if unknown := next((run for run in outcomes if run.is_within is None), None):
        return unknown
    if run_count == 1:
        return outcomes[0]
    of_medians = _of_figures(level.figures, goal)
    if of_medians.reasons:
        return of_medians
    missed_count = sum(run.is_within is False for run in outcomes)
    return SweepOutcome(False, (f"{missed_count} of {run_count} runs missed",))


def _as_sure(of_runs: SweepOutcome, level: Level, goal: Goal) -> SweepOutcome:
    """Return the outcome, or an undecided one when the interval of a time contains the goal or contradicts it."""
    judged = list(_intervals(level, goal))
    if of_runs.is_within is False:
        errors, slowest = level.figures.error_ratio, level.figures.slowest_label_ms
        if goal.error_ratio is not None and errors is not None and errors > goal.error_ratio:
            return of_runs
        if goal.each_average_ms is not None and slowest is not None and slowest > goal.each_average_ms:
            return of_runs
        if not judged or any(is_within is False for is_within, _ in judged):
            return of_runs
        return SweepOutcome(None, tuple(text for is_within, text in judged if is_within is None) or of_runs.reasons)
    unsure = tuple(text for is_within, text in judged if not is_within)
    return SweepOutcome(None, unsure) if unsure else of_runs


def _intervals(level: Level, goal: Goal) -> Iterator[tuple[bool | None, str]]:
    """Yield whether the interval of each time is within the goal (None: in part), and the interval as text.

    None when a run has no histogram.
    """
    runs = [run.total for run in level.counted if run.total is not None]
    if len(runs) < len(level.counted):
        return
    for metric, limit in goal.of_metrics.items():
        if not metric.is_time or metric.key not in FIGURES:
            continue
        scatter = level.scatter.get(metric.key)
        bounds = (
            average_interval(runs, scatter) if metric.percentile is None else percentile_interval(runs, metric, scatter)
        )
        value = level.figures.of(metric.key)
        if bounds is None or value is None:
            continue
        high = "no upper end" if bounds.high_ms is None else f"{units.ms_text(bounds.high_ms)} ms"
        interval = f"{units.ms_text(bounds.low_ms)} ms to {high}, of {units.plural(bounds.sample_count, 'sample')}"
        yield bounds.is_within(limit), f"{metric_text(metric)} {units.ms_text(value)} ms, 95 % interval {interval}"


def _of_figures(figures: Figures, goal: Goal) -> SweepOutcome:
    missed, unknown = [], []
    for part in goal_parts(goal):
        value = figures.of(part.figure)
        if value is None:
            unknown.append(f"{part.name} unknown")
        elif value > part.limit:
            missed.append(f"{part.name} {part.metric.text(value)} {part.metric.unit}")
    if missed:
        return SweepOutcome(False, tuple(missed))
    return SweepOutcome(None if unknown else True, tuple(unknown))


@dataclass(frozen=True)
class GoalPart:
    """A limit of a goal: the key and the name of the limited value, and the metric that defines its format."""

    figure: str
    limit: float
    name: str
    metric: Metric


def goal_parts(goal: Goal) -> list[GoalPart]:
    """Return the parts of a goal that levels have figures of: times, the slowest label's average, errors."""
    parts = [
        GoalPart(metric.key, limit, metric_text(metric), metric)
        for metric, limit in goal.of_metrics.items()
        if metric.key in FIGURES
    ]
    if goal.each_average_ms is not None:
        index = sum(part.metric.is_time for part in parts)
        parts.insert(index, GoalPart("slowest_label_ms", goal.each_average_ms, "slowest label's average", AVERAGE))
    return parts
