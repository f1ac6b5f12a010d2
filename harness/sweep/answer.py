"""The result of a sweep: verdict, answer, key figures, goals and next steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.base import units
from harness.base.command import Command, changed_command
from harness.base.project import DEFAULT_PROFILE
from harness.compare.comparison import CANNOT_TELL, INVALID
from harness.experiment.record import RUNNING
from harness.judge.account import asked_offered
from harness.judge.result import FOUND, KeyFigure, NextStep, Result
from harness.judge.run_length import LongerOption, least_window_s, longer_option
from harness.judge.verdict import DOUBTFUL, INTERRUPTED
from harness.judge.warnings import too_short
from harness.metrics.metric import ERRORS
from harness.plan.goal import Goal, GoalRule
from harness.plan.goal_input import goal_names
from harness.report.first_screen import shortest
from harness.sweep.analysis import SweepAnalysis, SweepAnswer, is_failure, outcome
from harness.sweep.drift import drift_of
from harness.sweep.levels import Level, LevelRun, Sweep
from harness.sweep.record import CAPACITY, SWEEP, SweepRecord
from harness.sweep.setting_findings import contrasts, goal_finding, setting_answers

# What is measured next has so many times the users, or the duration.
_MORE = 2


def result_of(sweep: Sweep, analysis: SweepAnalysis, first_chart: str = "") -> Result:
    """Return what the report of one sweep found, for those who show it."""
    answer, verdict = analysis.answer, _verdict(sweep, analysis)
    figures = []
    if answer.users is not None:
        figures.append(KeyFigure("users within the goal", f"{_least(analysis)}{answer.users}"))
    if analysis.best_users is not None:
        figures.append(KeyFigure("best throughput", units.rate_text(analysis.best_rate_per_s), "req/s"))
        figures.append(KeyFigure("users at the best throughput", str(analysis.best_users)))
    levels, goal = sweep.levels, None if analysis.goal == Goal() else analysis.goal
    goals = "" if goal is None else goal_finding(levels, goal) if sweep.is_of_setting else f"Goal: {goal.text}."
    return Result(
        kind=sweep.record.kind if sweep.record else SWEEP,
        title=sweep.name,
        verdict=verdict,
        headline=shortest(*(f"{verdict}: {text}." for text in _answers(sweep, analysis))),
        key_figures=tuple(figures),
        first_chart=first_chart,
        goals=goals,
        is_missed=goal is not None
        and any(level.counted for level in levels)
        and all(outcome(level, goal).is_within is False for level in levels),
        next_steps=tuple(_next_steps(sweep, analysis)),
    )


def is_undecided(analysis: SweepAnalysis) -> bool:
    """Return whether a level decides neither for nor against the goal, so that the limit is not known."""
    answer = analysis.answer
    return answer.perhaps_users is not None or (answer.next_users is not None and not answer.is_missed)


def _verdict(sweep: Sweep, analysis: SweepAnalysis) -> str:
    """Return FOUND, or why the headline is no answer: how it differs from the goal's, or that of the best level."""
    if sweep.record is not None and sweep.record.state == RUNNING:
        return INTERRUPTED
    if not any(level.counted for level in sweep.levels):
        return INVALID
    answer = analysis.answer
    if sweep.is_of_setting:
        return FOUND if any(one.is_certain for one in contrasts(sweep.levels)) else CANNOT_TELL
    is_unknown = answer.users is None and not answer.is_missed
    if is_unknown and (analysis.best_users is None or analysis.goal not in (None, Goal())):
        return CANNOT_TELL
    return DOUBTFUL if is_unknown and _best_doubt(sweep, analysis) else FOUND


def _best_doubt(sweep: Sweep, analysis: SweepAnalysis) -> str:
    """Return why the best throughput may be another: its run, the next level or all runs are in doubt; else empty."""
    best = [level for level in sweep.levels if level.users == analysis.best_users]
    above = [level for level in sweep.levels if level.users > (analysis.best_users or 0)][:1]
    if any(level.doubtful for level in best):
        return f", in a {DOUBTFUL} run"
    for level in above:
        if any(not is_failure(run, Goal()) for run in level.invalid):
            return f"; {_users(level.users)}: {INVALID}"
        if level.doubtful:
            return f"; {_users(level.users)}: {DOUBTFUL}"
    return f", but {drift.brief}" if (drift := drift_of(sweep)) else ""


def _answers(sweep: Sweep, analysis: SweepAnalysis) -> Iterator[str]:
    """Yield the answer without its verdict, from the fullest to the shortest text."""
    record = sweep.record
    found = list(_answers_now(sweep, analysis))
    if record is None or record.state != RUNNING:
        yield from found
        return
    count, planned = len(record.measured), len(record.steps) if record.kind == SWEEP else 0
    runs = f"{f'{count} of ' if planned else ''}{units.plural(planned or count, 'run')} measured"
    if count:
        yield from (f"{runs}; so far {text}" for text in found)
    yield runs


def _answers_now(sweep: Sweep, analysis: SweepAnalysis) -> Iterator[str]:
    if not any(level.counted for level in sweep.levels):
        run_count = len(sweep.runs)
        every = "the run is" if run_count == 1 else "both runs are" if run_count == 2 else f"all {run_count} runs are"
        reasons = [reason for run in sweep.runs if run.verdict for reason in run.verdict.reasons]
        yield f"{every} {INVALID} or interrupted: {reasons[0]}" if reasons else "no run was completed"
        yield "no run can be used"
    elif sweep.is_of_setting:
        yield from setting_answers(sweep.levels)
    elif analysis.answer.users is None and analysis.answer.next_users is None:
        yield _best(sweep, analysis)
    else:
        yield from _of_goal(sweep, analysis)


def _best(sweep: Sweep, analysis: SweepAnalysis) -> str:
    if analysis.best_users is None:
        return "throughput is unknown"
    best = f"best throughput {units.rate_text(analysis.best_rate_per_s)} req/s at {_users(analysis.best_users)}"
    if doubt := _best_doubt(sweep, analysis):
        return f"{best}{doubt}"
    return f"{best}; no goal was given" if analysis.goal in (None, Goal()) else best


def _of_goal(sweep: Sweep, analysis: SweepAnalysis) -> Iterator[str]:
    answer, goal = analysis.answer, _short_goal(analysis)
    why = f" ({answer.reasons[0]})" if answer.reasons else ""
    missed = "" if answer.missed_users is None else f"; {_miss(answer.missed_users)} it"
    if answer.users is None and answer.is_missed:
        following = f"{_miss(answer.next_users or 0)} it"
        yield f"no level is within {goal}: {following}{why}"
        yield f"no level is within the goal: {following}"
    elif answer.users is None:
        undecided = _undecided(sweep.levels, answer)
        yield f"{undecided}{missed.replace(' it', ' the goal')}"
        yield undecided
    elif answer.is_least:
        every = "no level misses it" if answer.unsure else "every level meets it"
        yield f"at least {_users(answer.users)} within {goal}: {every}"
        yield f"at least {_users(answer.users)} within the goal"
    elif answer.perhaps_users is not None:
        yield f"at least {_users(answer.users)} within {goal}, perhaps {answer.perhaps_users}{missed}"
        yield f"at least {_users(answer.users)} within the goal, perhaps {answer.perhaps_users}{missed}"
    else:
        following = f"{_miss(answer.next_users or 0)} it"
        yield f"{_users(answer.users)} within {goal}; {following}{why}"
        yield f"{_users(answer.users)} within the goal; {following}{why}"
        yield f"{_users(answer.users)} within the goal; {following}"


def _least(analysis: SweepAnalysis) -> str:
    answer = analysis.answer
    return "at least " if answer.is_least or answer.perhaps_users is not None else ""


def _users(count: int) -> str:
    return units.plural(count, "user")


def _miss(count: int) -> str:
    return f"{_users(count)} miss{'es' if count == 1 else ''}"


def _short_goal(analysis: SweepAnalysis) -> str:
    """Return the limit of a goal that has a time only, or `the goal`; also when the next level misses the errors."""
    goal, reasons = analysis.goal, analysis.answer.reasons
    if goal is None or goal.rules or len(goal.limits.keys() - {ERRORS.key}) != 1:
        return "the goal"
    times = [GoalRule(metric.key, max=limit).text for metric, limit in goal.of_metrics.items() if metric.is_time]
    return times[0] if times and not any(reason.startswith(ERRORS.name) for reason in reasons) else "the goal"


def _undecided(levels: Sequence[Level], answer: SweepAnswer) -> str:
    """Return why the level above the answer decides nothing."""
    users = answer.next_users or 0
    level = next(one for one in levels if one.users == users)
    count, doubtful = len(level.counted), len(level.doubtful)
    if doubtful:
        every = {1: "the run", 2: "both runs"}.get(count, f"all {count} runs")
        which = every if doubtful == count else f"{doubtful} of {count} runs"
        return f"{which} with {_users(users)} {'was' if doubtful == 1 else 'were'} too short or disturbed"
    if not count:
        invalid = {0: "", 1: "the run", 2: "both runs"}.get(len(level.invalid), f"all {len(level.invalid)} runs")
        are = "is" if len(level.invalid) == 1 else "are"
        return (
            f"{invalid} with {_users(users)} {are} {INVALID}"
            if invalid
            else f"no run with {_users(users)} was completed"
        )
    if answer.reasons[0].endswith("unknown"):
        return f"at {_users(users)} {answer.reasons[0]}"
    return f"{_users(users)} {'is' if users == 1 else 'are'} too close to the goal for this number of samples"


def _next_steps(sweep: Sweep, analysis: SweepAnalysis) -> Iterator[NextStep]:
    record = sweep.record
    if record is None or sweep.label:
        return
    if record.state == RUNNING or record.stop_reason:
        larger = "" if record.state == RUNNING else " with a larger --max"
        yield NextStep(f"Resume the sweep{larger}", record.resume_command)
        return
    if short := [run for run in sweep.runs if _is_short(run)]:
        options = [one for run in short if (one := _longer(run))]
        text = "Measure levels that are long enough to judge"
        longest = max(options, key=lambda one: one.value, default=None)
        yield NextStep(text, _changed(record, **{longest.name: longest.text}) if longest else "")
        return
    if undecided := [level for level in sweep.levels if is_undecided(analysis) and _is_not_measured(level, analysis)]:
        yield NextStep(
            f"See why the run with {undecided[0].text} is {INVALID}", f"lth open {undecided[0].runs[0].name}"
        )
        return
    is_repeatable = record.kind != CAPACITY and record.repeat == 1
    if is_repeatable and (sweep.is_of_setting or is_undecided(analysis)):
        yield NextStep("Repeat each level, to know how much single runs differ", _changed(record, repeat="3"))
    elif is_undecided(analysis) and record.duration_s:
        longer = units.duration_text(record.duration_s * _MORE).replace(" ", "")
        yield NextStep("Measure longer levels", _changed(record, duration=longer))
    if sweep.is_of_setting:
        return
    if analysis.goal in (None, Goal()):
        yield NextStep("See how many users a goal allows", f"lth sweeps {record.id} --p90=1000")
    elif analysis.answer.is_least and record.kind == SWEEP:
        last = sweep.levels[-1].users
        more = ",".join(str(last * factor) for factor in (1, _MORE, _MORE**2))
        yield NextStep("Measure more users to find the limit", _changed(record, users=more))
    elif is_undecided(analysis) or analysis.answer.users is None:
        return
    elif record.kind == CAPACITY:
        yield NextStep("Measure what happens beyond the limit", str(Command.of("overload", **_same(record))))
    elif analysis.answer.next_users and analysis.answer.next_users > analysis.answer.users + 1:
        bounds = {"from": str(analysis.answer.users), "most": str(analysis.answer.next_users)}
        yield NextStep(
            "Search for the limit between these levels", str(Command.of("capacity", **_same(record), **bounds))
        )


def _is_short(run: LevelRun) -> bool:
    """Return whether a longer run would do: it was too short, and not because its users or its data ended early."""
    is_cut = run.is_invalid or asked_offered.LINE.code in run.warning_codes
    return too_short.WARNING.code in run.warning_codes and not is_cut


def _longer(run: LevelRun) -> LongerOption | None:
    """Return what makes a run long enough; None where that is not known."""
    if not run.record or not run.window:
        return None
    return longer_option(run.record.load, run.window, least_window_s(run.window, run.figures.sample_count or 0))


def _is_not_measured(level: Level, analysis: SweepAnalysis) -> bool:
    """Return whether all runs of a level are INVALID, and that is not the system's limit."""
    goal = analysis.goal or Goal()
    return bool(level.invalid) and not level.counted and not all(is_failure(run, goal) for run in level.invalid)


def _changed(record: SweepRecord, **values: str) -> str:
    return changed_command(record.command, **values)


def _same(record: SweepRecord) -> dict[str, str | None]:
    """Return the plan, profile, target and SET of a sweep, and its goal if it is not the plan's, as options."""
    given = {name: text for name, text in record.given.items() if name in ("set", *goal_names())}
    env = "" if record.profile == DEFAULT_PROFILE else record.profile
    return {"plan": record.plan, **given, "target": record.target, "env": env}
